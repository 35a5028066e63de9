//! The settings of the execution log.

use agentyard_model::Secret;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The execution log: how long it is kept, and where else it goes.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ExecutionSettings {
    /// For how many days executions are kept. What still waits to be sent to SurrealDB is kept longer.
    pub(crate) keep_days: u32,
    /// How many executions are kept at most; the oldest go first, also those that were not sent yet.
    pub(crate) keep_count: u64,
    /// A SurrealDB server to which all executions are sent, such as `https://surreal.example.org`. Left out, none are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) surreal_url: Option<String>,
    /// The namespace there, which must exist.
    pub(crate) surreal_namespace: String,
    /// The database there, which must exist.
    pub(crate) surreal_database: String,
    /// The table there.
    pub(crate) surreal_table: String,
    /// The user as whom Agentyard writes there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) surreal_username: Option<String>,
    /// The password of that user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) surreal_password: Option<Secret>,
    /// Where that user is defined.
    pub(crate) surreal_user_level: SurrealUserLevel,
    /// A token, in the place of a user and a password.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) surreal_token: Option<Secret>,
    /// How many executions are sent at once.
    pub(crate) surreal_batch: u32,
    /// For how long executions are gathered before they are sent, in milliseconds.
    pub(crate) surreal_flush_ms: u64,
    /// How long one call to SurrealDB may take, in milliseconds.
    pub(crate) surreal_timeout_ms: u64,
}

impl Default for ExecutionSettings {
    fn default() -> Self {
        Self {
            keep_days: 30,
            keep_count: 100_000,
            surreal_url: None,
            surreal_namespace: "agentyard".to_owned(),
            surreal_database: "agentyard".to_owned(),
            surreal_table: "execution_log".to_owned(),
            surreal_username: None,
            surreal_password: None,
            surreal_user_level: SurrealUserLevel::Root,
            surreal_token: None,
            surreal_batch: 100,
            surreal_flush_ms: 2_000,
            surreal_timeout_ms: 30_000,
        }
    }
}

/// Where a user of SurrealDB is defined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum SurrealUserLevel {
    /// For the whole server.
    Root,
    /// In the namespace.
    Namespace,
    /// In the database.
    Database,
}
