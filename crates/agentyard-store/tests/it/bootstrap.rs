//! The first token of an installation.

use std::sync::Arc;

use agentyard_model::{Permissions, TenantId, TokenFilter};
use agentyard_store::Error;
use agentyard_testkit::on_both_databases;
use tokio::sync::Barrier;

use crate::support::{
    accepted, actions, create_tenant, create_token, create_user, event, new_token, page, role,
};

const LOCAL: TenantId = TenantId::LOCAL;

on_both_databases!(the_first_administrator_may_do_everything, async |database| {
    let store = &database.store;
    assert!(store.is_empty().await.unwrap());
    let (token, secret) = store
        .tokens()
        .bootstrap_administrator("first".parse().unwrap())
        .await
        .unwrap()
        .unwrap();
    let authenticated = accepted(store, &secret).await;
    assert_eq!(authenticated.permissions, Permissions::ALL);
    assert_eq!(authenticated.token.id, token.id);
    let owner = authenticated.owner.unwrap();
    assert_eq!((owner.name.as_str(), owner.role), ("admin", role("admin")));
    assert_eq!(actions(store, LOCAL).await, ["bootstrap_administrator"]);
    assert!(!store.is_empty().await.unwrap());
});

on_both_databases!(there_is_only_one_first, async |database| {
    let store = &database.store;
    let (token, _) = create_token(store, LOCAL, new_token("ci", "")).await;
    let again = async || {
        store
            .tokens()
            .bootstrap_administrator("first".parse().unwrap())
            .await
            .unwrap()
    };
    assert!(again().await.is_none());
    // A token that has ended was there all the same.
    store
        .tokens()
        .revoke(LOCAL, token.id, &event("revoke_token"))
        .await
        .unwrap();
    assert!(again().await.is_none());
});

on_both_databases!(tokens_of_other_tenants_do_not_count, async |database| {
    let store = &database.store;
    let other = create_tenant(store, "other").await;
    create_token(store, other.id, new_token("ci", "")).await;
    assert!(store.is_empty().await.unwrap());
    let made = store
        .tokens()
        .bootstrap_administrator("first".parse().unwrap())
        .await
        .unwrap();
    assert!(made.is_some());
});

on_both_databases!(of_many_at_once_one_wins, async |database| {
    const RIVALS: usize = 4;
    let start = Arc::new(Barrier::new(RIVALS));
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..RIVALS {
        let store = database.another_store();
        let start = start.clone();
        tasks.spawn(async move {
            // All see that there is no token, and then all go for it.
            assert!(store.is_empty().await.unwrap());
            start.wait().await;
            let made = store
                .tokens()
                .bootstrap_administrator("first".parse().unwrap())
                .await;
            store.close().await;
            made.unwrap().is_some()
        });
    }
    let winners = tasks.join_all().await.into_iter().filter(|won| *won).count();
    assert_eq!(winners, 1);
    let tokens = database
        .store
        .tokens()
        .list(LOCAL, TokenFilter { ended: true }, &page(10))
        .await
        .unwrap();
    assert_eq!(tokens.items.len(), 1);
    assert_eq!(actions(&database.store, LOCAL).await, ["bootstrap_administrator"]);
});

on_both_databases!(an_administrator_who_is_there_is_used, async |database| {
    let store = &database.store;
    let admin = create_user(store, LOCAL, "admin", "admin").await;
    let (token, _) = store
        .tokens()
        .bootstrap_administrator("first".parse().unwrap())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(token.owner, Some(admin.id));
});

on_both_databases!(nobody_becomes_administrator_by_name, async |database| {
    let store = &database.store;
    create_user(store, LOCAL, "admin", "dev").await;
    let made = store
        .tokens()
        .bootstrap_administrator("first".parse().unwrap())
        .await;
    assert!(matches!(made, Err(Error::Exists { .. })), "{made:?}");
    assert!(store.is_empty().await.unwrap());
    assert_eq!(actions(store, LOCAL).await, ["create_user"]);
});
