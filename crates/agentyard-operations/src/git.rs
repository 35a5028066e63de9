//! Repositories: status, history, and the directory that `.` stands for.

mod add;
mod changed_files;
mod commit;
mod left_out;
mod log;
mod status;
mod working_directory;

use crate::registry::Entry;

pub(crate) const ALL: &[Entry] = &[
    Entry::of::<status::GitStatus>(),
    Entry::of::<add::GitAdd>(),
    Entry::of::<commit::GitCommit>(),
    Entry::of::<log::GitLog>(),
    Entry::of::<working_directory::GitSetWorkingDir>(),
    Entry::of::<working_directory::GitClearWorkingDir>(),
];
