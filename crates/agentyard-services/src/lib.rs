//! What Agentyard does: one module per noun.
//!
//! Every method takes the [`Caller`](agentyard_model::Caller) first and checks what it
//! may do before anything else, so that no face can forget it. Services return data;
//! they know no transport and print nothing. A caller who goes away drops the future,
//! and that is what cancels the work.
//!
//! A module may use those listed above it here; the order of this list is the
//! architecture.

#![warn(missing_docs)]

mod error;
mod failures;
mod progress;
mod turns;

mod audit;

mod identities;

mod tokens;

mod trust;

mod changes;
mod history_cursor;
mod working_directories;

mod places;

mod repositories;

mod files;

use std::sync::Arc;

use agentyard_model::Clock;
use agentyard_store::Store;

use places::Places;

pub use agentyard_git::{
    Added, Blame, BlameBlock, BlobObject, Branch, BranchChange, Change, ChangedFile, CheckedOut, Cleaned,
    Cloned, Commit, CommitObject, CommitStat, Committed, Conflict, Conflicted, DecorationKind, Diff, Fetched,
    FileChange, FileStat, Head, Initialized, Kept, LeftOut, LineChange, Lock, LogOrder, Merges, Moved, Moves,
    Object, ObjectFormat, Operation as OperationInProgress, Person, Pulled, PushOutcome, Pushed, PushedRef,
    RefChange, ReflogEntry, Remote, RemovedRemote, ResetDone, ResetMode, SignatureKind, Staged, Stash,
    StashContent, StashList, Status, Tag, TagChange, TagDetails, TagObject, TagSort, TagTarget,
    TagVerification, Touched, TreeObject, Unstashed, Worktree, WorktreeChange,
};
pub use agentyard_git::{
    BytesQuery, Edit, Edited, FileBytes, FileHash, FileMatches, FileText, LineEndings, ListedEntry,
    ListedKind, Listing, MAX_CONTEXT, MAX_EDITS, MAX_FOUND, MAX_LISTED, MAX_READ_BYTES, MAX_READ_LINES,
    ReadFile, ReadLine, ReadQuery, SearchCase, SearchMode, SearchPage, SearchPlace, SearchedLine, Written,
};
pub use agentyard_git::{
    ChangedFiles, CherryPickResult, CherryPicked, ConflictContent, ConflictHunk, ConflictSide,
    ConflictedFile, Conflicts, FastForward, Favor, Integrated, Integration, IntegrationResult, MergePreview,
    MergeResult, MergeStrategy, Merged, RebaseProgress, RebaseResult, RebaseStop, Rebased,
};
pub use agentyard_sandbox::Tool;
pub use agentyard_store::{AuditFault, AuditVerification};
pub use audit::AuditLog;
pub use changes::{Bump, ChangeKind, Described, Finding, Release, Review, ReviewKind};
pub use error::{Error, ErrorKind, Result};
pub use files::{
    EditRequest, Environment, Files, ListRequest, ProjectPart, ReadAnswer, ReadPart, ReadRequest,
    SearchRequest, WriteRequest, list_cursor, search_cursor,
};
pub use identities::{Identities, VouchedIdentity};
pub use places::Place;
pub use progress::{Progress, Step};
pub use repositories::{
    AddRequest, BlameRequest, BranchAnswer, BranchMode, BranchRequest, ChangelogRequest, ChangelogReviews,
    CheckoutRequest, CherryPickRequest, CleanOutcome, CleanRequest, CloneRequest, CommitRequest, DiffPage,
    DiffPlace, DiffRequest, Document, FetchRequest, History, HistoryRequest, In, InitRequest, MergeAnswer,
    MergeMode, MergeRequest, PullRequest, PushRequest, RebaseRequest, Reflog, RemoteMode, RemoteRequest,
    Remotes, Repositories, RepositorySettings, RepositorySnapshot, RepositoryStatus, ResetRequest,
    SequenceMode, ShowRequest, Shown, Snapshot, StashRequest, Stashes, Step as WrapupStep, TagAnswer,
    TagMode, TagRequest, WorkingDirectoryNeeds, WorktreeAnswer, WorktreeMode, WorktreeRequest, Wrapup,
};
pub use tokens::{IssuedToken, TokenRequest, Tokens};
pub use trust::{TrustedRepositories, TrustedRepository};
pub use working_directories::WorkingDirectories;

/// Everything that the platform does.
pub struct Services {
    /// The log of what was done.
    pub audit: AuditLog,
    /// Who callers are.
    pub identities: Identities,
    /// Tokens.
    pub tokens: Tokens,
    /// Which repositories may run programs.
    pub trust: TrustedRepositories,
    /// Repositories.
    pub repositories: Repositories,
    /// Files.
    pub files: Files,
}

impl Services {
    /// The services over these ports. Nothing is opened yet.
    #[must_use]
    pub fn new(store: &Store, settings: RepositorySettings, clock: Clock) -> Self {
        let RepositorySettings {
            roots,
            working_directories,
            timeout,
            network_timeout,
            git,
            wrapup_instructions,
            machine,
        } = settings;
        let git = Arc::new(git);
        let audit = AuditLog::new(store.clone());
        let places = Places::new(roots, working_directories, timeout, audit.clone());
        let trust = TrustedRepositories::new(store.clone());
        Self {
            audit: audit.clone(),
            identities: Identities::new(store.clone()),
            files: Files::new(places.clone(), machine, false),
            tokens: Tokens::new(store.clone(), clock.clone()),
            repositories: Repositories::new(
                git,
                network_timeout,
                wrapup_instructions,
                places,
                audit,
                trust.clone(),
                clock,
            ),
            trust,
        }
    }
}
