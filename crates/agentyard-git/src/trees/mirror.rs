//! Mirrors: one bare repository for each that is registered, on which all its working trees stand.
//!
//! The remote's branches are noted under `refs/remotes/origin/`, as in a clone; `refs/heads/` belongs to the
//! workspaces, so that no fetch ever touches their branches.

use std::sync::atomic::AtomicBool;

use gix::bstr::ByteSlice as _;
use rustix::fs::RenameFlags;
use rustix::io::Errno;

use super::Trees;
use super::layout::{check_name, failed, make_root};
use super::removals::GONE;
use crate::network::{Connection, Way};
use crate::program::{Git, Invocation};
use crate::remove_tree::remove_tree;
use crate::{Confined, Error, Progress, RemoteUrl, Repository, Roots, Trust, Work};

/// What is known about a remote by its mirror.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MirrorState {
    /// Its default branch; none when it says none.
    pub default_branch: Option<String>,
}

/// The branch that the mirror itself has checked out: one that never exists, so that every branch is free for a
/// working tree.
const NO_BRANCH: &str = "refs/heads/agentyard/none";

impl Trees {
    /// Makes the mirror of a repository, unless there is one. A mirror is there whole, or not at all.
    ///
    /// A source on this machine lies inside `source_roots`.
    pub fn create_mirror(
        &self,
        git: &Git,
        key: &str,
        source: &RemoteUrl,
        source_roots: &Roots,
        cancel: &AtomicBool,
        report: &(dyn Fn(Progress) + Sync),
    ) -> Result<MirrorState, Error> {
        check_name("repository", key)?;
        let _lock = self.lock_mirror(key, cancel)?;
        let repos = make_root(&self.repos_path())?;
        let path = self.mirror_path(key);
        // Under the lock, what is there is what somebody left who died.
        let beside = format!(".new-{key}");
        remove_tree(&repos, beside.as_ref(), cancel)?;
        remove_tree(&repos, format!("{GONE}{key}").as_ref(), cancel)?;
        if path.exists() {
            return state(&self.open_mirror(key)?);
        }
        let clone = make_root(&repos.path().join(&beside))?;
        let made = clone_into(git, &clone, source, source_roots, cancel, report).and_then(|()| {
            rustix::fs::renameat_with(
                clone.directory(),
                ".git",
                repos.directory(),
                format!("{key}.git"),
                RenameFlags::NOREPLACE,
            )
            .map_err(failed("made", &path))?;
            sync_directory(&repos)
        });
        let removed = remove_tree(&repos, beside.as_ref(), &AtomicBool::new(false));
        made.and(removed)?;
        state(&self.open_mirror(key)?)
    }

    /// Removes a mirror with all that stands on it: views, bases, branches. Nothing of it is kept.
    pub fn remove_mirror(&self, key: &str, cancel: &AtomicBool) -> Result<(), Error> {
        check_name("repository", key)?;
        let _lock = self.lock_mirror(key, cancel)?;
        for name in self.names(key)? {
            self.close_view(key, &name, cancel)?;
        }
        let trees = make_root(&self.all_trees_path())?;
        remove_tree(&trees, key.as_ref(), cancel)?;
        let repos = make_root(&self.repos_path())?;
        let gone = format!("{GONE}{key}");
        remove_tree(&repos, gone.as_ref(), cancel)?;
        remove_tree(&repos, format!(".new-{key}").as_ref(), cancel)?;
        // Nobody finds half a repository under its name.
        match rustix::fs::renameat(repos.directory(), format!("{key}.git"), repos.directory(), &*gone) {
            Ok(()) => remove_tree(&repos, gone.as_ref(), cancel),
            Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(failed("removed", &self.mirror_path(key))(errno)),
        }
    }
}

/// Clones, and makes a mirror of what git made.
fn clone_into(
    git: &Git,
    target: &Confined,
    source: &RemoteUrl,
    source_roots: &Roots,
    cancel: &AtomicBool,
    report: &(dyn Fn(Progress) + Sync),
) -> Result<(), Error> {
    let connection = Connection::open(git, source, Way::Fetch, source_roots, cancel)?;
    // A clone that is not bare notes the remote's branches as we want them, and finds out by itself how objects are
    // named there and which branch is the default.
    let call = connection
        .through(Invocation::outside(git, cancel, target, "clone"), Way::Fetch)
        .words(&[
            "--progress",
            "--template=",
            "--no-checkout",
            "--no-local",
            "--no-recurse-submodules",
            "--origin=origin",
        ])
        .reporting_to(report)
        .end_of_options()
        .operand(connection.url().as_str())
        .operand(".");
    connection.run(&call, |_| false)?;
    let repository = Repository::open(target)?;
    let work = Work::new(git, &repository, Trust::Untrusted, cancel, report);
    let head = head_reference(&repository);
    if let Some(branch) = head.strip_prefix("refs/heads/") {
        remember_unborn_default(&work, branch)?;
        if work.tip(&head)?.is_some() {
            let delete = work.invoke("update-ref").word("-d").end_of_options();
            delete.operand(&head).run()?;
        }
        // There is none when the remote is empty.
        let section = work.invoke("config").words(&["--local", "--remove-section"]);
        section
            .operand(format!("branch.{branch}"))
            .run_whatever_it_answers()?;
    }
    work.invoke("symbolic-ref").words(&["HEAD", NO_BRANCH]).run()?;
    let settings = [
        ("core.logAllRefUpdates", "true"),
        // What an agent leaves to git's own choice goes to the branch of the same name.
        ("push.default", "current"),
        ("push.autoSetupRemote", "true"),
        // Last: from here on there is no working tree any more.
        ("core.bare", "true"),
    ];
    for (key, value) in settings {
        let call = work.invoke("config").word("--local").end_of_options();
        call.operand(key).operand(value).run()?;
    }
    let git_dir = repository.confined_git_dir();
    for left in ["logs/HEAD", "logs/refs/heads", "index"] {
        let path = git_dir.path().join(left);
        let _ = std::fs::remove_file(&path).or_else(|_| std::fs::remove_dir_all(&path));
    }
    sync_directory(git_dir)
}

/// An empty remote has a default branch too; the clone has nowhere to note it but here.
fn remember_unborn_default(work: &Work<'_>, branch: &str) -> Result<(), Error> {
    const ORIGIN_HEAD: &str = "refs/remotes/origin/HEAD";
    if default_branch(work.repository()).is_some() {
        return Ok(());
    }
    let target = format!("refs/remotes/origin/{branch}");
    let call = work.invoke("symbolic-ref").end_of_options().operand(ORIGIN_HEAD);
    call.operand(target).run().map(drop)
}

/// The reference that HEAD names.
fn head_reference(repository: &Repository) -> String {
    let name = repository.local().head_name().ok().flatten();
    name.map_or_else(String::new, |name| name.as_bstr().to_str_lossy().into_owned())
}

/// What a mirror tells about its remote.
pub(super) fn state(mirror: &Repository) -> Result<MirrorState, Error> {
    Ok(MirrorState {
        default_branch: default_branch(mirror),
    })
}

/// The branch that `refs/remotes/origin/HEAD` names.
fn default_branch(repository: &Repository) -> Option<String> {
    let local = repository.local();
    let head = local.try_find_reference("refs/remotes/origin/HEAD").ok()??;
    let target = head.target();
    let name = target.try_name()?.as_bstr().to_str().ok()?;
    let short = name.strip_prefix("refs/remotes/origin/")?;
    crate::BranchName::new(short)
        .ok()
        .map(|name| name.as_str().to_owned())
}

/// Has the names in a directory written to disk.
pub(super) fn sync_directory(directory: &Confined) -> Result<(), Error> {
    std::fs::File::open(directory.path())
        .and_then(|file| file.sync_all())
        .map_err(failed("written", directory.path()))
}
