//! Repositories: what the git tools read and change.
//!
//! The contract of this crate:
//!
//! - It works in directories that lie inside the [`Roots`] given to it. It reads no environment variable; what
//!   it may know about the person as whom it runs is given to it ([`GitPerson`]).
//! - What is on [`Repository`] reads, in this process: it starts no other, opens no connection, and writes
//!   nothing. A status does not even refresh the index.
//! - What is on [`Work`] changes a repository, through the `git` program ([`Git`]). Checkpoints alone are written in
//!   this process, as objects and references of their own: one is made after every change.
//! - What is on [`Trees`] keeps repositories and working trees of our own, in the data directory.
//! - A repository's content is an attacker's: its configuration, attributes, links and ownership are checked
//!   or ignored such that they can neither run a program nor lead to a file outside the roots. [`Repository`]
//!   says how.
//! - Every call is synchronous, meant for a thread that may block, and ends soon after its `cancel` flag is
//!   set.
//! - What it returns is data. Text from a repository comes without control characters, paths are escaped by
//!   [`display_path`].

mod branches;
mod checkpoints;
mod conflicts;
mod files;
mod forecast;
mod init;
mod lock_files;
mod log;
mod objects;
mod rebase_progress;
mod reflog;
mod remotes;
mod repository;
mod roots;
mod snapshot;
mod stashes;
mod status;
mod tags;
mod touched;
mod trees;
mod working_tree;
mod worktrees;

mod network;
mod program;
mod work;

mod commit;
mod dates;
mod error;
mod message;
mod names;
mod object_id;
mod repository_path;
mod revision;
mod text;

mod descriptor;
mod history;
mod index;
mod new_directory;
mod raw_commit;
mod raw_tag;
mod remote_url;
mod remove_tree;
mod renames;
mod tree_diff;
mod upstream;

pub use branches::{Branch, BranchPage, BranchQuery, BranchSort, MAX_BRANCHES};
pub use checkpoints::{
    Checkpoint, CheckpointChange, CheckpointChangeKind, CheckpointLeftOut, CheckpointMade, CheckpointName,
    CheckpointNote, CheckpointPage, CheckpointQuery, CheckpointSeries, LeftOutReason, ListedCheckpoint,
    MAX_CHECKPOINTS, Restored, Unsettled,
};
pub use commit::{Commit, Decoration, DecorationKind, MAX_BODY, Person};
pub use conflicts::{ConflictContent, ConflictHunk, ConflictSide, ConflictedFile, Conflicts};
pub use dates::{DayEdge, parse_date};
pub use error::Error;
pub use files::{
    BytesQuery, Edit, EditOptions, Edited, ExpectedHash, FileBytes, FileHash, FileMatches, FileText,
    FileTree, LineEndings, ListQuery, ListedEntry, ListedKind, Listing, MAX_APPENDED_FILE, MAX_CONTEXT,
    MAX_EDITED_FILE, MAX_EDITS, MAX_FOUND, MAX_HASHED_FILE, MAX_LISTED, MAX_PROJECT_FILE, MAX_READ_BYTES,
    MAX_READ_LINES, MAX_WRITTEN_FILE, ProjectFile, ReadFile, ReadLine, ReadQuery, SearchCase, SearchMode,
    SearchPage, SearchPlace, SearchQuery, SearchedLine, WriteOptions, Written,
};
pub use forecast::{
    CollidingFile, Collision, CollisionKind, Contender, Forecast, Forecasts, MAX_COLLIDING_FILES,
};
pub use init::{InitOptions, Initialized, ObjectFormat};
pub use lock_files::{Attempt as LockAttempt, LockFile, LockFiles, LockHolder};
pub use log::{
    CommitStat, FileChange, FileStat, LineChange, LogOrder, LogPage, LogQuery, LogStart, LogTips,
    MAX_COMPARED_FILE, MAX_COUNT, MAX_STAT_FILES, Merges,
};
pub use message::{Author, Message, Trailer};
pub use names::{BranchName, ProtectedBranches, RemoteName, TagName};
pub use network::{
    Credential, CredentialHelper, HostPatterns, NONCE_VARIABLE, NetworkSettings, RemoteUrl, SOCKET_VARIABLE,
    answer_credential_request,
};
pub use object_id::{InvalidObjectId, ObjectId};
pub use objects::{BlobObject, CommitObject, Object, ObjectName, TagObject, TreeEntry, TreeObject};
pub use program::{
    Enforcement, Git, GitSettings, Identity, LeftOut, Person as GitPerson, Tether, Trust, run_tethered,
};
pub use rebase_progress::RebaseProgress;
pub use reflog::{MAX_ENTRIES, ReflogEntry, ReflogPage, ReflogQuery};
pub use remotes::Remote;
pub use repository::{KeepLimits, KeptRepositories, Repository, repository_elsewhere};
pub use repository_path::RepositoryPath;
pub use revision::Revision;
pub use roots::{Confined, Roots};
pub use snapshot::{Snapshot, Tag};
pub use stashes::{Stash, StashList};
pub use status::{
    Conflict, Conflicted, Distance, Head, Moved, Operation, Staged, Staging, Status, StatusOptions, Unstaged,
    Upstream,
};
pub use tags::{Annotation, MAX_TAGS, TagDetails, TagPage, TagQuery, TagSort, TagTarget};
pub use text::display_path;
pub use touched::Touched;
pub use trees::{MirrorFetch, MirrorState, NewView, TreeOwner, TreeSettings, Trees, View, Way};
pub use work::{
    AddOptions, Added, Between, Blame, BlameBlock, BlameQuery, BranchChange, BranchCreation, BranchDeletion,
    BranchRename, Carried, Change, ChangedFile, ChangedFiles, CheckedOut, CheckoutOptions, CherryPickOptions,
    CherryPickResult, CherryPicked, CleanOptions, Cleaned, CloneOptions, Cloned, CommitOptions, Committed,
    Diff, DiffQuery, FastForward, Favor, FetchOptions, Fetched, Integrated, Integration, IntegrationResult,
    Kept, Lines, Lock, MAX_BLAME_LINES, MergeOptions, MergePreview, MergeResult, MergeStrategy, Merged,
    Moves, Progress, PullOptions, Pulled, PushOptions, PushOutcome, Pushed, PushedRef, RebaseOptions,
    RebaseResult, RebaseStop, Rebased, RefChange, RemovedRemote, ResetDone, ResetMode, ResetOptions,
    SignatureKind, StashContent, StashOptions, StashSelector, TagChange, TagCreation, TagVerification,
    Unstashed, Work, WorktreeAddition, WorktreeChange, WorktreeRemoval,
};
pub use working_tree::WorkingTree;
pub use worktrees::{MAX_WORKTREES, Place, Worktree, WorktreeList};
