//! Repositories: status, history, and the directory that `.` stands for.

mod add;
mod aftermath;
mod blame;
mod branch;
mod changed_files;
mod changelog;
mod checkout;
mod cherry_pick;
mod clean;
mod clone;
mod commit;
mod conflicts;
mod diff;
mod fetch;
mod init;
mod kept;
mod left_out;
mod lines;
mod log;
mod merge;
mod patch;
mod pull;
mod push;
mod rebase;
mod reflog;
mod remote;
mod reset;
mod short_id;
mod show;
mod stash;
mod status;
mod tag;
mod working_directory;
mod worktree;
mod wrapup;

use crate::registry::Entry;

pub(crate) const ALL: &[Entry] = &[
    Entry::of::<init::GitInit>(),
    Entry::of::<status::GitStatus>(),
    Entry::of::<clean::GitClean>(),
    Entry::of::<add::GitAdd>(),
    Entry::of::<reset::GitReset>(),
    Entry::of::<commit::GitCommit>(),
    Entry::of::<checkout::GitCheckout>(),
    Entry::of::<stash::GitStash>(),
    Entry::of::<diff::GitDiff>(),
    Entry::of::<show::GitShow>(),
    Entry::of::<blame::GitBlame>(),
    Entry::of::<cherry_pick::GitCherryPick>(),
    Entry::of::<log::GitLog>(),
    Entry::of::<branch::GitBranch>(),
    Entry::of::<tag::GitTag>(),
    Entry::of::<worktree::GitWorktree>(),
    Entry::of::<reflog::GitReflog>(),
    Entry::of::<merge::GitMerge>(),
    Entry::of::<rebase::GitRebase>(),
    Entry::of::<changelog::GitChangelogAnalyze>(),
    Entry::of::<wrapup::GitWrapupInstructions>(),
    Entry::of::<clone::GitClone>(),
    Entry::of::<remote::GitRemote>(),
    Entry::of::<fetch::GitFetch>(),
    Entry::of::<pull::GitPull>(),
    Entry::of::<push::GitPush>(),
    Entry::of::<working_directory::GitSetWorkingDir>(),
    Entry::of::<working_directory::GitClearWorkingDir>(),
];
