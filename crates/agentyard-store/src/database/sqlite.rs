//! SQLite: one file, private to its owner.

use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{Connection, SqliteConnection, SqlitePool};

use super::Database;
use crate::{Error, Result, StoreSettings};

/// The file's name in the data directory.
const FILE_NAME: &str = "agentyard.db";

/// How long to wait for a writer in another process.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// How long to wait for the other users of the pool in this process.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(15);

/// Connects to the file, which is made when there is none.
pub(super) async fn connect(settings: &StoreSettings) -> Result<Database> {
    let path = prepare_file(&settings.data_dir)?;
    let options = SqliteConnectOptions::new()
        .filename(&path)
        .create_if_missing(false)
        .journal_mode(SqliteJournalMode::Wal)
        // What we acknowledge is on disk: with WAL, only this level syncs each commit.
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .busy_timeout(BUSY_TIMEOUT);
    let pool = || {
        SqlitePoolOptions::new()
            .acquire_timeout(ACQUIRE_TIMEOUT)
            // A file does not hang up on us.
            .test_before_acquire(false)
            .after_release(|connection, _| Box::pin(is_usable(connection)))
    };
    let writer = pool()
        .max_connections(1)
        .idle_timeout(None)
        .max_lifetime(None)
        .connect_lazy_with(options.clone());
    let hasty = pool()
        .max_connections(1)
        .idle_timeout(None)
        .max_lifetime(None)
        .connect_lazy_with(options.clone().synchronous(SqliteSynchronous::Normal));
    let readers = pool()
        .max_connections(settings.max_connections.max(1))
        .connect_lazy_with(options.pragma("query_only", "ON"));
    switch_to_wal(&writer).await?;
    let mut log = path.into_os_string();
    log.push("-wal");
    Ok(Database::Sqlite {
        readers,
        writer,
        hasty,
        log: log.into(),
    })
}

/// Whether a connection that comes back can be given to somebody else. When the disk is
/// full, SQLite ends the transaction by itself; the driver then fails to end it, keeps
/// thinking that it is in one, and would refuse to begin another for ever.
async fn is_usable(connection: &mut SqliteConnection) -> sqlx::Result<bool> {
    // Commands are carried out in order, and a roll-back may still be under way.
    connection.ping().await?;
    Ok(!connection.is_in_transaction())
}

/// Makes the first connection, with which a new file changes to WAL. When two processes
/// do that at the same time, SQLite refuses one of them at once instead of letting it
/// wait, so the waiting is done here.
async fn switch_to_wal(writer: &SqlitePool) -> Result<()> {
    const PAUSE: Duration = Duration::from_millis(20);
    let mut waited = Duration::ZERO;
    loop {
        let error = match writer.acquire().await {
            Ok(_) => return Ok(()),
            Err(error) => Error::from_database("open the database", error),
        };
        if !error.is_busy() || waited >= BUSY_TIMEOUT {
            return Err(error);
        }
        tokio::time::sleep(PAUSE).await;
        waited += PAUSE;
    }
}

/// The database's file. SQLite gives its companions (`-wal`, `-shm`) the same mode.
fn prepare_file(directory: &Path) -> Result<PathBuf> {
    // An existing directory stays as it is: it may be somebody's home, and it is the
    // file that holds the secrets.
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
        .map_err(|source| Error::DataDirectory {
            path: directory.to_owned(),
            source,
        })?;
    let path = directory.join(FILE_NAME);
    match make_private(&path) {
        Ok(()) => Ok(path),
        Err(source) => Err(Error::DataDirectory { path, source }),
    }
}

/// Sees to it that the file exists and nobody but its owner can open it.
///
/// A process that closes any descriptor of a file loses all its locks on it, also those
/// of SQLite. So the file is opened here only to make it, and never while another store
/// of this process can be past this point.
fn make_private(path: &Path) -> io::Result<()> {
    const OWNER_ONLY: u32 = 0o600;
    static MAKING: Mutex<()> = Mutex::new(());
    let _making = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
    let made = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(OWNER_ONLY)
        .open(path);
    match made {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    if fs::metadata(path)?.permissions().mode() & 0o077 == 0 {
        return Ok(());
    }
    fs::set_permissions(path, Permissions::from_mode(OWNER_ONLY))
}
