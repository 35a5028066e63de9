//! Tokens: making, listing, revoking.

use std::time::Duration;

use agentyard_model::{NewToken, TenantId, Token, TokenFilter, TokenId, UserId};
use agentyard_store::{Error, Revocation, Store, generate_token_secret};
use agentyard_testkit::on_both_databases;

use crate::support::{
    actions, below, create_token, create_user, event, new_token, owned_by, page, page_after, role,
};

async fn try_create(store: &Store, new: NewToken) -> Result<Token, Error> {
    let (_, hash) = generate_token_secret().unwrap();
    store
        .tokens()
        .create(TenantId::LOCAL, new, &hash, |_| event("create_token"))
        .await
}

on_both_databases!(a_token_reads_back_as_it_was_made, async |database| {
    let store = &database.store;
    let user = create_user(store, TenantId::LOCAL, "ada", "dev").await;
    let mut new = owned_by(user.id, new_token("ci", "project:read agent:run"));
    new.expires_at = Some(database.clock.now().after(Duration::from_secs(60)));
    let (token, _) = create_token(store, TenantId::LOCAL, new.clone()).await;
    let expected = Token {
        id: token.id,
        tenant: TenantId::LOCAL,
        name: new.name,
        role: new.role,
        permissions: new.permissions,
        owner: Some(user.id),
        parent: None,
        depth: 0,
        created_at: database.clock.now(),
        expires_at: new.expires_at,
        revoked_at: None,
        last_used_at: None,
    };
    assert_eq!(token, expected);
    assert_eq!(
        store.tokens().get(TenantId::LOCAL, token.id).await.unwrap(),
        Some(expected)
    );
    assert_eq!(
        store.tokens().get(TenantId::LOCAL, TokenId::new()).await.unwrap(),
        None
    );
    assert_eq!(
        actions(store, TenantId::LOCAL).await,
        ["create_user", "create_token"]
    );
});

on_both_databases!(the_secret_is_not_kept, async |database| {
    let store = &database.store;
    let (_, secret) = create_token(store, TenantId::LOCAL, new_token("ci", "")).await;
    store.close().await;
    if database.settings.url.is_none() {
        for entry in std::fs::read_dir(&database.settings.data_dir).unwrap() {
            let content = std::fs::read(entry.unwrap().path()).unwrap();
            let digits = secret.expose().trim_start_matches("ay_").as_bytes();
            assert!(!content.windows(digits.len()).any(|window| window == digits));
        }
    }
});

on_both_databases!(depth_is_counted_and_bounded, async |database| {
    let store = &database.store;
    let (mut parent, _) = create_token(store, TenantId::LOCAL, new_token("depth-0", "project:read")).await;
    for depth in 1..=agentyard_model::MAX_DELEGATION_DEPTH {
        let new = below(parent.id, new_token("deeper", "project:read"));
        // What the caller says about it does not count.
        (parent, _) = create_token(store, TenantId::LOCAL, new).await;
        assert_eq!(parent.depth, depth);
    }
    let too_deep = try_create(store, below(parent.id, new_token("deeper", "project:read"))).await;
    assert!(matches!(too_deep, Err(Error::DelegationTooDeep)), "{too_deep:?}");
});

on_both_databases!(what_a_token_refers_to_must_exist, async |database| {
    let store = &database.store;
    let mut wizard = new_token("ci", "");
    wizard.role = role("wizard");
    let disabled = create_user(store, TenantId::LOCAL, "ada", "dev").await;
    store
        .users()
        .disable(TenantId::LOCAL, disabled.id, &event("disable_user"))
        .await
        .unwrap();
    for new in [
        wizard,
        owned_by(UserId::new(), new_token("ci", "")),
        owned_by(disabled.id, new_token("ci", "")),
        below(TokenId::new(), new_token("ci", "")),
    ] {
        let created = try_create(store, new).await;
        assert!(matches!(created, Err(Error::NotFound { .. })), "{created:?}");
    }
});

on_both_databases!(nothing_is_made_with_a_token_that_has_ended, async |database| {
    let store = &database.store;
    let mut brief = new_token("brief", "project:read");
    brief.expires_at = Some(database.clock.now().after(Duration::from_secs(1)));
    let (expired, _) = create_token(store, TenantId::LOCAL, brief).await;
    let (revoked, _) = create_token(store, TenantId::LOCAL, new_token("ci", "project:read")).await;
    store
        .tokens()
        .revoke(TenantId::LOCAL, revoked.id, &event("revoke_token"))
        .await
        .unwrap();
    database.clock.advance(Duration::from_secs(1));
    for parent in [expired.id, revoked.id] {
        let created = try_create(store, below(parent, new_token("child", "project:read"))).await;
        assert!(matches!(created, Err(Error::ParentEnded(id)) if id == parent));
    }
});

on_both_databases!(tokens_are_listed_newest_first, async |database| {
    let store = &database.store;
    let mut made = Vec::new();
    for number in 0..5 {
        let mut new = new_token(&format!("token-{number}"), "");
        if number == 1 {
            new.expires_at = Some(database.clock.now().after(Duration::from_secs(1)));
        }
        made.push(create_token(store, TenantId::LOCAL, new).await.0.id);
    }
    store
        .tokens()
        .revoke(TenantId::LOCAL, made[3], &event("revoke_token"))
        .await
        .unwrap();
    database.clock.advance(Duration::from_secs(1));

    let list = async |ended| {
        let filter = TokenFilter { ended };
        let mut ids = Vec::new();
        let mut cursor = None;
        loop {
            let found = store
                .tokens()
                .list(TenantId::LOCAL, filter, &page_after(2, cursor.take()))
                .await
                .unwrap();
            ids.extend(found.items.iter().map(|token| token.id));
            cursor = found.next;
            if cursor.is_none() {
                return ids;
            }
        }
    };
    assert_eq!(list(false).await, [made[4], made[2], made[0]]);
    assert_eq!(list(true).await, [made[4], made[3], made[2], made[1], made[0]]);

    let foreign = page_after(2, Some("17".parse().unwrap()));
    let refused = store
        .tokens()
        .list(TenantId::LOCAL, TokenFilter::default(), &foreign)
        .await;
    assert!(matches!(refused, Err(Error::InvalidCursor(_))), "{refused:?}");
    let mut endless = page(2);
    endless.limit = u32::MAX;
    let all = store
        .tokens()
        .list(TenantId::LOCAL, TokenFilter { ended: true }, &endless)
        .await
        .unwrap();
    assert_eq!(all.items.len(), 5);
});

on_both_databases!(writers_that_read_first_do_not_fail_each_other, async |database| {
    // What is read at the beginning must still hold at the end, also when another process
    // writes all the time.
    let stores = [database.store.clone(), database.another_store()];
    let (parent, _) = create_token(&stores[0], TenantId::LOCAL, new_token("parent", "project:read")).await;
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..40 {
        let store = stores[number % 2].clone();
        let new = below(parent.id, new_token(&format!("child-{number}"), "project:read"));
        tasks.spawn(async move { create_token(&store, TenantId::LOCAL, new).await });
    }
    tasks.join_all().await;
    assert_eq!(stores[1].audit().verify(None).await.unwrap().records, 41);
    stores[1].close().await;
});

on_both_databases!(a_token_is_revoked_once, async |database| {
    let store = &database.store;
    let (token, _) = create_token(store, TenantId::LOCAL, new_token("ci", "")).await;
    let revoke = async |id| {
        store
            .tokens()
            .revoke(TenantId::LOCAL, id, &event("revoke_token"))
            .await
    };
    let revoked_at = database.clock.now();
    assert_eq!(revoke(token.id).await.unwrap(), Revocation::Revoked);
    database.clock.advance(Duration::from_secs(1));
    assert_eq!(revoke(token.id).await.unwrap(), Revocation::AlreadyRevoked);
    assert!(matches!(
        revoke(TokenId::new()).await,
        Err(Error::NotFound { .. })
    ));
    let kept = store.tokens().get(TenantId::LOCAL, token.id).await.unwrap();
    assert_eq!(kept.unwrap().revoked_at, Some(revoked_at));
    assert_eq!(
        actions(store, TenantId::LOCAL).await,
        ["create_token", "revoke_token"]
    );
});
