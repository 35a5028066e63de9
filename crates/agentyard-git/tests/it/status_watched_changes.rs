//! What must be noticed, one change at a time. [`crate::status_watched_differential`] mixes them.

use std::fs;

use crate::status_watched::{Watcher, yard_with_directories};

const NONE: [&str; 0] = [];

#[test]
fn rules_for_directories_further_down() {
    let yard = yard_with_directories();
    yard.write("one/two/new", "");
    let watcher = Watcher::begun(&yard);
    yard.write(".gitignore", "new\n.gitignore\n");
    assert_eq!(watcher.check().untracked, NONE);
    yard.write("one/.gitignore", "!new\n");
    assert_eq!(watcher.check().untracked, ["one/two/new"]);
    // Touched, so that it has to be read.
    yard.write("one/two/file", "content\n");
    assert_eq!(watcher.check().unstaged.modified, NONE);
    yard.write("one/.gitattributes", "file working-tree-encoding=UTF-16\n");
    assert!(
        watcher
            .check()
            .unstaged
            .modified
            .contains(&"one/two/file".to_owned())
    );
    yard.remove("one/.gitattributes");
    assert_eq!(watcher.check().unstaged.modified, NONE);
}

#[test]
fn rules_that_only_the_index_has() {
    let yard = yard_with_directories();
    yard.write("one/two/new", "");
    yard.write(".gitignore", "nothing\n");
    yard.commit("rules");
    yard.git(&["update-index", "--skip-worktree", ".gitignore"]);
    yard.remove(".gitignore");
    yard.write("one/two/other", "");
    let watcher = Watcher::begun(&yard);
    assert_eq!(watcher.check().untracked, ["one/two/other"]);
    let rules = yard.outside().join("rules");
    fs::write(&rules, "other\n").unwrap();
    let id = yard.git(&["hash-object", "-w", rules.to_str().unwrap()]);
    let entry = format!("100644,{},.gitignore", id.trim());
    yard.git(&["update-index", "--cacheinfo", &entry]);
    yard.git(&["update-index", "--skip-worktree", ".gitignore"]);
    assert_eq!(watcher.check().untracked, NONE);
}

#[test]
fn another_directory_of_the_same_name() {
    let yard = yard_with_directories();
    yard.write("prepared/file", "other\n");
    yard.write("prepared/two/file", "other\n");
    let watcher = Watcher::begun(&yard);
    fs::rename(yard.path("one"), yard.path("aside")).unwrap();
    fs::rename(yard.path("prepared"), yard.path("one")).unwrap();
    let status = watcher.check();
    assert_eq!(status.unstaged.modified, ["one/file", "one/two/file"]);
    assert_eq!(status.untracked, ["aside/"]);
    yard.write("one/two/file", "content\n");
    assert_eq!(watcher.check().unstaged.modified, ["one/file"]);
}

#[test]
fn a_directory_that_is_no_longer_tracked() {
    let yard = yard_with_directories();
    let watcher = Watcher::begun(&yard);
    yard.git(&["rm", "--quiet", "-r", "--cached", "one"]);
    assert_eq!(watcher.check().untracked, ["one/"]);
    yard.write("one/two/new", "");
    yard.git(&["add", "one/two/new"]);
    assert_eq!(watcher.check().untracked, ["one/file", "one/two/file"]);
}

#[test]
fn a_head_that_moves_without_the_index() {
    let yard = yard_with_directories();
    let watcher = Watcher::begun(&yard);
    yard.git(&["reset", "--quiet", "--soft", "HEAD~1"]);
    assert_eq!(
        watcher.check().staged.added,
        ["one/file", "one/two/file", "three/file"]
    );
}

#[test]
fn a_commit_that_is_replaced_by_another() {
    let yard = yard_with_directories();
    let watcher = Watcher::begun(&yard);
    yard.git(&["replace", "HEAD", "HEAD~1"]);
    assert_eq!(
        watcher.check().staged.added,
        ["one/file", "one/two/file", "three/file"]
    );
    yard.git(&["replace", "--delete", "HEAD"]);
    assert_eq!(watcher.check().staged.added, NONE);
}

#[test]
fn a_directory_that_becomes_a_repository() {
    let yard = yard_with_directories();
    fs::create_dir_all(yard.path("new/.git")).unwrap();
    let watcher = Watcher::begun(&yard);
    assert_eq!(watcher.check().untracked, NONE);
    fs::create_dir(yard.path("new/.git/objects")).unwrap();
    fs::create_dir(yard.path("new/.git/refs")).unwrap();
    fs::write(yard.path("new/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
    assert_eq!(watcher.check().untracked, ["new/"]);
}

#[test]
fn another_working_tree_of_the_same_name() {
    let yard = yard_with_directories();
    yard.write("tree/file", "content\n");
    yard.write("prepared/file", "other\n");
    yard.configure("[core] worktree = ../tree");
    let watcher = Watcher::begun_in(&yard, "tree");
    assert_eq!(watcher.check().unstaged.modified, NONE);
    fs::rename(yard.path("tree"), yard.path("aside")).unwrap();
    fs::rename(yard.path("prepared"), yard.path("tree")).unwrap();
    assert_eq!(watcher.check().unstaged.modified, ["file"]);
}

#[test]
fn a_branch_and_what_it_follows() {
    let yard = yard_with_directories();
    let watcher = Watcher::begun(&yard);
    yard.git(&["branch", "base", "HEAD~1"]);
    yard.git(&["branch", "--quiet", "--set-upstream-to=base"]);
    let ahead = || watcher.check().upstream.unwrap().distance.unwrap().ahead;
    assert_eq!(ahead(), 1);
    yard.git(&["branch", "--force", "base", "HEAD"]);
    assert_eq!(ahead(), 0);
    yard.git(&["checkout", "--quiet", "--detach"]);
    assert_eq!(watcher.check().upstream, None);
}

#[test]
fn a_rebase_that_stopped() {
    let yard = yard_with_directories();
    let watcher = Watcher::begun(&yard);
    yard.git(&["checkout", "--quiet", "-b", "side"]);
    yard.write("one/two/file", "theirs\n");
    yard.commit("theirs");
    yard.git(&["checkout", "--quiet", "-"]);
    yard.write("one/two/file", "ours\n");
    yard.commit("ours");
    yard.try_git_in(&yard.root(), &["rebase", "--quiet", "side"]);
    let progress = watcher.check().rebase.unwrap();
    assert_eq!((progress.step, progress.total), (1, 1));
    yard.git(&["rebase", "--abort"]);
    assert_eq!(watcher.check().rebase, None);
}
