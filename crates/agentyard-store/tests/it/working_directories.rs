//! Where each caller works.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use agentyard_model::TenantId;
use agentyard_store::Error;
use agentyard_testkit::on_both_databases;

use crate::support::{actions, event};

const LOCAL: TenantId = TenantId::LOCAL;

on_both_databases!(set_read_replaced_and_cleared, async |database| {
    let directories = database.store.working_directories();
    assert_eq!(directories.get(LOCAL, "ada").await.unwrap(), None);
    for path in ["/srv/one", "/srv/ein anderes/\u{1F6A2}"] {
        directories
            .set(LOCAL, "ada", Path::new(path), &event("set"))
            .await
            .unwrap();
        assert_eq!(directories.get(LOCAL, "ada").await.unwrap(), Some(path.into()));
    }
    assert_eq!(directories.get(LOCAL, "eve").await.unwrap(), None);
    assert!(directories.clear(LOCAL, "ada", &event("clear")).await.unwrap());
    assert!(!directories.clear(LOCAL, "ada", &event("clear")).await.unwrap());
    assert_eq!(directories.get(LOCAL, "ada").await.unwrap(), None);
    assert_eq!(actions(&database.store, LOCAL).await, ["set", "set", "clear"]);
});

on_both_databases!(what_cannot_be_kept_is_refused, async |database| {
    let directories = database.store.working_directories();
    let long = "x".repeat(1025);
    let bytes = Path::new(OsStr::from_bytes(b"/srv/\xff"));
    for (subject, path) in [
        ("ada", bytes),
        ("ada", Path::new("/srv/\0")),
        ("ada\0", Path::new("/srv")),
        (&long, Path::new("/srv")),
    ] {
        let set = directories.set(LOCAL, subject, path, &event("set")).await;
        assert!(matches!(set, Err(Error::Unstorable { .. })), "{set:?}");
    }
    let stranger = directories
        .set(TenantId::new(), "ada", Path::new("/srv"), &event("set"))
        .await;
    assert!(matches!(stranger, Err(Error::NotFound { .. })), "{stranger:?}");
    assert!(actions(&database.store, LOCAL).await.is_empty());
});
