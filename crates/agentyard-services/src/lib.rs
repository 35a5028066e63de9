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
mod homes;
mod scratch;
mod working_directories;

mod repos;

mod workspaces;

mod places;

mod repositories;

mod files;

mod code_files;

mod masking;
mod outbound;

mod secrets;

mod executions;

mod runs;

mod environments;

mod exec;

mod sandbox_measures;
mod sandboxes;

mod sandbox_git;

use std::sync::Arc;

use agentyard_git::{KeepLimits, KeptRepositories, LockFiles, Trees};
use agentyard_model::Clock;
use agentyard_store::Store;

use environments::EnvironmentParts;
use exec::ExecParts;
use homes::Homes;
use places::{PlaceParts, Places};
use repos::RepoPorts;
use sandbox_git::{SandboxGitParts, SandboxGitSettings};
use sandboxes::SandboxParts;
use scratch::Scratch;
use turns::Turns;
use workspaces::WorkspacePorts;

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
pub use agentyard_git::{
    Checkpoint, CheckpointChange, CheckpointPage, CheckpointQuery, ListedCheckpoint, TreeSettings, Way,
};
pub use agentyard_git::{CollidingFile, CollisionKind};
pub use agentyard_sandbox::{
    Backend, Distribution, Enforcement, Limits, Network, Stream as OutputStream, Tool, Usage, Weakness,
};
pub use agentyard_store::{AuditFault, AuditVerification};
pub use audit::AuditLog;
pub use changes::{Bump, ChangeKind, Described, Finding, Release, Review, ReviewKind};
pub use code_files::CodeFiles;
pub use environments::{
    ChangedDistribution, CheckedPackage, CheckedPackages, ConfigureEnvironment, EnvironmentKind,
    EnvironmentSettings, EnvironmentView, Environments, FailureKind, InstallAnswer, InstallFailure,
    InstallReport, InstallRequest, KindAvailability, UnknownEnvironmentKind,
};
pub use error::{Error, ErrorKind, Result};
pub use exec::{
    ChangedPath, CodeFileRequest, CodeRequest, ContextState, Exception, Exec, ExecAnswer, ExecDetails,
    ExecOptions, FileChangeKind, Frame, Image, Installed, MissingPackage,
};
pub use executions::{ExecutionSettings, Executions, SurrealCredentials, SurrealLevel, SurrealSettings};
pub use files::{
    EditRequest, Environment, Files, ListRequest, ProjectPart, ReadAnswer, ReadPart, ReadRequest,
    SearchRequest, WriteRequest, list_cursor, search_cursor,
};
pub use homes::HOME as COMMAND_HOME;
pub use identities::{Identities, VouchedIdentity};
pub use masking::{Mask, Masking};
pub use places::Place;
pub use progress::{Progress, Step};
pub use repos::{
    ConfiguredRepo, RepoBranch, RepoBranches, RepoBranchesRequest, RepoDetails, RepoFetched, RepoRequest,
    RepoSummary, RepoWorkspace, Repos,
};
pub use repositories::{
    AddRequest, BlameRequest, BranchAnswer, BranchMode, BranchRequest, ChangelogRequest, ChangelogReviews,
    CheckoutRequest, CherryPickRequest, CleanOutcome, CleanRequest, CloneRequest, CommitRequest, DiffPage,
    DiffPlace, DiffRequest, Document, FetchRequest, History, HistoryRequest, In, InitRequest, MergeAnswer,
    MergeMode, MergeRequest, PullRequest, PushRequest, RebaseRequest, Reflog, RemoteMode, RemoteRequest,
    Remotes, Repositories, RepositorySettings, RepositorySnapshot, RepositoryStatus, ResetRequest,
    SequenceMode, ShowRequest, Shown, Snapshot, StashRequest, Stashes, Step as WrapupStep, TagAnswer,
    TagMode, TagRequest, WorkingDirectoryNeeds, WorktreeAnswer, WorktreeMode, WorktreeRequest, Wrapup,
};
pub use runs::{
    Captured, CommandRequest, Followed, Following, MakeRequest, PlainText, RunAnswer, RunEnd, RunEvent,
    RunHappening, RunOutput, RunSettings, Runs, Waiting,
};
pub use sandbox_git::{
    SandboxChange, SandboxClone, SandboxCloned, SandboxDiff, SandboxDiffFile, SandboxDiffRequest, SandboxGit,
    SandboxPulled, SandboxPush, SandboxPushed, SandboxStatus,
};
pub use sandboxes::{
    CreateSandbox, SandboxAccess, SandboxCommand, SandboxDetails, SandboxRan, SandboxSaid, SandboxSample,
    SandboxSettings, Sandboxes, SignedFile, Visit,
};
pub use scratch::ScratchSettings;
pub use secrets::Secrets;
pub use tokens::{IssuedToken, TokenRequest, Tokens};
pub use trust::{TrustedRepositories, TrustedRepository};
pub use working_directories::WorkingDirectories;
pub use workspaces::{
    CloseRequest, Closed, ConflictsRequest, ForeseenConflict, OpenRequest, Opened, Opponent, SyncRequest,
    Synced, Undone, WorkspaceConflicts, WorkspaceDetails, WorkspaceListing, WorkspaceReference,
    WorkspaceSettings, Workspaces,
};

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
    /// Repositories that are registered.
    pub repos: Repos,
    /// Workspaces.
    pub workspaces: Workspaces,
    /// Repositories.
    pub repositories: Repositories,
    /// Files.
    pub files: Files,
    /// Files that hold code to be run.
    pub code_files: CodeFiles,
    /// Secrets that executions are granted.
    pub secrets: Secrets,
    /// What was executed.
    pub executions: Executions,
    /// Commands.
    pub runs: Arc<Runs>,
    /// Python environments.
    pub environments: Environments,
    /// Python code.
    pub exec: Exec,
    /// Sandboxes that stay.
    pub sandboxes: Sandboxes,
    /// Git in them.
    pub sandbox_git: SandboxGit,
}

impl Services {
    /// The services over these ports. Nothing is opened yet.
    #[must_use]
    pub fn new(
        store: &Store,
        settings: RepositorySettings,
        runs: RunSettings,
        environments: EnvironmentSettings,
        executions: ExecutionSettings,
        sandboxes: SandboxSettings,
        clock: Clock,
    ) -> Self {
        let RepositorySettings {
            roots,
            working_directories,
            timeout,
            network_timeout,
            git,
            trees,
            configured,
            workspaces,
            wrapup_instructions,
            machine,
            scratch,
        } = settings;
        let data = trees.directory.clone();
        let homes = Homes::new(&data);
        let sandboxes_directory = data.join("sandboxes");
        let locks = LockFiles::new(trees.directory.join("locks"));
        // What Agentyard keeps is reached by its tools and not by its files, also where a root holds it all.
        let roots = roots.except(trees.directory.clone());
        let (git, trees) = (Arc::new(git), Arc::new(Trees::new(trees)));
        let audit = AuditLog::new(store.clone());
        let working_directories = Arc::new(working_directories);
        let kept = Arc::new(KeptRepositories::new(KeepLimits::default()));
        let turns = Arc::new(Turns::default());
        let repos = Repos::new(RepoPorts {
            store: store.clone(),
            git: git.clone(),
            trees: trees.clone(),
            audit: audit.clone(),
            roots: roots.clone(),
            configured,
            timeout,
            network_timeout,
        });
        let workspaces = Workspaces::new(
            WorkspacePorts {
                store: store.clone(),
                repos: repos.clone(),
                working_directories: working_directories.clone(),
                trees,
                homes: homes.clone(),
                interpreters: runs.interpreters.clone(),
                locks: locks.clone(),
                git: git.clone(),
                kept: kept.clone(),
                turns: turns.clone(),
                audit: audit.clone(),
                clock: clock.clone(),
                timeout: network_timeout,
            },
            workspaces,
        );
        let roots_of_repositories = roots.clone();
        let places = Places::new(PlaceParts {
            roots,
            working_directories,
            kept,
            turns,
            timeout,
            scratch: Scratch::new(&data, scratch),
            homes,
            data,
            workspaces: workspaces.clone(),
            audit: audit.clone(),
        });
        let trust = TrustedRepositories::new(store.clone());
        let secrets = Secrets::new(store.clone());
        let executions = Executions::new(store.clone(), clock.clone(), executions);
        let identities = Identities::new(store.clone());
        let sandbox = runs.sandbox.clone();
        let network = sandboxes.network_beside(runs.network);
        let git_in_sandboxes = SandboxGitSettings::of(&sandboxes, network);
        let sandboxes = Sandboxes::new(SandboxParts {
            settings: sandboxes,
            store: store.clone(),
            audit: audit.clone(),
            identities: identities.clone(),
            clock: clock.clone(),
            locks: locks.clone(),
            directory: sandboxes_directory,
            sandbox: sandbox.clone(),
            environment: runs.environment.clone(),
            limits: runs.limits,
            network,
        });
        let sandbox_git = SandboxGit::new(SandboxGitParts {
            sandboxes: sandboxes.clone(),
            secrets: secrets.clone(),
            git: git.clone(),
            roots: roots_of_repositories,
            audit: audit.clone(),
            settings: git_in_sandboxes,
        });
        let limits = Limits {
            duration: runs.code_timeout,
            ..runs.limits
        };
        let interpreters = runs.interpreters.clone();
        let runs = Arc::new(Runs::new(
            runs,
            places.clone(),
            secrets.clone(),
            executions.clone(),
            clock.clone(),
        ));
        let environments = Environments::new(EnvironmentParts {
            settings: environments,
            sandbox: sandbox.clone(),
            limits,
            places: places.clone(),
            runs: runs.clone(),
            audit: audit.clone(),
            locks,
            clock: clock.clone(),
        });
        let exec = Exec::new(ExecParts {
            runs: runs.clone(),
            environments: environments.clone(),
            secrets: secrets.clone(),
            places: places.clone(),
            interpreters,
            clock: clock.clone(),
        });
        Self {
            audit: audit.clone(),
            identities,
            files: Files::new(places.clone(), machine, sandbox.is_some()),
            code_files: CodeFiles::new(places.clone()),
            secrets,
            executions,
            runs,
            environments,
            exec,
            sandboxes,
            sandbox_git,
            tokens: Tokens::new(store.clone(), clock.clone()),
            repos,
            workspaces,
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

    /// Gets ready what callers will want soon. To be called beside everything else when a server starts: it may take as
    /// long as somebody else takes to answer.
    pub async fn warm_up(&self) {
        self.runs.warm_up_sandbox().await;
    }

    /// Ends what still goes on, and writes down what was only counted. To be called before a process ends.
    pub async fn end(&self) {
        self.runs.end_all().await;
        self.sandboxes.end_all().await;
        self.runs.end_sandbox().await;
        self.executions.end().await;
        self.workspaces.write_counts().await;
    }
}
