//! From a secret to what its holder may do at this moment.

use std::time::Duration;

use agentyard_model::{Permissions, RequestId, Role, Secret, Subject, TenantId, Toolsets};
use agentyard_store::{Refused, generate_token_secret};
use agentyard_testkit::databases::Engine;
use agentyard_testkit::on_both_databases;

use crate::support::{
    accepted, below, create_tenant, create_token, create_user, event, event_in, new_token, owned_by,
    permissions, refused, role,
};

const LOCAL: TenantId = TenantId::LOCAL;

on_both_databases!(a_token_without_owner_has_what_it_was_granted, async |database| {
    let store = &database.store;
    let (token, secret) = create_token(store, LOCAL, new_token("ci", "project:read agent:run")).await;
    let authenticated = accepted(store, &secret).await;
    assert_eq!(authenticated.token, token);
    assert_eq!(authenticated.permissions, permissions("project:read agent:run"));
    assert_eq!(authenticated.toolsets, Role::built_in("dev").unwrap().toolsets);
    assert_eq!((authenticated.owner, authenticated.chain), (None, Vec::new()));
});

on_both_databases!(what_is_no_secret_of_ours_is_unknown, async |database| {
    let store = &database.store;
    let (_, secret) = create_token(store, LOCAL, new_token("ci", "")).await;
    let (other, _) = generate_token_secret().unwrap();
    let text = secret.expose();
    for wrong in [
        other.clone(),
        Secret::new(""),
        Secret::new("\0"),
        Secret::new("' OR 1=1 --"),
        Secret::new(text.to_uppercase()),
        Secret::new(format!("{text} ")),
        Secret::new(&text[..text.len() - 1]),
    ] {
        assert_eq!(refused(store, &wrong).await, Refused::Unknown);
    }
});

on_both_databases!(
    the_chain_reaches_to_the_owner_and_bounds_the_child,
    async |database| {
        let store = &database.store;
        let user = create_user(store, LOCAL, "ada", "dev").await;
        let (root, _) = create_token(
            store,
            LOCAL,
            owned_by(
                user.id,
                new_token("laptop", "project:read project:write agent:run deploy:read"),
            ),
        )
        .await;
        let (middle, _) = create_token(
            store,
            LOCAL,
            below(
                root.id,
                new_token("session", "project:read project:write admin:users"),
            ),
        )
        .await;
        let (leaf, secret) = create_token(
            store,
            LOCAL,
            below(middle.id, new_token("helper", &Permissions::ALL.to_string())),
        )
        .await;
        let authenticated = accepted(store, &secret).await;
        assert_eq!(
            authenticated.permissions,
            permissions("project:read project:write")
        );
        assert_eq!(authenticated.owner.as_ref(), Some(&user));
        let request_id = RequestId::new();
        let caller = authenticated.into_caller(request_id.clone());
        assert_eq!(
            caller.subject,
            Subject::Token {
                id: leaf.id,
                name: leaf.name
            }
        );
        assert_eq!(
            caller.chain,
            [
                Subject::Token {
                    id: middle.id,
                    name: middle.name
                },
                Subject::Token {
                    id: root.id,
                    name: root.name
                },
                Subject::User {
                    id: user.id,
                    name: user.name
                },
            ]
        );
        assert_eq!(
            (caller.tenant, caller.role, caller.request_id),
            (LOCAL, Some(role("dev")), request_id)
        );
    }
);

on_both_databases!(
    the_owner_stands_behind_the_last_token_that_is_theirs,
    async |database| {
        let store = &database.store;
        let ada = create_user(store, LOCAL, "ada", "dev").await;
        let (root, _) = create_token(
            store,
            LOCAL,
            owned_by(ada.id, new_token("laptop", "project:read")),
        )
        .await;
        let child = below(root.id, owned_by(ada.id, new_token("session", "project:read")));
        let (_, secret) = create_token(store, LOCAL, child).await;
        let names: Vec<String> = accepted(store, &secret)
            .await
            .chain
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            names,
            [
                format!("token laptop {}", root.id),
                format!("user ada {}", ada.id)
            ]
        );
    }
);

on_both_databases!(the_toolsets_are_those_of_the_tokens_role, async |database| {
    let store = &database.store;
    let custom = Role {
        name: role("reader"),
        toolsets: "core".parse().unwrap(),
        permissions: Permissions::NONE,
    };
    store
        .roles()
        .put(LOCAL, &custom, &event("put_role"))
        .await
        .unwrap();
    let mut new = new_token("ci", "project:read");
    new.role = role("reader");
    let (_, secret) = create_token(store, LOCAL, new).await;
    let authenticated = accepted(store, &secret).await;
    assert_eq!(authenticated.toolsets, custom.toolsets);
    assert_eq!(authenticated.permissions, permissions("project:read"));
    database.execute("DELETE FROM roles").await;
    assert_eq!(accepted(store, &secret).await.toolsets, Toolsets::NONE);
});

on_both_databases!(a_role_of_another_tenant_means_nothing, async |database| {
    let store = &database.store;
    let other = create_tenant(store, "other").await;
    for (tenant, text) in [
        (LOCAL, "project:read project:write"),
        (other.id, "project:read agent:run"),
    ] {
        let custom = Role {
            name: role("reader"),
            toolsets: Toolsets::NONE,
            permissions: permissions(text),
        };
        store
            .roles()
            .put(tenant, &custom, &event_in(tenant, "put_role"))
            .await
            .unwrap();
    }
    let user = create_user(store, LOCAL, "ada", "reader").await;
    let (_, secret) = create_token(
        store,
        LOCAL,
        owned_by(user.id, new_token("ci", "project:read project:write agent:run")),
    )
    .await;
    assert_eq!(
        accepted(store, &secret).await.permissions,
        permissions("project:read project:write")
    );
});

on_both_databases!(a_chain_longer_than_can_be_made_is_refused, async |database| {
    let store = &database.store;
    let (mut parent, _) = create_token(store, LOCAL, new_token("root", "project:read")).await;
    let root = parent.clone();
    let mut secret = None;
    for _ in 0..agentyard_model::MAX_DELEGATION_DEPTH {
        let (child, child_secret) =
            create_token(store, LOCAL, below(parent.id, new_token("child", "project:read"))).await;
        (parent, secret) = (child, Some(child_secret));
    }
    let secret = secret.unwrap();
    accepted(store, &secret).await;
    let (extra, _) = create_token(store, LOCAL, new_token("extra", "project:read")).await;
    let damage = |parent| {
        format!(
            "UPDATE tokens SET parent_id = '{parent}' WHERE id = '{}'",
            root.id
        )
    };
    database.execute(&damage(extra.id)).await;
    assert_eq!(refused(store, &secret).await, Refused::TooDeep);
    // Nor does a circle go on for ever.
    database.execute(&damage(parent.id)).await;
    assert_eq!(refused(store, &secret).await, Refused::TooDeep);
});

on_both_databases!(the_last_use_is_noted_to_the_minute, async |database| {
    let store = &database.store;
    let (token, secret) = create_token(store, LOCAL, new_token("ci", "")).await;
    let start = database.clock.now();
    let last_used = async || {
        let token = store.tokens().get(LOCAL, token.id).await.unwrap();
        token.unwrap().last_used_at
    };
    accepted(store, &secret).await;
    assert_eq!(last_used().await, Some(start));
    database.clock.advance(Duration::from_secs(59));
    accepted(store, &secret).await;
    assert_eq!(last_used().await, Some(start));
    database.clock.advance(Duration::from_secs(1));
    accepted(store, &secret).await;
    assert_eq!(last_used().await, Some(start.after(Duration::from_secs(60))));
});

on_both_databases!(a_use_that_cannot_be_noted_does_not_matter, async |database| {
    let store = &database.store;
    let (_, secret) = create_token(store, LOCAL, new_token("ci", "")).await;
    let damage = match database.engine {
        Engine::Sqlite => {
            "CREATE TRIGGER full BEFORE UPDATE ON tokens BEGIN SELECT RAISE(ABORT, 'the disk is full'); END"
        }
        Engine::Postgres => "ALTER TABLE tokens ADD CHECK (last_used_at IS NULL)",
    };
    database.execute(damage).await;
    assert_eq!(accepted(store, &secret).await.token.last_used_at, None);
});
