//! Repositories: status, history, and the directory that `.` stands for.

mod add;
mod clone;
mod fetch;
mod left_out;
mod log;
mod pull;
mod push;
mod remote;
mod status;
mod working_directory;

use crate::registry::Entry;

pub(crate) const ALL: &[Entry] = &[
    Entry::of::<status::GitStatus>(),
    Entry::of::<add::GitAdd>(),
    Entry::of::<log::GitLog>(),
    Entry::of::<clone::GitClone>(),
    Entry::of::<remote::GitRemote>(),
    Entry::of::<fetch::GitFetch>(),
    Entry::of::<pull::GitPull>(),
    Entry::of::<push::GitPush>(),
    Entry::of::<working_directory::GitSetWorkingDir>(),
    Entry::of::<working_directory::GitClearWorkingDir>(),
];
