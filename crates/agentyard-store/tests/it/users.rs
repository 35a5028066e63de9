//! People.

use std::time::Duration;

use agentyard_model::{TenantId, UserId};
use agentyard_store::{Error, NewUser, User};
use agentyard_testkit::on_both_databases;

use crate::support::{actions, create_user, event, role};

on_both_databases!(a_user_reads_back_as_they_were_added, async |database| {
    let store = &database.store;
    let user = create_user(store, TenantId::LOCAL, "ada", "dev").await;
    assert_eq!(user.created_at, database.clock.now());
    assert_eq!(
        store.users().get(TenantId::LOCAL, user.id).await.unwrap(),
        Some(user.clone())
    );
    assert_eq!(
        store.users().by_name(TenantId::LOCAL, &user.name).await.unwrap(),
        Some(user)
    );
    assert_eq!(actions(store, TenantId::LOCAL).await, ["create_user"]);
});

on_both_databases!(a_name_is_taken_once, async |database| {
    let store = &database.store;
    create_user(store, TenantId::LOCAL, "ada", "dev").await;
    let new = NewUser {
        tenant: TenantId::LOCAL,
        name: "ada".parse().unwrap(),
        role: role("ops"),
    };
    let again = store.users().create(new, |_| event("create_user")).await;
    assert!(matches!(again, Err(Error::Exists { .. })), "{again:?}");
    assert_eq!(actions(store, TenantId::LOCAL).await, ["create_user"]);
});

on_both_databases!(a_user_needs_a_tenant_and_a_role_that_exist, async |database| {
    let store = &database.store;
    for (tenant, role_name) in [(TenantId::new(), "dev"), (TenantId::LOCAL, "wizard")] {
        let new = NewUser {
            tenant,
            name: "ada".parse().unwrap(),
            role: role(role_name),
        };
        let created = store.users().create(new, |_| event("create_user")).await;
        assert!(matches!(created, Err(Error::NotFound { .. })), "{created:?}");
    }
    assert!(actions(store, TenantId::LOCAL).await.is_empty());
});

on_both_databases!(disabling_twice_is_disabling_once, async |database| {
    let store = &database.store;
    let user = create_user(store, TenantId::LOCAL, "ada", "dev").await;
    let disabled = User {
        disabled_at: Some(database.clock.now()),
        ..user.clone()
    };
    for _ in 0..2 {
        let returned = store
            .users()
            .disable(TenantId::LOCAL, user.id, &event("disable_user"))
            .await
            .unwrap();
        assert_eq!(returned, disabled);
        database.clock.advance(Duration::from_secs(1));
    }
    assert_eq!(
        store.users().get(TenantId::LOCAL, user.id).await.unwrap(),
        Some(disabled)
    );
});

on_both_databases!(a_role_can_be_changed_to_one_that_exists, async |database| {
    let store = &database.store;
    let user = create_user(store, TenantId::LOCAL, "ada", "dev").await;
    let changed = store
        .users()
        .set_role(TenantId::LOCAL, user.id, &role("ops"), &event("set_role"))
        .await
        .unwrap();
    assert_eq!(
        changed,
        User {
            role: role("ops"),
            ..user.clone()
        }
    );
    let wizard = store
        .users()
        .set_role(TenantId::LOCAL, user.id, &role("wizard"), &event("set_role"))
        .await;
    assert!(matches!(wizard, Err(Error::NotFound { .. })), "{wizard:?}");
    assert_eq!(
        store.users().get(TenantId::LOCAL, user.id).await.unwrap(),
        Some(changed)
    );
    assert_eq!(actions(store, TenantId::LOCAL).await, ["create_user", "set_role"]);
});

on_both_databases!(a_stranger_cannot_be_changed, async |database| {
    let store = &database.store;
    let nobody = UserId::new();
    let disabled = store
        .users()
        .disable(TenantId::LOCAL, nobody, &event("disable_user"))
        .await;
    assert!(matches!(disabled, Err(Error::NotFound { .. })), "{disabled:?}");
    assert!(actions(store, TenantId::LOCAL).await.is_empty());
});
