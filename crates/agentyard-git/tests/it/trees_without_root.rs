//! Views that are mounted in a user namespace, by somebody who is not root.

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Output;

use agentyard_git::{TreeSettings, Trees, Way};

use crate::support::command;
use crate::trees_support::{KEY, Orchard};

/// Somebody who owns nothing on this machine.
const SOMEBODY: u32 = 54_321;

/// What the kernel does not offer there.
const IMPOSSIBLE: &str = "directories_of_the_base_can_be_moved";

/// Runs a program as a plain user who has made a user namespace and has the rights to mount there.
fn inside(home: &Path, program: &Path, arguments: &[&str]) -> Output {
    std::fs::set_permissions(home, std::fs::Permissions::from_mode(0o777)).unwrap();
    let mapped = |what: &str| format!("--map-{what}={SOMEBODY}");
    command("unshare")
        .args([
            "--user",
            "--mount",
            "--keep-caps",
            &mapped("user"),
            &mapped("group"),
        ])
        .arg(program)
        .args(arguments)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", home)
        .env("TMPDIR", home)
        .current_dir(home)
        .uid(SOMEBODY)
        .gid(SOMEBODY)
        .output()
        .unwrap()
}

/// All that is tested of views as root is tested again.
#[test]
fn a_plain_user_has_views_in_a_user_namespace() {
    let home = tempfile::tempdir().unwrap();
    let possible = inside(home.path(), Path::new("/bin/true"), &[]);
    if !possible.status.success() {
        eprintln!("SKIPPED: no user namespaces: {possible:?}");
        return;
    }
    let tests = home.path().join("tests");
    let built = std::env::current_exe().unwrap();
    if std::fs::hard_link(&built, &tests).is_err() {
        std::fs::copy(&built, &tests).unwrap();
    }
    let output = inside(home.path(), &tests, &["trees_views::", "--skip", IMPOSSIBLE]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    assert!(!said.contains(" 0 passed"), "{said}");
}

#[test]
fn who_may_not_mount_says_why_and_takes_another_way() {
    let orchard = Orchard::new();
    let tip = orchard.tip();
    orchard.view("topic");
    let settings = TreeSettings {
        directory: orchard.yard.path("data"),
        way: None,
        obstacle: Some("it is forbidden here".to_owned()),
        owner: None,
    };
    let trees = Trees::new(settings);
    let (way, outcome) = &trees.ways()[0];
    assert_eq!(*way, Way::Overlay);
    let reason = outcome.as_ref().unwrap_err();
    assert!(reason.contains("it is forbidden here"), "{reason}");
    // What is mounted already is there for all who see it.
    trees.attach_view(KEY, "topic", Way::Overlay, Some(&tip)).unwrap();
    rustix::mount::unmount(
        trees.view_path(KEY, "topic"),
        rustix::mount::UnmountFlags::empty(),
    )
    .unwrap();
    let refused = trees
        .attach_view(KEY, "topic", Way::Overlay, Some(&tip))
        .unwrap_err();
    assert!(refused.to_string().contains("it is forbidden here"), "{refused}");
}
