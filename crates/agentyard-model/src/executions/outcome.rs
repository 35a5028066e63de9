//! How executions end.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How an execution ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum ExecutionOutcome {
    /// It ended by itself, with exit code 0.
    Completed,
    /// It ended by itself with another exit code, or by a signal.
    Failed,
    /// Its time was up.
    TimedOut,
    /// Nobody waited for it any more.
    Cancelled,
    /// It passed a limit.
    Limit,
    /// It could not be run.
    Error,
}

impl ExecutionOutcome {
    /// Every outcome there is.
    pub const ALL: &'static [Self] = &[
        Self::Completed,
        Self::Failed,
        Self::TimedOut,
        Self::Cancelled,
        Self::Limit,
        Self::Error,
    ];

    /// The outcome as it is written.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::TimedOut => "timed_out",
            Self::Cancelled => "cancelled",
            Self::Limit => "limit",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for ExecutionOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ExecutionOutcome {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL
            .iter()
            .copied()
            .find(|outcome| outcome.as_str() == text)
            .ok_or(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_reads_back_as_itself() {
        for outcome in ExecutionOutcome::ALL {
            assert_eq!(outcome.to_string().parse(), Ok(*outcome));
            assert_eq!(serde_json::to_value(outcome).unwrap(), outcome.as_str());
        }
        assert!("gone".parse::<ExecutionOutcome>().is_err());
    }
}
