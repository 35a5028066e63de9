//! One query text for both engines.

use std::borrow::Cow;

use agentyard_model::{
    AuditId, ExecutionId, JobId, Permissions, RepoId, RepoName, RoleName, SandboxId, SecretName, SnapshotId,
    TenantId, TenantName, Timestamp, TokenId, TokenName, Toolsets, UserId, UserName, WorkspaceId,
};
use sqlx::{AssertSqlSafe, Encode, Type};

use crate::{Error, Result};

/// A statement with its values. The text is made of literals only, which the types see
/// to: whatever comes from outside can get in as a value and not otherwise.
pub(crate) struct Query {
    attempt: &'static str,
    text: Cow<'static, str>,
    values: Vec<Value>,
}

impl Query {
    /// A statement with placeholders `$1`, `$2`, …, and what is attempted with it, as it
    /// stands in an error after the word "cannot".
    pub(crate) fn new(attempt: &'static str, text: &'static str) -> Self {
        Self {
            attempt,
            text: Cow::Borrowed(text),
            values: Vec::new(),
        }
    }

    /// The value for the next placeholder.
    #[must_use]
    pub(crate) fn bind(mut self, value: impl Into<Value>) -> Self {
        self.values.push(value.into());
        self
    }

    /// More text.
    #[must_use]
    pub(crate) fn push(mut self, text: &'static str) -> Self {
        self.text.to_mut().push_str(text);
        self
    }

    /// The next placeholder and its value.
    #[must_use]
    pub(crate) fn push_value(mut self, value: impl Into<Value>) -> Self {
        self.values.push(value.into());
        let placeholder = format!("${}", self.values.len());
        self.text.to_mut().push_str(&placeholder);
        self
    }

    /// Placeholders with commas between, and their values.
    #[must_use]
    pub(crate) fn push_values<T: Into<Value>>(self, values: impl IntoIterator<Item = T>) -> Self {
        values
            .into_iter()
            .enumerate()
            .fold(self, |query, (position, value)| {
                let separator = if position == 0 { "" } else { ", " };
                query.push(separator).push_value(value)
            })
    }

    /// What is attempted with it.
    pub(crate) fn attempt(&self) -> &'static str {
        self.attempt
    }

    /// The statement as one engine's driver takes it.
    pub(super) fn prepare<'q, DB>(&self) -> Result<sqlx::query::Query<'q, DB, DB::Arguments>>
    where
        DB: sqlx::Database,
        Option<String>: Encode<'q, DB> + Type<DB>,
        Option<i64>: Encode<'q, DB> + Type<DB>,
    {
        // PostgreSQL keeps no NUL; SQLite does, but its functions stop at it.
        if self.values.iter().any(Value::has_nul) {
            return Err(Error::Unstorable {
                attempt: self.attempt,
                reason: "a text in it has a NUL character",
            });
        }
        let statement = sqlx::query(AssertSqlSafe(self.text.clone()));
        Ok(self
            .values
            .iter()
            .fold(statement, |statement, value| match value {
                Value::Text(text) => statement.bind(text.clone()),
                Value::Integer(integer) => statement.bind(*integer),
            }))
    }
}

/// A value on its way into the database. These two types are the same in both engines,
/// and all that we store has a form in one of them.
pub(crate) enum Value {
    Text(Option<String>),
    Integer(Option<i64>),
}

impl Value {
    fn has_nul(&self) -> bool {
        matches!(self, Self::Text(Some(text)) if text.contains('\0'))
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(Some(text.to_owned()))
    }
}

impl From<i64> for Value {
    fn from(integer: i64) -> Self {
        Self::Integer(Some(integer))
    }
}

impl From<u32> for Value {
    fn from(integer: u32) -> Self {
        Self::Integer(Some(integer.into()))
    }
}

impl From<Timestamp> for Value {
    fn from(at: Timestamp) -> Self {
        Self::Integer(Some(at.as_microseconds()))
    }
}

/// Yes is 1: SQLite has no type for it.
impl From<bool> for Value {
    fn from(is_so: bool) -> Self {
        Self::Integer(Some(is_so.into()))
    }
}

/// Sizes and counts, of which none comes near the largest that is kept.
impl From<u64> for Value {
    fn from(integer: u64) -> Self {
        Self::Integer(Some(i64::try_from(integer).unwrap_or(i64::MAX)))
    }
}

impl From<Option<u64>> for Value {
    fn from(integer: Option<u64>) -> Self {
        integer.map_or(Self::Integer(None), Self::from)
    }
}

impl From<Option<i32>> for Value {
    fn from(integer: Option<i32>) -> Self {
        Self::Integer(integer.map(i64::from))
    }
}

impl From<Option<&str>> for Value {
    fn from(text: Option<&str>) -> Self {
        Self::Text(text.map(str::to_owned))
    }
}

impl From<Option<Timestamp>> for Value {
    fn from(at: Option<Timestamp>) -> Self {
        Self::Integer(at.map(Timestamp::as_microseconds))
    }
}

/// Stored as they display themselves.
macro_rules! text {
    ($($type:ty),+) => {
        $(
            impl From<&$type> for Value {
                fn from(value: &$type) -> Self {
                    Self::Text(Some(value.to_string()))
                }
            }

            impl From<$type> for Value {
                fn from(value: $type) -> Self {
                    Self::from(&value)
                }
            }

            impl From<Option<$type>> for Value {
                fn from(value: Option<$type>) -> Self {
                    Self::Text(value.map(|value| value.to_string()))
                }
            }
        )+
    };
}

text!(
    String,
    AuditId,
    ExecutionId,
    JobId,
    RepoId,
    SandboxId,
    SnapshotId,
    TenantId,
    TokenId,
    UserId,
    WorkspaceId
);
text!(RepoName, RoleName, SecretName, TenantName, TokenName, UserName);
text!(Permissions, Toolsets);
