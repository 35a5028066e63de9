//! Views in which somebody else than root works, and root, too.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::Output;

use agentyard_git::{
    CheckpointName, FileTree, RepositoryPath, TreeOwner, TreeSettings, Trees, Trust, View, Way, Work,
    WriteOptions,
};

use crate::checkpoints_support::{NOTE, series};
use crate::support::{GO_ON, command, message};
use crate::trees_support::{KEY, Orchard, first_status_hashes_none, open};

/// Owns nothing else on this machine. The two numbers differ, so that they cannot be confused.
pub(crate) const SOMEBODY: TreeOwner = TreeOwner {
    uid: 61_184,
    gid: 61_185,
};

pub(crate) fn orchard() -> Orchard {
    Orchard::made_for(Some(SOMEBODY), Way::Overlay)
}

pub(crate) fn hand_over(orchard: &Orchard) -> usize {
    orchard.trees.hand_over(KEY, "topic", &GO_ON).unwrap()
}

/// Whose something is, not following a link.
pub(crate) fn owner(path: impl AsRef<Path>) -> (u32, u32) {
    let metadata = fs::symlink_metadata(path).unwrap();
    (metadata.uid(), metadata.gid())
}

pub(crate) fn is_somebodys(path: impl AsRef<Path>) -> bool {
    owner(path) == (SOMEBODY.uid, SOMEBODY.gid)
}

/// Runs a script in a view as somebody else than root.
pub(crate) fn as_somebody(view: &View, script: &str) -> Output {
    command("setpriv")
        .arg(format!("--reuid={}", SOMEBODY.uid))
        .arg(format!("--regid={}", SOMEBODY.gid))
        .args(["--clear-groups", "--no-new-privs", "sh", "-eu", "-c", script])
        .current_dir(&view.path)
        .output()
        .unwrap()
}

fn work_as_somebody(view: &View, script: &str) {
    let output = as_somebody(view, script);
    assert!(output.status.success(), "{script}: {output:?}");
}

/// All names in a directory, at whatever depth, without its `.git`.
fn all_below(top: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![top.to_owned()];
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let entry = entry.unwrap();
            if entry.path() == top.join(".git") {
                continue;
            }
            if entry.file_type().unwrap().is_dir() {
                waiting.push(entry.path());
            }
            found.push(entry.path());
        }
    }
    found
}

#[test]
fn the_first_status_hashes_none_of_many_files_that_were_given_away() {
    let orchard = orchard();
    first_status_hashes_none(&orchard);
    assert!(is_somebodys(orchard.trees.view_path(KEY, "topic").join("many/0")));
}

#[test]
fn all_but_the_top_and_its_git_file_is_given_away_with_the_base() {
    let orchard = orchard();
    orchard.source(&[
        "update-index",
        "--add",
        "--cacheinfo",
        &format!("160000,{},vendor/sub", orchard.tip()),
    ]);
    orchard.source(&["commit", "--quiet", "--message", "submodule"]);
    orchard.fetch().unwrap();
    let view = orchard.view("topic");
    let all = all_below(&view.path);
    assert_eq!(all.len(), 15);
    for path in all {
        assert!(is_somebodys(&path), "{}", path.display());
    }
    assert_eq!(owner(&view.path), (0, SOMEBODY.gid));
    assert_eq!(fs::metadata(&view.path).unwrap().mode() & 0o7777, 0o775);
    assert_eq!(owner(view.path.join(".git")), (0, 0));
    // Root finds the repository without being told where it is, which it would not in a tree of somebody else.
    assert_eq!(orchard.git(&view, &["status", "--porcelain"]), "");
    assert_eq!(hand_over(&orchard), 0);
}

#[test]
fn after_a_view_is_handed_over_somebody_changes_all_that_root_left() {
    let orchard = orchard();
    let first = orchard.tip();
    orchard.write("docs/three", "3\n");
    orchard.commit("second");
    orchard.fetch().unwrap();
    orchard
        .trees
        .refresh_base(&orchard.git, KEY, &first, &GO_ON, &|_| {})
        .unwrap();
    // Over a base nearby: git wrote what differs.
    let view = orchard.view("topic");
    assert_eq!(view.base, Some(first));
    orchard.git(&view, &["mv", "src/deep", "moved"]);
    orchard.git(&view, &["rm", "--quiet", "docs/one"]);
    fs::write(view.path.join("README"), "root's\n").unwrap();
    fs::remove_file(view.path.join("docs/two")).unwrap();
    fs::write(view.path.join("docs/two"), "root's\n").unwrap();
    fs::create_dir_all(view.path.join("new/directory")).unwrap();
    fs::write(view.path.join("new/directory/file"), "root's\n").unwrap();
    std::os::unix::fs::symlink("nowhere", view.path.join("new/link")).unwrap();
    let fifo = command("mkfifo")
        .arg(view.path.join("new/fifo"))
        .status()
        .unwrap();
    assert!(fifo.success());
    let refused = as_somebody(&view, "echo mine > new/directory/file");
    assert!(!refused.status.success());

    // What root only changed or moved stays its owner's.
    let theirs = [
        "docs/three",
        "docs/two",
        "new",
        "new/directory",
        "new/directory/file",
        "new/link",
        "new/fifo",
    ];
    for path in theirs {
        assert_eq!(owner(view.path.join(path)), (0, 0), "{path}");
    }
    assert_eq!(hand_over(&orchard), theirs.len());
    assert_eq!(hand_over(&orchard), 0);
    for path in all_below(&view.path) {
        assert!(is_somebodys(&path), "{}", path.display());
    }
    work_as_somebody(
        &view,
        "for file in README docs/two docs/three moved/er/file new/directory/file src/main.rs; do
             echo mine >> $file
         done
         echo mine > at-the-top
         mkdir -p deep/er
         echo mine > deep/er/file
         rm -r docs new/link new/fifo
         mv new old
         mv src/main.rs run.sh moved
         rm link .gitignore",
    );
    let refused = as_somebody(&view, "echo mine >> .git");
    assert!(!refused.status.success());
    assert_eq!(owner(view.path.join(".git")), (0, 0));
    assert_eq!(
        fs::read_to_string(view.path.join("README")).unwrap(),
        "root's\nmine\n"
    );
    // Root goes on, and finds all of it.
    orchard.git(&view, &["add", "--all"]);
    orchard.git(&view, &["commit", "--quiet", "--message", "both"]);
    assert_eq!(orchard.changes(&view), "");
    orchard.git(&view, &["checkout", "--quiet", "--detach", "topic~1"]);
    assert_eq!(fs::read_to_string(view.path.join("docs/two")).unwrap(), "2\n");
    assert!(hand_over(&orchard) > 0);
    assert!(is_somebodys(view.path.join("docs/two")));
}

#[test]
fn root_and_its_tools_work_with_what_somebody_closed() {
    let orchard = orchard();
    let view = orchard.view("topic");
    let repository = open(&view);
    let work = Work::new(&orchard.git, &repository, Trust::Untrusted, &GO_ON, &|_| {});
    let before = work.checkpoint(&series(), &NOTE).unwrap();
    work_as_somebody(
        &view,
        "mkdir closed
         echo kept > closed/file
         echo kept > secret
         echo changed > README
         chmod 0 closed/file secret closed README
         mkdir deleted && rmdir deleted",
    );
    let made = work.checkpoint(&series(), &NOTE).unwrap();
    assert_ne!(made.checkpoint.number, before.checkpoint.number);
    let go_back = |number: Option<u64>| {
        let name = CheckpointName::Number(number.unwrap());
        work.restore_checkpoint(&series(), &name, &NOTE).unwrap();
    };
    go_back(before.checkpoint.number);
    assert!(!view.path.join("secret").exists() && !view.path.join("closed/file").exists());
    assert_eq!(fs::read_to_string(view.path.join("README")).unwrap(), "read me\n");
    go_back(made.checkpoint.number);
    for (file, content) in [
        ("secret", "kept\n"),
        ("closed/file", "kept\n"),
        ("README", "changed\n"),
    ] {
        assert_eq!(
            fs::read_to_string(view.path.join(file)).unwrap(),
            content,
            "{file}"
        );
    }
    hand_over(&orchard);

    // A file that is written over stays its owner's.
    let files = FileTree::open(&view.roots.resolve(&view.path).unwrap()).unwrap();
    let overwrite = WriteOptions {
        overwrite: true,
        ..WriteOptions::default()
    };
    let file = RepositoryPath::new("src/main.rs").unwrap();
    files.write(&file, b"written\n", &overwrite, &GO_ON).unwrap();
    assert_eq!(
        fs::read_to_string(view.path.join("src/main.rs")).unwrap(),
        "written\n"
    );
    assert!(is_somebodys(view.path.join("src/main.rs")));
    assert_eq!(hand_over(&orchard), 0);
    work_as_somebody(
        &view,
        "mkdir -p shut/inside; echo x > shut/inside/file; chmod 0 shut/inside shut",
    );
    orchard.close("topic");
    assert!(orchard.leftovers().is_empty(), "{:?}", orchard.leftovers());
}

#[test]
fn bases_that_were_made_for_root_serve_only_the_views_that_stand_on_them() {
    let orchard = Orchard::new();
    let tip = orchard.tip();
    let old = orchard.view("topic");
    let later = Trees::new(TreeSettings {
        directory: orchard.yard.path("data"),
        way: Some(Way::Overlay),
        obstacle: None,
        owner: Some(SOMEBODY),
    });
    let bases = orchard.data("trees").join(KEY).join("bases");
    let (roots, somebodys) = (
        bases.join(tip.to_string()),
        bases.join(format!("{tip}-{}-{}", SOMEBODY.uid, SOMEBODY.gid)),
    );
    later
        .refresh_base(&orchard.git, KEY, &tip, &GO_ON, &|_| {})
        .unwrap();
    assert!(is_somebodys(somebodys.join("tree/README")));
    later.prune_bases(KEY, &[tip], &GO_ON).unwrap();
    assert!(roots.exists() && somebodys.exists());

    // The old view goes on, also after a restart, and is handed over whole: what it shares with its base is copied.
    rustix::mount::unmount(&old.path, rustix::mount::UnmountFlags::DETACH).unwrap();
    let old = later.attach_view(KEY, "topic", Way::Overlay, Some(&tip)).unwrap();
    assert_eq!(later.hand_over(KEY, "topic", &GO_ON).unwrap(), 13);
    assert_eq!(later.hand_over(KEY, "topic", &GO_ON).unwrap(), 0);
    work_as_somebody(
        &old,
        "echo mine >> src/deep/er/file; echo mine > new; rm docs/one; echo mine > run.sh",
    );
    assert_eq!(owner(roots.join("tree/src/deep/er/file")), (0, 0));
    assert_eq!(
        fs::read_to_string(roots.join("tree/src/deep/er/file")).unwrap(),
        "deep\n"
    );
    assert_eq!(
        orchard.changes(&old),
        " D docs/one\n M run.sh\n M src/deep/er/file\n?? new\n"
    );

    orchard.close("topic");
    later.prune_bases(KEY, &[tip], &GO_ON).unwrap();
    assert!(!roots.exists() && somebodys.exists());
    // And the other way round.
    orchard.trees.prune_bases(KEY, &[tip], &GO_ON).unwrap();
    assert!(!somebodys.exists());
}

#[test]
fn copies_and_checkouts_stay_as_they_are() {
    let orchard = Orchard::made_for(Some(SOMEBODY), Way::Checkout);
    let view = orchard.view("topic");
    assert_eq!(hand_over(&orchard), 0);
    assert_eq!(owner(view.path.join("README")), (0, 0));
    assert_eq!(owner(&view.path), (0, 0));
    assert_eq!(
        fs::metadata(&view.path).unwrap().permissions().mode() & 0o7777,
        0o755
    );

    let orchard = Orchard::new();
    let view = orchard.view("topic");
    assert_eq!(hand_over(&orchard), 0);
    assert_eq!(owner(view.path.join("README")), (0, 0));
}

#[test]
fn a_view_that_is_not_mounted_is_not_handed_over() {
    let orchard = orchard();
    let view = orchard.view("topic");
    fs::write(view.path.join("README"), "changed\n").unwrap();
    rustix::mount::unmount(&view.path, rustix::mount::UnmountFlags::DETACH).unwrap();
    let said = message(orchard.trees.hand_over(KEY, "topic", &GO_ON));
    assert!(said.contains("is not mounted"), "{said}");
    assert_eq!(owner(&view.path), (0, 0));
}
