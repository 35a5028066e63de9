//! Where the data is.

use std::path::PathBuf;

use agentyard_model::Secret;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where the data is, and how it is reached.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StoreSettings {
    /// The PostgreSQL database, as `postgres://user:password@host:port/database`. Left
    /// out, the data is kept in the SQLite file `agentyard.db` in the data directory.
    /// What the URL does not say is taken from PostgreSQL's own variables and password
    /// file (`PGSSLMODE`, `~/.pgpass`), as every client of it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<Secret>,
    /// The directory for all that is kept on disk. It is made, readable by its owner
    /// only, when it does not exist.
    pub data_dir: PathBuf,
    /// The key with which secrets are sealed: 64 hexadecimal digits, for example from `openssl rand -hex 32`. Left out,
    /// one is made and kept in the file `secret.key` in the data directory. Several servers on one database need the
    /// same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_key: Option<Secret>,
    /// How many connections to the database are open at most.
    pub max_connections: u32,
}

impl Default for StoreSettings {
    fn default() -> Self {
        Self {
            url: None,
            data_dir: PathBuf::from("agentyard-data"),
            secret_key: None,
            max_connections: 10,
        }
    }
}
