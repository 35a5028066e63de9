//! git writes the files of a commit into a tree of ours.

use std::sync::atomic::AtomicBool;

use crate::program::{Git, Trust};
use crate::{Confined, Error, ObjectId, Progress, Repository, Work};

/// How the stage is called towards the caller.
const STAGE: &str = "preparing workspace: checking out files";

/// Beyond this many files git writes with several processes.
const PARALLEL_THRESHOLD: &str = "500";

/// A tree to be filled, and its index.
pub(super) struct Target<'a> {
    /// The directory that is filled.
    pub(super) tree: &'a Confined,
    /// The directory of the index, and how that is called there.
    pub(super) index_directory: &'a Confined,
    pub(super) index: &'static str,
}

/// Brings a tree, and its index with it, from one commit to another; from nothing when there is none. What does not
/// differ is not touched.
pub(super) fn check_out(
    git: &Git,
    mirror: &Repository,
    target: &Target<'_>,
    (from, to): (Option<&ObjectId>, &ObjectId),
    cancel: &AtomicBool,
    report: &(dyn Fn(Progress) + Sync),
) -> Result<(), Error> {
    let renamed = |progress: Progress| {
        let stage = if progress.stage == "Updating files" {
            STAGE.to_owned()
        } else {
            progress.stage
        };
        report(Progress { stage, ..progress });
    };
    let index = target.index_directory.path().join(target.index);
    let work = Work::new(git, mirror, Trust::Untrusted, cancel, &renamed);
    let mut call = work
        .invoke("read-tree")
        .words(&["-m", "-u", "-v"])
        .setting("checkout.workers", "0")
        .setting("checkout.thresholdForParallelism", PARALLEL_THRESHOLD)
        .variable("GIT_WORK_TREE", target.tree.path())
        .variable("GIT_INDEX_FILE", index.into_os_string())
        .variable("GIT_PROGRESS_DELAY", "0")
        .may_write(target.tree)
        .may_write(target.index_directory)
        .reporting();
    if let Some(from) = from {
        call = call.object(from);
    }
    call.object(to).run().map(drop)
}
