//! Secrets that executions can be granted.

use std::time::Duration;

use agentyard_model::{Secret, SecretEntry, SecretName, TenantId};
use agentyard_store::Error;
use agentyard_testkit::on_both_databases;

use crate::support::{actions, create_tenant, event, event_in, page, page_after};

const LOCAL: TenantId = TenantId::LOCAL;

fn name(text: &str) -> SecretName {
    text.parse().unwrap()
}

fn secret(text: &str) -> Secret {
    Secret::new(text)
}

on_both_databases!(a_secret_is_set_read_replaced_and_removed, async |database| {
    let secrets = database.store.secrets();
    let token = name("API_TOKEN");
    assert!(secrets.get(LOCAL, &token).await.unwrap().is_none());
    let created_at = database.clock.now();
    for value in ["hunter22", "päss\nwört"] {
        let entry = secrets
            .set(LOCAL, &token, &secret(value), &event("set"))
            .await
            .unwrap();
        let expected = SecretEntry {
            name: token.clone(),
            created_at,
            updated_at: database.clock.now(),
        };
        assert_eq!(entry, expected);
        let read = secrets.get(LOCAL, &token).await.unwrap().unwrap();
        assert_eq!(read.expose(), value);
        database.clock.advance(Duration::from_secs(1));
    }
    secrets.remove(LOCAL, &token, &event("remove")).await.unwrap();
    assert!(secrets.get(LOCAL, &token).await.unwrap().is_none());
    let again = secrets.remove(LOCAL, &token, &event("remove")).await;
    assert!(matches!(again, Err(Error::NotFound { .. })), "{again:?}");
    assert_eq!(actions(&database.store, LOCAL).await, ["set", "set", "remove"]);
});

on_both_databases!(secrets_are_listed_by_name_without_values, async |database| {
    let secrets = database.store.secrets();
    for text in ["C", "A", "B"] {
        secrets
            .set(LOCAL, &name(text), &secret("hunter22"), &event("set"))
            .await
            .unwrap();
    }
    let first = secrets.list(LOCAL, &page(2)).await.unwrap();
    let names = |entries: &[SecretEntry]| entries.iter().map(|it| it.name.to_string()).collect::<Vec<_>>();
    assert_eq!(names(&first.items), ["A", "B"]);
    let second = secrets.list(LOCAL, &page_after(2, first.next)).await.unwrap();
    assert_eq!((names(&second.items), second.next), (vec!["C".to_owned()], None));
});

on_both_databases!(a_tenant_has_its_own_secrets, async |database| {
    let store = &database.store;
    let theirs = create_tenant(store, "theirs").await.id;
    let token = name("API_TOKEN");
    let secrets = store.secrets();
    secrets
        .set(LOCAL, &token, &secret("hunter22"), &event("set"))
        .await
        .unwrap();
    assert!(secrets.get(theirs, &token).await.unwrap().is_none());
    assert_eq!(secrets.list(theirs, &page(10)).await.unwrap().items, []);
    let removed = secrets.remove(theirs, &token, &event_in(theirs, "try")).await;
    assert!(matches!(removed, Err(Error::NotFound { .. })), "{removed:?}");
    let stranger = secrets
        .set(TenantId::new(), &token, &secret("hunter22"), &event("set"))
        .await;
    assert!(matches!(stranger, Err(Error::NotFound { .. })), "{stranger:?}");
    // Not even who can write to the tables moves one over.
    let crossing = format!("UPDATE secrets SET tenant_id = '{theirs}'");
    database.execute(&crossing).await;
    let moved = secrets.get(theirs, &token).await;
    assert!(matches!(moved, Err(Error::SealedOtherwise(_))), "{moved:?}");
});
