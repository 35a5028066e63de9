//! A disk without room for what is written.

use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;

use agentyard_git::{Error, FileTree, Roots};

use crate::files_support::{OVERWRITE, edit, path};
use crate::support::{GO_ON, command};

const INSIDE: &str = "AGENTYARD_TEST_SMALL_DISK";

/// Runs itself again in a mount namespace of its own, where a file system of 256 kB can be mounted that goes with the
/// process, however that ends.
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "a test that runs itself is told so by a variable"
)]
fn a_full_disk_leaves_everything_as_it_was() {
    if let Some(directory) = std::env::var_os(INSIDE) {
        return on_a_small_disk(Path::new(&directory));
    }
    let directory = tempfile::tempdir().unwrap();
    let output = command("unshare")
        .args(["--mount", "--propagation", "private", "--"])
        .arg(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "files_disk_full::a_full_disk_leaves_everything_as_it_was",
        ])
        .env(INSIDE, directory.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("unshare failed") {
        eprintln!("SKIPPED: this user may not make a mount namespace");
        return;
    }
    assert!(
        output.status.success() && output.status.signal().is_none(),
        "{}{said}",
        String::from_utf8_lossy(&output.stdout)
    );
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"));
}

fn on_a_small_disk(directory: &Path) {
    let mounted = command("mount")
        .args(["-t", "tmpfs", "-o", "size=256k", "small"])
        .arg(directory)
        .status()
        .unwrap();
    assert!(mounted.success());
    let roots = Roots::new([directory.to_owned()]).unwrap();
    let tree = FileTree::open(&roots.resolve(directory).unwrap()).unwrap();
    std::fs::write(directory.join("file"), "content\n").unwrap();
    let long = "x".repeat(400 << 10);
    let refused = [
        tree.write(&path("a/b/new"), long.as_bytes(), &OVERWRITE, &GO_ON)
            .unwrap_err(),
        tree.write(&path("file"), long.as_bytes(), &OVERWRITE, &GO_ON)
            .unwrap_err(),
        tree.edit(
            &path("file"),
            &[edit("content", &long)],
            &Default::default(),
            &GO_ON,
        )
        .unwrap_err(),
    ];
    for error in refused {
        let Error::State { what, remedy } = error else {
            panic!("{error:?}");
        };
        assert!(
            what.contains("No space left on device") && remedy.contains("free space"),
            "{what}: {remedy}"
        );
    }
    let left: Vec<_> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left, ["file"]);
    assert_eq!(
        std::fs::read_to_string(directory.join("file")).unwrap(),
        "content\n"
    );
    tree.write(&path("file"), b"fits\n", &OVERWRITE, &GO_ON).unwrap();
    assert_eq!(std::fs::read_to_string(directory.join("file")).unwrap(), "fits\n");
}
