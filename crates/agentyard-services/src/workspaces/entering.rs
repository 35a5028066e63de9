//! Going into a workspace's tree.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};

use agentyard_git::{self as git, Roots, Way};
use agentyard_model::{Caller, Repo, Workspace, WorkspaceId, WorkspaceState};

use super::{WorkspaceReference, Workspaces};
use crate::error::{Error, Result, from_store};
use crate::failures::from_git;

/// A workspace's tree, at hand.
pub(super) struct Attached {
    path: PathBuf,
    roots: Roots,
    /// Which directory it is: a tree that was closed and opened again is another one.
    identity: (u64, u64),
    /// Whether this process has seen to it that nothing is half done there.
    recovered: AtomicBool,
}

impl Attached {
    pub(super) fn new(path: PathBuf, roots: Roots) -> Result<Self, git::Error> {
        let identity = identity_of(&path).ok_or_else(|| gone(&path))?;
        Ok(Self {
            path,
            roots,
            identity,
            recovered: AtomicBool::new(false),
        })
    }

    pub(super) fn is_recovered(&self) -> bool {
        self.recovered.load(Ordering::Acquire)
    }

    pub(super) fn note_recovered(&self) {
        self.recovered.store(true, Ordering::Release);
    }

    fn is_current(&self) -> bool {
        identity_of(&self.path) == Some(self.identity)
    }
}

/// A workspace that a caller works in.
#[derive(Clone)]
pub(crate) struct Entered {
    pub(super) row: Workspace,
    pub(super) tree: Arc<Attached>,
}

impl Entered {
    /// Which one it is.
    pub(crate) fn id(&self) -> WorkspaceId {
        self.row.id
    }

    /// Its working tree.
    pub(crate) fn path(&self) -> &Path {
        &self.tree.path
    }

    /// What its tools may use: its tree, and its repository.
    pub(crate) fn roots(&self) -> &Roots {
        &self.tree.roots
    }

    /// Whether the tree is still the one that was entered: another process may have closed it.
    pub(crate) fn check_current(&self) -> Result<(), git::Error> {
        if self.tree.is_current() {
            return Ok(());
        }
        Err(gone(&self.tree.path))
    }
}

impl Workspaces {
    /// Gives the files of a tree to whom commands run as there, where that is somebody else than this process.
    pub(crate) fn hand_over(&self, entered: &Entered, cancel: &AtomicBool) -> Result<(), git::Error> {
        let (key, name) = (entered.row.repo.to_string(), &entered.row.name);
        self.0.trees.hand_over(&key, name, cancel).map(drop)
    }

    /// Goes into an open workspace, which counts as using it.
    pub(crate) async fn enter(&self, caller: &Caller, which: &WorkspaceReference) -> Result<Entered> {
        let row = self.open_row(caller, which).await?;
        self.enter_row(caller, row).await
    }

    /// Goes into the workspace of which a directory is a part; none when it is not part of any.
    pub(crate) async fn enter_directory(&self, caller: &Caller, directory: &Path) -> Result<Option<Entered>> {
        if !self.0.trees.hold(directory) {
            return Ok(None);
        }
        match self.row_of_directory(caller, directory).await? {
            Some(row) if row.state == WorkspaceState::Open => self.enter_row(caller, row).await.map(Some),
            // What is not an open workspace of the caller's does not exist for it.
            _ => Err(
                Error::not_found("the directory is not that of an open workspace of yours")
                    .hint("workspace_list shows them"),
            ),
        }
    }

    pub(super) async fn enter_row(&self, caller: &Caller, row: Workspace) -> Result<Entered> {
        let row = self.note_use(caller, row).await?;
        let tree = self.attach(&row).await?;
        Ok(Entered { row, tree })
    }

    /// The tree of an open workspace, made accessible again after a restart, and with nothing half done in it.
    pub(super) async fn attach(&self, row: &Workspace) -> Result<Arc<Attached>> {
        let tree = self.attach_as_it_is(row).await?;
        let entered = Entered {
            row: row.clone(),
            tree,
        };
        self.recover_tree(&entered).await?;
        Ok(entered.tree)
    }

    /// As [`Workspaces::attach`], for who holds the tree's lock: what is half done there is for that one to see to.
    pub(super) async fn attach_as_it_is(&self, row: &Workspace) -> Result<Arc<Attached>> {
        let known = {
            let attached = self.0.attached.lock().unwrap_or_else(PoisonError::into_inner);
            attached.get(&row.id).cloned()
        };
        if let Some(tree) = known.filter(|tree| tree.is_current()) {
            return Ok(tree);
        }
        let entrance = self.lock_entrance(row.id).await?;
        // It may have been closed since the row was read.
        if !self.is_open(row).await? {
            return Err(from_git(gone(
                &self.0.trees.view_path(&row.repo.to_string(), &row.name),
            )));
        }
        self.detach(row);
        let trees = self.0.trees.clone();
        let source = self.source_of(row).await?;
        let (key, name) = (row.repo.to_string(), row.name.clone());
        let way: Way =
            row.way.as_deref().unwrap_or_default().parse().map_err(|_| {
                Error::invalid(format!("the workspace {} was made in an unknown way", row.id))
            })?;
        let base = row.base.as_deref().and_then(|base| base.parse().ok());
        let tree = self
            .0
            .turnstile
            .pass(move |_| {
                let view = trees.attach_view(&key, &name, way, base.as_ref())?;
                let roots = roots_of(&view.path, trees.mirror_path(&key), source)?;
                Attached::new(view.path, roots)
            })
            .await?;
        drop(entrance);
        Ok(self.keep_attached(row, tree))
    }

    /// The repository on this machine that a workspace's mirror comes from.
    pub(super) async fn source_of(&self, row: &Workspace) -> Result<Option<PathBuf>> {
        let repo = self.repo_of(row).await?;
        Ok(Some(PathBuf::from(repo.url)).filter(|path| path.is_absolute()))
    }

    /// The repository of a workspace.
    pub(super) async fn repo_of(&self, row: &Workspace) -> Result<Repo> {
        let found = self.0.store.repos().by_id(row.tenant, row.repo).await;
        found
            .map_err(|error| from_store("looking up the repository", error))?
            .ok_or_else(|| Error::not_found(format!("the repository of the workspace {} is gone", row.id)))
    }

    pub(super) fn keep_attached(&self, row: &Workspace, tree: Attached) -> Arc<Attached> {
        let tree = Arc::new(tree);
        let mut attached = self.0.attached.lock().unwrap_or_else(PoisonError::into_inner);
        attached.insert(row.id, tree.clone());
        tree
    }

    /// Lets go of a tree, so that it can be unmounted.
    pub(super) fn detach(&self, row: &Workspace) {
        let tree = {
            let mut attached = self.0.attached.lock().unwrap_or_else(PoisonError::into_inner);
            attached.remove(&row.id)
        };
        if let Some(tree) = tree {
            self.0.kept.forget(&tree.path);
        }
        self.0.leases.forget(row.id);
    }
}

/// What tools in a workspace may use: its tree, its repository's mirror, and the repository on this machine that it
/// mirrors, since fetching from and pushing to it means reading and writing it.
pub(super) fn roots_of(tree: &Path, mirror: PathBuf, source: Option<PathBuf>) -> Result<Roots, git::Error> {
    Roots::new([tree.to_owned(), mirror].into_iter().chain(source))
}

fn identity_of(path: &Path) -> Option<(u64, u64)> {
    let metadata = std::fs::symlink_metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

fn gone(path: &Path) -> git::Error {
    git::Error::state(
        format!("the workspace at {} was closed meanwhile", path.display()),
        "open it again with workspace_open",
    )
}
