//! The database: one [`Store`] over SQLite or PostgreSQL.
//!
//! It touches the database and, for SQLite, the data directory; nothing else. The
//! queries are one text for both engines, the tables are two (`migrations/`), and every
//! test runs on both. A mutation writes its audit row in its own transaction, so there
//! is never one without the other. What comes in and goes out is in the terms of
//! `agentyard-model`; no type of the database library leaves this crate.

#![warn(missing_docs)]

mod error;
mod settings;
mod text;

mod database;
mod migrations;
mod store;

mod audit;

mod roles;
mod tenants;
mod users;

mod sealed_secrets;
mod sealing;
mod secrets;
mod tokens;

mod executions;
mod jobs;
mod trusted_repositories;
mod working_directories;

mod measures;
mod repos;
mod workspaces;

mod sandbox_snapshots;
mod sandboxes;

pub use audit::{Audit, AuditFault, AuditFaultKind, AuditVerification};
pub use error::{DatabaseError, Error, Result};
pub use executions::{Delivery, Executions};
pub use jobs::{Enqueued, Job, JobState, Jobs, LeasedJob, NewJob};
pub use measures::{MeasureChange, Measures};
pub use migrations::AppliedMigration;
pub use repos::{Added, Repos};
pub use roles::Roles;
pub use sandbox_snapshots::SandboxSnapshots;
pub use sandboxes::{Creation, SandboxToken, Sandboxes};
pub use sealed_secrets::SealedSecrets;
pub use secrets::{TokenHash, generate_token_secret};
pub use settings::StoreSettings;
pub use store::Store;
pub use tenants::{Tenant, Tenants};
pub use tokens::{Authenticated, Authentication, Refused, Revocation, Tokens};
pub use trusted_repositories::{TrustedRepositories, TrustedRepository};
pub use users::{NewUser, User, Users};
pub use working_directories::WorkingDirectories;
pub use workspaces::{Claim, Workspaces};
