//! Repositories: status, history, and the directory that `.` stands for.

mod add;
mod blame;
mod changed_files;
mod checkout;
mod clean;
mod commit;
mod diff;
mod kept;
mod left_out;
mod lines;
mod log;
mod patch;
mod reset;
mod show;
mod stash;
mod status;
mod working_directory;

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
    Entry::of::<log::GitLog>(),
    Entry::of::<working_directory::GitSetWorkingDir>(),
    Entry::of::<working_directory::GitClearWorkingDir>(),
];
