//! Roles that administrators define.

use agentyard_model::{Role, TenantId};
use agentyard_store::{Error, Store};
use agentyard_testkit::on_both_databases;

use crate::support::{
    actions, create_token, create_user, event, new_token, page, page_after, permissions, role,
};

fn defined(name: &str, permissions_text: &str) -> Role {
    Role {
        name: role(name),
        toolsets: "git core".parse().unwrap(),
        permissions: permissions(permissions_text),
    }
}

async fn put(store: &Store, role: &Role) {
    store
        .roles()
        .put(TenantId::LOCAL, role, &event("put_role"))
        .await
        .unwrap();
}

on_both_databases!(a_role_reads_back_as_it_was_last_defined, async |database| {
    let store = &database.store;
    put(store, &defined("reviewer", "project:read project:write")).await;
    let narrower = defined("reviewer", "project:read");
    put(store, &narrower).await;
    let found = store
        .roles()
        .get(TenantId::LOCAL, &role("reviewer"))
        .await
        .unwrap();
    assert_eq!(found, Some(narrower));
    assert_eq!(actions(store, TenantId::LOCAL).await, ["put_role", "put_role"]);
});

on_both_databases!(built_in_roles_are_there_and_stay, async |database| {
    let store = &database.store;
    for name in ["dev", "ops", "ui", "admin"] {
        let found = store.roles().get(TenantId::LOCAL, &role(name)).await.unwrap();
        assert_eq!(found, Role::built_in(name));
        let put = store
            .roles()
            .put(
                TenantId::LOCAL,
                &defined(name, "project:read"),
                &event("put_role"),
            )
            .await;
        assert!(matches!(put, Err(Error::BuiltInRole(_))), "{put:?}");
        let deleted = store
            .roles()
            .delete(TenantId::LOCAL, &role(name), &event("delete_role"))
            .await;
        assert!(matches!(deleted, Err(Error::BuiltInRole(_))), "{deleted:?}");
    }
    let unknown = store.roles().get(TenantId::LOCAL, &role("wizard")).await.unwrap();
    assert_eq!(unknown, None);
});

on_both_databases!(roles_are_listed_by_name, async |database| {
    let store = &database.store;
    for name in ["c", "a-b", "a", "b", "ab"] {
        put(store, &defined(name, "")).await;
    }
    let first = store.roles().list(TenantId::LOCAL, &page(3)).await.unwrap();
    let second = store
        .roles()
        .list(TenantId::LOCAL, &page_after(3, first.next.clone()))
        .await
        .unwrap();
    let names: Vec<&str> = first
        .items
        .iter()
        .chain(&second.items)
        .map(|role| role.name.as_str())
        .collect();
    // Byte by byte on both databases, whatever the server's locale.
    assert_eq!(names, ["a", "a-b", "ab", "b", "c"]);
    assert_eq!(second.next, None);
});

on_both_databases!(a_role_in_use_stays, async |database| {
    let store = &database.store;
    put(store, &defined("reviewer", "project:read")).await;
    let delete = async || {
        store
            .roles()
            .delete(TenantId::LOCAL, &role("reviewer"), &event("delete_role"))
            .await
    };
    let user = create_user(store, TenantId::LOCAL, "ada", "reviewer").await;
    assert!(matches!(delete().await, Err(Error::RoleInUse(_))));
    store
        .users()
        .set_role(TenantId::LOCAL, user.id, &role("dev"), &event("set_role"))
        .await
        .unwrap();
    let mut new = new_token("ci", "project:read");
    new.role = role("reviewer");
    let (token, _) = create_token(store, TenantId::LOCAL, new).await;
    assert!(matches!(delete().await, Err(Error::RoleInUse(_))));
    store
        .tokens()
        .revoke(TenantId::LOCAL, token.id, &event("revoke_token"))
        .await
        .unwrap();
    delete().await.unwrap();
    assert!(matches!(delete().await, Err(Error::NotFound { .. })));
    let gone = store
        .roles()
        .get(TenantId::LOCAL, &role("reviewer"))
        .await
        .unwrap();
    assert_eq!(gone, None);
});

on_both_databases!(a_role_needs_a_tenant, async |database| {
    let put = database
        .store
        .roles()
        .put(TenantId::new(), &defined("reviewer", ""), &event("put_role"))
        .await;
    assert!(matches!(put, Err(Error::NotFound { .. })), "{put:?}");
});
