//! Repositories: what the git tools read and change.
//!
//! The contract of this crate:
//!
//! - It works in directories that lie inside the [`Roots`] given to it. It reads no environment variable; what
//!   it may know about the person as whom it runs is given to it ([`GitPerson`]).
//! - What is on [`Repository`] reads, in this process: it starts no other, opens no connection, and writes
//!   nothing. A status does not even refresh the index.
//! - What is on [`Work`] changes a repository, through the `git` program ([`Git`]).
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

mod network;
mod program;
mod work;

mod commit;
mod dates;
mod error;
mod names;
mod object_id;
mod repository_path;
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
pub use names::{BranchName, ProtectedBranches, RemoteName, TagName};
pub use network::{
    Credential, CredentialHelper, HostPatterns, NONCE_VARIABLE, NetworkSettings, RemoteUrl, SOCKET_VARIABLE,
    answer_credential_request,
};
pub use object_id::{InvalidObjectId, ObjectId};
pub use program::{Enforcement, Git, GitSettings, Identity, LeftOut, Person as GitPerson, Trust};
pub use repository::Repository;
pub use repository_path::RepositoryPath;
pub use revision::Revision;
pub use roots::{Confined, Roots};
pub use snapshot::{Remote, Snapshot, Tag};
pub use status::{
    Conflict, Conflicted, Distance, Head, Moved, Operation, Staged, Status, StatusOptions, Unstaged, Upstream,
};
pub use text::display_path;
pub use work::{
    AddOptions, Added, CloneOptions, Cloned, FetchOptions, Fetched, Kept, Progress, PullOptions,
    PullStrategy, Pulled, PushOptions, PushOutcome, Pushed, PushedRef, RefChange, RemovedRemote, Work,
};
