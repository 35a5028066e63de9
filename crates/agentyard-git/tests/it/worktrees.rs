//! Working trees, as git lists them.

use std::collections::BTreeMap;
use std::fs;

use agentyard_git::{Place, Worktree, WorktreeList};

use crate::support::{GO_ON, Yard};

fn list(yard: &Yard, directory: &str) -> WorktreeList {
    yard.try_open(directory).unwrap().worktrees(&GO_ON).unwrap()
}

/// What `git worktree list --porcelain` says, in its words.
fn git_says(yard: &Yard, directory: &str) -> Vec<BTreeMap<String, String>> {
    let output = yard.git_in(&yard.path(directory), &["worktree", "list", "--porcelain"]);
    let records = output.trim().split("\n\n").map(|record| {
        let fields = record.lines().map(|line| {
            let (key, value) = line.split_once(' ').unwrap_or((line, ""));
            (key.to_owned(), value.to_owned())
        });
        fields.collect()
    });
    records.collect()
}

fn in_words_of_git(worktree: &Worktree) -> BTreeMap<String, String> {
    let mut fields = BTreeMap::new();
    let mut add = |key: &str, value: String| fields.insert(key.to_owned(), value);
    add("worktree", worktree.place.path().unwrap_or("outside").to_owned());
    if let Some(head) = worktree.head {
        add("HEAD", head.to_string());
    }
    if let Some(branch) = &worktree.branch {
        add("branch", format!("refs/heads/{branch}"));
    }
    if worktree.detached {
        add("detached", String::new());
    }
    if worktree.bare {
        add("bare", String::new());
    }
    if let Some(reason) = &worktree.locked {
        add("locked", reason.clone());
    }
    if worktree.prunable.is_some() {
        add(
            "prunable",
            "gitdir file points to non-existent location".to_owned(),
        );
    }
    fields
}

#[test]
fn worktrees_are_those_of_git() {
    let yard = Yard::with_commit();
    yard.git(&["worktree", "add", "--quiet", "-b", "b", "linked"]);
    yard.git(&["worktree", "add", "--quiet", "--detach", "a detached one"]);
    yard.git(&["worktree", "add", "--quiet", "-b", "locked", "locked"]);
    yard.git(&["worktree", "lock", "--reason", "on a stick", "locked"]);
    yard.git(&["worktree", "add", "--quiet", "-b", "deleted", "deleted"]);
    fs::remove_dir_all(yard.path("deleted")).unwrap();
    yard.git(&["worktree", "add", "--quiet", "-b", "both", "both"]);
    yard.git(&["worktree", "lock", "both"]);
    fs::remove_dir_all(yard.path("both")).unwrap();

    let ours = list(&yard, "");
    assert_eq!(
        ours.worktrees.iter().map(in_words_of_git).collect::<Vec<_>>(),
        git_says(&yard, "")
    );
    assert!(!ours.truncated);
    let current = |list: &WorktreeList| -> Vec<bool> {
        list.worktrees.iter().map(|worktree| worktree.current).collect()
    };
    assert_eq!(current(&ours), [true, false, false, false, false, false]);
    assert!(ours.worktrees[0].main && !ours.worktrees[1].main);

    let mut from_linked = list(&yard, "linked");
    assert_eq!(current(&from_linked), [false, false, false, false, true, false]);
    from_linked.worktrees[0].current = true;
    from_linked.worktrees[4].current = false;
    assert_eq!(from_linked, ours);
}

#[test]
fn what_is_outside_stays_unnamed() {
    let yard = Yard::with_commit();
    for name in ["secret-one", "secret-two"] {
        let path = yard.outside().join(name);
        yard.git(&["worktree", "add", "--quiet", "--detach", path.to_str().unwrap()]);
    }
    let before = list(&yard, "");
    fs::remove_dir_all(yard.outside().join("secret-two")).unwrap();
    let after = list(&yard, "");
    // Neither where they are nor whether they exist.
    assert_eq!(before, after);
    assert!(!format!("{after:?}").contains("secret"));
    assert_eq!(after.worktrees[1].place, Place::Outside);
    assert!(after.worktrees[1].detached && after.worktrees[1].head.is_some());
}

#[test]
fn links_out_of_the_roots_are_outside() {
    let yard = Yard::with_commit();
    yard.git(&["worktree", "add", "--quiet", "--detach", "linked"]);
    fs::create_dir(yard.outside().join("there")).unwrap();
    yard.link(yard.outside(), "door");
    let gitdir = yard.path("door/there/.git");
    yard.write(".git/worktrees/linked/gitdir", gitdir.to_str().unwrap());
    assert_eq!(list(&yard, "").worktrees[1].place, Place::Outside);
}

#[test]
fn a_bare_repository_has_a_bare_main_worktree() {
    let yard = Yard::empty();
    yard.git(&["init", "--quiet", "--bare", "bare.git"]);
    let list = list(&yard, "bare.git");
    let path = yard.path("bare.git").to_str().unwrap().to_owned();
    assert_eq!(
        list.worktrees,
        [Worktree {
            place: Place::Inside(path),
            head: None,
            branch: None,
            detached: false,
            bare: true,
            locked: None,
            prunable: None,
            main: true,
            current: true,
        }]
    );
}

#[test]
fn worktrees_of_a_bare_repository() {
    let yard = Yard::with_commit();
    yard.git(&["clone", "--quiet", "--bare", ".", "bare.git"]);
    yard.git_in(
        &yard.path("bare.git"),
        &["worktree", "add", "--quiet", "-b", "b", "../linked"],
    );
    for directory in ["bare.git", "linked"] {
        let ours = list(&yard, directory);
        let shown: Vec<_> = ours.worktrees.iter().map(in_words_of_git).collect();
        assert_eq!(shown, git_says(&yard, directory), "{directory}");
    }
}

#[test]
fn damage_is_told() {
    let yard = Yard::with_commit();
    for name in ["a", "b", "c"] {
        yard.git(&["worktree", "add", "--quiet", "--detach", name]);
    }
    yard.remove(".git/worktrees/a/gitdir");
    yard.write(".git/worktrees/b/gitdir", "\n");
    yard.write(".git/worktrees/c/HEAD", "nonsense\n");
    yard.write(".git/worktrees/file", "no directory\n");
    let list = list(&yard, "");
    let reasons: Vec<_> = list
        .worktrees
        .iter()
        .filter_map(|worktree| worktree.prunable)
        .collect();
    assert_eq!(
        reasons,
        ["its `gitdir` file does not exist", "its `gitdir` file is invalid"]
    );
    assert_eq!(list.worktrees.len(), 4);
    let damaged = list.worktrees.iter().filter(|worktree| worktree.head.is_none());
    assert_eq!(damaged.count(), 1);
}
