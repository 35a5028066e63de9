//! The audit log: who did what, on what, and how it ended.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{AuditId, Caller, RequestId, TenantId, Timestamp};

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Outcome {
    /// It was done.
    Done,
    /// The caller was turned away.
    Denied,
    /// It was tried and failed.
    Failed,
}

impl Outcome {
    /// The outcome as it is written.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Denied => "denied",
            Self::Failed => "failed",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Outcome {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        [Self::Done, Self::Denied, Self::Failed]
            .into_iter()
            .find(|outcome| outcome.as_str() == text)
            .ok_or(())
    }
}

/// What is to be written down.
#[derive(Debug, Clone)]
pub struct AuditEvent {
    /// In which tenant.
    pub tenant: TenantId,
    /// Who, as [`crate::Subject`] displays itself.
    pub actor: String,
    /// On whose behalf, nearest first.
    pub chain: Vec<String>,
    /// What: the name of the operation.
    pub action: &'static str,
    /// On what: an id, a path, a name.
    pub target: String,
    /// In which request.
    pub request_id: RequestId,
    /// How it ended.
    pub outcome: Outcome,
}

impl AuditEvent {
    /// This caller did this to that.
    #[must_use]
    pub fn done(caller: &Caller, action: &'static str, target: impl fmt::Display) -> Self {
        Self::with_outcome(caller, action, target, Outcome::Done)
    }

    /// This caller tried this on that, and this is how it ended.
    #[must_use]
    pub fn with_outcome(
        caller: &Caller,
        action: &'static str,
        target: impl fmt::Display,
        outcome: Outcome,
    ) -> Self {
        Self {
            tenant: caller.tenant,
            actor: caller.subject.to_string(),
            chain: caller.chain.iter().map(ToString::to_string).collect(),
            action,
            target: target.to_string(),
            request_id: caller.request_id.clone(),
            outcome,
        }
    }
}

/// One row of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRecord {
    /// Which row.
    pub id: AuditId,
    /// Its place in its tenant's chain, counted from 1.
    pub sequence: i64,
    /// When.
    pub at: Timestamp,
    /// Who.
    pub actor: String,
    /// On whose behalf, nearest first.
    pub chain: Vec<String>,
    /// What.
    pub action: String,
    /// On what.
    pub target: String,
    /// In which request.
    pub request_id: String,
    /// How it ended.
    pub outcome: Outcome,
}

/// Which rows are wanted; a field left out excludes nothing.
#[derive(Debug, Clone, Default)]
pub struct AuditFilter {
    /// Actors whose name contains this.
    pub actor: Option<String>,
    /// This operation.
    pub action: Option<String>,
    /// Targets that contain this.
    pub target: Option<String>,
    /// This outcome.
    pub outcome: Option<Outcome>,
    /// This request.
    pub request_id: Option<String>,
    /// At or after this instant.
    pub since: Option<Timestamp>,
    /// Before this instant.
    pub until: Option<Timestamp>,
}
