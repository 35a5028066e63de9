//! Repositories: status, history, and the directory that `.` stands for.

mod add;
mod branch;
mod changed_files;
mod commit;
mod init;
mod left_out;
mod log;
mod reflog;
mod short_id;
mod status;
mod tag;
mod working_directory;
mod worktree;

use crate::registry::Entry;

pub(crate) const ALL: &[Entry] = &[
    Entry::of::<init::GitInit>(),
    Entry::of::<status::GitStatus>(),
    Entry::of::<add::GitAdd>(),
    Entry::of::<commit::GitCommit>(),
    Entry::of::<log::GitLog>(),
    Entry::of::<branch::GitBranch>(),
    Entry::of::<tag::GitTag>(),
    Entry::of::<worktree::GitWorktree>(),
    Entry::of::<reflog::GitReflog>(),
    Entry::of::<working_directory::GitSetWorkingDir>(),
    Entry::of::<working_directory::GitClearWorkingDir>(),
];
