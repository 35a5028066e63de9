//! Opening a database, and changing its tables.

use std::error::Error as _;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::pin::pin;
use std::time::Duration;

use agentyard_model::{Clock, Secret};
use agentyard_store::{AppliedMigration, Error, Store, StoreSettings};
use agentyard_testkit::on_both_databases;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{Connection, SqliteConnection};

const ALL: [AppliedMigration; 7] = [
    AppliedMigration {
        version: 1,
        name: "foundation",
    },
    AppliedMigration {
        version: 2,
        name: "trusted repositories",
    },
    AppliedMigration {
        version: 3,
        name: "workspaces",
    },
    AppliedMigration {
        version: 4,
        name: "executions",
    },
    AppliedMigration {
        version: 5,
        name: "secrets",
    },
    AppliedMigration {
        version: 6,
        name: "sandboxes",
    },
    AppliedMigration {
        version: 7,
        name: "snapshots elsewhere",
    },
];

on_both_databases!(the_tables_are_made_once, async |database| {
    assert_eq!(database.store.migrate().await.unwrap(), ALL);
    assert_eq!(database.store.migrate().await.unwrap(), []);
    let another = database.another_store();
    assert_eq!(another.migrate().await.unwrap(), []);
    another.ping().await.unwrap();
    another.close().await;
});

on_both_databases!(a_store_opens_itself, async |database| {
    assert!(database.store.is_empty().await.unwrap());
    assert_eq!(database.store.migrate().await.unwrap(), []);
});

on_both_databases!(of_many_at_once_one_makes_the_tables, async |database| {
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let store = database.another_store();
        tasks.spawn(async move {
            let applied = store.migrate().await.unwrap();
            store.ping().await.unwrap();
            store.close().await;
            applied
        });
    }
    let applied: Vec<AppliedMigration> = tasks.join_all().await.into_iter().flatten().collect();
    assert_eq!(applied, ALL);
});

on_both_databases!(a_newer_database_is_left_alone, async |database| {
    database.store.open().await.unwrap();
    database
        .execute(
            "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
             SELECT 9999, 'the future', success, checksum, 0 FROM _sqlx_migrations WHERE version = 1",
        )
        .await;
    let older = database.another_store();
    let error = older.open().await.unwrap_err();
    assert!(
        matches!(
            error,
            Error::TooNew {
                found: 9999,
                known: 7
            }
        ),
        "{error:?}"
    );
    assert!(error.to_string().contains("newer release"), "{error}");
    assert!(older.ping().await.is_err());
});

on_both_databases!(tables_of_other_making_are_left_alone, async |database| {
    database.store.open().await.unwrap();
    let forgery = "UPDATE _sqlx_migrations SET checksum = checksum || checksum";
    database.execute(forgery).await;
    let error = database.another_store().open().await.unwrap_err();
    assert!(matches!(error, Error::ForeignSchema { version: 1 }), "{error:?}");
});

on_both_databases!(a_failed_opening_is_tried_again, async |database| {
    database.store.open().await.unwrap();
    let change = "UPDATE _sqlx_migrations SET version = version";
    database.execute(&format!("{change} + 1000")).await;
    let store = database.another_store();
    assert!(store.ping().await.is_err());
    database.execute(&format!("{change} - 1000")).await;
    store.ping().await.unwrap();
    store.close().await;
});

on_both_databases!(a_closed_store_says_so, async |database| {
    database.store.open().await.unwrap();
    database.store.close().await;
    let ping = database.store.ping().await;
    assert!(matches!(ping, Err(Error::Unavailable { .. })), "{ping:?}");
});

fn sqlite(directory: &Path) -> Store {
    let settings = StoreSettings {
        data_dir: directory.to_owned(),
        ..StoreSettings::default()
    };
    Store::lazy(settings, Clock::System)
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn the_file_is_its_owners_alone() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("deeper").join("data");
    let store = sqlite(&data);
    assert!(!data.exists(), "a store that is not used touches nothing");
    store.open().await.unwrap();
    assert_eq!(mode(&data), 0o700);
    for name in ["agentyard.db", "agentyard.db-wal", "agentyard.db-shm"] {
        assert_eq!(mode(&data.join(name)), 0o600, "{name}");
    }
    store.close().await;
}

#[tokio::test]
async fn a_file_that_others_can_read_is_closed_to_them() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("agentyard.db");
    std::fs::write(&file, "").unwrap();
    let permissions = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(&file, permissions).unwrap();
    let directory_mode = mode(directory.path());
    let store = sqlite(directory.path());
    store.open().await.unwrap();
    assert_eq!(mode(&file), 0o600);
    assert_eq!(mode(directory.path()), directory_mode);
    store.close().await;
}

#[tokio::test]
async fn a_file_that_is_no_database_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("agentyard.db");
    std::fs::write(&file, "these are not the bytes you are looking for".repeat(100)).unwrap();
    let error = sqlite(directory.path()).open().await.unwrap_err();
    assert!(matches!(error, Error::Query { .. }), "{error:?}");
}

#[tokio::test]
async fn a_directory_that_cannot_be_made_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    std::fs::write(&file, "").unwrap();
    let error = sqlite(&file).open().await.unwrap_err();
    assert!(matches!(&error, Error::DataDirectory { path, .. } if *path == file));
    assert!(error.source().is_some());
}

#[tokio::test]
async fn a_file_that_another_process_is_just_making_is_waited_for() {
    let directory = tempfile::tempdir().unwrap();
    let options = SqliteConnectOptions::new()
        .filename(directory.path().join("agentyard.db"))
        .create_if_missing(true);
    let mut other = SqliteConnection::connect_with(&options).await.unwrap();
    let writing = other.begin_with("BEGIN IMMEDIATE").await.unwrap();
    let store = sqlite(directory.path());
    let mut opening = pin!(store.open());
    let early = tokio::time::timeout(Duration::from_millis(200), &mut opening).await;
    assert!(early.is_err(), "{early:?}");
    writing.rollback().await.unwrap();
    opening.await.unwrap();
    other.close().await.unwrap();
    store.close().await;
}

fn postgres(url: &str) -> Store {
    let settings = StoreSettings {
        url: Some(Secret::new(url)),
        ..StoreSettings::default()
    };
    Store::lazy(settings, Clock::System)
}

/// Everything that a log could show of an error and its causes.
fn shown(error: &Error) -> String {
    let mut text = format!("{error} {error:?} {error:#?}");
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(&format!(" {cause} {cause:?}"));
        source = cause.source();
    }
    text
}

#[tokio::test]
async fn a_server_that_is_away_or_silent_is_given_up_and_its_password_not_shown() {
    // One does not listen, the other never says a word.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent_port = silent.local_addr().unwrap().port();
    let away_port = {
        let gone = TcpListener::bind("127.0.0.1:0").unwrap();
        gone.local_addr().unwrap().port()
    };
    let attempts = [silent_port, away_port].map(async |port| {
        let store = postgres(&format!("postgres://me:hunter2@127.0.0.1:{port}/db"));
        let text = format!("{store:?} {store:#?}");
        assert!(!text.contains("hunter2"), "{text}");
        store.open().await.unwrap_err()
    });
    for error in futures::future::join_all(attempts).await {
        assert!(matches!(error, Error::Unavailable { .. }), "{error:?}");
        assert!(!shown(&error).contains("hunter2"), "{}", shown(&error));
    }
}

#[tokio::test]
async fn a_bad_url_is_refused_without_being_shown() {
    for url in ["mysql://me:hunter2@host/db", "postgres://me:hunter2@ho st/db"] {
        let error = postgres(url).open().await.unwrap_err();
        assert!(matches!(error, Error::InvalidUrl { .. }), "{error:?}");
        assert!(!shown(&error).contains("hunter2"), "{}", shown(&error));
    }
}

#[test]
fn settings_show_and_serialise_no_secret_and_know_no_other_key() {
    let settings = StoreSettings {
        url: Some(Secret::new("postgres://me:hunter2@host/db")),
        ..StoreSettings::default()
    };
    let serialised = serde_json::to_string(&settings).unwrap();
    let text = format!("{settings:?} {settings:#?} {serialised}");
    assert!(!text.contains("hunter2"), "{text}");
    let unknown = serde_json::from_str::<StoreSettings>(r#"{"uri": "postgres://"}"#);
    assert!(unknown.is_err());
    let partial: StoreSettings = serde_json::from_str(r#"{"data_dir": "/srv"}"#).unwrap();
    assert_eq!(
        (partial.data_dir.as_path(), partial.max_connections),
        (Path::new("/srv"), 10)
    );
}
