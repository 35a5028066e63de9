//! Both databases, for tests that must hold on either.
//!
//! Each test has a database of its own: SQLite in a temporary directory, or a fresh
//! PostgreSQL database on the server that `cargo xtask test` starts.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use agentyard_model::{Clock, Secret, Timestamp};
use agentyard_store::{Store, StoreSettings};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, SqliteConnection};
use tempfile::TempDir;

/// Where `cargo xtask test` says how to reach its PostgreSQL server.
pub const POSTGRES_URL_VARIABLE: &str = "AGENTYARD_TEST_POSTGRES_URL";

/// How many connections a test's store has: enough to be concurrent, few enough for many
/// tests on one server.
const MAX_CONNECTIONS: u32 = 8;

/// Declares a test that must hold on both databases: a module of the test's name with one
/// test per engine, `name::sqlite` and `name::postgres`.
///
/// ```ignore
/// on_both_databases!(a_store_answers, async |database| {
///     database.store.ping().await.unwrap();
/// });
/// ```
#[macro_export]
macro_rules! on_both_databases {
    ($(#[$attribute:meta])* $name:ident, $body:expr) => {
        $(#[$attribute])*
        mod $name {
            #[allow(unused_imports, clippy::allow_attributes, reason = "what the body needs, it names")]
            use super::*;

            #[test]
            fn sqlite() {
                $crate::databases::run($crate::databases::Engine::Sqlite, $body);
            }

            #[test]
            fn postgres() {
                $crate::databases::run($crate::databases::Engine::Postgres, $body);
            }
        }
    };
}

/// One of the two databases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// A file in a temporary directory.
    Sqlite,
    /// A database on the test server.
    Postgres,
}

/// A database that exists for one test.
#[derive(Debug)]
pub struct TestDatabase {
    /// Which of the two it is.
    pub engine: Engine,
    /// How it is reached.
    pub settings: StoreSettings,
    /// A clock that stands still, at noon of some day, until the test moves it.
    pub clock: Clock,
    /// A store on it that follows the clock. Nothing has been opened yet.
    pub store: Store,
    /// The name of the PostgreSQL database.
    name: String,
    directory: TempDir,
}

impl TestDatabase {
    /// A new database.
    ///
    /// # Panics
    /// When it cannot be made; for PostgreSQL, also when there is no server to make it on.
    pub async fn create(engine: Engine) -> Self {
        let directory = TempDir::with_prefix("agentyard-").expect("a temporary directory can be made");
        let name = unique_name();
        let url = match engine {
            Engine::Sqlite => None,
            Engine::Postgres => {
                let statement = format!("CREATE DATABASE {name}");
                execute_on_postgres(&server_url(), statement).await;
                Some(Secret::new(url_of(&name)))
            }
        };
        let settings = StoreSettings {
            url,
            data_dir: directory.path().join("data"),
            max_connections: MAX_CONNECTIONS,
            secret_key: None,
        };
        let noon = "2026-11-15T12:00:00Z".parse::<Timestamp>();
        let clock = Clock::fixed(noon.expect("the constant is a time"));
        Self {
            engine,
            store: Store::lazy(settings.clone(), clock.clone()),
            settings,
            clock,
            name,
            directory,
        }
    }

    /// Another store on the same database, which shares nothing with the first: what
    /// another process would have.
    #[must_use]
    pub fn another_store(&self) -> Store {
        Store::lazy(self.settings.clone(), self.clock.clone())
    }

    /// A directory that goes away with the database.
    #[must_use]
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Runs SQL behind the store's back: damage, mostly.
    ///
    /// # Panics
    /// When the database refuses it.
    pub async fn execute(&self, sql: &str) {
        match self.engine {
            Engine::Postgres => execute_on_postgres(&url_of(&self.name), sql.to_owned()).await,
            Engine::Sqlite => {
                let options =
                    SqliteConnectOptions::new().filename(self.settings.data_dir.join("agentyard.db"));
                let mut connection = SqliteConnection::connect_with(&options)
                    .await
                    .expect("the file can be opened");
                connection
                    .execute(AssertSqlSafe(sql.to_owned()))
                    .await
                    .expect("the database does as it is told");
                connection.close().await.expect("the file can be closed");
            }
        }
    }

    /// Cuts every connection to the database, as a restart of its server does. SQLite has
    /// no server and nothing to cut.
    pub async fn cut_connections(&self) {
        if self.engine == Engine::Postgres {
            let statement = format!(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{}'",
                self.name
            );
            execute_on_postgres(&server_url(), statement).await;
        }
    }

    /// Removes the database.
    pub async fn remove(self) {
        self.store.close().await;
        if self.engine == Engine::Postgres {
            let statement = format!("DROP DATABASE {} WITH (FORCE)", self.name);
            execute_on_postgres(&server_url(), statement).await;
        }
    }
}

/// Runs a test on a new database, which is removed afterwards, also when the test fails.
///
/// # Panics
/// When the test does.
pub fn run(engine: Engine, test: impl AsyncFnOnce(&TestDatabase)) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime can be made");
    let database = runtime.block_on(TestDatabase::create(engine));
    let outcome = catch_unwind(AssertUnwindSafe(|| runtime.block_on(test(&database))));
    runtime.block_on(database.remove());
    if let Err(panic) = outcome {
        resume_unwind(panic);
    }
}

/// A name that no other test has, in this process or another.
fn unique_name() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let id = agentyard_model::RequestId::new();
    format!("agentyard_test_{id}_{count}")
}

#[expect(
    clippy::disallowed_methods,
    reason = "only the test command knows where its server is"
)]
fn server_url() -> String {
    std::env::var(POSTGRES_URL_VARIABLE).unwrap_or_else(|_| {
        panic!(
            "{POSTGRES_URL_VARIABLE} is not set, so there is no PostgreSQL server to test on: \
             run `cargo xtask test`, which starts one"
        )
    })
}

/// The server's URL with another database in it.
fn url_of(database: &str) -> String {
    let url = server_url();
    let (address, parameters) = match url.split_once('?') {
        Some((address, parameters)) => (address, format!("?{parameters}")),
        None => (url.as_str(), String::new()),
    };
    let (server, _) = address
        .rsplit_once('/')
        .expect("the URL of the test server ends with a database");
    format!("{server}/{database}{parameters}")
}

async fn execute_on_postgres(url: &str, sql: String) {
    let mut connection = PgConnection::connect(url)
        .await
        .expect("the test server can be reached");
    connection
        .execute(AssertSqlSafe(sql))
        .await
        .expect("the database does as it is told");
    connection.close().await.expect("the connection can be closed");
}
