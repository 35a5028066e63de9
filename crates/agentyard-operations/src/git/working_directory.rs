//! `git_set_working_dir`, `git_clear_working_dir`: the directory that `.` stands for.

use std::path::PathBuf;

use agentyard_model::{Permission, Toolset};
use agentyard_services::{Remote, RepositorySnapshot, Result, Snapshot, Tag, WorkingDirectoryNeeds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::log::CommitView;
use super::status::StatusView;
use crate::level::{Level, LevelledField};
use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::Output;

pub(super) struct GitSetWorkingDir;

/// Set the directory that `.` stands for in all git tools, and get a snapshot: branch,
/// changes, recent commits, tags, remotes.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GitSetWorkingDirInput {
    /// Absolute path of a directory in the repository.
    path: PathBuf,
    /// Refuse a directory in no repository; default true.
    validate_git_repo: Option<bool>,
    /// Make a repository there when there is none.
    #[serde(default)]
    initialize_if_not_present: bool,
}

impl Operation for GitSetWorkingDir {
    const NAME: &'static str = "git_set_working_dir";
    const TOOLSET: Toolset = Toolset::Git;
    const EFFECT: Effect = Effect::Set;
    const ACCESS: Access = Access::Holds(Permission::ProjectRead);
    const ROUTE: Route = Route::put("/v1/git/working-directory");
    type Input = GitSetWorkingDirInput;
    type Output = SnapshotView;

    async fn call(context: Context<'_>, input: GitSetWorkingDirInput) -> Result<SnapshotView> {
        let needs = match (input.initialize_if_not_present, input.validate_git_repo) {
            (true, _) => WorkingDirectoryNeeds::NewRepository,
            (false, Some(false)) => WorkingDirectoryNeeds::Directory,
            (false, _) => WorkingDirectoryNeeds::Repository,
        };
        let snapshot = context
            .services
            .repositories
            .set_working_directory(context.caller, &input.path, needs)
            .await?;
        Ok(snapshot.into())
    }
}

/// The directory, and the repository at a glance.
#[derive(Serialize, JsonSchema)]
pub(super) struct SnapshotView {
    /// The directory that `.` stands for now.
    working_directory: String,
    /// The repository was made by this call.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    initialized: bool,
    #[serde(flatten)]
    repository: Option<RepositoryView>,
}

/// A repository at a glance.
#[derive(Serialize, JsonSchema)]
struct RepositoryView {
    #[serde(flatten)]
    status: StatusView,
    /// The newest commits.
    #[schemars(length(max = 5))]
    recent_commits: Vec<CommitView>,
    /// The newest tags.
    #[schemars(length(max = 5))]
    recent_tags: Vec<TagView>,
    /// Where it fetches from and pushes to.
    #[schemars(length(max = 100))]
    remotes: Vec<RemoteView>,
}

/// A tag.
#[derive(Serialize, JsonSchema)]
struct TagView {
    /// Its name.
    name: String,
    /// The commit it stands for.
    commit: String,
}

/// A remote. Addresses are shown without user names and passwords.
#[derive(Serialize, JsonSchema)]
pub(super) struct RemoteView {
    /// Its name.
    name: String,
    /// Where it fetches from.
    fetch_url: String,
    /// Where it pushes to.
    push_url: String,
}

impl Output for SnapshotView {
    const LEVELS: &'static [LevelledField] = &[
        ("head", Level::Standard),
        ("staged", Level::Standard),
        ("unstaged", Level::Standard),
        ("untracked", Level::Standard),
        ("recent_commits", Level::Standard),
        ("recent_commits.body", Level::Full),
        ("recent_commits.parents", Level::Full),
        ("recent_commits.author_email", Level::Full),
        ("recent_commits.committer", Level::Full),
        ("recent_commits.committed_at", Level::Full),
        ("recent_tags", Level::Standard),
        ("remotes", Level::Standard),
    ];

    fn item_count(&self) -> usize {
        self.repository
            .as_ref()
            .map_or(0, |repository| repository.status.item_count())
    }

    fn keep(&mut self, count: usize) {
        if let Some(repository) = &mut self.repository {
            repository.status.keep(count);
        }
    }
}

impl From<Snapshot> for SnapshotView {
    fn from(snapshot: Snapshot) -> Self {
        Self {
            working_directory: snapshot.directory.display().to_string(),
            initialized: snapshot.initialized,
            repository: snapshot.repository.map(RepositoryView::from),
        }
    }
}

impl From<RepositorySnapshot> for RepositoryView {
    fn from(snapshot: RepositorySnapshot) -> Self {
        Self {
            status: StatusView::of(&snapshot.path, &snapshot.status, 0),
            recent_commits: snapshot.commits.into_iter().map(CommitView::from).collect(),
            recent_tags: snapshot.tags.into_iter().map(TagView::from).collect(),
            remotes: snapshot.remotes.into_iter().map(RemoteView::from).collect(),
        }
    }
}

impl From<Tag> for TagView {
    fn from(tag: Tag) -> Self {
        Self {
            name: tag.name,
            commit: tag.target.to_string(),
        }
    }
}

impl From<Remote> for RemoteView {
    fn from(remote: Remote) -> Self {
        Self {
            name: remote.name,
            fetch_url: remote.fetch_url,
            push_url: remote.push_url,
        }
    }
}

pub(super) struct GitClearWorkingDir;

/// Forget the directory that `.` stands for in the git tools.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GitClearWorkingDirInput {}

impl Operation for GitClearWorkingDir {
    const NAME: &'static str = "git_clear_working_dir";
    const TOOLSET: Toolset = Toolset::Git;
    const EFFECT: Effect = Effect::Set;
    const ACCESS: Access = Access::Holds(Permission::ProjectRead);
    const ROUTE: Route = Route::delete("/v1/git/working-directory");
    type Input = GitClearWorkingDirInput;
    type Output = ClearedView;

    async fn call(
        context: Context<'_>,
        GitClearWorkingDirInput {}: GitClearWorkingDirInput,
    ) -> Result<ClearedView> {
        let previous = context
            .services
            .repositories
            .clear_working_directory(context.caller)
            .await?;
        Ok(ClearedView {
            previous: previous.map(|path| path.display().to_string()),
        })
    }
}

/// What was forgotten.
#[derive(Serialize, JsonSchema)]
pub(super) struct ClearedView {
    /// The directory that `.` stood for; left out when there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    previous: Option<String>,
}

impl Output for ClearedView {}
