//! What a caller's `path` or `workspace` means: which directory, inside which roots, and whose turn it is there.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use agentyard_git::{self as git, Confined, KeepLimits, KeptRepositories, Repository, Roots};
use agentyard_model::{AuditEvent, Caller, Outcome, Permission, TenantId};

use crate::audit::AuditLog;
use crate::error::{Error, Result};
use crate::progress::Progress;
use crate::turns::{Turn, Turns, Turnstile};
use crate::working_directories::WorkingDirectories;

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
}

/// A directory that a caller may use.
#[derive(Clone)]
pub(crate) struct Located {
    pub(crate) roots: Roots,
    pub(crate) directory: PathBuf,
}

/// The right to change a tree, until it is dropped.
pub(crate) struct Hold {
    _turn: Turn,
}

/// Where callers work.
#[derive(Clone)]
pub(crate) struct Places(Arc<Inner>);

struct Inner {
    roots: Roots,
    working_directories: WorkingDirectories,
    kept: Arc<KeptRepositories>,
    turns: Turns,
    turnstile: Turnstile,
    audit: AuditLog,
}

impl Places {
    pub(crate) fn new(
        roots: Roots,
        working_directories: WorkingDirectories,
        timeout: Duration,
        audit: AuditLog,
    ) -> Self {
        Self(Arc::new(Inner {
            roots,
            working_directories,
            kept: Arc::new(KeptRepositories::new(KeepLimits::default())),
            turns: Turns::default(),
            turnstile: Turnstile::new(AT_ONCE, timeout, "git.timeout_ms"),
            audit,
        }))
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
                    "`path`: expected an absolute path, or `.` for the working directory, got `{}`",
                    path.display().to_string().escape_debug()
                )))
            }
            _ => self.0.working_directories.get(caller).await?.ok_or_else(|| {
                Error::invalid("`path` is `.`, and no working directory is set")
                    .hint("call git_set_working_dir first, or pass the repository's absolute path")
            }),
        }
    }

    /// Where a path of a git tool leads.
    pub(crate) async fn locate(&self, caller: &Caller, path: Option<&Path>) -> Result<Located> {
        Ok(Located {
            roots: self.roots_of(caller)?,
            directory: self.directory(caller, path).await?,
        })
    }

    /// Where a build tool is to work.
    pub(crate) async fn find(&self, caller: &Caller, place: &Place, _progress: &Progress) -> Result<Located> {
        self.locate(caller, place.workspace.as_deref().map(Path::new))
            .await
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
            .pass(move |cancel| work(&located.top()?, cancel))
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
        let tree = held.tree.clone();
        let result = self.0.turnstile.pass(move |cancel| work(&tree, cancel)).await;
        held.done(result.is_ok()).await;
        result
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
        let hold = self.wait(&located, &key, operation, progress).await?;
        Ok(Held {
            tree,
            places: self.clone(),
            caller: caller.clone(),
            operation,
            hold,
        })
    }

    /// The turn to change the tree with this key, unless somebody has it.
    pub(crate) fn try_hold(&self, _located: &Located, key: &Path, operation: &'static str) -> Option<Hold> {
        let turn = self.0.turns.try_take(key, operation)?;
        Some(Hold { _turn: turn })
    }

    /// Waits for the turn to change the tree with this key.
    pub(crate) async fn wait(
        &self,
        _located: &Located,
        key: &Path,
        operation: &'static str,
        progress: &Progress,
    ) -> Result<Hold> {
        let turn = self.0.turns.take(key, operation, progress).await;
        Ok(Hold { _turn: turn })
    }
}

/// A tree that its holder may change, and nobody else meanwhile.
pub(crate) struct Held {
    /// The directory to work in.
    pub(crate) tree: Confined,
    places: Places,
    caller: Caller,
    operation: &'static str,
    hold: Hold,
}

impl Held {
    /// The work has ended: writes down what was done, and lets others have their turn.
    pub(crate) async fn done(self, succeeded: bool) {
        let outcome = if succeeded { Outcome::Done } else { Outcome::Failed };
        let event =
            AuditEvent::with_outcome(&self.caller, self.operation, self.tree.path().display(), outcome);
        self.places.0.audit.record_soon(event).await;
        drop(self.hold);
    }
}

impl Located {
    fn top(&self) -> Result<Confined, git::Error> {
        self.roots.resolve(&self.directory)
    }
}

/// Under which name those who want to change a repository queue.
pub(crate) fn key_of(repository: &Repository) -> PathBuf {
    repository.common_dir().to_owned()
}
