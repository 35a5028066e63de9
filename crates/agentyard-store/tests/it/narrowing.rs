//! Rights that end or shrink do so at once, for whoever holds them from whomever.

use std::time::Duration;

use agentyard_model::{Permissions, Role, TenantId};
use agentyard_store::Refused;
use agentyard_testkit::on_both_databases;

use crate::support::{
    accepted, below, create_token, create_user, event, new_token, owned_by, permissions, refused, role,
};

const LOCAL: TenantId = TenantId::LOCAL;

on_both_databases!(revoking_a_parent_ends_its_children_at_once, async |database| {
    let store = &database.store;
    let (root, _) = create_token(store, LOCAL, new_token("root", "project:read")).await;
    let (middle, _) = create_token(store, LOCAL, below(root.id, new_token("middle", "project:read"))).await;
    let (_, leaf) = create_token(store, LOCAL, below(middle.id, new_token("leaf", "project:read"))).await;
    let (_, bystander) = create_token(store, LOCAL, new_token("bystander", "project:read")).await;
    accepted(store, &leaf).await;
    // Another process sees it as soon as the call returns.
    let another = database.another_store();
    accepted(&another, &leaf).await;
    store
        .tokens()
        .revoke(LOCAL, root.id, &event("revoke_token"))
        .await
        .unwrap();
    assert_eq!(refused(store, &leaf).await, Refused::Revoked);
    assert_eq!(refused(&another, &leaf).await, Refused::Revoked);
    accepted(store, &bystander).await;
    another.close().await;
});

on_both_databases!(a_parent_that_expires_takes_its_children_along, async |database| {
    let store = &database.store;
    let mut brief = new_token("brief", "project:read");
    brief.expires_at = Some(database.clock.now().after(Duration::from_secs(60)));
    let (parent, parent_secret) = create_token(store, LOCAL, brief).await;
    let (_, child) = create_token(store, LOCAL, below(parent.id, new_token("child", "project:read"))).await;
    database.clock.advance(Duration::from_secs(59));
    accepted(store, &child).await;
    database.clock.advance(Duration::from_secs(1));
    assert_eq!(refused(store, &parent_secret).await, Refused::Expired);
    assert_eq!(refused(store, &child).await, Refused::Expired);
});

on_both_databases!(a_disabled_owner_ends_their_tokens_at_once, async |database| {
    let store = &database.store;
    let user = create_user(store, LOCAL, "ada", "dev").await;
    let (root, secret) = create_token(
        store,
        LOCAL,
        owned_by(user.id, new_token("laptop", "project:read")),
    )
    .await;
    let (_, child) = create_token(store, LOCAL, below(root.id, new_token("session", "project:read"))).await;
    store
        .users()
        .disable(LOCAL, user.id, &event("disable_user"))
        .await
        .unwrap();
    assert_eq!(refused(store, &secret).await, Refused::OwnerDisabled);
    assert_eq!(refused(store, &child).await, Refused::OwnerDisabled);
});

on_both_databases!(a_change_of_the_owners_role_narrows_at_once, async |database| {
    let store = &database.store;
    let user = create_user(store, LOCAL, "ada", "admin").await;
    let everything = Permissions::ALL.to_string();
    let (root, _) = create_token(store, LOCAL, owned_by(user.id, new_token("laptop", &everything))).await;
    let (_, child) = create_token(store, LOCAL, below(root.id, new_token("session", &everything))).await;
    let held = async || accepted(store, &child).await.permissions;
    assert_eq!(held().await, Permissions::ALL);

    let set_role = async |name| {
        store
            .users()
            .set_role(LOCAL, user.id, &role(name), &event("set_role"))
            .await
            .unwrap();
    };
    set_role("dev").await;
    assert_eq!(held().await, Role::built_in("dev").unwrap().permissions);

    let mut custom = Role {
        name: role("reader"),
        toolsets: "git".parse().unwrap(),
        permissions: permissions("project:read secret:read"),
    };
    store
        .roles()
        .put(LOCAL, &custom, &event("put_role"))
        .await
        .unwrap();
    set_role("reader").await;
    assert_eq!(held().await, custom.permissions);

    // So does a change of the role itself.
    custom.permissions = permissions("project:read");
    store
        .roles()
        .put(LOCAL, &custom, &event("put_role"))
        .await
        .unwrap();
    assert_eq!(held().await, custom.permissions);

    // A role that is gone allows nothing.
    database.execute("DELETE FROM roles").await;
    assert_eq!(held().await, Permissions::NONE);
});
