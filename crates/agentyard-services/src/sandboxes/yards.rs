//! Yards: directories with the files of sandboxes. One process at a time uses a yard, for as long as it lives; what it
//! leaves behind, whoever uses the yard next puts in order.

use std::collections::HashSet;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use agentyard_git::{LockAttempt, LockFile};
use agentyard_model::{AuditEvent, Caller, SandboxId, SandboxState};
use agentyard_sandbox::{Grounds, GroundsError};

use super::Sandboxes;
use crate::error::{Error, ErrorKind, Result, from_store};
use crate::failures::from_git;

/// The yards that this process uses.
#[derive(Default)]
pub(super) struct Yards(tokio::sync::Mutex<Vec<Arc<Yard>>>);

/// A directory with the files of sandboxes, in use by this process.
pub(super) struct Yard {
    /// What it is called; it is another one on every machine.
    pub(super) keeper: String,
    pub(super) grounds: Grounds,
    _lock: LockFile,
}

impl fmt::Debug for Yard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.keeper)
    }
}

impl Sandboxes {
    /// The yard in which new sandboxes are made.
    ///
    /// # Errors
    /// When there is none to be had.
    pub(super) async fn yard(&self) -> Result<Arc<Yard>> {
        let mut yards = self.0.yards.0.lock().await;
        if yards.is_empty() {
            self.adopt(&mut yards).await?;
        }
        if let Some(first) = yards.first() {
            return Ok(Arc::clone(first));
        }
        // Nobody has one of this name: ids are not made twice.
        let keeper = SandboxId::new().to_string();
        let yard = self
            .take_over(&keeper)
            .await?
            .ok_or_else(|| in_other_hands(&keeper))?;
        yards.push(Arc::clone(&yard));
        Ok(yard)
    }

    /// The yard with the files of a sandbox.
    ///
    /// # Errors
    /// When another process uses it, or it is on another machine.
    pub(super) async fn yard_of(&self, keeper: &str) -> Result<Arc<Yard>> {
        let mut yards = self.0.yards.0.lock().await;
        let find = |yards: &[Arc<Yard>]| yards.iter().find(|yard| yard.keeper == keeper).cloned();
        if let Some(found) = find(&yards) {
            return Ok(found);
        }
        self.adopt(&mut yards).await?;
        find(&yards).ok_or_else(|| in_other_hands(keeper))
    }

    /// Takes over the yards that nobody uses any more.
    ///
    /// # Errors
    /// When they cannot be read.
    pub(super) async fn adopt_yards(&self) -> Result<()> {
        let mut yards = self.0.yards.0.lock().await;
        self.adopt(&mut yards).await
    }

    /// The yards that this process uses.
    pub(super) async fn own_yards(&self) -> Vec<Arc<Yard>> {
        self.0.yards.0.lock().await.clone()
    }

    async fn adopt(&self, yards: &mut Vec<Arc<Yard>>) -> Result<()> {
        let directory = self.0.parts.directory.clone();
        let names = blocking("looking for sandboxes", move || names_in(&directory)).await?;
        for keeper in names {
            if yards.iter().any(|yard| yard.keeper == keeper) {
                continue;
            }
            let Some(yard) = self.take_over(&keeper).await? else {
                continue;
            };
            match self.put_in_order(&yard).await {
                Ok(()) => yards.push(yard),
                // Others can do without it, and it is tried again.
                Err(error) => {
                    tracing::warn!(error = %error.chain(), yard = keeper, "sandboxes could not be put in order");
                }
            }
        }
        Ok(())
    }

    /// Takes over a yard, or makes it; none when another process uses it.
    async fn take_over(&self, keeper: &str) -> Result<Option<Arc<Yard>>> {
        let parts = &self.0.parts;
        let (locks, now) = (parts.locks.clone(), parts.clock.now());
        let (directory, owner) = (parts.directory.join(keeper), parts.settings.owner);
        let keeper = keeper.to_owned();
        blocking("opening the directory of the sandboxes", move || {
            let attempt = locks.try_take(&format!("yard-{keeper}"), "keeping sandboxes", "agentyard", now);
            let LockAttempt::Held(lock) = attempt.map_err(from_git)? else {
                return Ok(None);
            };
            let grounds = Grounds::open(directory, owner).map_err(|error| from_grounds(&error))?;
            Ok(Some(Arc::new(Yard {
                keeper,
                grounds,
                _lock: lock,
            })))
        })
        .await
    }

    /// Ends what ran when the process ended that used this yard before, finishes what it was about, and removes what is
    /// nobody's. What was paused then has its files still.
    async fn put_in_order(&self, yard: &Yard) -> Result<()> {
        let store = &self.0.parts.store;
        let failed = |error| from_store("putting the sandboxes of a process that ended in order", error);
        let rows = store.sandboxes().of_keeper(&yard.keeper).await.map_err(failed)?;
        let mut known = HashSet::new();
        for row in rows {
            if row.state == SandboxState::Paused {
                known.insert(row.id.to_string());
                continue;
            }
            let ended = format!("{} (ended by a restart)", row.id);
            let event = AuditEvent::done(&Caller::machine(row.tenant), "sandbox_end", ended);
            store.sandboxes().ending(row.id, &event).await.map_err(failed)?;
            let removed = yard.grounds.remove(&row.id.to_string()).await;
            removed.map_err(|error| from_grounds(&error))?;
            store.sandboxes().forget(row.id).await.map_err(failed)?;
        }
        store.sandboxes().let_go(&yard.keeper).await.map_err(failed)?;
        let strays = yard.grounds.list().await.map_err(|error| from_grounds(&error))?;
        for stray in strays.iter().filter(|id| !known.contains(*id)) {
            let removed = yard.grounds.remove(stray).await;
            removed.map_err(|error| from_grounds(&error))?;
        }
        self.put_snapshots_in_order(yard).await
    }

    async fn put_snapshots_in_order(&self, yard: &Yard) -> Result<()> {
        let snapshots = self.0.parts.store.sandbox_snapshots();
        let failed = |error| from_store("putting snapshots in order", error);
        let mut known = HashSet::new();
        for (id, remote, is_complete) in snapshots.of_keeper(&yard.keeper).await.map_err(failed)? {
            if is_complete {
                known.insert(id.to_string());
                continue;
            }
            match self.discard(yard, id, remote.as_deref()).await {
                Ok(()) => snapshots.forget(id).await.map_err(failed)?,
                // Whoever keeps it may be out of reach, which is no reason not to use what is here.
                Err(error) if remote.is_some() => {
                    tracing::warn!(error = %error.chain(), snapshot = %id, "a snapshot could not be removed from the service");
                }
                Err(error) => return Err(error),
            }
        }
        let strays = yard
            .grounds
            .snapshots()
            .await
            .map_err(|error| from_grounds(&error))?;
        for stray in strays.iter().filter(|id| !known.contains(*id)) {
            let removed = yard.grounds.remove_snapshot(stray).await;
            removed.map_err(|error| from_grounds(&error))?;
        }
        Ok(())
    }
}

/// The yards of this machine.
fn names_in(directory: &Path) -> Result<Vec<String>> {
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::internal("looking for sandboxes", error)),
    };
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.parse::<SandboxId>().is_ok())
        .collect();
    names.sort_unstable();
    Ok(names)
}

async fn blocking<T: Send + 'static>(
    attempted: &'static str,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| Error::internal(attempted, error))?
}

fn in_other_hands(keeper: &str) -> Error {
    Error::new(
        ErrorKind::Unavailable,
        format!("the sandbox is kept by another process of Agentyard, or on another machine (yard {keeper})"),
    )
    .hint("ask that server; `agentyard --server` and AGENTYARD_URL say which one commands go to")
}

/// What a failure on disk means to a client.
pub(super) fn from_grounds(error: &GroundsError) -> Error {
    let kind = match error {
        GroundsError::Unknown { .. } => ErrorKind::NotFound,
        GroundsError::Exists { .. } => ErrorKind::Conflict,
        GroundsError::Name(_) => ErrorKind::InvalidInput,
        GroundsError::Files { .. } => ErrorKind::Unavailable,
    };
    match error {
        // Where they are on this machine is for its keepers.
        GroundsError::Files { source, .. } => {
            tracing::warn!(%error, "files of a sandbox");
            Error::new(
                kind,
                format!("working on the files of the sandbox failed: {source}"),
            )
        }
        _ => Error::new(
            kind,
            format!("working on the files of the sandbox failed: {error}"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_do_not_learn_where_files_are() {
        let error = from_grounds(&GroundsError::Files {
            doing: "copying to /srv/data".to_owned(),
            source: std::io::Error::other("its directories are nested too deep"),
        });
        assert!(!error.message().contains("/srv") && error.message().ends_with("nested too deep"));
    }
}
