//! Files of a working tree: listed, read, searched and changed.

mod edit_file;
mod env;
mod ls;
mod read_file;
mod search;
mod write_file;

use agentyard_services::Place;

use crate::registry::Entry;
pub(crate) use read_file::{DEFAULT_LINES, FileView};

pub(crate) const ALL: &[Entry] = &[
    Entry::of::<ls::Ls>(),
    Entry::of::<read_file::ReadFile>(),
    Entry::of::<write_file::WriteFile>(),
    Entry::of::<edit_file::EditFile>(),
    Entry::of::<search::Search>(),
    Entry::of::<env::Env>(),
];

/// Where a call is to work.
fn place(workspace: Option<String>, repo: Option<String>, branch: Option<String>) -> Place {
    Place {
        workspace,
        repo,
        branch,
        scratch: false,
    }
}
