//! The directory that `.` stands for.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentyard_git::{Commit, Remote, Status, StatusOptions, Tag};
use agentyard_model::{Caller, Permission};

use super::{MAX_STATUS_PATHS, Repositories, named};
use crate::error::Result;

/// A repository at a glance.
#[derive(Debug)]
pub struct Snapshot {
    /// Which one.
    pub repository: PathBuf,
    /// The directory that `.` stands for now.
    pub directory: PathBuf,
    /// Its state.
    pub status: Status,
    /// Its newest commits.
    pub commits: Vec<Commit>,
    /// Its newest tags.
    pub tags: Vec<Tag>,
    /// Where it fetches from and pushes to.
    pub remotes: Vec<Remote>,
}

impl Repositories {
    /// Makes a directory the one that `.` stands for, and tells what is there.
    ///
    /// # Errors
    /// When the caller may not look, or there is no repository that it may look at.
    pub async fn set_working_directory(&self, caller: &Caller, path: &Path) -> Result<Snapshot> {
        caller.require(Permission::ProjectRead)?;
        let directory = self.directory(caller, Some(path)).await?;
        let roots = self.roots_of(caller)?;
        let kept = Arc::clone(&self.kept);
        let snapshot = self
            .in_background(move |cancel| {
                let confined = roots.resolve(&directory)?;
                let directory = confined.path().to_owned();
                let repository = kept.open(&confined)?;
                let options = StatusOptions {
                    limit: MAX_STATUS_PATHS,
                    ..StatusOptions::default()
                };
                let recent = repository.snapshot(cancel)?;
                Ok(Snapshot {
                    status: repository.status(&options, cancel)?,
                    repository: named(&repository),
                    directory,
                    commits: recent.recent_commits,
                    tags: recent.recent_tags,
                    remotes: recent.remotes,
                })
            })
            .await?;
        self.working_directories.set(caller, &snapshot.directory).await?;
        Ok(snapshot)
    }

    /// Forgets the directory that `.` stood for, and tells which it was.
    ///
    /// # Errors
    /// When the caller may not look at repositories at all.
    pub async fn clear_working_directory(&self, caller: &Caller) -> Result<Option<PathBuf>> {
        caller.require(Permission::ProjectRead)?;
        self.working_directories.clear(caller).await
    }

    /// The directory that `.` stands for.
    ///
    /// # Errors
    /// When the caller may not look at repositories at all.
    pub async fn working_directory(&self, caller: &Caller) -> Result<Option<PathBuf>> {
        caller.require(Permission::ProjectRead)?;
        self.working_directories.get(caller).await
    }
}
