//! The directory that `.` stands for.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentyard_git::{self as git, Commit, Confined, KeptRepositories, Remote, Status, StatusOptions, Tag};
use agentyard_model::{Caller, Permission};

use super::{InitRequest, MAX_STATUS_PATHS, Repositories, named};
use crate::error::{ErrorKind, Result};

/// A directory that was chosen, and what is there.
#[derive(Debug)]
pub struct Snapshot {
    /// The directory that `.` stands for now.
    pub directory: PathBuf,
    /// The repository that it is in; there need not be one when nobody asked for it.
    pub repository: Option<RepositorySnapshot>,
    /// The repository was made by this call.
    pub initialized: bool,
}

/// A repository at a glance.
#[derive(Debug)]
pub struct RepositorySnapshot {
    /// Which one.
    pub path: PathBuf,
    /// Its state.
    pub status: Status,
    /// Its newest commits.
    pub commits: Vec<Commit>,
    /// Its newest tags.
    pub tags: Vec<Tag>,
    /// Where it fetches from and pushes to.
    pub remotes: Vec<Remote>,
}

/// What is asked of a directory before `.` stands for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkingDirectoryNeeds {
    /// It is in a repository.
    Repository,
    /// It is in a repository, and one is made where there is none.
    NewRepository,
    /// It exists.
    Directory,
}

impl Repositories {
    /// Makes a directory the one that `.` stands for, and tells what is there.
    ///
    /// # Errors
    /// When the caller may not look, or the directory is not what it needs to be.
    pub async fn set_working_directory(
        &self,
        caller: &Caller,
        path: &Path,
        needs: WorkingDirectoryNeeds,
    ) -> Result<Snapshot> {
        caller.require(Permission::ProjectRead)?;
        let found = self.look(caller, path, needs).await;
        let snapshot = match found {
            Err(error)
                if needs == WorkingDirectoryNeeds::NewRepository && error.kind() == ErrorKind::NotFound =>
            {
                self.init(caller, Some(path), InitRequest::default()).await?;
                Snapshot {
                    initialized: true,
                    ..self.look(caller, path, needs).await?
                }
            }
            found => found?,
        };
        self.places
            .working_directories()
            .set(caller, &snapshot.directory)
            .await?;
        Ok(snapshot)
    }

    async fn look(&self, caller: &Caller, path: &Path, needs: WorkingDirectoryNeeds) -> Result<Snapshot> {
        let located = self.places.locate(caller, Some(path)).await?;
        let kept = Arc::clone(self.places.kept());
        self.in_background(move |cancel| {
            let directory = located.roots.resolve(&located.directory)?;
            let repository = match snapshot(&kept, &directory, cancel) {
                Err(git::Error::NotARepository { .. }) if needs == WorkingDirectoryNeeds::Directory => None,
                found => Some(found?),
            };
            Ok(Snapshot {
                directory: directory.path().to_owned(),
                repository,
                initialized: false,
            })
        })
        .await
    }

    /// Forgets the directory that `.` stood for, and tells which it was.
    ///
    /// # Errors
    /// When the caller may not look at repositories at all.
    pub async fn clear_working_directory(&self, caller: &Caller) -> Result<Option<PathBuf>> {
        caller.require(Permission::ProjectRead)?;
        self.places.working_directories().clear(caller).await
    }

    /// The directory that `.` stands for.
    ///
    /// # Errors
    /// When the caller may not look at repositories at all.
    pub async fn working_directory(&self, caller: &Caller) -> Result<Option<PathBuf>> {
        caller.require(Permission::ProjectRead)?;
        self.places.working_directories().get(caller).await
    }
}

fn snapshot(
    kept: &KeptRepositories,
    directory: &Confined,
    cancel: &std::sync::atomic::AtomicBool,
) -> Result<RepositorySnapshot, git::Error> {
    let repository = kept.open(directory)?;
    let options = StatusOptions {
        limit: MAX_STATUS_PATHS,
        ..StatusOptions::default()
    };
    let recent = repository.snapshot(cancel)?;
    Ok(RepositorySnapshot {
        status: repository.status(&options, cancel)?,
        path: named(&repository),
        commits: recent.recent_commits,
        tags: recent.recent_tags,
        remotes: recent.remotes,
    })
}
