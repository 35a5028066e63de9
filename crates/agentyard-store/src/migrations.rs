//! Changes of the tables, applied in order when a database is first opened.

use std::collections::BTreeMap;

use sqlx::SqlSafeStr;
use sqlx::migrate::{Migrate, MigrateError, Migration, MigrationType};

use crate::database::Database;
use crate::{Error, Result};

/// A change of the tables that was just made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppliedMigration {
    /// Its place in the order.
    pub version: i64,
    /// What it is about.
    pub name: &'static str,
}

/// One change, in the words of each engine. Once released, a change is never edited: the
/// databases that have it would no longer be recognised.
struct Change {
    version: i64,
    name: &'static str,
    sqlite: &'static str,
    postgres: &'static str,
}

macro_rules! change {
    ($version:literal, $name:literal, $file:literal) => {
        Change {
            version: $version,
            name: $name,
            sqlite: include_str!(concat!("../migrations/sqlite/", $file)),
            postgres: include_str!(concat!("../migrations/postgres/", $file)),
        }
    };
}

/// All changes there are, oldest first.
const CHANGES: &[Change] = &[
    change!(1, "foundation", "0001_foundation.sql"),
    change!(2, "trusted repositories", "0002_trusted_repositories.sql"),
    change!(3, "workspaces", "0003_workspaces.sql"),
    change!(4, "executions", "0004_executions.sql"),
    change!(5, "secrets", "0005_secrets.sql"),
    change!(6, "sandboxes", "0006_sandboxes.sql"),
    change!(7, "snapshots elsewhere", "0007_snapshots_elsewhere.sql"),
];

/// Where the database keeps which changes it has: the driver's own table.
const TABLE: &str = "_sqlx_migrations";

/// The number of the PostgreSQL lock under which the tables are changed. It only has to
/// differ from those of other programs in the same database.
const LOCK: i64 = 0x6167_656e_7479_6172;

const ATTEMPT: &str = "bring the database up to date";

/// Makes the changes that the database does not have yet: all of them or none, in one
/// transaction. Of several processes one makes them, while the others wait and then find
/// nothing left to do.
pub(crate) async fn run(database: &Database) -> Result<Vec<AppliedMigration>> {
    let failed = |error| Error::from_database(ATTEMPT, error);
    match database {
        Database::Sqlite { writer, .. } => {
            let mut transaction = writer.begin_with("BEGIN IMMEDIATE").await.map_err(failed)?;
            let applied = apply(&mut *transaction, |change| change.sqlite).await?;
            transaction.commit().await.map_err(failed)?;
            Ok(applied)
        }
        Database::Postgres(pool) => {
            let mut transaction = pool.begin().await.map_err(failed)?;
            // The limits of ordinary statements are not meant for changing a large table,
            // nor for waiting until somebody else has done so.
            sqlx::raw_sql("SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0")
                .execute(&mut *transaction)
                .await
                .map_err(failed)?;
            sqlx::query("SELECT pg_advisory_xact_lock($1)")
                .bind(LOCK)
                .execute(&mut *transaction)
                .await
                .map_err(failed)?;
            let applied = apply(&mut *transaction, |change| change.postgres).await?;
            transaction.commit().await.map_err(failed)?;
            Ok(applied)
        }
    }
}

async fn apply<C: Migrate>(
    connection: &mut C,
    text: impl Fn(&Change) -> &'static str,
) -> Result<Vec<AppliedMigration>> {
    connection.ensure_migrations_table(TABLE).await.map_err(failed)?;
    let present: BTreeMap<i64, _> = connection
        .list_applied_migrations(TABLE)
        .await
        .map_err(failed)?
        .into_iter()
        .map(|migration| (migration.version, migration.checksum))
        .collect();
    let known = CHANGES.last().map_or(0, |change| change.version);
    if let Some((&found, _)) = present.last_key_value().filter(|(found, _)| **found > known) {
        return Err(Error::TooNew { found, known });
    }
    let mut applied = Vec::new();
    for change in CHANGES {
        let migration = Migration::new(
            change.version,
            change.name.into(),
            MigrationType::Simple,
            text(change).into_sql_str(),
            false,
        );
        match present.get(&change.version) {
            Some(checksum) if *checksum == migration.checksum => {}
            Some(_) => {
                return Err(Error::ForeignSchema {
                    version: change.version,
                });
            }
            None => {
                connection.apply(TABLE, &migration).await.map_err(failed)?;
                applied.push(AppliedMigration {
                    version: change.version,
                    name: change.name,
                });
            }
        }
    }
    Ok(applied)
}

fn failed(error: MigrateError) -> Error {
    match error {
        MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => {
            Error::from_database(ATTEMPT, error)
        }
        other => Error::from_database(ATTEMPT, sqlx::Error::from(other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_ascend_and_no_file_is_forgotten() {
        assert!(CHANGES.windows(2).all(|pair| pair[0].version < pair[1].version));
        for engine in ["sqlite", "postgres"] {
            let directory = format!("{}/migrations/{engine}", env!("CARGO_MANIFEST_DIR"));
            let files = std::fs::read_dir(directory).unwrap().count();
            assert_eq!(files, CHANGES.len(), "{engine}");
        }
    }
}
