//! Repositories that may run programs.

use agentyard_model::TenantId;
use agentyard_testkit::on_both_databases;

use crate::support::{actions, event};

on_both_databases!(trusted_listed_and_revoked, async |database| {
    let trusted = database.store.trusted_repositories();
    assert!(!trusted.contains("/srv/a/.git", 1, 2).await.unwrap());
    // The largest numbers that a kernel gives, as signed ones.
    trusted
        .add("/srv/a/.git", -1, i64::MIN, &event("trust"))
        .await
        .unwrap();
    assert!(trusted.contains("/srv/a/.git", -1, i64::MIN).await.unwrap());
    assert!(!trusted.contains("/srv/b/.git", -1, i64::MIN).await.unwrap());
    assert!(
        !trusted.contains("/srv/a/.git", -1, 7).await.unwrap(),
        "another repository in the same place"
    );

    trusted.add("/srv/a/.git", 1, 7, &event("trust")).await.unwrap();
    let listed = trusted.list().await.unwrap();
    let shown: Vec<_> = listed
        .iter()
        .map(|it| (it.path.as_str(), it.device, it.inode))
        .collect();
    assert_eq!(shown, [("/srv/a/.git", 1, 7)]);

    assert!(trusted.remove("/srv/a/.git", &event("revoke")).await.unwrap());
    assert!(!trusted.remove("/srv/a/.git", &event("revoke")).await.unwrap());
    assert!(!trusted.contains("/srv/a/.git", 1, 7).await.unwrap());
    assert_eq!(
        actions(&database.store, TenantId::LOCAL).await,
        ["trust", "trust", "revoke"]
    );
});
