//! Repositories: status, history, and the directory that `.` stands for.

mod add;
mod blame;
mod changed_files;
mod changelog;
mod checkout;
mod cherry_pick;
mod clean;
mod commit;
mod conflicts;
mod diff;
mod kept;
mod left_out;
mod lines;
mod log;
mod merge;
mod patch;
mod rebase;
mod reset;
mod show;
mod stash;
mod status;
mod working_directory;
mod wrapup;

use crate::registry::Entry;

pub(crate) const ALL: &[Entry] = &[
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
    Entry::of::<merge::GitMerge>(),
    Entry::of::<rebase::GitRebase>(),
    Entry::of::<changelog::GitChangelogAnalyze>(),
    Entry::of::<wrapup::GitWrapupInstructions>(),
    Entry::of::<working_directory::GitSetWorkingDir>(),
    Entry::of::<working_directory::GitClearWorkingDir>(),
];
