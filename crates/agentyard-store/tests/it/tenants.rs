//! Tenants.

use agentyard_model::{TenantId, TenantName, Timestamp, UserId, UserName};
use agentyard_store::{Error, Tenant};
use agentyard_testkit::on_both_databases;

use crate::support::{actions, create_tenant, event, event_in};

on_both_databases!(the_local_tenant_and_its_user_are_always_there, async |database| {
    let store = &database.store;
    let local = Tenant {
        id: TenantId::LOCAL,
        name: "local".parse().unwrap(),
        created_at: Timestamp::from_microseconds(0),
    };
    assert_eq!(
        store.tenants().get(TenantId::LOCAL).await.unwrap(),
        Some(local.clone())
    );
    assert_eq!(store.tenants().by_name(&local.name).await.unwrap(), Some(local));
    let user = store.users().get(TenantId::LOCAL, UserId::LOCAL).await.unwrap();
    assert_eq!(user.unwrap().name, UserName::local());
});

on_both_databases!(a_tenant_reads_back_as_it_was_made, async |database| {
    let store = &database.store;
    let tenant = create_tenant(store, "web-shop").await;
    assert_eq!(tenant.created_at, database.clock.now());
    assert_eq!(
        store.tenants().get(tenant.id).await.unwrap(),
        Some(tenant.clone())
    );
    assert_eq!(
        store.tenants().by_name(&tenant.name).await.unwrap(),
        Some(tenant.clone())
    );
    assert_eq!(store.tenants().get(TenantId::new()).await.unwrap(), None);
    let nobody: TenantName = "nobody".parse().unwrap();
    assert_eq!(store.tenants().by_name(&nobody).await.unwrap(), None);
    assert_eq!(actions(store, TenantId::LOCAL).await, ["create_tenant"]);
    assert!(actions(store, tenant.id).await.is_empty());
});

on_both_databases!(a_tenant_can_have_its_own_creation_in_its_log, async |database| {
    let store = &database.store;
    let name = "web-shop".parse().unwrap();
    let tenant = store
        .tenants()
        .create(&name, |tenant| event_in(tenant.id, "create_tenant"))
        .await
        .unwrap();
    assert_eq!(actions(store, tenant.id).await, ["create_tenant"]);
});

on_both_databases!(a_name_is_given_once, async |database| {
    let store = &database.store;
    let name: TenantName = "web-shop".parse().unwrap();
    create_tenant(store, "web-shop").await;
    let error = store
        .tenants()
        .create(&name, |_| event("create_tenant"))
        .await
        .unwrap_err();
    assert!(matches!(error, Error::Exists { .. }), "{error:?}");
    assert_eq!(error.to_string(), "there is already a tenant `web-shop`");
    assert_eq!(actions(store, TenantId::LOCAL).await, ["create_tenant"]);
});
