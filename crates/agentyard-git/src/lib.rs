//! Repositories: what the git tools read.
//!
//! The contract of this crate:
//!
//! - It reads directories that lie inside the [`Roots`] given to it, and nothing else on this machine: no
//!   home directory, no system configuration, no environment variable. It starts no process and opens no
//!   connection.
//! - It writes nothing. A status does not even refresh the index.
//! - A repository's content is an attacker's: its configuration, attributes, links and ownership are checked
//!   or ignored such that they can neither run a program nor lead to a file outside the roots. [`Repository`]
//!   says how.
//! - Every call is synchronous, meant for a thread that may block, and ends soon after its `cancel` flag is
//!   set.
//! - What it returns is data. Text from a repository comes without control characters, paths are escaped by
//!   [`display_path`].

mod log;
mod repository;
mod roots;
mod snapshot;
mod status;

mod commit;
mod dates;
mod error;
mod object_id;
mod revision;
mod text;

mod descriptor;
mod history;
mod index;
mod raw_commit;
mod remote_url;
mod upstream;

pub use commit::{Commit, Decoration, DecorationKind, MAX_BODY, Person};
pub use dates::{DayEdge, parse_date};
pub use error::Error;
pub use log::{LogPage, LogQuery, LogStart, LogTips, MAX_COUNT};
pub use object_id::{InvalidObjectId, ObjectId};
pub use repository::{KeepLimits, KeptRepositories, Repository};
pub use revision::Revision;
pub use roots::{Confined, Roots};
pub use snapshot::{Remote, Snapshot, Tag};
pub use status::{
    Conflict, Conflicted, Distance, Head, Moved, Operation, Staged, Status, StatusOptions, Unstaged, Upstream,
};
pub use text::display_path;
