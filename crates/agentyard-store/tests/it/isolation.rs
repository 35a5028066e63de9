//! Nothing crosses tenants: everything is tried from the other one.

use agentyard_model::{AuditFilter, NewWorkspace, Role, TenantId, TokenFilter, Toolsets, WorkspaceFilter};
use agentyard_store::{Error, MeasureChange, NewUser, generate_token_secret};
use agentyard_testkit::on_both_databases;

use crate::support::{
    accepted, actions, add_repo, below, create_tenant, create_token, create_user, event_in, new_token,
    new_workspace, open_workspace, owned_by, page, permissions, role,
};

on_both_databases!(users, async |database| {
    let store = &database.store;
    let ours = create_tenant(store, "ours").await.id;
    let theirs = create_tenant(store, "theirs").await.id;
    let user = create_user(store, theirs, "ada", "dev").await;
    let event = event_in(ours, "try");

    assert_eq!(store.users().get(ours, user.id).await.unwrap(), None);
    assert_eq!(store.users().by_name(ours, &user.name).await.unwrap(), None);
    let disabled = store.users().disable(ours, user.id, &event).await;
    assert!(matches!(disabled, Err(Error::NotFound { .. })));
    let changed = store
        .users()
        .set_role(ours, user.id, &role("admin"), &event)
        .await;
    assert!(matches!(changed, Err(Error::NotFound { .. })));
    assert_eq!(
        store.users().get(theirs, user.id).await.unwrap(),
        Some(user.clone())
    );
    // The same name may be used again.
    assert_ne!(create_user(store, ours, "ada", "dev").await.id, user.id);
});

on_both_databases!(roles, async |database| {
    let store = &database.store;
    let ours = create_tenant(store, "ours").await.id;
    let theirs = create_tenant(store, "theirs").await.id;
    let reader = Role {
        name: role("reader"),
        toolsets: Toolsets::NONE,
        permissions: permissions("project:read"),
    };
    let event = event_in(theirs, "put_role");
    store.roles().put(theirs, &reader, &event).await.unwrap();

    assert_eq!(store.roles().get(ours, &reader.name).await.unwrap(), None);
    assert_eq!(store.roles().list(ours, &page(10)).await.unwrap().items, []);
    let deleted = store
        .roles()
        .delete(ours, &reader.name, &event_in(ours, "try"))
        .await;
    assert!(matches!(deleted, Err(Error::NotFound { .. })));
    let new = NewUser {
        tenant: ours,
        name: "ada".parse().unwrap(),
        role: reader.name.clone(),
    };
    let created = store.users().create(new, |_| event_in(ours, "try")).await;
    assert!(matches!(created, Err(Error::NotFound { .. })));
    // One of the same name is another one.
    let writer = Role {
        permissions: permissions("project:write"),
        ..reader.clone()
    };
    store
        .roles()
        .put(ours, &writer, &event_in(ours, "put_role"))
        .await
        .unwrap();
    assert_eq!(
        store.roles().get(theirs, &reader.name).await.unwrap(),
        Some(reader)
    );
});

on_both_databases!(tokens, async |database| {
    let store = &database.store;
    let ours = create_tenant(store, "ours").await.id;
    let theirs = create_tenant(store, "theirs").await.id;
    let user = create_user(store, theirs, "ada", "dev").await;
    let (token, secret) =
        create_token(store, theirs, owned_by(user.id, new_token("ci", "project:read"))).await;

    assert_eq!(store.tokens().get(ours, token.id).await.unwrap(), None);
    let listed = store
        .tokens()
        .list(ours, TokenFilter { ended: true }, &page(10))
        .await
        .unwrap();
    assert_eq!(listed.items, []);
    let revoked = store
        .tokens()
        .revoke(ours, token.id, &event_in(ours, "try"))
        .await;
    assert!(matches!(revoked, Err(Error::NotFound { .. })));
    // Neither a parent nor an owner is found next door.
    for new in [
        below(token.id, new_token("child", "project:read")),
        owned_by(user.id, new_token("mine", "project:read")),
    ] {
        let (_, hash) = generate_token_secret().unwrap();
        let created = store
            .tokens()
            .create(ours, new, &hash, |_| event_in(ours, "try"))
            .await;
        assert!(matches!(created, Err(Error::NotFound { .. })));
    }
    assert_eq!(accepted(store, &secret).await.token.tenant, theirs);
    assert!(actions(store, ours).await.is_empty());
});

on_both_databases!(the_tables_themselves_refuse_it, async |database| {
    let store = &database.store;
    let theirs = create_tenant(store, "theirs").await.id;
    let user = create_user(store, theirs, "ada", "dev").await;
    create_token(store, TenantId::LOCAL, new_token("ci", "")).await;
    let crossing = format!("UPDATE tokens SET owner_id = '{}'", user.id);
    let attempt = std::panic::AssertUnwindSafe(database.execute(&crossing));
    let refused = futures::FutureExt::catch_unwind(attempt).await;
    assert!(refused.is_err(), "a token belongs to a user of another tenant");
});

on_both_databases!(the_log, async |database| {
    let store = &database.store;
    let ours = create_tenant(store, "ours").await.id;
    let theirs = create_tenant(store, "theirs").await.id;
    let event = event_in(theirs, "look");
    store.audit().append(&event).await.unwrap();
    let filter = AuditFilter {
        request_id: Some(event.request_id.to_string()),
        ..AuditFilter::default()
    };
    let found = store.audit().search(ours, &filter, &page(10)).await.unwrap();
    assert_eq!(found.items, []);
    let found = store.audit().search(theirs, &filter, &page(10)).await.unwrap();
    assert_eq!(found.items.len(), 1);
    assert_eq!(store.audit().verify(Some(ours)).await.unwrap().records, 0);
});

on_both_databases!(working_directories, async |database| {
    let store = &database.store;
    let ours = create_tenant(store, "ours").await.id;
    let theirs = create_tenant(store, "theirs").await.id;
    let directories = store.working_directories();
    let event = event_in(theirs, "set");
    directories
        .set(theirs, "ada", "/theirs".as_ref(), &event)
        .await
        .unwrap();
    assert_eq!(directories.get(ours, "ada").await.unwrap(), None);
    assert!(
        !directories
            .clear(ours, "ada", &event_in(ours, "try"))
            .await
            .unwrap()
    );
    assert_eq!(
        directories.get(theirs, "ada").await.unwrap(),
        Some("/theirs".into())
    );
});

on_both_databases!(repositories_and_workspaces, async |database| {
    let store = &database.store;
    let ours = create_tenant(store, "ours").await.id;
    let theirs = create_tenant(store, "theirs").await.id;
    let repo = add_repo(store, theirs, "web").await;
    let wanted = new_workspace(database.clock.now(), &repo, "main");
    let workspace = open_workspace(store, &wanted).await;
    let change = MeasureChange {
        name: "opened",
        count: 1,
        total: 1,
    };
    store.measures().add(theirs, repo.id, &[change]).await.unwrap();

    let (repos, workspaces) = (store.repos(), store.workspaces());
    assert_eq!(repos.get(ours, &repo.name).await.unwrap(), None);
    assert_eq!(repos.by_id(ours, repo.id).await.unwrap(), None);
    assert_eq!(repos.by_url(ours, &repo.url).await.unwrap(), None);
    assert_eq!(repos.list(ours, &page(10)).await.unwrap().items, []);
    let removed = repos.remove(ours, repo.id, &event_in(ours, "try")).await;
    assert!(matches!(removed, Err(Error::NotFound { .. })), "{removed:?}");

    assert_eq!(workspaces.get(ours, workspace.id).await.unwrap(), None);
    assert_eq!(workspaces.find(ours, repo.id, "main").await.unwrap(), None);
    assert_eq!(
        workspaces.by_name(ours, repo.id, &workspace.name).await.unwrap(),
        None
    );
    let filter = WorkspaceFilter {
        repo: Some(repo.id),
        owner: None,
        closed: true,
    };
    assert_eq!(workspaces.list(ours, &filter, &page(10)).await.unwrap().items, []);
    assert!(!workspaces.closing(ours, workspace.id, None).await.unwrap());
    let foreign = NewWorkspace {
        tenant: ours,
        ..wanted
    };
    let claimed = workspaces.claim(&foreign, &event_in(ours, "try")).await;
    assert!(matches!(claimed, Err(Error::NotFound { .. })), "{claimed:?}");
    store.measures().add(ours, repo.id, &[change]).await.unwrap();
    assert_eq!(store.measures().of(ours, None).await.unwrap(), []);
    assert_eq!(store.measures().of(ours, Some(repo.id)).await.unwrap(), []);

    assert_eq!(
        workspaces.get(theirs, workspace.id).await.unwrap(),
        Some(workspace)
    );
    assert_eq!(store.measures().of(theirs, None).await.unwrap()[0].count, 1);
    assert!(actions(store, ours).await.is_empty());
    // The same name and address may be used again.
    assert_ne!(add_repo(store, ours, "web").await.id, repo.id);
});
