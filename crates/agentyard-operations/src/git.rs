//! Repositories: status, history, and the directory that `.` stands for.

mod add;
mod cherry_pick;
mod conflicts;
mod left_out;
mod log;
mod merge;
mod rebase;
mod status;
mod working_directory;

use crate::registry::Entry;

pub(crate) const ALL: &[Entry] = &[
    Entry::of::<status::GitStatus>(),
    Entry::of::<add::GitAdd>(),
    Entry::of::<cherry_pick::GitCherryPick>(),
    Entry::of::<log::GitLog>(),
    Entry::of::<merge::GitMerge>(),
    Entry::of::<rebase::GitRebase>(),
    Entry::of::<working_directory::GitSetWorkingDir>(),
    Entry::of::<working_directory::GitClearWorkingDir>(),
];
