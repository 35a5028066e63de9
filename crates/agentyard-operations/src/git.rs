//! Repositories: status, history, and the directory that `.` stands for.

mod log;
mod status;
mod working_directory;

use crate::registry::Entry;

pub(crate) const ALL: &[Entry] = &[
    Entry::of::<status::GitStatus>(),
    Entry::of::<log::GitLog>(),
    Entry::of::<working_directory::GitSetWorkingDir>(),
    Entry::of::<working_directory::GitClearWorkingDir>(),
];
