use std::fs::{File, Permissions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;

use tempfile::TempDir;

use super::super::super::draft::Draft;
use super::*;

fn watched(depth: Depth) -> (TempDir, Observation) {
    let directory = tempfile::tempdir().unwrap();
    let observation = Observation::begin(directory.path().to_owned(), depth, Detail::Name).unwrap();
    (directory, observation)
}

/// What has changed, in the protocol's last words: `create a`.
fn changes(observation: &mut Observation) -> Vec<String> {
    let (changes, is_all) = observation.take().unwrap();
    assert!(is_all);
    let told = |change: Change| {
        let kind = format!("{:?}", change.kind).to_lowercase();
        format!("{kind} {}", change.name)
    };
    changes.into_iter().map(told).collect()
}

#[test]
fn changes_are_told_in_order() {
    let (directory, mut observation) = watched(Depth::Itself);
    let path = |name: &str| directory.path().join(name);
    fs::write(path("a"), "1").unwrap();
    assert_eq!(changes(&mut observation), ["create a", "write a"]);
    fs::set_permissions(path("a"), Permissions::from_mode(0o600)).unwrap();
    fs::rename(path("a"), path("b")).unwrap();
    fs::remove_file(path("b")).unwrap();
    assert_eq!(
        changes(&mut observation),
        ["chmod a", "rename a", "create b", "remove b"]
    );
    fs::create_dir(path("c")).unwrap();
    fs::write(path("c/unseen"), "").unwrap();
    assert_eq!(changes(&mut observation), ["create c"]);
    assert!(changes(&mut observation).is_empty());
}

#[test]
fn directories_below_are_watched_from_when_they_are_there() {
    let (directory, mut observation) = watched(Depth::AllBelow);
    let path = |name: &str| directory.path().join(name);
    // Before anybody could watch them.
    fs::create_dir_all(path("a/b")).unwrap();
    fs::write(path("a/b/early"), "1").unwrap();
    assert_eq!(
        changes(&mut observation),
        ["create a", "create a/b", "create a/b/early", "write a/b/early"]
    );
    fs::write(path("a/b/late"), "1").unwrap();
    assert_eq!(changes(&mut observation), ["create a/b/late", "write a/b/late"]);
    fs::rename(path("a"), path("moved")).unwrap();
    fs::remove_file(path("moved/b/late")).unwrap();
    assert_eq!(changes(&mut observation), ["rename a", "create moved"]);
    fs::remove_file(path("moved/b/early")).unwrap();
    fs::remove_dir_all(path("moved")).unwrap();
    assert_eq!(
        changes(&mut observation),
        ["remove moved/b/early", "remove moved/b", "remove moved"]
    );
    assert_eq!(observation.directories.len(), 1);
}

#[test]
fn what_was_there_before_is_watched_but_not_told() {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir_all(directory.path().join("a/b")).unwrap();
    let root = directory.path().to_owned();
    let mut observation = Observation::begin(root, Depth::AllBelow, Detail::Entry).unwrap();
    assert!(changes(&mut observation).is_empty());
    fs::write(directory.path().join("a/b/c"), "1").unwrap();
    let (told, _) = observation.take().unwrap();
    assert_eq!(told.len(), 2);
    let entry = told[0].entry.clone().unwrap();
    assert_eq!((entry.name.as_str(), entry.size), ("c", 1));
    fs::remove_file(directory.path().join("a/b/c")).unwrap();
    let (told, _) = observation.take().unwrap();
    assert_eq!((told[0].kind, &told[0].entry), (ChangeKind::Remove, &None));
}

#[test]
fn a_draft_is_a_write_where_it_ends_up() {
    let (directory, mut observation) = watched(Depth::AllBelow);
    let path = directory.path().join("file");
    for expected in [&["create file", "write file"][..], &["write file"][..]] {
        let mut draft = Draft::begin(&path).unwrap();
        draft.write(b"1").unwrap();
        assert!(changes(&mut observation).is_empty());
        draft.place(BTreeMap::new()).unwrap();
        assert_eq!(changes(&mut observation), expected);
    }
    drop(Draft::begin(&path).unwrap());
    assert!(changes(&mut observation).is_empty());
}

#[test]
fn the_directory_itself_may_change_and_go() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("root");
    fs::create_dir(&root).unwrap();
    let mut observation = Observation::begin(root.clone(), Depth::Itself, Detail::Name).unwrap();
    fs::set_permissions(&root, Permissions::from_mode(0o700)).unwrap();
    assert_eq!(changes(&mut observation), ["chmod ."]);
    fs::remove_dir(&root).unwrap();
    assert_eq!(changes(&mut observation), ["remove ."]);
}

#[test]
fn more_changes_than_are_read_at_once_come_later() {
    let (directory, mut observation) = watched(Depth::Itself);
    for number in 0..BATCH {
        let mut file = File::create(directory.path().join(number.to_string())).unwrap();
        file.write_all(b"1").unwrap();
    }
    let mut told = 0;
    let mut turns = 0;
    loop {
        let (changes, is_all) = observation.take().unwrap();
        told += changes.len();
        turns += 1;
        if is_all {
            break;
        }
    }
    assert_eq!(told, 2 * BATCH);
    assert!(turns > 1);
}

#[test]
fn what_the_kernel_lost_is_not_passed_over() {
    let (_directory, mut observation) = watched(Depth::Itself);
    let overflow = Event {
        watch: -1,
        flags: ReadFlags::QUEUE_OVERFLOW,
        cookie: 0,
        name: None,
    };
    let fault = observation.understand(overflow, &mut Vec::new()).unwrap_err();
    assert_eq!(fault.code, Code::ResourceExhausted);
}
