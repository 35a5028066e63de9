//! Repositories: status, history, and the directory that `.` stands for.

mod add;
mod blame;
mod changelog;
mod diff;
mod left_out;
mod lines;
mod log;
mod patch;
mod show;
mod status;
mod working_directory;
mod wrapup;

use crate::registry::Entry;

pub(crate) const ALL: &[Entry] = &[
    Entry::of::<status::GitStatus>(),
    Entry::of::<add::GitAdd>(),
    Entry::of::<diff::GitDiff>(),
    Entry::of::<show::GitShow>(),
    Entry::of::<blame::GitBlame>(),
    Entry::of::<log::GitLog>(),
    Entry::of::<changelog::GitChangelogAnalyze>(),
    Entry::of::<wrapup::GitWrapupInstructions>(),
    Entry::of::<working_directory::GitSetWorkingDir>(),
    Entry::of::<working_directory::GitClearWorkingDir>(),
];
