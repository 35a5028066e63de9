//! All or nothing.

use sqlx::{Postgres, Sqlite};

use super::{Query, Row, patiently};
use crate::Result;

/// A transaction that writes. Dropped before [`Transaction::commit`], whether by an
/// error, a panic or a caller who went away, it leaves nothing behind.
pub(crate) enum Transaction {
    Sqlite(sqlx::Transaction<'static, Sqlite>),
    Postgres(sqlx::Transaction<'static, Postgres>),
}

impl Transaction {
    /// Runs a statement for its rows, which may also be those that it changed (`RETURNING`).
    pub(crate) async fn fetch(&mut self, query: &Query) -> Result<Vec<Row>> {
        let attempt = query.attempt();
        match self {
            Self::Sqlite(transaction) => {
                let statement = query.prepare::<Sqlite>()?;
                let rows = patiently(attempt, statement.fetch_all(&mut **transaction)).await?;
                Ok(rows.into_iter().map(Row::Sqlite).collect())
            }
            Self::Postgres(transaction) => {
                let statement = query.prepare::<Postgres>()?;
                let rows = patiently(attempt, statement.fetch_all(&mut **transaction)).await?;
                Ok(rows.into_iter().map(Row::Postgres).collect())
            }
        }
    }

    /// Runs a statement that gives at most one row.
    pub(crate) async fn fetch_optional(&mut self, query: &Query) -> Result<Option<Row>> {
        Ok(self.fetch(query).await?.into_iter().next())
    }

    /// Runs a statement for how many rows it changed.
    pub(crate) async fn execute(&mut self, query: &Query) -> Result<u64> {
        let attempt = query.attempt();
        match self {
            Self::Sqlite(transaction) => {
                let statement = query.prepare::<Sqlite>()?;
                let done = patiently(attempt, statement.execute(&mut **transaction)).await?;
                Ok(done.rows_affected())
            }
            Self::Postgres(transaction) => {
                let statement = query.prepare::<Postgres>()?;
                let done = patiently(attempt, statement.execute(&mut **transaction)).await?;
                Ok(done.rows_affected())
            }
        }
    }

    /// What to put after a `SELECT` so that it passes over the rows that others hold. In
    /// SQLite nobody else holds any: only one transaction writes at a time.
    pub(crate) fn skipping_locked(&self) -> &'static str {
        match self {
            Self::Sqlite(_) => "",
            Self::Postgres(_) => " FOR UPDATE SKIP LOCKED",
        }
    }

    /// Makes it last. When this returns, it is on disk.
    pub(crate) async fn commit(self, attempt: &'static str) -> Result<()> {
        match self {
            Self::Sqlite(transaction) => patiently(attempt, transaction.commit()).await,
            Self::Postgres(transaction) => patiently(attempt, transaction.commit()).await,
        }
    }
}
