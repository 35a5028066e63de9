//! The execution log: what ran, for whom, and what came of it.
//!
//! Records are written beside the answer, never before it. Where a SurrealDB is configured they are sent there from the
//! table itself, so that a run waits for nobody and a restart loses nothing.

mod rows;
mod sending;
mod surreal;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentyard_model::{
    Caller, Clock, Execution, ExecutionFilter, ExecutionId, ExecutionPlace, NewExecution, Page, PageRequest,
    Permission,
};
use agentyard_store::{Delivery, Error as StoreError, Store};
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinHandle;
use tracing::Instrument as _;

use crate::error::{Error, Result, from_store};
use surreal::Surreal;
pub use surreal::{SurrealCredentials, SurrealLevel, SurrealSettings};

/// How many records may be on their way into the database. Whoever brings another one waits.
const MAX_PENDING: u32 = 256;

/// How often a record is tried to be written, and how long is waited in between.
const ATTEMPTS: u32 = 3;
const BETWEEN_ATTEMPTS: Duration = Duration::from_secs(1);

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// How records are kept.
#[derive(Debug, Clone)]
pub struct ExecutionSettings {
    /// For how many days.
    pub keep_days: u32,
    /// How many at most.
    pub keep_count: u64,
    /// Where else they go.
    pub surreal: Option<SurrealSettings>,
}

impl Default for ExecutionSettings {
    fn default() -> Self {
        Self {
            keep_days: 30,
            keep_count: 100_000,
            surreal: None,
        }
    }
}

/// The execution log. Clones are the same.
#[derive(Clone)]
pub struct Executions(Arc<Shared>);

struct Shared {
    store: Store,
    clock: Clock,
    settings: ExecutionSettings,
    /// One permit for each record that may be on its way.
    pending: Arc<Semaphore>,
    /// Where records are sent; a failure to set that up is told when they are.
    surreal: Option<Surreal>,
    /// Rings when a record has come that is to be sent.
    news: Notify,
    /// The task that sends, once there is one.
    sender: Mutex<Option<JoinHandle<()>>>,
}

impl Executions {
    pub(crate) fn new(store: Store, clock: Clock, settings: ExecutionSettings) -> Self {
        let surreal = settings.surreal.clone().map(Surreal::new);
        Self(Arc::new(Shared {
            store,
            clock,
            settings,
            pending: Arc::new(Semaphore::new(MAX_PENDING as usize)),
            surreal,
            news: Notify::new(),
            sender: Mutex::default(),
        }))
    }

    /// Puts an execution of this caller on record. It is written in the background; a failure is logged, and concerns
    /// nobody who waits for an answer. Secrets that were granted to it have been masked in all its texts.
    pub async fn record(&self, caller: &Caller, new: NewExecution) {
        let execution = new.by(caller);
        let Ok(permit) = Arc::clone(&self.0.pending).acquire_owned().await else {
            return;
        };
        let executions = self.clone();
        let write = async move {
            executions.write(&execution).await;
            drop(permit);
        };
        tokio::spawn(write.in_current_span());
    }

    /// The executions that the caller may see and that match, newest first: its own, or, for who may see projects,
    /// those of its tenant.
    ///
    /// # Errors
    /// When the caller may not see any, or the cursor is not one of this list's.
    pub async fn list(
        &self,
        caller: &Caller,
        filter: ExecutionFilter,
        page: &PageRequest,
    ) -> Result<Page<Execution>> {
        caller.require(Permission::AgentRun)?;
        if let Some(cursor) = &page.cursor {
            cursor.place::<ExecutionPlace>()?;
        }
        let filter = ExecutionFilter {
            subject: only_own(caller).or(filter.subject),
            ..filter
        };
        let listed = self.0.store.executions().list(caller.tenant, &filter, page).await;
        listed.map_err(|error| from_store("searching the executions", error))
    }

    /// The execution with this id.
    ///
    /// # Errors
    /// When there is none, or the caller may not see it.
    pub async fn get(&self, caller: &Caller, id: ExecutionId) -> Result<Execution> {
        caller.require(Permission::AgentRun)?;
        let found = self.0.store.executions().get(caller.tenant, id).await;
        found
            .map_err(|error| from_store("looking up an execution", error))?
            .filter(|execution| only_own(caller).is_none_or(|own| own == execution.subject))
            .ok_or_else(|| {
                Error::not_found(format!("there is no execution `{id}`"))
                    .hint("`list_executions` shows those that are on record")
            })
    }

    /// Forgets what is too old or too much. To be called now and then; several may do so at once.
    pub async fn tend(&self) {
        let (executions, settings) = (self.0.store.executions(), &self.0.settings);
        let before = self.0.clock.now().before(DAY * settings.keep_days);
        if let Err(error) = executions.forget_older(before).await {
            tracing::warn!(%error, "old executions could not be forgotten");
        }
        match executions.keep_newest(settings.keep_count).await {
            Ok((_, 0)) => {}
            Ok((_, unsent)) => tracing::warn!(
                unsent,
                "executions were forgotten before they could be sent to SurrealDB (`executions.keep_count`)"
            ),
            Err(error) => tracing::warn!(%error, "executions could not be forgotten"),
        }
    }

    /// Begins to send what waits, also from before a restart. Without a place to send to, nothing happens.
    pub fn send(&self) {
        sending::begin(&self.0);
    }

    /// Waits until everything is written down, and sends what can be sent at once. The rest waits for the next process.
    pub(crate) async fn end(&self) {
        // All permits are back when nothing is on its way any more.
        let _all = self.0.pending.acquire_many(MAX_PENDING).await;
        sending::end(&self.0).await;
    }

    async fn write(&self, execution: &Execution) {
        let delivery = match self.0.surreal {
            Some(_) => Delivery::Waiting,
            None => Delivery::None,
        };
        for attempt in 1..=ATTEMPTS {
            match self.0.store.executions().record(execution, delivery).await {
                Ok(()) => break,
                Err(StoreError::Unavailable { .. }) if attempt < ATTEMPTS => {
                    tokio::time::sleep(BETWEEN_ATTEMPTS).await;
                }
                Err(error) => {
                    tracing::error!(%error, execution = %execution.id, "an execution could not be put on record");
                    return;
                }
            }
        }
        if delivery == Delivery::Waiting {
            self.send();
            self.0.news.notify_one();
        }
    }
}

/// The subject whose executions the caller is confined to, if it is.
fn only_own(caller: &Caller) -> Option<String> {
    let sees_all = caller.permissions.contains(Permission::ProjectRead);
    (!sees_all).then(|| Execution::subject_of(caller))
}
