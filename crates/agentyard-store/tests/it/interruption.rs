//! What is broken off leaves nothing behind, and what is cut off comes back.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use agentyard_model::{AuditEvent, AuditFilter, MAX_PAGE_SIZE, TenantId};
use agentyard_store::{Error, NewUser, Revocation, Store, User};
use agentyard_testkit::databases::{self, Engine};
use agentyard_testkit::on_both_databases;

use crate::support::{
    accepted, actions, create_token, create_user, event, event_in, log, new_token, page_after, role,
};

const LOCAL: TenantId = TenantId::LOCAL;

fn new_user(name: &str) -> NewUser {
    NewUser {
        tenant: LOCAL,
        name: name.parse().unwrap(),
        role: role("dev"),
    }
}

async fn find(store: &Store, name: &str) -> Option<User> {
    store
        .users()
        .by_name(LOCAL, &name.parse().unwrap())
        .await
        .unwrap()
}

on_both_databases!(without_its_audit_row_nothing_is_changed, async |database| {
    let store = &database.store;
    let ada = create_user(store, LOCAL, "ada", "dev").await;
    let (token, secret) = create_token(store, LOCAL, new_token("ci", "project:read")).await;
    let before = log(store, LOCAL).await;
    // The log of a tenant that does not exist cannot be written: the last act of each
    // transaction fails.
    let doomed = event_in(TenantId::new(), "doomed");

    let created = store
        .users()
        .create(new_user("eve"), |_| doomed.clone())
        .await
        .map(|_| ());
    let disabled = store.users().disable(LOCAL, ada.id, &doomed).await.map(|_| ());
    let changed = store
        .users()
        .set_role(LOCAL, ada.id, &role("ops"), &doomed)
        .await
        .map(|_| ());
    let revoked = store.tokens().revoke(LOCAL, token.id, &doomed).await.map(|_| ());
    let moved = store
        .working_directories()
        .set(LOCAL, "ada", "/tmp".as_ref(), &doomed)
        .await;
    let founded = store
        .tenants()
        .create(&"other".parse().unwrap(), |_| doomed.clone())
        .await
        .map(|_| ());
    for result in [created, disabled, changed, revoked, moved, founded] {
        assert!(matches!(result, Err(Error::NotFound { .. })), "{result:?}");
    }

    assert_eq!(find(store, "eve").await, None);
    assert_eq!(find(store, "ada").await, Some(ada));
    accepted(store, &secret).await;
    assert_eq!(store.working_directories().get(LOCAL, "ada").await.unwrap(), None);
    assert_eq!(
        store.tenants().by_name(&"other".parse().unwrap()).await.unwrap(),
        None
    );
    assert_eq!(log(store, LOCAL).await, before);
});

on_both_databases!(a_caller_who_goes_away_leaves_all_or_nothing, async |database| {
    let store = &database.store;
    store.open().await.unwrap();
    let mut finished = Vec::new();
    let mut started = 0;
    // Lets go a little later each time, until the calls end before that.
    while finished.len() < 20 && started < 2000 {
        let name = format!("user-{started}");
        let patience = Duration::from_micros(20) * started;
        started += 1;
        let call = store.users().create(new_user(&name), |user| AuditEvent {
            target: user.name.to_string(),
            ..event("create_user")
        });
        tokio::select! {
            biased;
            created = call => finished.push(created.unwrap().name.to_string()),
            () = spend(patience) => {}
        }
    }
    // Whoever writes after them has waited for all that may still be in flight.
    create_user(store, LOCAL, "last", "dev").await;
    let written: HashSet<String> = all_targets(store).await;
    for number in 0..started {
        let name = format!("user-{number}");
        assert_eq!(
            find(store, &name).await.is_some(),
            written.contains(&name),
            "{name}"
        );
    }
    assert!(finished.iter().all(|name| written.contains(name)));
    assert!(
        written.len() < started as usize,
        "none of the calls was broken off"
    );
    assert_eq!(store.audit().verify(None).await.unwrap().first_fault, None);
});

/// Lets time pass without the coarse steps of a timer.
async fn spend(duration: Duration) {
    let start = Instant::now();
    while start.elapsed() < duration {
        tokio::task::yield_now().await;
    }
}

async fn all_targets(store: &Store) -> HashSet<String> {
    let mut targets = HashSet::new();
    let mut cursor = None;
    loop {
        let page = page_after(MAX_PAGE_SIZE, cursor.take());
        let found = store
            .audit()
            .search(LOCAL, &AuditFilter::default(), &page)
            .await
            .unwrap();
        targets.extend(found.items.into_iter().map(|record| record.target));
        cursor = found.next;
        if cursor.is_none() {
            return targets;
        }
    }
}

on_both_databases!(a_cut_connection_is_not_noticed, async |database| {
    let store = &database.store;
    let user = create_user(store, LOCAL, "ada", "dev").await;
    database.cut_connections().await;
    assert_eq!(find(store, "ada").await, Some(user));
    database.cut_connections().await;
    create_user(store, LOCAL, "eve", "dev").await;
    database.cut_connections().await;
    store.ping().await.unwrap();
    assert_eq!(actions(store, LOCAL).await, ["create_user", "create_user"]);
});

/// SQLite has no server that could hang up.
#[test]
fn a_read_that_is_cut_off_is_repeated() {
    databases::run(Engine::Postgres, async |database| {
        let store = &database.store;
        let user = create_user(store, LOCAL, "ada", "dev").await;
        let is_cut = AtomicBool::new(false);
        let cut = async {
            database.execute(CUT_WHOEVER_WAITS).await;
            is_cut.store(true, Ordering::SeqCst);
        };
        let read = async {
            while !is_cut.load(Ordering::SeqCst) {
                assert_eq!(find(store, "ada").await.as_ref(), Some(&user));
            }
        };
        tokio::join!(cut, read);
    });
}

/// Holds a lock until a reader waits for it, and then ends that reader's connection.
const CUT_WHOEVER_WAITS: &str = "BEGIN; LOCK TABLE users IN ACCESS EXCLUSIVE MODE; \
     DO $$ BEGIN WHILE NOT EXISTS (SELECT 1 FROM pg_locks WHERE relation = 'users'::regclass AND NOT granted) \
     LOOP PERFORM pg_sleep(0.01); END LOOP; END $$; \
     SELECT pg_terminate_backend(pid) FROM pg_locks WHERE relation = 'users'::regclass AND NOT granted; \
     COMMIT";

on_both_databases!(
    a_transaction_that_the_database_ends_itself_is_survived,
    async |database| {
        let store = &database.store;
        store.open().await.unwrap();
        // What SQLite does when the disk is full.
        let (damage, repair) = match database.engine {
            Engine::Sqlite => (
                "CREATE TRIGGER disk_full BEFORE INSERT ON audit BEGIN SELECT RAISE(ROLLBACK, 'no space'); END",
                "DROP TRIGGER disk_full",
            ),
            Engine::Postgres => (
                "ALTER TABLE audit ADD CONSTRAINT disk_full CHECK (sequence < 0)",
                "ALTER TABLE audit DROP CONSTRAINT disk_full",
            ),
        };
        database.execute(damage).await;
        for _ in 0..3 {
            let created = store
                .users()
                .create(new_user("eve"), |_| event("create_user"))
                .await;
            assert!(matches!(created, Err(Error::Query { .. })), "{created:?}");
            assert_eq!(find(store, "eve").await, None);
        }
        database.execute(repair).await;
        create_user(store, LOCAL, "eve", "dev").await;
        assert_eq!(store.audit().verify(None).await.unwrap().records, 1);
    }
);

on_both_databases!(revoking_waits_for_nobody_who_reads, async |database| {
    let store = &database.store;
    let (token, secret) = create_token(store, LOCAL, new_token("ci", "")).await;
    let event = event("revoke_token");
    let (read, revoked) = tokio::join!(
        store.tokens().authenticate(&secret),
        store.tokens().revoke(LOCAL, token.id, &event),
    );
    read.unwrap();
    assert_eq!(revoked.unwrap(), Revocation::Revoked);
});
