//! The words of Agentyard: ids, validated names, permissions, roles, the [`Caller`],
//! entities, limits, secrets, pages and the clock.
//!
//! Everything here is a value. The crate does no I/O, starts nothing, reads no
//! environment and knows no database, transport or file system, so that every
//! other crate can speak in its terms.

#![warn(missing_docs)]

mod as_text;

mod ids;
mod names;
mod time;

mod permission;
mod toolset;

mod role;

mod caller;
mod delegation;

mod audit;
mod executions;
mod repos;
mod sandboxes;
mod token;
mod workspaces;

mod addresses;
mod page;
mod secret;
mod secret_name;

pub use addresses::ReservedAddress;
pub use audit::{AuditEvent, AuditFilter, AuditRecord, Outcome};
pub use caller::{Caller, Denied, RequestId, Subject};
pub use delegation::{Delegated, MAX_DELEGATION_DEPTH};
pub use executions::{
    Execution, ExecutionException, ExecutionFilter, ExecutionOutcome, ExecutionPlace, MAX_CODE_BYTES,
    MAX_EXCERPT_BYTES, NewExecution, OutputExcerpt,
};
pub use ids::{
    AuditId, ExecutionId, InvalidId, JobId, RepoId, RunId, TenantId, TokenId, UserId, WorkspaceId,
};
pub use names::{InvalidName, RepoName, RoleName, TenantName, TokenName, UserName};
pub use page::{Cursor, InvalidCursor, MAX_PAGE_SIZE, Page, PageRequest};
pub use permission::{Permission, Permissions, UnknownPermission};
pub use repos::{NewRepo, Repo};
pub use role::Role;
pub use sandboxes::{
    InvalidSandboxId, Lifecycle, NewSandbox, Sandbox, SandboxFilter, SandboxId, SandboxNetwork, SandboxState,
    Snapshot, SnapshotId,
};
pub use secret::Secret;
pub use secret_name::{InvalidSecretName, SecretEntry, SecretName};
pub use time::{Clock, InvalidTimestamp, Timestamp};
pub use token::{NewToken, Token, TokenFilter};
pub use toolset::{Toolset, Toolsets, UnknownToolset};
pub use workspaces::{NewWorkspace, Workspace, WorkspaceFilter, WorkspaceMeasure, WorkspaceState};
