//! Views are opened, worked in, attached again and closed.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::sync::Mutex;

use agentyard_git::{Error, NewView, Progress, Way};

use crate::support::{GO_ON, message};
use crate::trees_support::{KEY, Orchard, first_status_hashes_none, open};

fn link_count(orchard: &Orchard, name: &str) -> u64 {
    let index = format!("worktrees/{name}/index");
    fs::metadata(orchard.trees.mirror_path(KEY).join(index))
        .unwrap()
        .nlink()
}

#[test]
fn a_view_has_all_files_and_nothing_to_tell() {
    for way in [Way::Overlay, Way::Checkout] {
        let orchard = Orchard::made_by(way);
        let view = orchard.view("topic");
        assert_eq!(
            (view.way, &view.path),
            (way, &orchard.trees.view_path(KEY, "topic"))
        );
        assert_eq!(orchard.changes(&view), "");
        assert_eq!(
            orchard.git(&view, &["symbolic-ref", "HEAD"]),
            "refs/heads/topic\n"
        );
        assert_eq!(
            fs::read_to_string(view.path.join("link")).unwrap(),
            "fn main() {}\n"
        );
        assert_eq!(
            fs::metadata(view.path.join("run.sh")).unwrap().mode() & 0o111,
            0o111
        );
        let odd = fs::read_to_string(view.path.join("name with 'blanks' and ünïcode"));
        assert_eq!(odd.unwrap(), "odd\n");
        let tip = orchard.git(&view, &["rev-parse", "HEAD"]);
        assert_eq!(tip.trim(), orchard.tip().to_string());
    }
}

#[test]
fn the_first_status_of_many_files_hashes_none() {
    first_status_hashes_none(&Orchard::new());
}

#[test]
fn views_share_the_index_of_their_base_until_they_change_it() {
    let orchard = Orchard::new();
    let (one, two) = (orchard.view("one"), orchard.view("two"));
    assert_eq!(link_count(&orchard, "one"), 3);
    fs::write(one.path.join("README"), "changed\n").unwrap();
    orchard.git(&one, &["add", "README"]);
    assert_eq!((link_count(&orchard, "one"), link_count(&orchard, "two")), (1, 2));
    assert_eq!(orchard.changes(&one), "M  README\n");
    assert_eq!(orchard.changes(&two), "");
    assert_eq!(orchard.changes(&orchard.view("three")), "");
}

#[test]
fn an_unchanged_view_takes_next_to_nothing_and_a_changed_one_what_it_changed() {
    let orchard = Orchard::new();
    let view = orchard.view("topic");
    let unchanged = orchard.trees.disk_use(KEY, "topic").unwrap();
    assert!(unchanged < 100_000, "{unchanged}");
    fs::write(view.path.join("large"), vec![1; 1_000_000]).unwrap();
    let changed = orchard.trees.disk_use(KEY, "topic").unwrap();
    assert!(
        (1_000_000..1_200_000).contains(&(changed - unchanged)),
        "{changed}"
    );
}

#[test]
fn work_in_one_view_is_seen_in_no_other() {
    let orchard = Orchard::new();
    let (one, two) = (orchard.view("one"), orchard.view("two"));
    fs::write(one.path.join("README"), "one\n").unwrap();
    fs::remove_dir_all(one.path.join("docs")).unwrap();
    fs::write(one.path.join("new"), "one\n").unwrap();
    orchard.git(&one, &["add", "--all"]);
    orchard.git(&one, &["commit", "--quiet", "--message", "one"]);
    assert_eq!(orchard.changes(&one), "");
    assert_eq!(orchard.changes(&two), "");
    assert!(two.path.join("docs/one").exists() && !two.path.join("new").exists());
    assert_eq!(fs::read_to_string(two.path.join("README")).unwrap(), "read me\n");
}

#[test]
fn directories_of_the_base_can_be_moved_and_removed_by_git_and_by_hand() {
    let orchard = Orchard::new();
    let view = orchard.view("topic");
    fs::rename(view.path.join("src"), view.path.join("moved")).unwrap();
    assert_eq!(
        fs::read_to_string(view.path.join("moved/deep/er/file")).unwrap(),
        "deep\n"
    );
    fs::rename(view.path.join("moved"), view.path.join("src")).unwrap();
    assert_eq!(orchard.changes(&view), "");

    orchard.git(&view, &["mv", "docs", "manual"]);
    orchard.git(&view, &["commit", "--quiet", "--message", "moved"]);
    orchard.git(&view, &["checkout", "--quiet", "--detach", "topic~1"]);
    assert!(view.path.join("docs/one").exists() && !view.path.join("manual").exists());
    orchard.git(&view, &["checkout", "--quiet", "topic"]);
    assert!(!view.path.join("docs").exists() && view.path.join("manual/one").exists());
    assert_eq!(orchard.changes(&view), "");
}

#[test]
fn stashing_cleaning_and_build_directories_work_in_a_view() {
    let orchard = Orchard::new();
    let view = orchard.view("topic");
    fs::create_dir_all(view.path.join("target/debug")).unwrap();
    fs::write(view.path.join("target/debug/out"), "built\n").unwrap();
    assert_eq!(orchard.changes(&view), "");
    fs::write(view.path.join("README"), "changed\n").unwrap();
    fs::write(view.path.join("untracked"), "new\n").unwrap();
    orchard.git(&view, &["stash", "push", "--quiet", "--include-untracked"]);
    assert_eq!(orchard.changes(&view), "");
    orchard.git(&view, &["stash", "pop", "--quiet"]);
    assert_eq!(orchard.changes(&view), " M README\n?? untracked\n");
    orchard.git(&view, &["reset", "--quiet", "--hard"]);
    orchard.git(&view, &["clean", "--quiet", "-fd"]);
    assert_eq!(orchard.changes(&view), "");
    assert!(view.path.join("target/debug/out").exists());

    // A repository of its own inside the view.
    fs::create_dir(view.path.join("nested")).unwrap();
    let nested = view.path.join("nested");
    orchard.yard.git_in(&nested, &["init", "--quiet"]);
    fs::write(nested.join("file"), "nested\n").unwrap();
    orchard.yard.git_in(&nested, &["add", "file"]);
    orchard
        .yard
        .git_in(&nested, &["commit", "--quiet", "--message", "nested"]);
    assert_eq!(orchard.changes(&view), "?? nested/\n");
}

#[test]
fn a_branch_follows_its_namesake_and_pushes_to_it() {
    let orchard = Orchard::new();
    let view = orchard.try_view("name", "feature/a#1", orchard.tip()).unwrap();
    assert_eq!(
        orchard.git(&view, &["config", "branch.feature/a#1.merge"]),
        "refs/heads/feature/a#1\n"
    );
    fs::write(view.path.join("new"), "new\n").unwrap();
    orchard.git(&view, &["add", "new"]);
    orchard.git(&view, &["commit", "--quiet", "--message", "new"]);
    orchard.git(&view, &["push", "--quiet"]);
    assert_eq!(
        orchard.source(&["rev-parse", "feature/a#1"]),
        orchard.git(&view, &["rev-parse", "HEAD"])
    );
}

#[test]
fn an_existing_branch_is_checked_out_as_it_is() {
    let orchard = Orchard::new();
    let first = orchard.tip();
    let view = orchard.view("topic");
    fs::write(view.path.join("new"), "new\n").unwrap();
    orchard.git(&view, &["add", "new"]);
    orchard.git(&view, &["commit", "--quiet", "--message", "work"]);
    let work = orchard.git(&view, &["rev-parse", "HEAD"]);
    orchard.close("topic");
    assert!(orchard.leftovers().is_empty(), "{:?}", orchard.leftovers());
    let view = orchard.try_view("topic", "topic", first).unwrap();
    assert_eq!(orchard.git(&view, &["rev-parse", "HEAD"]), work);
    assert_eq!(orchard.changes(&view), "");
    assert_eq!(fs::read_to_string(view.path.join("new")).unwrap(), "new\n");
    // Over the base of the first commit: only what differs was written.
    assert_eq!(view.base, Some(first));
}

#[test]
fn a_branch_that_another_view_has_checked_out_is_refused() {
    let orchard = Orchard::new();
    let one = orchard.view("one");
    orchard.git(&one, &["switch", "--quiet", "--create", "two"]);
    let said = message(orchard.try_view("two", "two", orchard.tip()));
    assert!(said.contains("the branch `two` is checked out in"), "{said}");
    assert_eq!(orchard.trees.names(KEY).unwrap(), ["one"]);
}

#[test]
fn submodules_are_empty_directories() {
    let orchard = Orchard::new();
    orchard.source(&[
        "update-index",
        "--add",
        "--cacheinfo",
        &format!("160000,{},vendor/sub", orchard.tip()),
    ]);
    orchard.source(&["commit", "--quiet", "--message", "submodule"]);
    orchard.fetch().unwrap();
    let view = orchard.view("topic");
    assert!(view.path.join("vendor/sub").is_dir());
    assert_eq!(orchard.git(&view, &["status", "--porcelain"]), "");
}

#[test]
fn work_reaches_the_tree_and_the_mirror_and_nothing_else() {
    let orchard = Orchard::new();
    let (one, two) = (orchard.view("one"), orchard.view("two"));
    open(&one);
    assert!(matches!(
        one.roots.resolve(&two.path),
        Err(Error::OutsideRoots { .. })
    ));
    let base = orchard.data("trees").join(KEY).join("bases");
    assert!(matches!(
        one.roots.resolve(&base),
        Err(Error::OutsideRoots { .. })
    ));
    one.roots.resolve(&orchard.trees.mirror_path(KEY)).unwrap();
}

#[test]
fn making_a_base_is_told() {
    let orchard = Orchard::new();
    let told = Mutex::new(Vec::new());
    let new = NewView {
        name: "topic",
        branch: &"topic".parse().unwrap(),
        start: orchard.tip(),
    };
    let report = |progress: Progress| told.lock().unwrap().push(progress);
    orchard
        .trees
        .open_view(&orchard.git, KEY, &new, &GO_ON, &report)
        .unwrap();
    let told = told.into_inner().unwrap();
    let last = told.last().unwrap();
    assert_eq!(last.stage, "preparing workspace: checking out files");
    assert_eq!((last.done, last.total), (9, Some(9)));
}

#[test]
fn a_forced_way_that_does_not_work_here_is_told() {
    let orchard = Orchard::made_by(Way::Reflink);
    let works = orchard
        .trees
        .ways()
        .iter()
        .any(|(way, works)| *way == Way::Reflink && works.is_ok());
    let opened = orchard.try_view("topic", "topic", orchard.tip());
    if works {
        assert_eq!(opened.unwrap().way, Way::Reflink);
    } else {
        let said = message(opened);
        assert!(
            said.contains("set to be made by `reflink`, which does not work here"),
            "{said}"
        );
    }
}

#[test]
fn names_with_what_overlays_separate_options_by_work() {
    let orchard = Orchard::new();
    let directory = orchard.yard.path("odd, data:dir\\ and \"more\"");
    let trees = agentyard_git::Trees::new(agentyard_git::TreeSettings {
        directory,
        way: Some(Way::Overlay),
        obstacle: None,
        owner: None,
    });
    let (url, roots) = (orchard.url(), orchard.source_roots());
    trees
        .create_mirror(&orchard.git, KEY, &url, &roots, &GO_ON, &|_| {})
        .unwrap();
    let new = NewView {
        name: "topic",
        branch: &"topic".parse().unwrap(),
        start: orchard.tip(),
    };
    let opened = trees.open_view(&orchard.git, KEY, &new, &GO_ON, &|_| {});
    let clean = opened.as_ref().map(|view| orchard.changes(view));
    trees.remove_mirror(KEY, &GO_ON).unwrap();
    assert_eq!(clean.unwrap(), "");
}
