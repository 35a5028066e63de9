use std::fs::{self, File, Permissions};
use std::os::fd::AsFd as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

use tar::{Builder, EntryType, Header};
use tempfile::TempDir;

use super::listing::ListedKind;
use super::*;

const ROOMY: Bounds = Bounds {
    bytes: 1 << 20,
    file_bytes: 1 << 20,
};

fn looks(directory: &TempDir, hidden: &[&str]) -> BTreeMap<PathBuf, Stamp> {
    let hidden = hidden.iter().map(PathBuf::from).collect();
    walk(File::open(directory.path()).unwrap().as_fd(), &hidden).unwrap()
}

fn listed(paths: &[&str]) -> BTreeMap<PathBuf, Listed> {
    let one = Listed {
        kind: ListedKind::File,
        size: 0,
        stamp: "f".to_owned(),
    };
    paths
        .iter()
        .map(|path| (PathBuf::from(path), one.clone()))
        .collect()
}

/// An archive with one entry, of which nothing is checked while it is made.
fn hostile(path: &str, kind: EntryType, target: &str, content: &[u8], mode: u32) -> Vec<u8> {
    let mut header = Header::new_gnu();
    header.as_mut_bytes()[..path.len()].copy_from_slice(path.as_bytes());
    header.as_mut_bytes()[157..157 + target.len()].copy_from_slice(target.as_bytes());
    header.set_entry_type(kind);
    header.set_size(content.len() as u64);
    header.set_mode(mode);
    header.set_cksum();
    let mut builder = Builder::new(Vec::new());
    builder.append(&header, content).unwrap();
    builder.into_inner().unwrap()
}

fn unpacked(
    directory: &TempDir,
    archive: &[u8],
    wanted: &[&str],
    bounds: Bounds,
) -> io::Result<Vec<PathBuf>> {
    let root = File::open(directory.path()).unwrap();
    let placed = unpack(root.as_fd(), archive, &listed(wanted), bounds)?;
    Ok(placed.into_keys().collect())
}

#[test]
fn what_is_packed_is_unpacked_the_same() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let long = format!("{}/{}", "d".repeat(200), "f".repeat(200));
    fs::create_dir_all(from.path().join("d".repeat(200))).unwrap();
    fs::write(from.path().join(&long), "long").unwrap();
    fs::write(from.path().join("-rf"), "dash").unwrap();
    fs::write(from.path().join("run"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(from.path().join("run"), Permissions::from_mode(0o755)).unwrap();
    symlink("/etc/passwd", from.path().join("link")).unwrap();
    rustix::fs::mkfifoat(File::open(from.path()).unwrap(), "pipe", rustix::fs::Mode::RWXU).unwrap();
    let paths: Vec<PathBuf> = looks(&from, &[]).into_keys().collect();
    assert_eq!(paths.len(), 5, "pipes stay: {paths:?}");
    let mut archive = Vec::new();
    pack(File::open(from.path()).unwrap().as_fd(), &paths, &mut archive).unwrap();
    let names: Vec<&str> = paths.iter().map(|path| path.to_str().unwrap()).collect();
    assert_eq!(unpacked(&to, &archive, &names, ROOMY).unwrap(), paths);
    assert_eq!(fs::read_to_string(to.path().join(&long)).unwrap(), "long");
    assert_eq!(fs::read_to_string(to.path().join("-rf")).unwrap(), "dash");
    assert_eq!(fs::metadata(to.path().join("run")).unwrap().mode() & 0o777, 0o755);
    assert_eq!(
        fs::read_link(to.path().join("link")).unwrap(),
        Path::new("/etc/passwd")
    );
    let time = |top: &TempDir| fs::metadata(top.path().join("run")).unwrap().mtime();
    assert_eq!(time(&from), time(&to));
}

#[test]
fn hidden_files_and_what_links_lead_to_are_not_looked_at() {
    let (top, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(outside.path().join("secret"), "x").unwrap();
    fs::create_dir(top.path().join(".git")).unwrap();
    fs::write(top.path().join(".git/config"), "x").unwrap();
    fs::create_dir(top.path().join("src")).unwrap();
    fs::write(top.path().join("src/.git"), "not hidden").unwrap();
    symlink(outside.path(), top.path().join("away")).unwrap();
    let seen: Vec<PathBuf> = looks(&top, &[".git"]).into_keys().collect();
    assert_eq!(seen, ["away", "src", "src/.git"].map(PathBuf::from));
    // A link that takes the place of a directory after it was seen is packed as what it is.
    let mut archive = Vec::new();
    let root = File::open(top.path()).unwrap();
    pack(root.as_fd(), &[PathBuf::from("away/secret")], &mut archive).unwrap_err();
}

#[test]
fn paths_that_lead_elsewhere_are_refused() {
    let top = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    let absolute = outside.path().join("x").display().to_string();
    for path in [
        "../x",
        "a/../../x",
        "/x",
        &absolute,
        "a/./x",
        "a//x",
        "",
        ".",
        "..",
    ] {
        let archive = hostile(path, EntryType::Regular, "", b"x", 0o644);
        // Even if somebody had asked for it.
        let refused = unpacked(&top, &archive, &[path, "x", "a/x"], ROOMY);
        assert!(refused.is_err(), "{path}: {refused:?}");
    }
    assert!(!outside.path().join("x").exists() && !top.path().parent().unwrap().join("x").exists());
    for path in ["a", "a/b", "..a", "a/...", "-x", "a\nb"] {
        assert!(stays_below(Path::new(path)), "{path}");
    }
    assert!(!stays_below(Path::new(&"a/".repeat(3000))) && !stays_below(Path::new(&"a".repeat(256))));
}

#[test]
fn what_was_not_asked_for_is_refused() {
    let top = tempfile::tempdir().unwrap();
    let archive = hostile(".git/config", EntryType::Regular, "", b"x", 0o644);
    assert!(unpacked(&top, &archive, &["other"], ROOMY).is_err());
    let twice = [
        &hostile("a", EntryType::Regular, "", b"x", 0o644)[..512 + 512],
        &hostile("a", EntryType::Regular, "", b"y", 0o644),
    ]
    .concat();
    assert!(unpacked(&top, &twice, &["a"], ROOMY).is_err());
}

#[test]
fn no_link_is_followed() {
    let (top, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    // The directory was a link before, or the same archive makes it one.
    symlink(outside.path(), top.path().join("away")).unwrap();
    let file = hostile("away/x", EntryType::Regular, "", b"x", 0o644);
    assert!(unpacked(&top, &file, &["away", "away/x"], ROOMY).is_err());
    let target = outside.path().display().to_string();
    let made = [
        &hostile("b", EntryType::Symlink, &target, b"", 0o777)[..512],
        &hostile("b/x", EntryType::Regular, "", b"x", 0o644),
    ]
    .concat();
    assert!(unpacked(&top, &made, &["b", "b/x"], ROOMY).is_err());
    // A file that is a link here is replaced, and what it leads to stays.
    fs::write(outside.path().join("precious"), "mine").unwrap();
    symlink(outside.path().join("precious"), top.path().join("c")).unwrap();
    let file = hostile("c", EntryType::Regular, "", b"theirs", 0o644);
    unpacked(&top, &file, &["c"], ROOMY).unwrap();
    assert_eq!(
        fs::read_to_string(outside.path().join("precious")).unwrap(),
        "mine"
    );
    assert!(fs::symlink_metadata(top.path().join("c")).unwrap().is_file());
    // Nor does a directory of the archive change what a link leads to.
    let directory = hostile("away/", EntryType::Directory, "", b"", 0o777);
    unpacked(&top, &directory, &["away"], ROOMY).unwrap();
    assert!(fs::symlink_metadata(top.path().join("away")).unwrap().is_dir());
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
    // And removing is no way out either.
    symlink(outside.path(), top.path().join("d")).unwrap();
    let root = File::open(top.path()).unwrap();
    let paths = ["d/precious", "../precious", "/etc/passwd"].map(PathBuf::from);
    remove(root.as_fd(), &paths).unwrap();
    assert!(outside.path().join("precious").exists());
}

#[test]
fn devices_pipes_and_links_to_files_are_refused() {
    let top = tempfile::tempdir().unwrap();
    for kind in [
        EntryType::Char,
        EntryType::Block,
        EntryType::Fifo,
        EntryType::Link,
    ] {
        let archive = hostile("a", kind, "/etc/passwd", b"", 0o666);
        assert!(unpacked(&top, &archive, &["a"], ROOMY).is_err(), "{kind:?}");
    }
    assert_eq!(fs::read_dir(top.path()).unwrap().count(), 0);
}

#[test]
fn nobody_becomes_somebody_else() {
    let top = tempfile::tempdir().unwrap();
    let archive = hostile("a", EntryType::Regular, "", b"x", 0o6755);
    unpacked(&top, &archive, &["a"], ROOMY).unwrap();
    assert_eq!(fs::metadata(top.path().join("a")).unwrap().mode() & 0o7777, 0o755);
    let archive = hostile("d", EntryType::Directory, "", b"", 0o1000);
    unpacked(&top, &archive, &["d"], ROOMY).unwrap();
    assert_eq!(fs::metadata(top.path().join("d")).unwrap().mode() & 0o7777, 0o700);
}

#[test]
fn there_is_not_more_than_there_may_be() {
    let top = tempfile::tempdir().unwrap();
    let archive = hostile("a", EntryType::Regular, "", &[7; 600], 0o644);
    for (bytes, file_bytes) in [(599, 1000), (1000, 599)] {
        let bounds = Bounds { bytes, file_bytes };
        assert!(unpacked(&top, &archive, &["a"], bounds).is_err());
    }
    // One that breaks off leaves nothing behind.
    assert!(unpacked(&top, &archive[..700], &["a"], ROOMY).is_err());
    assert_eq!(fs::read_dir(top.path()).unwrap().count(), 0);
    let bounds = Bounds {
        bytes: 600,
        file_bytes: 600,
    };
    assert!(unpacked(&top, &archive, &["a"], bounds).is_ok());
}

#[test]
fn only_what_changed_goes_and_comes() {
    let top = tempfile::tempdir().unwrap();
    fs::write(top.path().join("a"), "1").unwrap();
    fs::write(top.path().join("b"), "1").unwrap();
    let mut manifest = Manifest::default();
    let now = looks(&top, &[]);
    assert_eq!(manifest.outgoing(&now).sent, ["a", "b"].map(PathBuf::from));
    manifest.note_here(now.clone());
    assert_eq!(manifest.outgoing(&now), Outgoing::default());
    let there = listed(&["a", "b"]);
    manifest.note_there(&there);
    assert_eq!(manifest.incoming(&there, true), Incoming::default());
    // Here a file changes and one goes.
    fs::write(top.path().join("a"), "22").unwrap();
    fs::remove_file(top.path().join("b")).unwrap();
    let outgoing = manifest.outgoing(&looks(&top, &[]));
    assert_eq!(
        (outgoing.sent, outgoing.removed),
        (vec!["a".into()], vec!["b".into()])
    );
    // There a file changes, one is new and one goes.
    let mut later = listed(&["a", "c"]);
    later.get_mut(Path::new("a")).unwrap().stamp = "f later".to_owned();
    let incoming = manifest.incoming(&later, true);
    let fetched: Vec<PathBuf> = incoming.fetched.into_keys().collect();
    assert_eq!(
        (fetched, incoming.removed),
        (vec!["a".into(), "c".into()], vec!["b".into()])
    );
    assert!(manifest.incoming(&later, false).removed.is_empty());
}

#[test]
fn lists_that_make_no_sense_are_refused() {
    let record = |index: &str, path: &str, kind: &str| {
        format!("{index}\0{path}\0{kind}\x005\x001.5\x001.6\x00644\0\0")
    };
    let two = record("0", "a/b", "f") + &record("1", "c", "d") + &record("1", "pipe", "p");
    let lists = listings(two.as_bytes(), 2).unwrap();
    assert_eq!(lists[0][Path::new("a/b")].stamp, "f 5 1.5 1.6 644");
    assert_eq!(lists[1].len(), 1);
    assert_eq!(listings(b"", 1).unwrap().len(), 1);
    for (text, count) in [
        (record("0", "../a", "f"), 1),
        (record("0", "/etc/passwd", "f"), 1),
        (record("0", "", "f"), 1),
        (record("1", "a", "f"), 1),
        (record("-1", "a", "f"), 1),
        (two[..two.len() - 2].to_owned(), 2),
        ("nonsense".to_owned(), 1),
    ] {
        assert!(listings(text.as_bytes(), count).is_err(), "{text:?}");
    }
}

#[test]
fn directories_in_directories_are_copied_once() {
    use crate::command::{Limits, Mount, Network};
    let mount = |host: &str, at: &str, access| Mount {
        source: File::open("/").unwrap().into(),
        host_path: host.into(),
        at: at.into(),
        access,
    };
    let command = Command {
        program: "true".to_owned(),
        arguments: Vec::new(),
        mounts: vec![
            mount("/data/tree", "/workspace", Access::ReadWrite),
            mount("/data/tree/.venv", "/workspace/.venv", Access::ReadOnly),
            mount("/data/other", "/workspace/other", Access::ReadOnly),
        ],
        directory: "/workspace".into(),
        hidden: vec!["/workspace/.git".into()],
        environment: Vec::new(),
        input: Vec::new(),
        network: Network::None,
        limits: Limits::default(),
    };
    let copied = Copied::all(&command).unwrap();
    assert_eq!(copied.len(), 2);
    assert!(copied[0].hides(Path::new(".git/config")) && copied[0].hides(Path::new("other/x")));
    assert!(!copied[0].hides(Path::new(".venv/bin")) && !copied[0].hides(Path::new(".github")));
    assert!(copied[0].comes_back && !copied[1].comes_back);
}

#[test]
fn a_name_without_end_is_not_read_to_its_end() {
    struct Counted<'a>(&'a [u8], &'a std::cell::Cell<usize>);
    impl io::Read for Counted<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let read = self.0.read(buffer)?;
            self.1.set(self.1.get() + read);
            Ok(read)
        }
    }
    let roomy = Bounds {
        bytes: 1 << 30,
        file_bytes: 1 << 30,
    };
    for kind in [EntryType::GNULongName, EntryType::GNULongLink, EntryType::XHeader] {
        let archive = hostile("x", kind, "", &vec![b'a'; 8 << 20], 0o644);
        let (read, directory) = (std::cell::Cell::new(0), tempfile::tempdir().unwrap());
        let root = File::open(directory.path()).unwrap();
        let unpacked = unpack(root.as_fd(), Counted(&archive, &read), &listed(&["x"]), roomy);
        assert!(
            unpacked.is_err() && read.get() < 1 << 20,
            "{kind:?} {}",
            read.get()
        );
    }
}
