//! The two engines, and the few things that one query text needs to run on either.

mod postgres;
mod query;
mod row;
mod sqlite;
mod transaction;

use std::path::PathBuf;
use std::time::Duration;

use sqlx::{PgPool, Postgres, Sqlite, SqlitePool};

use crate::{Error, Result, StoreSettings};

pub(crate) use query::Query;
pub(crate) use row::{Row, unreadable};
pub(crate) use transaction::Transaction;

/// How long one statement may take. Together with the time for getting a connection it
/// stays below the 45 s after which a silent network must have been given up.
const PATIENCE: Duration = Duration::from_secs(30);

/// An open database.
pub(crate) enum Database {
    /// One file. SQLite has one writer at a time; a pool of one connection makes writers
    /// queue for it fairly, where its own lock would let them race and starve.
    Sqlite {
        readers: SqlitePool,
        writer: SqlitePool,
        /// Writes without waiting for the disk.
        hasty: SqlitePool,
        /// What the hasty writer writes to.
        log: PathBuf,
    },
    /// A server.
    Postgres(PgPool),
}

impl Database {
    /// Connects, without looking at what is in the database.
    pub(crate) async fn connect(settings: &StoreSettings) -> Result<Self> {
        match &settings.url {
            None => sqlite::connect(settings).await,
            Some(url) => postgres::connect(url, settings.max_connections),
        }
    }

    /// Reads. All reads go through here: each is one statement, sees one state of the
    /// database, and has a bounded answer.
    ///
    /// A connection that has died since it was last used is found out only by using it,
    /// so a read is tried once more. A write is not: it may have been done.
    pub(crate) async fn fetch(&self, query: &Query) -> Result<Vec<Row>> {
        match self.fetch_once(query).await {
            Err(error) if error.is_cut_off() => self.fetch_once(query).await,
            result => result,
        }
    }

    /// Begins a transaction that may write.
    pub(crate) async fn begin(&self, attempt: &'static str) -> Result<Transaction> {
        match self.begin_once(attempt).await {
            // Nothing has been done yet.
            Err(error) if error.is_cut_off() => self.begin_once(attempt).await,
            result => result,
        }
    }

    /// Begins a transaction whose end does not wait for the disk. What it wrote outlives this process at once;
    /// [`Database::sync`] makes it outlive the machine.
    pub(crate) async fn begin_hastily(&self, attempt: &'static str) -> Result<Transaction> {
        match self {
            Self::Sqlite { hasty, .. } => patiently(attempt, hasty.begin_with("BEGIN IMMEDIATE"))
                .await
                .map(Transaction::Sqlite),
            // Its server has many writers, and makes one wait for the disk serve all.
            Self::Postgres(_) => self.begin(attempt).await,
        }
    }

    /// Brings what was written hastily to the disk, in the background.
    pub(crate) fn sync(&self) {
        if let Self::Sqlite { log, .. } = self {
            let log = log.clone();
            tokio::task::spawn_blocking(move || {
                // SQLite holds no locks on this file, so a descriptor of our own does no harm.
                if let Err(error) = std::fs::File::open(&log).and_then(|log| log.sync_data()) {
                    tracing::warn!(%error, "the database's log could not be brought to the disk");
                }
            });
        }
    }

    /// Closes all connections once they are no longer in use.
    pub(crate) async fn close(&self) {
        match self {
            Self::Sqlite {
                readers,
                writer,
                hasty,
                ..
            } => {
                readers.close().await;
                hasty.close().await;
                writer.close().await;
            }
            Self::Postgres(pool) => pool.close().await,
        }
    }

    async fn fetch_once(&self, query: &Query) -> Result<Vec<Row>> {
        let attempt = query.attempt();
        match self {
            Self::Sqlite { readers, .. } => {
                let statement = query.prepare::<Sqlite>()?;
                let rows = patiently(attempt, statement.fetch_all(readers)).await?;
                Ok(rows.into_iter().map(Row::Sqlite).collect())
            }
            Self::Postgres(pool) => {
                let statement = query.prepare::<Postgres>()?;
                let rows = patiently(attempt, statement.fetch_all(pool)).await?;
                Ok(rows.into_iter().map(Row::Postgres).collect())
            }
        }
    }

    async fn begin_once(&self, attempt: &'static str) -> Result<Transaction> {
        match self {
            // A transaction that begins by reading and then wants to write can fail in
            // the middle, when another process wrote in between. This one waits at its
            // beginning, where waiting is harmless.
            Self::Sqlite { writer, .. } => patiently(attempt, writer.begin_with("BEGIN IMMEDIATE"))
                .await
                .map(Transaction::Sqlite),
            Self::Postgres(pool) => patiently(attempt, pool.begin()).await.map(Transaction::Postgres),
        }
    }
}

/// Waits for the database, but not for ever.
async fn patiently<T>(attempt: &'static str, work: impl Future<Output = sqlx::Result<T>>) -> Result<T> {
    match tokio::time::timeout(PATIENCE, work).await {
        Ok(result) => result.map_err(|error| Error::from_database(attempt, error)),
        Err(_) => Err(Error::timed_out(attempt)),
    }
}
