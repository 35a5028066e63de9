//! A sandbox for somebody who asks for one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use agentyard_envd::{Exchange as _, Initialization, full};
use agentyard_model::{
    AuditEvent, Caller, Lifecycle, NewSandbox, Outcome, Permission, Sandbox as Row, SandboxId,
    SandboxNetwork, SandboxState, Secret,
};
use agentyard_sandbox::Standing;
use agentyard_store::{Creation, SandboxToken};

use super::ending::take_down;
use super::kept::Kept;
use super::owners::{absent, owner_of, visible};
use super::templates::Origin;
use super::yards::Yard;
use super::{SandboxAccess, Sandboxes, checking};
use crate::error::{Error, ErrorKind, Result, from_store};
use crate::sandbox_measures as measures;
use crate::turns::to_its_end;

/// How long somebody waits for a sandbox that was asked for before with the same key.
const PATIENCE: Duration = Duration::from_secs(30);

/// How often they look.
const LOOK: Duration = Duration::from_millis(20);

/// A sandbox that somebody wants.
#[derive(Debug, Clone, Default)]
pub struct CreateSandbox {
    /// From what: a template, or a snapshot by its id or name.
    pub template: Option<String>,
    /// How long it stays; five minutes when nothing is said.
    pub timeout: Option<Duration>,
    /// What happens when its time is up.
    pub lifecycle: Lifecycle,
    /// What is noted on it.
    pub metadata: BTreeMap<String, String>,
    /// What every program in it has in its environment.
    pub environment: BTreeMap<String, String>,
    /// Whom it may talk to.
    pub network: SandboxNetwork,
    /// By what this request is recognised when it is sent again.
    pub idempotency_key: Option<String>,
}

/// A sandbox that is to be made, once everything that was said was found right.
pub(super) struct Plan {
    pub(super) origin: Origin,
    pub(super) timeout: Duration,
    pub(super) lifecycle: Lifecycle,
    pub(super) metadata: BTreeMap<String, String>,
    pub(super) environment: BTreeMap<String, String>,
    pub(super) network: SandboxNetwork,
    pub(super) idempotency_key: Option<String>,
    /// The sandbox itself, where it stands already.
    pub(super) standing: Option<Standing>,
    /// The operation that was called.
    pub(super) action: &'static str,
}

impl Sandboxes {
    /// Makes a sandbox.
    ///
    /// # Errors
    /// When the caller may not, a bound is passed, there are too many, or this machine cannot.
    pub async fn create(&self, caller: &Caller, request: CreateSandbox) -> Result<SandboxAccess> {
        caller.require(Permission::AgentRun)?;
        self.backend()?;
        let timeout = checking::timeout(&self.0.parts.settings, request.timeout)?;
        checking::metadata(&request.metadata)?;
        checking::environment(&request.environment)?;
        checking::network(&request.network)?;
        if let Some(key) = &request.idempotency_key {
            checking::idempotency_key(key)?;
        }
        let plan = Plan {
            origin: self.origin(caller, request.template.as_deref()).await?,
            timeout,
            lifecycle: request.lifecycle,
            metadata: request.metadata,
            environment: request.environment,
            network: request.network,
            idempotency_key: request.idempotency_key,
            standing: None,
            action: "sandbox_create",
        };
        let (this, caller) = (self.clone(), caller.clone());
        // What was begun is not left half done when whoever asked goes away.
        to_its_end(async move { this.make(&caller, plan).await }).await
    }

    /// Makes a sandbox as planned.
    pub(super) async fn make(&self, caller: &Caller, plan: Plan) -> Result<SandboxAccess> {
        let started = Instant::now();
        let _busy = self.0.spares.busy();
        let yard = match &plan.origin.snapshot {
            Some(snapshot) => self.yard_of(&snapshot.keeper).await?,
            None => self.yard().await?,
        };
        let spare = self.take_spare(&plan, &yard).await;
        let id = spare.as_ref().map_or_else(SandboxId::new, |spare| spare.id);
        let settings = &self.0.parts.settings;
        let new = NewSandbox {
            id,
            tenant: caller.tenant,
            owner: owner_of(caller),
            template: plan.origin.template.clone(),
            image: plan.origin.image.clone(),
            metadata: plan.metadata,
            environment: plan.environment,
            lifecycle: plan.lifecycle,
            network: plan.network,
            keeper: yard.keeper.clone(),
            timeout: plan.timeout,
            idempotency_key: plan.idempotency_key,
            most_of_tenant: settings.most_of_tenant,
            most: settings.most,
        };
        let event = AuditEvent::done(caller, plan.action, id);
        let created = self.0.parts.store.sandboxes().create(&new, &event).await;
        let created = created.map_err(|error| from_store("making a sandbox", error));
        let row = match created {
            Ok(Creation::Made(row)) => row,
            other => {
                self.give_back(spare);
                return match other? {
                    Creation::Made(row) | Creation::Existing(row) => self.when_made(row).await,
                    Creation::OtherWish(row) => Err(other_wish(&row)),
                    Creation::TenantFull => Err(too_many(settings.most_of_tenant, "your tenant has")),
                    Creation::Full => Err(too_many(settings.most, "there are")),
                };
            }
        };
        let variables = secret(new.environment);
        let stood = match (plan.standing, spare) {
            (Some(standing), _) => Ok(standing),
            (None, Some(spare)) => initialized(spare.standing, &variables).await,
            (None, None) => {
                let here = plan.origin.snapshot.filter(|snapshot| snapshot.remote.is_none());
                let from = here.map(|snapshot| snapshot.id.to_string());
                self.stand_up(&row, &yard, from.as_deref(), &variables).await
            }
        };
        let made = match stood {
            Ok(standing) => self.made(&row, &yard, standing, &variables, plan.timeout).await,
            Err(error) => Err(error),
        };
        if made.is_err() {
            self.unmake(caller, &row, &yard, plan.action).await;
        }
        let access = self.access(made?, false).await?;
        measures::created(started.elapsed());
        Ok(access)
    }

    /// Notes that a sandbox answers.
    async fn made(
        &self,
        row: &Row,
        yard: &Arc<Yard>,
        standing: Standing,
        variables: &BTreeMap<String, Secret>,
        timeout: Duration,
    ) -> Result<Row> {
        // It is kept before anybody can find it, so that whoever ends it then takes it down, too. One that ends by itself
        // at once is removed when the row says that it runs, and not before.
        let kept = Arc::new(Kept::new(row, Arc::clone(yard)));
        let _turn = Arc::clone(&kept.turn).lock_owned().await;
        self.kept().insert(row.id, Arc::clone(&kept));
        self.keep(&kept, standing, variables);
        // Its time begins when it can be used.
        let ends_at = self.0.parts.clock.now().after(timeout);
        kept.set_ends_at(ends_at);
        let started = self.0.parts.store.sandboxes().started(row.id, ends_at).await;
        let started = started.map_err(|error| from_store("making a sandbox", error))?;
        let row = started.ok_or_else(|| absent(row.id))?;
        self.refill_spares();
        Ok(row)
    }

    /// Takes back a sandbox that could not be made.
    async fn unmake(&self, caller: &Caller, row: &Row, yard: &Yard, action: &'static str) {
        let kept = self.kept().remove(&row.id);
        if let Some(kept) = kept {
            take_down(&kept).await;
        }
        let event = AuditEvent::with_outcome(caller, action, row.id, Outcome::Failed);
        self.0.parts.audit.record_soon(event).await;
        if let Err(error) = yard.grounds.remove(&row.id.to_string()).await {
            tracing::warn!(%error, sandbox = %row.id, "the files of a sandbox that was not made could not be removed");
            return;
        }
        if let Err(error) = self.0.parts.store.sandboxes().forget(row.id).await {
            tracing::warn!(%error, sandbox = %row.id, "a sandbox that was not made could not be forgotten");
        }
    }

    /// Waits until a sandbox that somebody else asked for is there.
    async fn when_made(&self, row: Row) -> Result<SandboxAccess> {
        let id = row.id;
        let wait = async {
            let mut row = row;
            while row.state == SandboxState::Starting {
                tokio::time::sleep(LOOK).await;
                let found = self.0.parts.store.sandboxes().find(id).await;
                let found = found.map_err(|error| from_store("looking up a sandbox", error))?;
                row = found.ok_or_else(|| absent(id))?;
            }
            visible(id, Some(row))
        };
        let made = tokio::time::timeout(PATIENCE, wait).await;
        let made = made.unwrap_or_else(|_| {
            Err(Error::new(
                ErrorKind::Unavailable,
                format!("the sandbox {id} is still being made"),
            ))
        });
        self.access(made?, false).await
    }

    /// A sandbox, with what one needs to talk to it.
    pub(super) async fn access(&self, row: Row, resumed: bool) -> Result<SandboxAccess> {
        let sandboxes = self.0.parts.store.sandboxes();
        let failed = |error| from_store("making the tokens of a sandbox", error);
        let access_token = sandboxes.token(SandboxToken::Access, row.id).await;
        let traffic_token = sandboxes.token(SandboxToken::Traffic, row.id).await;
        Ok(SandboxAccess {
            access_token: access_token.map_err(failed)?,
            traffic_token: traffic_token.map_err(failed)?,
            sandbox: self.details(row),
            resumed,
        })
    }
}

/// A sandbox that was stood up before somebody wanted it, once it knows what is to be in the environment of its programs.
/// One that cannot be told is taken down.
async fn initialized(standing: Standing, variables: &BTreeMap<String, Secret>) -> Result<Standing> {
    match tell_environment(&standing, variables).await {
        Ok(()) => Ok(standing),
        Err(reason) => {
            standing.take_down().await;
            let message = format!("the sandbox was not told its environment: {reason}");
            Err(Error::new(ErrorKind::Unavailable, message).hint("try again"))
        }
    }
}

async fn tell_environment(standing: &Standing, variables: &BTreeMap<String, Secret>) -> Result<(), String> {
    let env_vars = variables.iter();
    let initialization = Initialization {
        env_vars: env_vars
            .map(|(name, value)| (name.clone(), value.expose().to_owned()))
            .collect(),
    };
    let body = serde_json::to_vec(&initialization).map_err(|error| error.to_string())?;
    let request = http::Request::post("/init")
        .header(http::header::CONTENT_TYPE, agentyard_envd::connect::UNARY)
        .body(full(body))
        .map_err(|error| error.to_string())?;
    let answer = standing.exchange(request).await.map_err(|error| error.reason)?;
    match answer.status() {
        status if status.is_success() => Ok(()),
        status => Err(status.to_string()),
    }
}

pub(super) fn secret(variables: BTreeMap<String, String>) -> BTreeMap<String, Secret> {
    let variables = variables.into_iter();
    variables
        .map(|(name, value)| (name, Secret::new(value)))
        .collect()
}

fn too_many(most: u32, who: &str) -> Error {
    Error::new(
        ErrorKind::LimitExceeded,
        format!("the sandbox was not made: {who} {most} already, and no more are allowed"),
    )
    .hint(
        "end one with sandbox_kill (sandbox_list shows them, paused ones count); whoever runs Agentyard sets \
         `e2b.max_sandboxes`",
    )
}

fn other_wish(row: &Row) -> Error {
    Error::new(
        ErrorKind::Conflict,
        format!(
            "the idempotency key was used within the last hour for another request, which made the sandbox {}",
            row.id
        ),
    )
    .hint("use a new key for a new request")
}
