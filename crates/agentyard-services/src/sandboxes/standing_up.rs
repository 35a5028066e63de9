//! From a row to a sandbox that answers.

use std::collections::BTreeMap;
use std::sync::Arc;

use agentyard_model::{Sandbox as Row, Secret, SecretName};
use agentyard_sandbox::{CommandError, Limits, STANDING_HOME, STANDING_USER, Sandbox, Site, Standing};

use super::Sandboxes;
use super::kept::{Kept, Phase};
use super::owners::{Wish, visible};
use super::yards::{Yard, from_grounds};
use crate::error::{Error, ErrorKind, Result, from_store};
use crate::masking::Mask;
use crate::runs::no_sandbox;

/// A sandbox whose turn this caller has.
pub(super) struct Entered {
    pub(super) row: Row,
    pub(super) kept: Arc<Kept>,
    _turn: tokio::sync::OwnedMutexGuard<()>,
}

impl Entered {
    /// The sandbox itself, where its files are with whoever keeps it: without it there is nothing of it.
    pub(super) fn standing_elsewhere(&self) -> Result<Standing> {
        match self.kept.phase() {
            Phase::Running(standing) | Phase::Frozen(standing) => Ok(standing),
            Phase::Absent => Err(Error::new(
                ErrorKind::Unavailable,
                format!("the sandbox {} is not with the service any more", self.row.id),
            )
            .hint("end it with sandbox_kill, and make another one")),
        }
    }
}

impl Sandboxes {
    /// Takes the turn to change what a sandbox is. What the row says holds until it is given back.
    ///
    /// # Errors
    /// When the caller may not, there is no such sandbox, or another process has it.
    pub(super) async fn enter(
        &self,
        caller: &agentyard_model::Caller,
        id: agentyard_model::SandboxId,
        wish: Wish,
    ) -> Result<Entered> {
        let row = self.row(caller, id, wish).await?;
        self.enter_row(&row).await
    }

    /// As [`Sandboxes::enter`], where nobody's permission is needed.
    pub(super) async fn enter_row(&self, row: &Row) -> Result<Entered> {
        let yard = self.yard_of(&row.keeper).await?;
        let kept = Arc::clone(
            self.kept()
                .entry(row.id)
                .or_insert_with(|| Arc::new(Kept::new(row, yard))),
        );
        let turn = Arc::clone(&kept.turn).lock_owned().await;
        // Whoever had the turn before may have ended it.
        let current = self.0.parts.store.sandboxes().find(row.id).await;
        let current = visible(
            row.id,
            current.map_err(|error| from_store("looking up a sandbox", error))?,
        );
        if current.is_err() {
            self.kept().remove(&row.id);
        }
        Ok(Entered {
            row: current?,
            kept,
            _turn: turn,
        })
    }

    /// Stands a sandbox up on its own files, or on those of a snapshot when it has none yet.
    ///
    /// # Errors
    /// When nothing is run here, or this machine cannot.
    pub(super) async fn stand_up(
        &self,
        row: &Row,
        yard: &Yard,
        from: Option<&str>,
        variables: &BTreeMap<String, Secret>,
    ) -> Result<Standing> {
        let site = SiteWish {
            id: row.id.to_string(),
            from,
            image: row.image.clone(),
            reach: self.reach(&row.network),
        };
        self.stand_up_site(yard, site, variables).await
    }

    pub(super) async fn stand_up_site(
        &self,
        yard: &Yard,
        wish: SiteWish<'_>,
        variables: &BTreeMap<String, Secret>,
    ) -> Result<Standing> {
        let sandbox = self.backend()?;
        let _place = self
            .0
            .standing_up
            .acquire()
            .await
            .map_err(|error| Error::internal("waiting for a place to stand a sandbox up", error))?;
        let mounts = yard.grounds.prepare(&wish.id, wish.from).await;
        let mounts = mounts.map_err(|error| from_grounds(&error))?;
        // What it wrote before it was paused counts as well, and so does what it was made from: else snapshots of
        // snapshots would grow without end.
        let held = yard.grounds.size(&wish.id).await.unwrap_or_default().total();
        let site = Site {
            image: wish.image,
            mounts,
            environment: self.environment_with(variables),
            reach: wish.reach,
            limits: Limits {
                disk_bytes: self.0.parts.limits.disk_bytes.saturating_sub(held),
                ..self.0.parts.limits
            },
            lifetime: self.0.parts.settings.max_timeout,
        };
        let stood = sandbox.stand_up(site).await;
        stood.map_err(|error| not_done("the sandbox could not be started", error))
    }

    pub(super) fn backend(&self) -> Result<Arc<dyn Sandbox>> {
        self.0.parts.sandbox.clone().ok_or_else(no_sandbox)
    }

    /// Keeps what stands, and waits for its end.
    pub(super) fn keep(&self, kept: &Arc<Kept>, standing: Standing, variables: &BTreeMap<String, Secret>) {
        kept.set_mask(mask(variables));
        kept.set_phase(Phase::Running(standing.clone()));
        let (all, id) = (Arc::downgrade(&self.0), kept.id);
        kept.watch(Some(tokio::spawn(async move {
            let cause = standing.ended().await;
            drop(standing);
            if let Some(all) = all.upgrade() {
                // Whoever watches is ended with what it watches, so the rest is not for it to do.
                tokio::spawn(async move { Self(all).ended_by_itself(id, cause).await });
            }
        })));
        self.tend_from_now_on();
    }

    /// What programs have in their environment: what every command has, the user that they run as, and what the owner
    /// said.
    fn environment_with(&self, variables: &BTreeMap<String, Secret>) -> Vec<(String, String)> {
        let own = [
            ("HOME", STANDING_HOME),
            ("USER", STANDING_USER),
            ("LOGNAME", STANDING_USER),
        ];
        let mut environment: BTreeMap<String, String> = self.0.parts.environment.iter().cloned().collect();
        environment.extend(own.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let said = variables.iter();
        environment.extend(said.map(|(name, value)| (name.clone(), value.expose().to_owned())));
        environment.into_iter().collect()
    }
}

/// Which sandbox is to be stood up.
pub(super) struct SiteWish<'a> {
    pub(super) id: String,
    pub(super) from: Option<&'a str>,
    pub(super) image: Option<String>,
    pub(super) reach: agentyard_sandbox::Reach,
}

/// Hides what looks like a secret by its name.
fn mask(variables: &BTreeMap<String, Secret>) -> Mask {
    const WORDS: &[&str] = &["KEY", "TOKEN", "SECRET", "PASS", "CREDENTIAL", "AUTH", "PRIVATE"];
    let looks_secret = |name: &str| {
        let name = name.to_ascii_uppercase();
        WORDS.iter().any(|word| name.contains(word))
    };
    let secrets: Vec<(SecretName, Secret)> = variables
        .iter()
        .filter(|(name, value)| looks_secret(name) && value.expose().len() >= crate::masking::SHORTEST)
        .filter_map(|(name, value)| {
            let name = name.parse().or_else(|_| "SECRET".parse()).ok()?;
            Some((name, value.clone()))
        })
        .collect();
    Mask::new(&secrets).unwrap_or_else(|_| Mask::nothing())
}

/// What a failure below means to a client.
pub(super) fn not_done(what: &str, error: CommandError) -> Error {
    match error {
        CommandError::Refused { reason, remedy } | CommandError::Remote { reason, remedy } => {
            Error::new(ErrorKind::Unavailable, format!("{what}: {reason}")).hint(remedy)
        }
        other => Error::new(ErrorKind::Unavailable, format!("{what}: {other}")).because(other),
    }
}
