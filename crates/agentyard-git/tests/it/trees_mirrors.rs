//! Mirrors are made, fetched into, and removed.

use std::fs;
use std::sync::atomic::AtomicBool;

use agentyard_git::{Error, RemoteUrl, Roots, Way};

use crate::support::{GO_ON, message};
use crate::trees_support::{KEY, Orchard};

#[test]
fn a_mirror_notes_the_remotes_branches_and_has_none_of_its_own() {
    let orchard = Orchard::empty();
    orchard.write("file", "one\n");
    orchard.commit("first");
    orchard.source(&["branch", "feature/x"]);
    orchard.source(&["tag", "v1"]);
    let state = orchard.create_mirror().unwrap();
    assert_eq!(state.default_branch.as_deref(), Some("main"));
    let references = orchard.mirror(&["for-each-ref", "--format=%(refname)"]);
    assert_eq!(
        references.lines().collect::<Vec<_>>(),
        [
            "refs/remotes/origin/HEAD",
            "refs/remotes/origin/feature/x",
            "refs/remotes/origin/main",
            "refs/tags/v1"
        ]
    );
    assert_eq!(orchard.mirror(&["rev-parse", "--is-bare-repository"]), "true\n");
    assert!(orchard.trees.open_mirror(KEY).unwrap().worktree().is_none());
    assert!(orchard.leftovers().is_empty());
    // Every branch can be checked out, also the remote's default.
    orchard.mirror(&[
        "worktree",
        "add",
        "--quiet",
        "../../tree",
        "-b",
        "main",
        "origin/main",
    ]);
}

#[test]
fn making_a_mirror_again_changes_nothing_and_clears_what_a_crash_left() {
    let orchard = Orchard::empty();
    let left = orchard.data(&format!("repos/.new-{KEY}/.git/objects"));
    fs::create_dir_all(&left).unwrap();
    fs::write(left.join("half"), "half a pack").unwrap();
    orchard.create_mirror().unwrap();
    assert!(orchard.leftovers().is_empty());
    fs::write(orchard.trees.mirror_path(KEY).join("mark"), "").unwrap();
    orchard.create_mirror().unwrap();
    assert!(orchard.trees.mirror_path(KEY).join("mark").exists());
}

#[test]
fn an_empty_remote_has_a_mirror_too_and_its_first_commit_is_fetched() {
    let orchard = Orchard::empty();
    let state = orchard.create_mirror().unwrap();
    assert_eq!(state.default_branch.as_deref(), Some("main"));
    assert!(orchard.fetch().unwrap().changes.is_empty());
    orchard.write("file", "one\n");
    let tip = orchard.commit("first");
    let fetched = orchard.fetch().unwrap();
    assert_eq!(fetched.changes.len(), 1);
    assert_eq!(
        (fetched.changes[0].name.as_str(), fetched.changes[0].new),
        ("origin/main", Some(tip))
    );
    assert_eq!(fetched.state.default_branch.as_deref(), Some("main"));
}

#[test]
fn objects_may_be_named_by_sha_256() {
    let orchard = Orchard::of(
        Way::Overlay,
        &[
            "init",
            "--quiet",
            "--initial-branch=main",
            "--object-format=sha256",
            "source",
        ],
    );
    orchard.write("file", "one\n");
    orchard.commit("first");
    orchard.create_mirror().unwrap();
    let view = orchard.view("topic");
    assert_eq!(orchard.changes(&view), "");
    assert_eq!(view.base.unwrap().to_string().len(), 64);
}

#[test]
fn a_fetch_follows_the_remote_and_leaves_our_branches_alone() {
    let orchard = Orchard::new();
    let first = orchard.tip();
    orchard.source(&["branch", "old"]);
    orchard.fetch().unwrap();
    // A workspace's branch and tag, which the remote knows nothing of, and one that it has too.
    orchard.mirror(&["branch", "main", &first.to_string()]);
    orchard.mirror(&["tag", "ours", &first.to_string()]);
    orchard.source(&["branch", "--delete", "old"]);
    // The name of a branch that is gone becomes a directory.
    orchard.source(&["branch", "old/new"]);
    orchard.source(&["tag", "theirs"]);
    orchard.write("file", "more\n");
    let second = orchard.commit("second");
    let fetched = orchard.fetch().unwrap();
    let names: Vec<(&str, bool)> = fetched
        .changes
        .iter()
        .map(|change| (change.name.as_str(), change.new.is_some()))
        .collect();
    assert_eq!(
        names,
        [
            ("origin/main", true),
            ("origin/old", false),
            ("origin/old/new", true),
            ("theirs", true)
        ]
    );
    assert_eq!(orchard.mirror(&["rev-parse", "main"]).trim(), first.to_string());
    assert_eq!(
        orchard.mirror(&["rev-parse", "origin/main"]).trim(),
        second.to_string()
    );
    assert_eq!(orchard.mirror(&["rev-parse", "ours"]).trim(), first.to_string());
    assert!(orchard.fetch().unwrap().changes.is_empty());
}

#[test]
fn a_changed_default_branch_is_noticed_although_nothing_else_changed() {
    let orchard = Orchard::new();
    orchard.source(&["branch", "trunk"]);
    orchard.fetch().unwrap();
    orchard.source(&["symbolic-ref", "HEAD", "refs/heads/trunk"]);
    let fetched = orchard.fetch().unwrap();
    assert_eq!(fetched.state.default_branch.as_deref(), Some("trunk"));
    assert_eq!(
        orchard
            .mirror(&["symbolic-ref", "refs/remotes/origin/HEAD"])
            .trim(),
        "refs/remotes/origin/trunk"
    );
}

#[test]
fn a_source_outside_the_given_roots_is_refused_and_leaves_nothing() {
    let orchard = Orchard::empty();
    let foreign = crate::support::foreign_repository(&orchard.yard);
    let url = RemoteUrl::parse(&foreign.display().to_string()).unwrap();
    let roots = orchard.source_roots();
    let made = orchard
        .trees
        .create_mirror(&orchard.git, KEY, &url, &roots, &GO_ON, &|_| {});
    assert!(message(made).contains("outside the directories"));
    assert!(orchard.leftovers().is_empty());
    let nowhere = orchard.trees.open_mirror(KEY);
    assert!(matches!(nowhere, Err(Error::Missing { .. })));
}

#[test]
fn a_cancelled_clone_leaves_nothing() {
    let orchard = Orchard::empty();
    let (url, roots) = (orchard.url(), Roots::new([orchard.yard.path("source")]).unwrap());
    let cancel = AtomicBool::new(true);
    let made = orchard
        .trees
        .create_mirror(&orchard.git, KEY, &url, &roots, &cancel, &|_| {});
    assert!(matches!(made, Err(Error::Cancelled)));
    assert!(orchard.leftovers().is_empty());
}

#[test]
fn many_packs_are_put_together_and_nothing_of_them_is_lost() {
    let orchard = Orchard::new();
    let unreachable = orchard.mirror(&["commit-tree", "-m", "nobody names this", "origin/main^{tree}"]);
    orchard.mirror(&["repack", "-a", "-d", "-q"]);
    let pack = orchard.trees.mirror_path(KEY).join("objects/pack");
    for number in 0..55 {
        let file = orchard.yard.path("blob");
        fs::write(&file, number.to_string()).unwrap();
        let id = orchard.mirror(&["hash-object", "-w", &file.display().to_string()]);
        let ids = orchard.yard.path("ids");
        fs::write(&ids, &id).unwrap();
        orchard.yard.shell(&format!(
            "git -C {} pack-objects -q {}/pack < {} && rm -r {}/objects/{}",
            orchard.trees.mirror_path(KEY).display(),
            pack.display(),
            ids.display(),
            orchard.trees.mirror_path(KEY).display(),
            &id[..2],
        ));
    }
    orchard.write("file", "new\n");
    orchard.commit("second");
    orchard.fetch().unwrap();
    let packs = fs::read_dir(&pack).unwrap();
    let packs = packs.filter(|entry| {
        entry
            .as_ref()
            .unwrap()
            .path()
            .extension()
            .is_some_and(|end| end == "pack")
    });
    assert!(packs.count() < 20);
    orchard.mirror(&["cat-file", "-e", unreachable.trim()]);
    let id = orchard.mirror(&["hash-object", &orchard.yard.path("blob").display().to_string()]);
    orchard.mirror(&["cat-file", "-e", id.trim()]);
}

#[test]
fn a_mirror_is_removed_with_its_views() {
    let orchard = Orchard::new();
    let view = orchard.view("topic");
    orchard.trees.remove_mirror(KEY, &GO_ON).unwrap();
    assert!(!view.path.exists() && !orchard.trees.mirror_path(KEY).exists());
    assert!(!orchard.data("trees").join(KEY).exists());
    orchard.trees.remove_mirror(KEY, &GO_ON).unwrap();
    let names = orchard.trees.names(KEY).unwrap();
    assert!(names.is_empty(), "{names:?}");
}

#[test]
fn keys_lead_nowhere_else() {
    let orchard = Orchard::empty();
    for key in ["", "..", "a/b", ".new-x"] {
        assert!(orchard.trees.open_mirror(key).is_err(), "{key}");
        assert!(orchard.trees.remove_mirror(key, &GO_ON).is_err(), "{key}");
        assert!(orchard.trees.close_view(KEY, key, &GO_ON).is_err(), "{key}");
    }
}
