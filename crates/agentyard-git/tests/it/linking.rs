//! Working trees are added, moved, locked, removed and forgotten.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use agentyard_git::{
    BranchName, Error, Place, Revision, Work, WorktreeAddition, WorktreeChange, WorktreeRemoval,
};

use rustix::fs::{CWD, RenameFlags};

use crate::support::{GO_ON, Yard, message};

fn addition(path: &str) -> WorktreeAddition {
    WorktreeAddition {
        path: path.to_owned(),
        branch: None,
        commitish: None,
        detach: false,
        force: false,
    }
}

fn on(path: &str, branch: &str) -> WorktreeAddition {
    WorktreeAddition {
        branch: Some(BranchName::new(branch).unwrap()),
        ..addition(path)
    }
}

fn removal(path: &str, confirm: bool) -> WorktreeRemoval {
    WorktreeRemoval {
        path: path.to_owned(),
        confirm,
    }
}

fn add(yard: &Yard, addition: &WorktreeAddition) -> Result<WorktreeChange, Error> {
    yard.work(|work| work.add_worktree(addition))
}

fn linked(yard: &Yard) -> Vec<String> {
    let list = yard.open().worktrees(&GO_ON).unwrap();
    let paths = list.worktrees.into_iter().filter(|worktree| !worktree.main);
    paths
        .map(|worktree| match worktree.place {
            Place::Inside(path) => path.replace(&format!("{}/", yard.root().display()), ""),
            Place::Outside => "outside".to_owned(),
        })
        .collect()
}

#[test]
fn working_trees_are_added() {
    let yard = Yard::with_commit();
    let head: agentyard_git::ObjectId = yard.git(&["rev-parse", "HEAD"]).trim().parse().unwrap();
    let added = add(&yard, &addition("trees/topic one")).map_err(|error| error.to_string());
    assert!(added.unwrap_err().contains("no name for a branch"));
    let added = add(&yard, &addition("trees/topic")).unwrap();
    let expected = WorktreeChange {
        path: yard.path("trees/topic").display().to_string(),
        branch: Some("topic".to_owned()),
        commit: Some(head),
        ..WorktreeChange::default()
    };
    assert_eq!(added, expected);
    assert_eq!(
        fs::read_to_string(yard.path("trees/topic/file")).unwrap(),
        "content\n"
    );
    assert!(yard.status_of("trees/topic").is_clean());

    yard.git(&["branch", "other"]);
    assert_eq!(
        add(&yard, &on("with space", "other")).unwrap().branch.as_deref(),
        Some("other")
    );
    let detached = WorktreeAddition {
        commitish: Some(Revision::new("main~0").unwrap()),
        detach: true,
        ..addition("-d")
    };
    assert_eq!(add(&yard, &detached).unwrap().branch, None);
    assert_eq!(linked(&yard), ["-d", "trees/topic", "with space"]);
}

#[test]
fn a_new_branch_begins_where_it_is_wanted_and_follows_a_remote_one() {
    let yard = Yard::with_commit();
    yard.commit("second");
    yard.git(&["remote", "add", "origin", "https://example.org/x"]);
    yard.git(&["update-ref", "refs/remotes/origin/far", "main~1"]);
    let from = WorktreeAddition {
        commitish: Some(Revision::new("origin/far").unwrap()),
        ..on("a", "near")
    };
    let added = add(&yard, &from).unwrap();
    assert_eq!(
        added.commit.unwrap().to_string(),
        yard.git(&["rev-parse", "main~1"]).trim()
    );
    assert_eq!(yard.git(&["config", "branch.near.merge"]), "refs/heads/far\n");
    let elsewhere = WorktreeAddition {
        commitish: Some(Revision::new("main").unwrap()),
        ..on("b", "near")
    };
    assert!(message(add(&yard, &elsewhere)).contains("exists already"));
    assert!(!yard.path("b").exists());
}

#[test]
fn a_branch_is_checked_out_once() {
    let yard = Yard::with_commit();
    add(&yard, &addition("topic")).unwrap();
    let refusal = message(add(&yard, &on("again", "topic")));
    assert!(refusal.contains("checked out in"), "{refusal}");
    assert!(message(add(&yard, &on("again", "main"))).contains("checked out here"));
    assert!(!yard.path("again").exists(), "what was made for it is gone");
    let forced = WorktreeAddition {
        force: true,
        ..on("again", "topic")
    };
    assert!(add(&yard, &forced).is_ok());
}

#[test]
fn working_trees_stay_inside_the_roots() {
    let yard = Yard::with_commit();
    yard.link(yard.outside(), "out");
    yard.link(yard.outside().join("missing"), "dangling");
    let outside = yard.outside().join("x").display().to_string();
    for path in [
        "../outside/x",
        &outside,
        "out",
        "out/x",
        "dangling",
        "dangling/x",
        ".git/x",
        "a\nb",
        "x/../../y",
    ] {
        let result = add(&yard, &on(path, "topic"));
        assert!(result.is_err(), "{path}: {result:?}");
    }
    assert_eq!(fs::read_dir(yard.outside()).unwrap().count(), 0);
    assert_eq!(linked(&yard), Vec::<String>::new());
    yard.write("full/file", "x");
    assert!(message(add(&yard, &on("full", "topic"))).contains("not empty"));
    add(&yard, &on("linked", "topic")).unwrap();
    for path in ["../outside/x", "out/x", ".git/x", "full", "linked/inside"] {
        let result = yard.work(|work| work.move_worktree("linked", path));
        assert!(result.is_err(), "{path}: {result:?}");
    }
    assert_eq!(linked(&yard), ["linked"]);
}

#[test]
fn hooks_and_filters_of_an_untrusted_repository_do_not_run() {
    let yard = Yard::with_commit();
    let mark = yard.outside().join("pwned");
    let script = format!("#!/bin/sh\ntouch {}\ncat\n", mark.display());
    yard.write(".git/hooks/post-checkout", &script);
    yard.shell("chmod +x .git/hooks/post-checkout");
    yard.write(".gitattributes", "* filter=evil\n");
    yard.commit("attributes");
    yard.configure(&format!(
        "[filter \"evil\"]\n smudge = touch {}; cat",
        mark.display()
    ));
    let added = add(&yard, &addition("topic")).unwrap();
    assert_eq!(
        (added.left_out.hooks, added.left_out.filters),
        (vec!["post-checkout".to_owned()], vec!["evil".to_owned()])
    );
    assert!(!mark.exists());
    yard.trusted_work(|work| work.add_worktree(&addition("trusted")))
        .unwrap();
    assert!(mark.exists(), "a trusted repository runs them");
}

#[test]
fn a_clean_working_tree_is_removed_without_a_word() {
    let yard = Yard::with_commit();
    add(&yard, &addition("topic")).unwrap();
    fs::create_dir_all(yard.path("topic/a/b")).unwrap();
    let outside = yard.outside().join("stays");
    fs::write(&outside, "x").unwrap();
    let removed = yard
        .work(|work| work.remove_worktree(&removal("topic", false)))
        .unwrap();
    assert_eq!(
        (removed.branch.as_deref(), removed.kept.as_slice()),
        (Some("topic"), &[][..])
    );
    assert!(!yard.path("topic").exists() && !yard.path(".git/worktrees").exists());
    assert_eq!(
        yard.git(&["rev-parse", "topic"]),
        yard.git(&["rev-parse", "main"])
    );
}

#[test]
fn what_a_working_tree_alone_has_is_kept() {
    let yard = Yard::with_commit();
    add(&yard, &addition("topic")).unwrap();
    yard.write("topic/file", "changed\n");
    yard.write("topic/new/deep", "new\n");
    let outside = yard.outside().join("stays");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("file"), "x").unwrap();
    yard.link(&outside, "topic/link");
    let refusal = message(yard.work(|work| work.remove_worktree(&removal("topic", false))));
    assert!(
        refusal.contains("1 changed but not staged, 2 untracked"),
        "{refusal}"
    );
    assert!(yard.path("topic/new/deep").exists());
    let removed = yard
        .work(|work| work.remove_worktree(&removal("topic", true)))
        .unwrap();
    let [kept] = &removed.kept[..] else {
        panic!("{removed:?}")
    };
    let show = |path: &str| yard.git(&["show", &format!("{}:{path}", kept.reference)]);
    assert_eq!(
        (show("file"), show("new/deep")),
        ("changed\n".to_owned(), "new\n".to_owned())
    );
    assert!(!yard.path("topic").exists() && outside.join("file").exists());
}

#[test]
fn a_commit_that_only_a_detached_head_names_is_kept() {
    let yard = Yard::with_commit();
    let detached = WorktreeAddition {
        detach: true,
        ..addition("tree")
    };
    add(&yard, &detached).unwrap();
    yard.git_in(
        &yard.path("tree"),
        &["commit", "--quiet", "--allow-empty", "-m", "lonely"],
    );
    let lonely = yard.git_in(&yard.path("tree"), &["rev-parse", "HEAD"]);
    let removed = yard
        .work(|work| work.remove_worktree(&removal("tree", false)))
        .unwrap();
    assert_eq!(removed.kept[0].id.to_string(), lonely.trim());
}

#[test]
fn not_every_working_tree_is_removed() {
    let yard = Yard::with_commit();
    add(&yard, &addition("topic")).unwrap();
    let refusal = |path: &str| message(yard.work(|work| work.remove_worktree(&removal(path, true))));
    assert!(refusal(".").contains("main one"));
    assert!(refusal(".git").contains("no working tree"));
    assert!(refusal("../outside").contains("outside"));
    yard.work(|work| work.lock_worktree("topic", Some("on a stick")))
        .unwrap();
    let locked = refusal("topic");
    assert!(locked.contains("locked: on a stick"), "{locked}");
    assert!(message(yard.work(|work| work.move_worktree("topic", "x"))).contains("locked"));
    yard.work(|work| work.unlock_worktree("topic")).unwrap();
    // From inside of it.
    let inside = yard.try_open("topic").unwrap();
    let git = yard.program();
    let work = Work::new(&git, &inside, agentyard_git::Trust::Untrusted, &GO_ON, &|_| {});
    assert!(message(work.remove_worktree(&removal(".", true))).contains("in which the call works"));
    // One whose `.git` was changed to lead to another repository.
    yard.write("topic/.git", format!("gitdir: {}\n", yard.path(".git").display()));
    let changed = refusal("topic");
    assert!(yard.path("topic/file").exists(), "{changed}");
}

#[test]
fn working_trees_are_moved() {
    let yard = Yard::with_commit();
    add(&yard, &addition("topic")).unwrap();
    yard.write("topic/file", "changed\n");
    let moved = yard
        .work(|work| work.move_worktree("topic", "deep/new place"))
        .unwrap();
    assert_eq!(moved.path, yard.path("deep/new place").display().to_string());
    assert_eq!(linked(&yard), ["deep/new place"]);
    assert_eq!(yard.status_of("deep/new place").unstaged.modified, ["file"]);
    let git = yard.git_in(&yard.path("deep/new place"), &["status", "--porcelain"]);
    assert_eq!(git, " M file\n");
}

#[test]
fn working_trees_that_are_gone_are_forgotten() {
    let yard = Yard::with_commit();
    add(&yard, &addition("topic")).unwrap();
    add(&yard, &addition("stays")).unwrap();
    fs::remove_dir_all(yard.path("topic")).unwrap();
    let refusal = message(yard.work(|work| work.remove_worktree(&removal("topic", true))));
    assert!(
        refusal.contains("prune") || refusal.contains("does not exist"),
        "{refusal}"
    );
    let pruned = yard.work(|work| work.prune_worktrees(true)).unwrap();
    assert!(
        pruned.len() == 1 && pruned[0].starts_with("topic: "),
        "{pruned:?}"
    );
    assert_eq!(linked(&yard), ["stays", "topic"]);
    assert_eq!(yard.work(|work| work.prune_worktrees(false)).unwrap(), pruned);
    assert_eq!(linked(&yard), ["stays"]);
}

#[test]
fn before_the_first_commit_and_in_bare_repositories() {
    let yard = Yard::new();
    assert!(message(add(&yard, &addition("topic"))).contains("no commit yet"));
    assert!(!yard.path("topic").exists());

    let yard = Yard::with_commit();
    yard.git(&["clone", "--quiet", "--bare", ".", "bare"]);
    let repository = yard.try_open("bare").unwrap();
    let git = yard.program();
    let work = Work::new(
        &git,
        &repository,
        agentyard_git::Trust::Untrusted,
        &GO_ON,
        &|_| {},
    );
    let added = work.add_worktree(&addition("../topic")).unwrap();
    assert_eq!(added.path, yard.path("topic").display().to_string());
    assert!(work.remove_worktree(&removal("../topic", false)).is_ok());
}

#[test]
fn from_inside_a_linked_working_tree() {
    let yard = Yard::with_commit();
    add(&yard, &addition("one")).unwrap();
    let inside = yard.try_open("one").unwrap();
    let git = yard.program();
    let work = Work::new(&git, &inside, agentyard_git::Trust::Untrusted, &GO_ON, &|_| {});
    let added = work.add_worktree(&addition("../two")).unwrap();
    assert_eq!(added.path, yard.path("two").display().to_string());
    let refusal = message(work.add_worktree(&on("../three", "main")));
    assert!(refusal.contains("checked out in"), "{refusal}");
    assert!(message(work.remove_worktree(&removal("..", true))).contains("main one"));
    assert!(work.remove_worktree(&removal("../two", false)).is_ok());
    assert_eq!(linked(&yard), ["one"]);
}

#[test]
fn a_directory_that_is_swapped_for_a_link_leads_nowhere() {
    let yard = Yard::with_commit();
    fs::create_dir(yard.path("place")).unwrap();
    yard.link(yard.outside(), "link");
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (place, link) = (yard.path("place"), yard.path("link"));
            while !done.load(Ordering::Relaxed) {
                rustix::fs::renameat_with(CWD, &place, CWD, &link, RenameFlags::EXCHANGE).unwrap();
            }
        });
        for number in 0..25 {
            // It works or fails, by chance; it never ends up outside.
            let _ = add(&yard, &on(&format!("place/{number}"), &format!("topic-{number}")));
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(fs::read_dir(yard.outside()).unwrap().count(), 0);
}

#[test]
fn what_was_changed_in_the_second_of_the_index_is_kept_too() {
    let yard = Yard::with_commit();
    add(&yard, &addition("topic")).unwrap();
    // As if all of this happened in one second: neither the times nor the size tell that the file was changed.
    let stamp = |path: &str| {
        let file = fs::File::options().write(true).open(yard.path(path)).unwrap();
        let then = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_600_000_000);
        file.set_modified(then).unwrap();
    };
    yard.configure("[core]\n\ttrustctime = false");
    stamp("topic/file");
    yard.git_in(&yard.path("topic"), &["update-index", "--refresh"]);
    yard.write("topic/file", "changed\n");
    stamp("topic/file");
    stamp(".git/worktrees/topic/index");
    let removed = yard
        .work(|work| work.remove_worktree(&removal("topic", true)))
        .unwrap();
    let [kept] = &removed.kept[..] else {
        panic!("{removed:?}")
    };
    let shown = yard.git(&["show", &format!("{}:file", kept.reference)]);
    assert_eq!(shown, "changed\n");
}
