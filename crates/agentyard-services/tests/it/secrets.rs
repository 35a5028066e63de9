//! Secrets: kept, granted, and shown to nobody.

use agentyard_model::{Caller, PageRequest, Permission, Permissions, Secret, SecretName};
use agentyard_services::ErrorKind;
use agentyard_testkit::TestPlatform;

use crate::yard::{audit, failure, kind, local, of_tenant};

fn name(text: &str) -> SecretName {
    text.parse().unwrap()
}

fn without(permission: Permission) -> Caller {
    Caller {
        permissions: Permissions::ALL.without([permission].into_iter().collect()),
        ..local()
    }
}

#[tokio::test]
async fn a_secret_is_granted_by_name_until_it_is_removed() {
    let platform = TestPlatform::new().await;
    let secrets = &platform.services.secrets;
    let (a, b) = (name("A"), name("B"));
    secrets.set(&local(), &a, &Secret::new("hunter22")).await.unwrap();
    secrets.set(&local(), &b, &Secret::new("hunter33")).await.unwrap();
    let granted = secrets
        .granted(&local(), &[b.clone(), a.clone(), b.clone()])
        .await
        .unwrap();
    let granted: Vec<_> = granted
        .iter()
        .map(|(name, value)| (name.as_str(), value.expose()))
        .collect();
    assert_eq!(granted, [("B", "hunter33"), ("A", "hunter22")]);
    let listed = secrets
        .list(&local(), &PageRequest::new(None, None))
        .await
        .unwrap();
    assert!(!format!("{listed:?}").contains("hunter"));
    // The same in another process, after a restart.
    let next = platform.another_process();
    assert_eq!(
        next.secrets
            .granted(&local(), std::slice::from_ref(&a))
            .await
            .unwrap()[0]
            .1
            .expose(),
        "hunter22"
    );

    secrets.remove(&local(), &a).await.unwrap();
    assert_eq!(
        kind(secrets.granted(&local(), std::slice::from_ref(&a)).await),
        ErrorKind::NotFound
    );
    assert_eq!(kind(secrets.remove(&local(), &a).await), ErrorKind::NotFound);
    for (action, targets) in [("secret_set", vec!["B", "A"]), ("secret_remove", vec!["A"])] {
        let rows = audit(&platform, action).await;
        let found: Vec<&str> = rows.iter().map(|row| row.target.as_str()).collect();
        assert_eq!(found, targets, "{action}");
    }
}

#[tokio::test]
async fn secrets_are_for_those_who_may() {
    let platform = TestPlatform::new().await;
    let secrets = &platform.services.secrets;
    let (a, value) = (name("A"), Secret::new("hunter22"));
    let page = PageRequest::new(None, None);
    let (reader, writer) = (without(Permission::SecretWrite), without(Permission::SecretRead));
    assert_eq!(kind(secrets.set(&reader, &a, &value).await), ErrorKind::Forbidden);
    secrets.set(&writer, &a, &value).await.unwrap();
    assert_eq!(kind(secrets.list(&writer, &page).await), ErrorKind::Forbidden);
    assert_eq!(
        kind(secrets.granted(&writer, std::slice::from_ref(&a)).await),
        ErrorKind::Forbidden
    );
    assert!(secrets.granted(&writer, &[]).await.unwrap().is_empty());
    assert_eq!(
        secrets
            .granted(&reader, std::slice::from_ref(&a))
            .await
            .unwrap()
            .len(),
        1
    );
    assert_eq!(kind(secrets.remove(&reader, &a).await), ErrorKind::Forbidden);
    let stranger = of_tenant(platform.add_tenant("elsewhere").await);
    assert_eq!(
        kind(secrets.granted(&stranger, std::slice::from_ref(&a)).await),
        ErrorKind::NotFound
    );
    assert_eq!(kind(secrets.remove(&stranger, &a).await), ErrorKind::NotFound);
}

#[tokio::test]
async fn a_value_that_cannot_be_masked_or_passed_on_is_refused_without_being_shown() {
    let platform = TestPlatform::new().await;
    let secrets = &platform.services.secrets;
    for bad in ["", "abc", "ab  \n", "hunter\u{0}22", &"hunter22".repeat(4096)] {
        let error = failure(secrets.set(&local(), &name("A"), &Secret::new(bad)).await);
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(!error.message().contains("hunter"), "{error}");
    }
    let many: Vec<SecretName> = (0..33).map(|number| name(&format!("S{number}"))).collect();
    assert_eq!(
        kind(secrets.granted(&local(), &many).await),
        ErrorKind::LimitExceeded
    );
}
