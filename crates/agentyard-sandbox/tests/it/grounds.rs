//! What sandboxes keep on disk: shared and parted.

use std::fs::{self, File};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use agentyard_sandbox::{CopyWay, Grounds, GroundsError, Mount};
use rustix::fs::{CWD, FileType, Mode, XattrFlags};
use tempfile::TempDir;

struct Yard {
    directory: TempDir,
    grounds: Grounds,
}

impl Yard {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let grounds = Grounds::open(directory.path().to_owned(), None).unwrap();
        assert_eq!(grounds.way(), CopyWay::Layered, "this machine has overlayfs");
        Self { directory, grounds }
    }

    async fn prepare(&self, id: &str, from: Option<&str>) -> Shown {
        Shown(self.grounds.prepare(id, from).await.unwrap())
    }

    fn names(&self, below: &str) -> Vec<String> {
        let entries = fs::read_dir(self.directory.path().join(below)).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

/// The directories of a sandbox, as it would see them.
struct Shown(Vec<Mount>);

impl Shown {
    /// The path of something inside, through the descriptor: a view may be mounted nowhere.
    fn path(&self, inside: &str) -> PathBuf {
        let inside = Path::new(inside);
        let (mount, below) = self
            .0
            .iter()
            .find_map(|mount| Some((mount, inside.strip_prefix(&mount.at).ok()?)))
            .unwrap();
        PathBuf::from(format!("/proc/self/fd/{}", mount.source.as_raw_fd())).join(below)
    }

    fn write(&self, inside: &str, text: &str) {
        fs::write(self.path(inside), text).unwrap();
    }

    fn read(&self, inside: &str) -> Option<String> {
        fs::read_to_string(self.path(inside)).ok()
    }
}

#[tokio::test]
async fn a_new_sandbox_has_three_empty_directories_and_finds_them_again() {
    let yard = Yard::new();
    let shown = yard.prepare("one", None).await;
    let places: Vec<&Path> = shown.0.iter().map(|mount| mount.at.as_path()).collect();
    assert_eq!(places, ["/home/user", "/workspace", "/tmp"].map(Path::new),);
    let mode = fs::metadata(shown.path("/tmp/")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o1777);
    shown.write("/workspace/file", "content");
    drop(shown);
    let again = Grounds::open(yard.directory.path().to_owned(), None).unwrap();
    let shown = Shown(again.prepare("one", None).await.unwrap());
    assert_eq!(shown.read("/workspace/file").unwrap(), "content");
    assert_eq!(again.list().await.unwrap(), ["one"]);
    assert!(again.size("one").await.unwrap().own > 0);
}

#[tokio::test]
async fn forks_share_what_they_do_not_change_and_part_where_they_do() {
    let yard = Yard::new();
    let first = yard.prepare("first", None).await;
    first.write("/home/user/kept", "kept");
    first.write("/home/user/changed", "as it was");
    first.write("/home/user/removed", "soon gone");
    fs::create_dir_all(first.path("/workspace/directory/below")).unwrap();
    first.write("/workspace/directory/below/file", "content");
    let large = vec![7; 4 << 20];
    fs::write(first.path("/home/user/large"), &large).unwrap();
    yard.grounds.snapshot("first", "snap-1").await.unwrap();

    let (a, b) = (
        yard.prepare("a", Some("snap-1")).await,
        yard.prepare("b", Some("snap-1")).await,
    );
    assert!(
        yard.grounds.size("a").await.unwrap().own < 1 << 20,
        "nothing was copied"
    );
    a.write("/home/user/changed", "by a");
    fs::remove_file(a.path("/home/user/removed")).unwrap();
    fs::rename(a.path("/workspace/directory"), a.path("/workspace/renamed")).unwrap();
    first.write("/home/user/changed", "after the snapshot");
    assert_eq!(b.read("/home/user/changed").unwrap(), "as it was");
    assert_eq!(b.read("/home/user/removed").unwrap(), "soon gone");
    assert_eq!(a.read("/home/user/kept").unwrap(), "kept");

    // A snapshot of a fork holds what the fork has changed, over what it stands on.
    yard.grounds.snapshot("a", "snap-2").await.unwrap();
    let c = yard.prepare("c", Some("snap-2")).await;
    assert_eq!(c.read("/home/user/changed").unwrap(), "by a");
    assert_eq!(c.read("/home/user/removed"), None);
    assert_eq!(c.read("/workspace/directory/below/file"), None);
    assert_eq!(c.read("/workspace/renamed/below/file").unwrap(), "content");
    assert_eq!(fs::read(c.path("/home/user/large")).unwrap(), large);
    let size = yard.grounds.size("c").await.unwrap();
    assert!(size.total() >= 4 << 20, "what it stands on counts: {size:?}");
    assert_eq!(first.read("/home/user/changed").unwrap(), "after the snapshot");
}

#[tokio::test]
async fn a_directory_made_anew_hides_what_was_below_it_in_later_snapshots_too() {
    let yard = Yard::new();
    let first = yard.prepare("first", None).await;
    fs::create_dir(first.path("/workspace/directory")).unwrap();
    first.write("/workspace/directory/old", "old");
    yard.grounds.snapshot("first", "snap-1").await.unwrap();
    let second = yard.prepare("second", Some("snap-1")).await;
    fs::remove_dir_all(second.path("/workspace/directory")).unwrap();
    fs::create_dir(second.path("/workspace/directory")).unwrap();
    second.write("/workspace/directory/new", "new");
    yard.grounds.snapshot("second", "snap-2").await.unwrap();
    let third = yard.prepare("third", Some("snap-2")).await;
    assert_eq!(third.read("/workspace/directory/old"), None);
    assert_eq!(third.read("/workspace/directory/new").unwrap(), "new");
}

#[tokio::test]
async fn a_stack_of_snapshots_is_bounded() {
    let yard = Yard::new();
    let mut last: Option<String> = None;
    for number in 0..30 {
        let id = format!("s{number}");
        let shown = yard.prepare(&id, last.as_deref()).await;
        shown.write(&format!("/home/user/{number}"), &id);
        fs::remove_file(shown.path("/home/user/gone")).ok();
        shown.write(
            &format!("/home/user/{}", if number % 2 == 0 { "gone" } else { "other" }),
            &id,
        );
        let snapshot = format!("snap-{number}");
        yard.grounds.snapshot(&id, &snapshot).await.unwrap();
        if let Some(last) = &last {
            yard.grounds.remove_snapshot(last).await.unwrap();
        }
        drop(shown);
        yard.grounds.remove(&id).await.unwrap();
        last = Some(snapshot);
    }
    assert!(yard.names("layers").len() <= 13, "{:?}", yard.names("layers"));
    let shown = yard.prepare("last", last.as_deref()).await;
    for number in 0..30 {
        assert_eq!(
            shown.read(&format!("/home/user/{number}")).unwrap(),
            format!("s{number}")
        );
    }
    assert_eq!(shown.read("/home/user/gone"), None);
    assert_eq!(shown.read("/home/user/other").unwrap(), "s29");
}

#[tokio::test]
async fn a_snapshots_bytes_stay_as_long_as_a_sandbox_stands_on_them() {
    let yard = Yard::new();
    let first = yard.prepare("first", None).await;
    first.write("/home/user/file", "content");
    yard.grounds.snapshot("first", "snap-1").await.unwrap();
    let second = yard.prepare("second", Some("snap-1")).await;
    yard.grounds.remove_snapshot("snap-1").await.unwrap();
    assert!(yard.grounds.snapshots().await.unwrap().is_empty());
    assert!(matches!(
        yard.grounds.prepare("third", Some("snap-1")).await,
        Err(GroundsError::Unknown { what: "snapshot", .. })
    ));
    yard.grounds.remove("first").await.unwrap();
    drop(second);
    let again = yard.prepare("second", None).await;
    assert_eq!(again.read("/home/user/file").unwrap(), "content");
    assert_eq!(yard.names("layers"), ["snap-1"]);
    drop(again);
    yard.grounds.remove("second").await.unwrap();
    assert!(yard.names("layers").is_empty());
    assert!(yard.grounds.list().await.unwrap().is_empty());
    assert!(yard.names("aside").is_empty());
}

#[tokio::test]
async fn what_hostile_programs_leave_is_copied_as_it_is_and_never_followed() {
    let yard = Yard::new();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret"), "secret").unwrap();
    let first = yard.prepare("first", None).await;
    let at = |inside: &str| first.path(inside);
    symlink(outside.path().join("secret"), at("/workspace/link")).unwrap();
    symlink(outside.path(), at("/workspace/directory-link")).unwrap();
    rustix::fs::mknodat(CWD, at("/workspace/pipe"), FileType::Fifo, Mode::RWXU, 0).unwrap();
    first.write("/workspace/one", "linked");
    fs::hard_link(at("/workspace/one"), at("/workspace/two")).unwrap();
    first.write("/workspace/closed", "closed");
    fs::set_permissions(at("/workspace/closed"), fs::Permissions::from_mode(0o000)).unwrap();
    rustix::fs::setxattr(at("/workspace/one"), "user.note", b"note", XattrFlags::empty()).unwrap();
    let odd = std::ffi::OsStr::new("new\nline \u{1b}[0m");
    fs::write(at("/workspace").join(odd), "odd").unwrap();
    let sparse = File::create(at("/workspace/sparse")).unwrap();
    sparse.set_len(1 << 34).unwrap();
    std::os::unix::fs::FileExt::write_at(&sparse, b"end", (1 << 34) - 3).unwrap();
    yard.grounds.snapshot("first", "snap-1").await.unwrap();

    let layer = yard.directory.path().join("layers/snap-1/workspace");
    assert_eq!(
        fs::read_link(layer.join("link")).unwrap(),
        outside.path().join("secret")
    );
    assert!(
        fs::symlink_metadata(layer.join("directory-link"))
            .unwrap()
            .is_symlink()
    );
    assert!(
        fs::symlink_metadata(layer.join("pipe"))
            .unwrap()
            .file_type()
            .is_fifo()
    );
    let inode = |name: &str| fs::metadata(layer.join(name)).unwrap().ino();
    assert_eq!(inode("one"), inode("two"));
    let mut note = [0; 16];
    let length = rustix::fs::getxattr(layer.join("one"), "user.note", &mut note).unwrap();
    assert_eq!(&note[..length], b"note");
    let mode = fs::metadata(layer.join("closed")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0);
    assert_eq!(fs::read_to_string(layer.join(odd)).unwrap(), "odd");
    let copied = fs::metadata(layer.join("sparse")).unwrap();
    assert_eq!(copied.len(), 1 << 34);
    assert!(copied.blocks() * 512 < 1 << 20, "the hole was not filled");
    assert_eq!(
        fs::metadata(layer.join("one")).unwrap().modified().unwrap(),
        fs::metadata(at("/workspace/one")).unwrap().modified().unwrap(),
    );
}

#[tokio::test]
async fn a_tree_too_deep_to_keep_is_refused_and_can_be_removed() {
    let yard = Yard::new();
    let first = yard.prepare("first", None).await;
    let mut here: std::os::fd::OwnedFd = File::open(first.path("/workspace/")).unwrap().into();
    for _ in 0..1000 {
        rustix::fs::mkdirat(&here, "deeper", Mode::RWXU).unwrap();
        let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::DIRECTORY;
        here = rustix::fs::openat(&here, "deeper", flags, Mode::empty()).unwrap();
    }
    drop(here);
    let refused = yard.grounds.snapshot("first", "snap-1").await.unwrap_err();
    assert!(refused.to_string().contains("nested deeper"), "{refused}");
    assert!(yard.grounds.snapshots().await.unwrap().is_empty());
    assert!(yard.names("layers").is_empty() && yard.names("aside").is_empty());
    drop(first);
    yard.grounds.remove("first").await.unwrap();
    assert!(yard.names("sandboxes").is_empty() && yard.names("aside").is_empty());
}

#[tokio::test]
async fn names_cannot_lead_elsewhere_and_what_is_half_made_goes() {
    let yard = Yard::new();
    for id in ["", "..", "a/b", "A", ".a", &"a".repeat(65)] {
        let refused = yard.grounds.prepare(id, None).await;
        assert!(matches!(refused, Err(GroundsError::Name(_))), "{id}");
    }
    fs::create_dir_all(yard.directory.path().join("aside/1-2/half")).unwrap();
    fs::create_dir_all(yard.directory.path().join("layers/nobodys/home")).unwrap();
    Grounds::open(yard.directory.path().to_owned(), None).unwrap();
    assert!(yard.names("aside").is_empty() && yard.names("layers").is_empty());
}

#[tokio::test]
async fn a_snapshot_is_made_once_and_of_something() {
    let yard = Yard::new();
    assert!(matches!(
        yard.grounds.snapshot("nobody", "snap-1").await,
        Err(GroundsError::Unknown { what: "sandbox", .. })
    ));
    yard.prepare("first", None).await;
    yard.grounds.snapshot("first", "snap-1").await.unwrap();
    assert!(matches!(
        yard.grounds.snapshot("first", "snap-1").await,
        Err(GroundsError::Exists { what: "snapshot", .. })
    ));
    yard.grounds.remove("nobody").await.unwrap();
    yard.grounds.remove_snapshot("nobody").await.unwrap();
}
