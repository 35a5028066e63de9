//! Files are written whole or not at all.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use agentyard_git::{Error, ExpectedHash, MAX_WRITTEN_FILE, WriteOptions};

use crate::files_support::{OVERWRITE, path};
use crate::support::{GO_ON, Yard};

fn mode(yard: &Yard, file: &str) -> u32 {
    fs::metadata(yard.path(file)).unwrap().permissions().mode() & 0o7777
}

#[test]
fn a_new_file_is_made_with_its_directories() {
    let yard = Yard::with_commit();
    let written = yard
        .write_file("a/b/c.txt", "hello\n", &WriteOptions::default())
        .unwrap();
    assert_eq!(
        (
            written.path.as_str(),
            written.created,
            written.size,
            written.hash.to_string().as_str()
        ),
        ("a/b/c.txt", true, 6, "5891b5b522d5df08")
    );
    assert_eq!(yard.content("a/b/c.txt"), "hello\n");
    assert_eq!(mode(&yard, "a/b/c.txt"), 0o644);
    let executable = WriteOptions {
        executable: Some(true),
        ..WriteOptions::default()
    };
    yard.write_file("run.sh", "#!/bin/sh\n", &executable).unwrap();
    assert_eq!(mode(&yard, "run.sh"), 0o755);
    assert_eq!(yard.all_paths(), ["a", "a/b", "a/b/c.txt", "file", "run.sh"]);
}

#[test]
fn what_nobody_has_seen_is_not_overwritten() {
    let yard = Yard::with_commit();
    let refused = yard.write_file("file", "other\n", &WriteOptions::default());
    let Err(Error::State { what, remedy }) = refused else {
        panic!("{refused:?}");
    };
    assert!(what.starts_with("file exists already (8 bytes, hash "), "{what}");
    assert!(remedy.contains("expected_hash"), "{remedy}");
    let seen = yard.read_file("file").unwrap().hash.unwrap().to_string();
    let expecting = |hash: &str| WriteOptions {
        expected: Some(ExpectedHash::new(hash).unwrap()),
        ..WriteOptions::default()
    };
    let wrong = yard.write_file("file", "other\n", &expecting("000000000000"));
    assert!(wrong.unwrap_err().to_string().contains(&seen));
    let absent = yard.write_file("absent", "x", &expecting(&seen));
    assert!(matches!(absent, Err(Error::State { .. })), "{absent:?}");
    assert_eq!(yard.content("file"), "content\n");

    let written = yard.write_file("file", "other\n", &expecting(&seen)).unwrap();
    assert!(!written.created);
    assert_eq!(yard.content("file"), "other\n");
    yard.write_file("file", "third\n", &OVERWRITE).unwrap();
    assert_eq!(yard.content("file"), "third\n");
    assert_eq!(yard.all_paths(), ["file"]);
}

#[test]
fn a_replaced_file_keeps_its_mode_and_owner_and_no_special_bits() {
    let yard = Yard::with_commit();
    fs::set_permissions(yard.path("file"), fs::Permissions::from_mode(0o4750)).unwrap();
    std::os::unix::fs::chown(yard.path("file"), Some(1234), Some(1235)).unwrap();
    fs::set_permissions(yard.path("file"), fs::Permissions::from_mode(0o4750)).unwrap();
    yard.write_file("file", "new\n", &OVERWRITE).unwrap();
    let metadata = fs::metadata(yard.path("file")).unwrap();
    assert_eq!(
        (mode(&yard, "file"), metadata.uid(), metadata.gid()),
        (0o750, 1234, 1235)
    );
    let plain = WriteOptions {
        executable: Some(false),
        ..OVERWRITE
    };
    let written = yard.write_file("file", "new\n", &plain).unwrap();
    assert_eq!((mode(&yard, "file"), written.unchanged), (0o640, false));
}

#[test]
fn the_same_content_is_not_written_again() {
    let yard = Yard::with_commit();
    let before = fs::metadata(yard.path("file")).unwrap().ino();
    let written = yard.write_file("file", "content\n", &OVERWRITE).unwrap();
    assert!(written.unchanged && !written.created);
    assert_eq!(fs::metadata(yard.path("file")).unwrap().ino(), before);
}

#[test]
fn a_second_name_keeps_the_former_content() {
    let yard = Yard::with_commit();
    fs::hard_link(yard.path("file"), yard.outside().join("second")).unwrap();
    yard.write_file("file", "new\n", &OVERWRITE).unwrap();
    assert_eq!(
        fs::read_to_string(yard.outside().join("second")).unwrap(),
        "content\n"
    );
}

#[test]
fn a_link_inside_the_tree_leads_to_the_file_that_is_replaced() {
    let yard = Yard::with_commit();
    yard.link("../file", "dir/link");
    let written = yard.write_file("dir/link", "new\n", &OVERWRITE).unwrap();
    assert_eq!(written.path, "file");
    assert_eq!(yard.content("file"), "new\n");
    assert!(fs::symlink_metadata(yard.path("dir/link")).unwrap().is_symlink());
}

#[test]
fn what_is_no_file_and_what_is_too_long_is_refused() {
    let yard = Yard::with_commit();
    yard.write("dir/x", "");
    for name in ["dir", ".", "file/x"] {
        let refused = yard.write_file(name, "x", &OVERWRITE);
        assert!(refused.is_err(), "{name}: {refused:?}");
    }
    let long = vec![b'x'; MAX_WRITTEN_FILE + 1];
    let refused = yard.files().write(&path("long"), &long, &OVERWRITE, &GO_ON);
    assert!(matches!(refused, Err(Error::Invalid { .. })), "{refused:?}");
    assert_eq!(yard.all_paths(), ["dir", "dir/x", "file"]);
}

#[test]
fn directories_that_were_made_for_nothing_go_again() {
    let yard = Yard::with_commit();
    let name = format!("a/b/{}", "n".repeat(300));
    let refused = yard.write_file(&name, "x", &WriteOptions::default());
    assert!(refused.is_err(), "{refused:?}");
    assert_eq!(yard.all_paths(), ["file"]);
}
