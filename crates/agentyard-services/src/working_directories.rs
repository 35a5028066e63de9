//! The directory that `.` stands for.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use agentyard_model::{AuditEvent, Caller};
use agentyard_store::Store;

use crate::error::{Result, from_store};

/// Where working directories are kept. A process that serves one agent keeps its own;
/// a server keeps one per caller in the database, because in MCP's newer era there are
/// no sessions, and because any of several servers may answer the next call.
pub enum WorkingDirectories {
    /// One, in memory. It begins as the directory in which the process was started.
    OfProcess(Mutex<Option<PathBuf>>),
    /// One per caller.
    Stored(Store),
}

impl WorkingDirectories {
    /// That of a process which was started here.
    #[must_use]
    pub fn of_process(started_in: PathBuf) -> Self {
        Self::OfProcess(Mutex::new(Some(started_in)))
    }

    pub(crate) async fn get(&self, caller: &Caller) -> Result<Option<PathBuf>> {
        match self {
            Self::OfProcess(directory) => {
                Ok(directory.lock().unwrap_or_else(PoisonError::into_inner).clone())
            }
            Self::Stored(store) => store
                .working_directories()
                .get(caller.tenant, &caller.subject.to_string())
                .await
                .map_err(|error| from_store("looking up the working directory", error)),
        }
    }

    pub(crate) async fn set(&self, caller: &Caller, path: &Path) -> Result<()> {
        match self {
            Self::OfProcess(directory) => {
                *directory.lock().unwrap_or_else(PoisonError::into_inner) = Some(path.to_owned());
                Ok(())
            }
            Self::Stored(store) => {
                let event = AuditEvent::done(caller, "git_set_working_dir", path.display());
                store
                    .working_directories()
                    .set(caller.tenant, &caller.subject.to_string(), path, &event)
                    .await
                    .map_err(|error| from_store("keeping the working directory", error))
            }
        }
    }

    pub(crate) async fn clear(&self, caller: &Caller) -> Result<Option<PathBuf>> {
        let previous = self.get(caller).await?;
        match self {
            Self::OfProcess(directory) => {
                *directory.lock().unwrap_or_else(PoisonError::into_inner) = None;
            }
            Self::Stored(store) => {
                let event = AuditEvent::done(caller, "git_clear_working_dir", "-");
                store
                    .working_directories()
                    .clear(caller.tenant, &caller.subject.to_string(), &event)
                    .await
                    .map_err(|error| from_store("forgetting the working directory", error))?;
            }
        }
        Ok(previous)
    }
}
