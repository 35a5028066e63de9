//! Going back to a checkpoint.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;

use agentyard_git::{CheckpointName, CheckpointSeries, Error, Repository};

use crate::checkpoints_support::{NOTE, checkpoint, restore, series, whole_state, whole_state_in};
use crate::support::{Yard, message};

fn try_restore(yard: &Yard, number: u64) -> Result<agentyard_git::Restored, Error> {
    let name = CheckpointName::Number(number);
    yard.work(|work| work.restore_checkpoint(&series(), &name, &NOTE))
}

#[test]
fn going_back_can_be_undone() {
    let yard = Yard::with_commit();
    yard.write("one", "1\n");
    checkpoint(&yard);
    let before = whole_state(&yard);
    yard.write("file", "changed\n");
    yard.write("two", "2\n");
    yard.remove("one");
    yard.git(&["add", "two"]);
    yard.git(&["commit", "--quiet", "-m", "second"]);
    let after = whole_state(&yard);

    let restored = restore(&yard, 1);
    assert_eq!(whole_state(&yard), before);
    assert_eq!((restored.files_written, restored.files_removed), (2, 1));
    assert_eq!((restored.from.number, restored.to.number), (Some(2), Some(1)));
    restore(&yard, 2);
    assert_eq!(whole_state(&yard), after);
    let reflog = yard.git(&["reflog", "-1"]);
    assert!(reflog.contains("agentyard: restore checkpoint"), "{reflog}");
}

#[test]
fn files_that_do_not_differ_are_not_touched() {
    let yard = Yard::with_commit();
    yard.write("same", "x\n");
    yard.write("staged", "x\n");
    yard.git(&["add", "staged"]);
    let stamp = |path: &str| fs::metadata(yard.path(path)).unwrap().modified().unwrap();
    let before = ["file", "same", "staged"].map(stamp);
    checkpoint(&yard);
    // Staged is not changed: the bytes stay what they are.
    yard.git(&["add", "same"]);
    yard.git(&["reset", "--quiet", "staged"]);
    yard.write("other", "x\n");
    let restored = restore(&yard, 1);
    assert_eq!((restored.files_written, restored.files_removed), (0, 1));
    assert_eq!(["file", "same", "staged"].map(stamp), before);
}

#[test]
fn it_works_before_the_first_commit() {
    let yard = Yard::new();
    yard.write("a", "1\n");
    yard.git(&["add", "a"]);
    let before = whole_state(&yard);
    checkpoint(&yard);
    yard.commit("first");
    yard.write("a", "2\n");
    restore(&yard, 1);
    assert_eq!(whole_state(&yard), before);
    restore(&yard, 2);
    assert_eq!(fs::read_to_string(yard.path("a")).unwrap(), "2\n");
    assert_eq!(yard.git(&["log", "--format=%s"]), "first\n");
}

#[test]
fn it_works_where_there_is_nothing_at_all() {
    let yard = Yard::new();
    let before = whole_state(&yard);
    checkpoint(&yard);
    yard.write("a", "1\n");
    yard.git(&["add", "a"]);
    restore(&yard, 1);
    assert_eq!(whole_state(&yard), before);
    assert_eq!(yard.git(&["fsck", "--no-dangling"]), "");
}

#[test]
fn it_works_with_sha256() {
    let yard = Yard::empty();
    yard.git(&[
        "init",
        "--quiet",
        "--initial-branch=main",
        "--object-format=sha256",
    ]);
    yard.write("file", "content\n");
    yard.commit("first");
    yard.conflict();
    let before = whole_state(&yard);
    checkpoint(&yard);
    yard.git(&["reset", "--quiet", "--hard", "other"]);
    restore(&yard, 1);
    assert_eq!(whole_state(&yard), before);
    assert_eq!(yard.git(&["fsck", "--no-dangling"]), "");
}

#[test]
fn it_works_in_a_linked_working_tree() {
    let yard = Yard::with_commit();
    yard.write(".git/info/exclude", "trees\n");
    let tree = yard.path("trees/one");
    yard.git(&["worktree", "add", "--quiet", "-b", "one", &tree.to_string_lossy()]);
    let repository = || Repository::open(&yard.confined("trees/one")).unwrap();
    fs::write(tree.join("file"), "theirs\n").unwrap();
    yard.git_in(&tree, &["commit", "--quiet", "--all", "-m", "one"]);
    yard.write("file", "ours\n");
    yard.commit("ours");
    yard.try_git_in(&tree, &["merge", "--quiet", "main"]);
    let before = whole_state_in(&yard, &tree);
    let main = whole_state(&yard);
    yard.work_in(&repository(), |work| work.checkpoint(&series(), &NOTE))
        .unwrap();
    yard.git_in(&tree, &["merge", "--abort"]);
    yard.git_in(&tree, &["switch", "--quiet", "--detach"]);
    yard.git_in(&tree, &["branch", "--delete", "--force", "one"]);
    let name = CheckpointName::Number(1);
    yard.work_in(&repository(), |work| {
        work.restore_checkpoint(&series(), &name, &NOTE)
    })
    .unwrap();
    assert_eq!(whole_state_in(&yard, &tree), before);
    assert_eq!(whole_state(&yard), main);
}

#[test]
fn it_works_in_a_working_tree_of_a_mirror() {
    let yard = Yard::empty();
    let source = yard.path("source");
    fs::create_dir(&source).unwrap();
    yard.git_in(&source, &["init", "--quiet", "--initial-branch=main"]);
    fs::write(source.join("file"), "content\n").unwrap();
    yard.git_in(&source, &["add", "file"]);
    yard.git_in(&source, &["commit", "--quiet", "-m", "first"]);
    yard.git(&["clone", "--quiet", "--bare", "source", "mirror.git"]);
    let tree = yard.path("tree");
    let add = [
        "worktree",
        "add",
        "--quiet",
        "-b",
        "task",
        &tree.to_string_lossy(),
    ];
    yard.git_in(&yard.path("mirror.git"), &add);
    let repository = || Repository::open(&yard.confined("tree")).unwrap();
    fs::write(tree.join("new"), "x\n").unwrap();
    let before = whole_state_in(&yard, &tree);
    yard.work_in(&repository(), |work| work.checkpoint(&series(), &NOTE))
        .unwrap();
    yard.git_in(&tree, &["add", "--all"]);
    yard.git_in(&tree, &["commit", "--quiet", "-m", "second"]);
    let name = CheckpointName::Number(1);
    yard.work_in(&repository(), |work| {
        work.restore_checkpoint(&series(), &name, &NOTE)
    })
    .unwrap();
    assert_eq!(whole_state_in(&yard, &tree), before);
}

#[test]
fn a_branch_is_not_pulled_away_from_under_another_working_tree() {
    let yard = Yard::with_commit();
    checkpoint(&yard);
    yard.git(&["switch", "--quiet", "--create", "mine"]);
    let tree = yard.path("trees/other");
    yard.git(&["worktree", "add", "--quiet", &tree.to_string_lossy(), "main"]);
    let before = yard.git(&["for-each-ref", "refs/heads"]);
    let refusal = message(try_restore(&yard, 1));
    assert!(
        refusal.contains("the branch `main`, which is checked out in"),
        "{refusal}"
    );
    assert_eq!(yard.git(&["for-each-ref", "refs/heads"]), before);
}

#[test]
fn a_branch_that_moved_meanwhile_is_found_again() {
    let yard = Yard::with_commit();
    checkpoint(&yard);
    yard.write("file", "2\n");
    yard.commit("second");
    let second = yard.git(&["rev-parse", "HEAD"]);
    yard.git(&["switch", "--quiet", "--create", "other", "HEAD~1"]);
    restore(&yard, 1);
    assert_ne!(yard.git(&["rev-parse", "main"]), second);
    restore(&yard, 2);
    assert_eq!(yard.git(&["rev-parse", "main"]), second);
    assert_eq!(yard.git(&["branch", "--show-current"]), "other\n");
}

#[test]
fn ignored_files_stay() {
    let yard = Yard::new();
    yard.write(".gitignore", "*.o\nbuild/\n");
    yard.commit("first");
    yard.write("main.o", "1\n");
    yard.write("build/out", "1\n");
    checkpoint(&yard);
    yard.write("main.o", "2\n");
    yard.write("build/out", "2\n");
    yard.write("new", "x\n");
    restore(&yard, 1);
    assert_eq!(fs::read_to_string(yard.path("main.o")).unwrap(), "2\n");
    assert_eq!(fs::read_to_string(yard.path("build/out")).unwrap(), "2\n");
    assert!(!yard.path("new").exists());
}

#[test]
fn what_was_ignored_then_is_not_removed_for_not_being_ignored_now() {
    let yard = Yard::new();
    yard.write(".gitignore", "*.o\n");
    yard.commit("first");
    yard.write("main.o", "1\n");
    checkpoint(&yard);
    yard.remove(".gitignore");
    yard.write("new", "x\n");
    restore(&yard, 1);
    assert!(yard.path("main.o").exists() && !yard.path("new").exists());
}

#[test]
fn an_ignored_file_in_the_way_is_written_down_first() {
    let yard = Yard::with_commit();
    yard.write("notes", "then\n");
    checkpoint(&yard);
    yard.write(".gitignore", "notes\n");
    yard.write("notes", "now\n");
    let restored = restore(&yard, 1);
    assert_eq!(fs::read_to_string(yard.path("notes")).unwrap(), "then\n");
    restore(&yard, restored.from.number.unwrap());
    assert_eq!(fs::read_to_string(yard.path("notes")).unwrap(), "now\n");
    assert_eq!(fs::read_to_string(yard.path(".gitignore")).unwrap(), "notes\n");
}

#[test]
fn a_directory_of_ignored_files_in_the_way_is_refused() {
    let yard = Yard::with_commit();
    yard.write("out", "a file\n");
    checkpoint(&yard);
    yard.remove("out");
    yard.write(".gitignore", "*.o\n");
    yard.write("out/main.o", "x\n");
    let refusal = message(try_restore(&yard, 1));
    assert!(refusal.contains("an ignored file is in the way"), "{refusal}");
    assert!(yard.path("out/main.o").exists());
}

#[test]
fn links_are_never_followed() {
    let yard = Yard::with_commit();
    yard.write("dir/file", "x\n");
    checkpoint(&yard);
    fs::remove_dir_all(yard.path("dir")).unwrap();
    fs::write(yard.outside().join("file"), "outside\n").unwrap();
    yard.link(yard.outside(), "dir");
    restore(&yard, 1);
    assert_eq!(fs::read_to_string(yard.path("dir/file")).unwrap(), "x\n");
    assert_eq!(
        fs::read_to_string(yard.outside().join("file")).unwrap(),
        "outside\n"
    );
    restore(&yard, 2);
    assert_eq!(fs::read_link(yard.path("dir")).unwrap(), yard.outside());
    assert_eq!(
        fs::read_to_string(yard.outside().join("file")).unwrap(),
        "outside\n"
    );
}

#[test]
fn flags_of_the_index_come_back() {
    let yard = Yard::with_commit();
    for name in ["assumed", "skipped", "plain"] {
        yard.write(name, "x\n");
    }
    yard.commit("second");
    yard.write("announced", "x\n");
    yard.git(&["add", "--intent-to-add", "announced"]);
    yard.git(&["update-index", "--assume-unchanged", "assumed"]);
    yard.git(&["update-index", "--skip-worktree", "skipped"]);
    let before = whole_state(&yard);
    checkpoint(&yard);
    yard.git(&["update-index", "--no-assume-unchanged", "assumed"]);
    yard.git(&["update-index", "--no-skip-worktree", "skipped"]);
    yard.git(&["update-index", "--assume-unchanged", "plain"]);
    yard.git(&["add", "announced"]);
    restore(&yard, 1);
    assert_eq!(whole_state(&yard), before);
}

#[test]
fn files_are_converted_by_the_rules_of_their_time() {
    let yard = Yard::new();
    yard.write("text", "one\ntwo\n");
    yard.commit("plain");
    checkpoint(&yard);
    let plain = whole_state(&yard);
    yard.write(".gitattributes", "text eol=crlf\n");
    yard.remove("text");
    yard.git(&["checkout", "--quiet", "--", "text"]);
    assert_eq!(fs::read(yard.path("text")).unwrap(), b"one\r\ntwo\r\n");
    yard.write("text2", "x");
    checkpoint(&yard);
    let converted = whole_state(&yard);
    restore(&yard, 1);
    assert_eq!(whole_state(&yard).status, plain.status);
    restore(&yard, 2);
    assert_eq!(whole_state(&yard).status, converted.status);
}

#[test]
fn names_of_any_bytes_come_back() {
    let yard = Yard::with_commit();
    let name = std::ffi::OsStr::from_bytes(b"\xff\"quoted\"\n\t\\x");
    yard.write(name, "x\n");
    yard.git(&["add", "--all"]);
    yard.write(name, "y\n");
    yard.write("\"plain\"", "z\n");
    let before = whole_state(&yard);
    checkpoint(&yard);
    yard.git(&["reset", "--quiet", "--hard"]);
    yard.git(&["clean", "--quiet", "--force"]);
    restore(&yard, 1);
    assert_eq!(whole_state(&yard), before);
}

#[test]
fn a_locked_index_is_respected() {
    let yard = Yard::with_commit();
    checkpoint(&yard);
    yard.write("file", "changed\n");
    yard.write(".git/index.lock", "");
    assert!(matches!(try_restore(&yard, 1), Err(Error::Locked { .. })));
    assert_eq!(fs::read_to_string(yard.path("file")).unwrap(), "changed\n");
    yard.remove(".git/index.lock");
    restore(&yard, 1);
    assert_eq!(fs::read_to_string(yard.path("file")).unwrap(), "content\n");
    assert!(!yard.path(".git/index.lock").exists());
}

#[test]
fn what_ended_halfway_is_completed_the_next_time() {
    let yard = Yard::with_commit();
    yard.conflict();
    yard.write("dir/untracked", "x\n");
    yard.write("staged", "s\n");
    yard.git(&["add", "staged"]);
    let before = whole_state(&yard);
    checkpoint(&yard);
    let back = || _ = restore(&yard, 1);
    // Each is a state in which a restoring process may have died, begun on another branch.
    let halves: &[&dyn Fn()] = &[
        // The branch is back, the rest is not.
        &|| _ = yard.git(&["symbolic-ref", "HEAD", "refs/heads/main"]),
        // The index is back, the files are not.
        &|| {
            back();
            yard.write("file", "theirs\n");
            fs::remove_dir_all(yard.path("dir")).unwrap();
            fs::remove_file(yard.path(".git/MERGE_HEAD")).unwrap();
        },
        // Some files are back, one was being written.
        &|| {
            back();
            yard.write("dir/.agentyard-restoring-1-0", "x");
            yard.remove("staged");
            fs::remove_file(yard.path(".git/MERGE_HEAD")).unwrap();
        },
        // The operation in progress is back in part.
        &|| {
            back();
            fs::remove_file(yard.path(".git/MERGE_MSG")).unwrap();
        },
    ];
    for half in halves {
        yard.git(&["reset", "--quiet", "--hard"]);
        yard.git(&["switch", "--quiet", "other"]);
        half();
        assert_ne!(whole_state(&yard), before);
        back();
        assert_eq!(whole_state(&yard), before);
    }
}

#[test]
fn a_checkpoint_by_an_attacker_reaches_nothing_outside_the_tree() {
    let yard = Yard::with_commit();
    checkpoint(&yard);
    // The tree of a real one, with files added that nobody should write.
    let blob = yard.shell("echo pwned | git hash-object -w --stdin");
    let blob = blob.trim();
    let evil = yard.shell(&format!(
        "hooks=$(printf '100755 blob {blob}\\tpre-commit\\n' | git mktree);\
         dotgit=$(printf '040000 tree %s\\thooks\\n' $hooks | git mktree);\
         up=$(printf '100644 blob {blob}\\tpwned\\n' | git mktree);\
         printf '040000 tree %s\\t.git\\n040000 tree %s\\t..\\n100644 blob {blob}\\tgood\\n' $dotgit $up | git mktree"
    ));
    let evil = evil.trim();
    let tree = yard.shell(&format!(
        "{{ git ls-tree refs/agentyard/checkpoints/wsp_1/000001; printf '040000 tree {evil}\\tchanged\\n040000 tree {evil}\\tgit\\n'; }} | git mktree"
    ));
    let commit = yard.git(&["commit-tree", "-m", "evil", tree.trim()]);
    let name = commit.trim().parse().unwrap();
    yard.work(|work| work.restore_checkpoint(&series(), &name, &NOTE))
        .unwrap();
    assert!(yard.path("good").exists());
    assert!(!yard.path(".git/hooks/pre-commit").exists() && !yard.path(".git/good").exists());
    assert!(!yard.root().parent().unwrap().join("pwned").exists() && !yard.path("pwned").exists());
}

#[test]
fn submodules_are_left_alone() {
    let yard = Yard::with_commit();
    yard.shell("git init --quiet other && cd other && echo x > x && git add x && git -c user.name=a -c user.email=a@b commit --quiet -m x");
    yard.git(&["submodule", "--quiet", "add", "./other", "sub"]);
    yard.git(&["rm", "--quiet", "--cached", "-r", "--ignore-unmatch", "other"]);
    yard.write(".git/info/exclude", "other\n");
    yard.git(&["commit", "--quiet", "-m", "submodule"]);
    checkpoint(&yard);
    yard.write("sub/x", "changed\n");
    yard.write("file", "changed\n");
    yard.git(&["rm", "--quiet", "--cached", "sub"]);
    restore(&yard, 1);
    assert!(yard.git(&["ls-files", "-s", "sub"]).starts_with("160000"));
    assert_eq!(fs::read_to_string(yard.path("sub/x")).unwrap(), "changed\n");
    assert_eq!(fs::read_to_string(yard.path("file")).unwrap(), "content\n");
}

#[test]
fn the_empty_directory_of_a_submodule_comes_back() {
    let yard = Yard::with_commit();
    let head = yard.git(&["rev-parse", "HEAD"]);
    let entry = format!("160000,{},sub", head.trim());
    yard.git(&["update-index", "--add", "--cacheinfo", &entry]);
    fs::create_dir(yard.path("sub")).unwrap();
    let before = whole_state(&yard);
    checkpoint(&yard);
    yard.git(&["reset", "--quiet", "--hard"]);
    _ = fs::remove_dir(yard.path("sub"));
    yard.write("sub", "a file\n");
    restore(&yard, 1);
    assert_eq!(whole_state(&yard), before);
}

#[test]
fn a_sparse_index_is_refused_and_a_sparse_checkout_is_not() {
    let yard = Yard::new();
    for name in ["in/file", "out/file"] {
        yard.write(name, "x\n");
    }
    yard.commit("first");
    yard.git(&["sparse-checkout", "set", "--no-sparse-index", "in"]);
    yard.write("in/new", "x\n");
    let before = whole_state(&yard);
    checkpoint(&yard);
    yard.write("in/file", "changed\n");
    yard.remove("in/new");
    restore(&yard, 1);
    assert_eq!(whole_state(&yard), before);
    yard.git(&["sparse-checkout", "set", "--sparse-index", "in"]);
    let series = CheckpointSeries::new("wsp_2").unwrap();
    let refusal = message(yard.work(|work| work.checkpoint(&series, &NOTE)));
    assert!(refusal.contains("a sparse index"), "{refusal}");
}
