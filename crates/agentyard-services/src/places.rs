//! What a caller's `path` or `workspace` means: which directory, inside which roots, and whose turn it is there.

mod room;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use agentyard_git::{
    self as git, CheckpointChange, Confined, KeptRepositories, ObjectId, Repository, Roots, Work,
};
use agentyard_model::{AuditEvent, Caller, Outcome, Permission, TenantId};

use crate::audit::AuditLog;
use crate::error::{Error, Result};
use crate::homes::Homes;
use crate::progress::Progress;
use crate::scratch::{self, Scratch};
use crate::turns::{Turn, Turns, Turnstile, to_its_end};
use crate::working_directories::WorkingDirectories;
use crate::workspaces::{Entered, TreeHold, WorkspaceReference, Workspaces};
pub(crate) use room::WORKSPACE;

/// How many trees are read or changed at the same time. More would only take turns on the cores, and each holds
/// memory while it waits.
const AT_ONCE: usize = 8;

/// Where a tool is to work, in a caller's words: a workspace, or a repository and a branch of it. Neither means the
/// working directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    /// A workspace's id, `repository/branch`, or an absolute directory inside the roots.
    pub workspace: Option<String>,
    /// A repository.
    pub repo: Option<String>,
    /// The branch of it.
    pub branch: Option<String>,
    /// Whether code is to be kept or run there, which has a place of its own where none is named and there is no working
    /// directory.
    pub scratch: bool,
}

/// A directory that a caller may use.
#[derive(Clone)]
pub(crate) struct Located {
    pub(crate) roots: Roots,
    pub(crate) directory: PathBuf,
    /// The workspace that it is part of.
    pub(crate) workspace: Option<Entered>,
}

/// The right to change a tree, until it is dropped.
#[expect(dead_code, reason = "held, not looked at")]
pub(crate) enum Hold {
    Tree(Turn),
    Workspace(TreeHold),
}

/// Where callers work.
#[derive(Clone)]
pub(crate) struct Places(Arc<Inner>);

struct Inner {
    roots: Roots,
    working_directories: Arc<WorkingDirectories>,
    kept: Arc<KeptRepositories>,
    turns: Arc<Turns>,
    turnstile: Turnstile,
    scratch: Scratch,
    homes: Homes,
    /// Where all that Agentyard keeps is.
    data: PathBuf,
    workspaces: Workspaces,
    audit: AuditLog,
}

/// What places are made of.
pub(crate) struct PlaceParts {
    /// The directories of the local tenant.
    pub(crate) roots: Roots,
    pub(crate) working_directories: Arc<WorkingDirectories>,
    pub(crate) kept: Arc<KeptRepositories>,
    pub(crate) turns: Arc<Turns>,
    /// How long one call may read or change a tree.
    pub(crate) timeout: Duration,
    pub(crate) scratch: Scratch,
    pub(crate) homes: Homes,
    pub(crate) data: PathBuf,
    pub(crate) workspaces: Workspaces,
    pub(crate) audit: AuditLog,
}

impl Places {
    pub(crate) fn new(parts: PlaceParts) -> Self {
        Self(Arc::new(Inner {
            roots: parts.roots,
            working_directories: parts.working_directories,
            kept: parts.kept,
            turns: parts.turns,
            turnstile: Turnstile::new(AT_ONCE, parts.timeout, "git.timeout_ms"),
            scratch: parts.scratch,
            homes: parts.homes,
            data: parts.data,
            workspaces: parts.workspaces,
            audit: parts.audit,
        }))
    }

    /// The directory in which Agentyard keeps its own.
    pub(crate) fn data(&self) -> &Path {
        &self.0.data
    }

    /// The directories that `.` stand for.
    pub(crate) fn working_directories(&self) -> &WorkingDirectories {
        &self.0.working_directories
    }

    /// Repositories that stay open between calls.
    pub(crate) fn kept(&self) -> &Arc<KeptRepositories> {
        &self.0.kept
    }

    /// Runs work that blocks, beside a bounded number of others.
    pub(crate) fn turnstile(&self) -> &Turnstile {
        &self.0.turnstile
    }

    /// The roots are the local tenant's. Others have the workspaces of their repositories and nothing beside.
    pub(crate) fn roots_of(&self, caller: &Caller) -> Result<Roots> {
        if caller.tenant == TenantId::LOCAL {
            return Ok(self.0.roots.clone());
        }
        Err(Error::not_found(
            "your tenant has no directories on this server; open a workspace of a repository",
        ))
    }

    /// The directory that a caller's path names; without one, the working directory.
    pub(crate) async fn directory(&self, caller: &Caller, path: Option<&Path>) -> Result<PathBuf> {
        match path {
            Some(path) if path.is_absolute() => Ok(path.to_owned()),
            Some(path) if path != Path::new(".") && !path.as_os_str().is_empty() => {
                Err(Error::invalid(format!(
                    "`path`: expected an absolute path, `.` for the working directory, or a workspace (`wsp_…`, \
                     `repository/branch`), got `{}`",
                    path.display().to_string().escape_debug()
                )))
            }
            _ => self.0.working_directories.get(caller).await?.ok_or_else(|| {
                Error::invalid("`path` is `.`, and no working directory is set").hint(
                    "call git_set_working_dir first, or pass the repository's absolute path or a workspace",
                )
            }),
        }
    }

    /// Where a path of a git tool leads: a directory, or a workspace.
    pub(crate) async fn locate(&self, caller: &Caller, path: Option<&Path>) -> Result<Located> {
        if let Some(reference) = path.and_then(Path::to_str).and_then(WorkspaceReference::read) {
            let entered = self.0.workspaces.enter(caller, &reference).await?;
            return Ok(Located::top_of(entered));
        }
        let directory = self.directory(caller, path).await?;
        if let Some(entered) = self.0.workspaces.enter_directory(caller, &directory).await? {
            return Ok(Located {
                directory,
                ..Located::top_of(entered)
            });
        }
        Ok(Located {
            roots: self.roots_of(caller)?,
            directory,
            workspace: None,
        })
    }

    /// Counts what a push met, where it was made in a workspace.
    pub(crate) async fn count_push(
        &self,
        caller: &Caller,
        path: Option<&Path>,
        retries: u32,
        conflicts: usize,
    ) {
        if retries == 0 && conflicts == 0 {
            return;
        }
        if let Ok(Located {
            workspace: Some(entered),
            ..
        }) = self.locate(caller, path).await
        {
            self.0.workspaces.count_push(&entered, retries, conflicts);
        }
    }

    /// Where a build tool is to work. The workspace of a branch is opened when it is not open yet.
    pub(crate) async fn find(&self, caller: &Caller, place: &Place, progress: &Progress) -> Result<Located> {
        match (&place.workspace, &place.repo, &place.branch) {
            (None, None, None) if place.scratch => self.unnamed(caller).await,
            (workspace, None, None) => self.locate(caller, workspace.as_deref().map(Path::new)).await,
            (None, Some(repo), Some(branch)) => {
                let entered = self
                    .0
                    .workspaces
                    .enter_or_open(caller, repo, branch, progress)
                    .await?;
                Ok(Located::top_of(entered))
            }
            (Some(_), _, _) => Err(Error::invalid(
                "`workspace` says it all: leave out `repo` and `branch`, or pass both of them in its place",
            )),
            (None, _, _) => Err(Error::invalid("`repo` and `branch` belong together: pass both")),
        }
    }

    /// Where code is kept and run for which nobody names a place.
    async fn unnamed(&self, caller: &Caller) -> Result<Located> {
        let scratch = &self.0.scratch;
        let directory = match scratch.code_storage(caller) {
            Some(directory) => directory,
            None => match self.0.working_directories.get(caller).await? {
                Some(directory) if scratch.allows(&directory) => return self.locate(caller, None).await,
                _ => scratch.of(caller),
            },
        };
        Ok(Located {
            roots: scratch::open(directory.clone()).await?,
            directory,
            workspace: None,
        })
    }

    /// Reads in a tree.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        caller: &Caller,
        place: &Place,
        work: impl FnOnce(&Confined, &AtomicBool) -> Result<T, git::Error> + Send + 'static,
    ) -> Result<T> {
        caller.require(Permission::ProjectRead)?;
        let located = self.find(caller, place, &Progress::ignored()).await?;
        self.0
            .turnstile
            .pass(move |cancel| work(&located.top()?, cancel).map_err(|error| located.explained(error)))
            .await
    }

    /// Changes a tree: when it is the caller's turn, and with a row in the audit log.
    pub(crate) async fn change<T: Send + 'static>(
        &self,
        caller: &Caller,
        place: &Place,
        operation: &'static str,
        progress: &Progress,
        work: impl FnOnce(&Confined, &AtomicBool) -> Result<T, git::Error> + Send + 'static,
    ) -> Result<T> {
        let held = self
            .hold(caller, place, Permission::ProjectWrite, operation, progress)
            .await?;
        let places = self.clone();
        // Also for a caller who has left: what was changed has its checkpoint, and nobody else comes in between.
        to_its_end(async move {
            let (tree, workspaces) = (held.tree.clone(), places.0.workspaces.clone());
            let before = held.workspace.clone().zip(held.before);
            let result = places.0.turnstile.pass(move |cancel| match &before {
                Some((entered, before)) => {
                    workspaces.whole_or_not_at_all(entered, before, || work(&tree, cancel))
                }
                None => work(&tree, cancel),
            });
            let result = result.await;
            held.done(result.is_ok()).await;
            result
        })
        .await
    }

    /// Takes the turn to change a tree, for work that is not one call on one thread.
    pub(crate) async fn hold(
        &self,
        caller: &Caller,
        place: &Place,
        permission: Permission,
        operation: &'static str,
        progress: &Progress,
    ) -> Result<Held> {
        caller.require(permission)?;
        let located = self.find(caller, place, progress).await?;
        let (kept, looked_up) = (self.0.kept.clone(), located.clone());
        let (tree, key) = self
            .0
            .turnstile
            .pass(move |_| {
                let tree = looked_up.top()?;
                let key = match kept.open(&tree) {
                    Ok(repository) => key_of(&repository),
                    Err(_) => tree.path().to_owned(),
                };
                Ok((tree, key))
            })
            .await?;
        let hold = self.wait(&located, &key, operation, caller, progress).await?;
        let mut held = Held {
            tree,
            places: self.clone(),
            caller: caller.clone(),
            operation,
            workspace: located.workspace,
            before: None,
            hold,
        };
        held.before = held.checkpoint("before").await?;
        Ok(held)
    }

    /// The turn to change the tree with this key, unless somebody has it.
    pub(crate) fn try_hold(
        &self,
        located: &Located,
        key: &Path,
        operation: &'static str,
        by: &str,
    ) -> Result<Option<Hold>, git::Error> {
        match &located.workspace {
            Some(entered) => {
                let hold = self.0.workspaces.try_hold(entered, operation, by)?;
                Ok(hold.map(Hold::Workspace))
            }
            None => Ok(self.0.turns.try_take(key, operation).map(Hold::Tree)),
        }
    }

    /// Waits for the turn to change the tree with this key.
    pub(crate) async fn wait(
        &self,
        located: &Located,
        key: &Path,
        operation: &'static str,
        caller: &Caller,
        progress: &Progress,
    ) -> Result<Hold> {
        match &located.workspace {
            Some(entered) => {
                let hold = self
                    .0
                    .workspaces
                    .hold(entered, operation, caller, progress)
                    .await?;
                Ok(Hold::Workspace(hold))
            }
            None => Ok(Hold::Tree(self.0.turns.take(key, operation, progress).await)),
        }
    }

    /// Changes a tree by git: in a workspace between two checkpoints, elsewhere just so.
    pub(crate) fn changing<T>(
        &self,
        located: &Located,
        work: &Work<'_>,
        operation: &str,
        by: &str,
        change: impl FnOnce(&Work<'_>) -> Result<T, git::Error>,
    ) -> Result<T, git::Error> {
        match &located.workspace {
            Some(entered) => self
                .0
                .workspaces
                .between_checkpoints(entered, work, operation, by, change),
            None => change(work),
        }
    }
}

/// A tree that its holder may change, and nobody else meanwhile.
pub(crate) struct Held {
    /// The directory to work in.
    pub(crate) tree: Confined,
    places: Places,
    caller: Caller,
    operation: &'static str,
    workspace: Option<Entered>,
    /// The checkpoint of the workspace as it was found.
    before: Option<ObjectId>,
    hold: Hold,
}

impl Held {
    /// Writes down the state of the tree, when it is a workspace's.
    async fn checkpoint(&self, operation: &'static str) -> Result<Option<ObjectId>> {
        let Some(entered) = self.workspace.clone() else {
            return Ok(None);
        };
        let workspaces = self.places.0.workspaces.clone();
        let by = self.caller.subject.to_string();
        self.places
            .0
            .turnstile
            .pass(move |cancel| workspaces.checkpoint_tree(&entered, operation, &by, cancel))
            .await
            .map(Some)
    }

    /// What was changed in a workspace since it is held: so many files are named, and all are counted. Nothing is known
    /// of other trees.
    pub(crate) async fn changes(&self, most: usize) -> Result<Option<(Vec<CheckpointChange>, usize)>> {
        let Some(after) = self.checkpoint(self.operation).await? else {
            return Ok(None);
        };
        let (Some(entered), Some(before)) = (self.workspace.clone(), self.before) else {
            return Ok(None);
        };
        let workspaces = self.places.0.workspaces.clone();
        let changes = self
            .places
            .0
            .turnstile
            .pass(move |cancel| workspaces.changes_between(&entered, (before, after), most, cancel));
        changes.await.map(Some)
    }

    /// What is held: a workspace by its id, any other tree by its directory.
    pub(crate) fn name(&self) -> String {
        match &self.workspace {
            Some(entered) => entered.id().to_string(),
            None => self.tree.path().display().to_string(),
        }
    }

    /// The work has ended: writes down what was done, and lets others have their turn.
    pub(crate) async fn done(self, succeeded: bool) {
        // What is done is done, so a failure here is only logged.
        if let Err(error) = self.checkpoint(self.operation).await {
            tracing::error!(error = %error.chain(), operation = self.operation, "no checkpoint could be made");
        }
        let outcome = if succeeded { Outcome::Done } else { Outcome::Failed };
        let event =
            AuditEvent::with_outcome(&self.caller, self.operation, self.tree.path().display(), outcome);
        self.places.0.audit.record_soon(event).await;
        drop(self.hold);
    }
}

impl Located {
    fn top_of(entered: Entered) -> Self {
        Self {
            roots: entered.roots().clone(),
            directory: entered.path().to_owned(),
            workspace: Some(entered),
        }
    }

    /// The whole tree that it is part of.
    pub(crate) fn tree(&self) -> Result<Confined, git::Error> {
        let top = match &self.workspace {
            Some(entered) => entered.path(),
            None => &self.directory,
        };
        self.roots.resolve(top).map_err(|error| self.explained(error))
    }

    fn top(&self) -> Result<Confined, git::Error> {
        self.roots
            .resolve(&self.directory)
            .map_err(|error| self.explained(error))
    }

    /// What went wrong with a tree: whatever it is, when the workspace was closed meanwhile, that is why.
    pub(crate) fn explained(&self, error: git::Error) -> git::Error {
        match self.workspace.as_ref().map(Entered::check_current) {
            Some(Err(gone)) => gone,
            _ => error,
        }
    }
}

/// Under which name those who want to change a repository queue.
pub(crate) fn key_of(repository: &Repository) -> PathBuf {
    repository.common_dir().to_owned()
}
