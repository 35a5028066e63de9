//! The status in all the states that a repository can be in. Where nothing else is said, git is the judge.

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use agentyard_git::{Conflict, Error, Operation, Repository, Status, StatusOptions};

use crate::porcelain::{git_status_in, sorted};
use crate::support::{GO_ON, Yard};

/// Compares with git, with and without ignored files, and gives the status with them.
fn check(yard: &Yard) -> Status {
    check_in(yard, "")
}

fn check_in(yard: &Yard, directory: impl AsRef<Path>) -> Status {
    let repository = yard.try_open(&directory).unwrap();
    let status = |ignored| {
        let options = StatusOptions {
            ignored,
            ..StatusOptions::default()
        };
        let ours = repository.status(&options, &GO_ON).unwrap();
        let mut theirs = git_status_in(yard, &yard.path(&directory), ignored);
        theirs.operation = ours.operation;
        assert_eq!(sorted(ours.clone()), theirs);
        ours
    };
    status(false);
    status(true)
}

fn bare_status(repository: &Repository) -> Status {
    repository.status(&StatusOptions::default(), &GO_ON).unwrap()
}

#[test]
fn a_repository_before_its_first_commit() {
    let yard = Yard::new();
    let status = check(&yard);
    assert_eq!(status.head.branch.as_deref(), Some("main"));
    assert_eq!(status.head.commit, None);
    assert!(status.is_clean());

    yard.write("new", "1");
    yard.write("staged", "1");
    yard.git(&["add", "staged"]);
    assert!(!check(&yard).is_clean());
}

#[test]
fn a_detached_head() {
    let yard = Yard::with_commit();
    yard.git(&["checkout", "--quiet", "--detach"]);
    let status = check(&yard);
    assert_eq!(status.head.branch, None);
    assert!(status.head.commit.is_some());
}

#[test]
fn a_bare_repository_has_a_head_and_no_files() {
    let yard = Yard::with_commit();
    yard.git(&["clone", "--quiet", "--bare", ".", "bare.git"]);
    let status = bare_status(&yard.try_open("bare.git").unwrap());
    assert!(status.bare && status.is_clean());
    assert_eq!(status.head.branch.as_deref(), Some("main"));
}

#[test]
fn a_linked_worktree() {
    let yard = Yard::with_commit();
    yard.git(&["worktree", "add", "--quiet", "-b", "topic", "linked"]);
    yard.write("linked/file", "changed here only\n");
    yard.write("linked/new", "");
    let status = check_in(&yard, "linked");
    assert_eq!(status.head.branch.as_deref(), Some("topic"));
    assert_eq!(status.unstaged.modified, ["file"]);
    // Seen from the main worktree it is a nested repository.
    assert_eq!(check(&yard).untracked, ["linked/"]);
}

#[test]
fn changes_of_every_kind() {
    let yard = Yard::new();
    for name in ["same", "edited", "gone", "moved/from", "exec", "link", "to-link", "sub/dir/deep"] {
        yard.write(name, format!("{name}\n").repeat(5));
    }
    yard.remove("link");
    yard.link("same", "link");
    yard.commit("first");
    yard.write("edited", "longer than before\n".repeat(9));
    yard.remove("gone");
    fs::create_dir(yard.path("elsewhere")).unwrap();
    fs::rename(yard.path("moved/from"), yard.path("elsewhere/to")).unwrap();
    yard.set_executable("exec", true);
    yard.remove("link");
    yard.link("edited", "link");
    yard.remove("to-link");
    yard.link("same", "to-link");
    yard.write("sub/dir/deep", "replaced\n");
    let unstaged = check(&yard).unstaged;
    assert_eq!(unstaged.modified, ["edited", "exec", "link", "sub/dir/deep"]);
    assert_eq!(unstaged.deleted, ["gone", "moved/from"]);
    assert_eq!(unstaged.type_changed, ["to-link"]);

    yard.git(&["add", "--all"]);
    let staged = check(&yard).staged;
    assert_eq!(staged.renamed[0].from, "moved/from");
    assert_eq!(staged.renamed[0].to, "elsewhere/to");
    assert_eq!(staged.type_changed, ["to-link"]);
}

#[test]
fn copies_where_the_repository_asks_for_them() {
    let yard = Yard::new();
    yard.write("source", "line\n".repeat(20));
    yard.write("gone", "another\n".repeat(20));
    yard.commit("first");
    yard.write("copy", "line\n".repeat(20));
    yard.write("source", "line\n".repeat(21));
    yard.remove("gone");
    yard.write("gone-1", "another\n".repeat(20));
    yard.write("gone-2", "another\n".repeat(20));
    yard.git(&["add", "--all"]);
    assert_eq!(check(&yard).staged.copied, []);
    yard.git(&["config", "status.renames", "copies"]);
    assert_eq!(check(&yard).staged.copied.len(), 2);
    yard.git(&["config", "status.renames", "false"]);
    assert_eq!(check(&yard).staged.renamed, []);
}

#[test]
fn line_endings_are_converted_before_they_are_compared() {
    let yard = Yard::new();
    yard.git(&["config", "core.autocrlf", "true"]);
    yard.write("text", "one\r\ntwo\r\n");
    yard.write("binary", b"one\r\n\0");
    yard.write(".gitattributes", "*.lf text eol=lf\n*.raw -text\nid ident\n*.u16 text working-tree-encoding=UTF-16LE\n");
    yard.write("x.lf", "one\ntwo\n");
    yard.write("y.raw", "one\r\n");
    yard.write("id", "$Id$\n");
    let utf16: Vec<u8> = "héllo\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    yard.write("z.u16", utf16);
    yard.commit("first");
    assert!(check(&yard).is_clean());
    // New times, same content: every file has to be read.
    for name in ["text", "binary", "x.lf", "y.raw", "id", "z.u16"] {
        let content = fs::read(yard.path(name)).unwrap();
        yard.remove(name);
        yard.write(name, content);
    }
    assert!(check(&yard).is_clean());
    yard.write("text", "one\ntwo\r\n\r");
    assert_eq!(check(&yard).unstaged.modified, ["text"]);
}

#[test]
fn attributes_of_directories_and_of_the_repository_are_found() {
    let yard = Yard::new();
    yard.write(".gitattributes", "[attr]verbatim -text\n* text=auto\n");
    yard.write("sub/.gitattributes", "*.v verbatim\n");
    yard.write("sub/deep/a.v", "one\r\n");
    yard.write("sub/deep/b.t", "one\n");
    yard.write("c.info", "one\n");
    yard.write(".git/info/attributes", "*.info eol=crlf\n");
    yard.commit("first");
    for name in ["sub/deep/a.v", "sub/deep/b.t"] {
        let content = fs::read(yard.path(name)).unwrap();
        yard.remove(name);
        yard.write(name, content);
    }
    yard.remove("c.info");
    yard.git(&["checkout", "c.info"]);
    yard.write("c.info", "one\r\n");
    // The attributes of a directory come from the index where the file is gone.
    yard.remove("sub/.gitattributes");
    assert_eq!(check(&yard).unstaged.deleted, ["sub/.gitattributes"]);
}

#[test]
fn a_change_that_keeps_size_and_time_is_found_while_the_index_is_young() {
    let yard = Yard::new();
    for round in 0..5 {
        yard.write("file", format!("content {round}\n"));
        yard.git(&["add", "file"]);
        yard.write("file", format!("CONTENT {round}\n"));
        assert_eq!(check(&yard).unstaged.modified, ["file"]);
    }
}

#[test]
fn a_sparse_checkout_does_not_miss_what_it_left_out() {
    for sparse_index in ["--no-sparse-index", "--sparse-index"] {
        let yard = Yard::new();
        for name in ["in/a", "in/b", "out/a", "out/deep/b", "other/c", "top"] {
            yard.write(name, name);
        }
        yard.write("out/.gitignore", "*.o\n");
        yard.commit("first");
        yard.git(&["sparse-checkout", "set", "--cone", sparse_index, "in"]);
        assert!(!yard.path("out").exists());
        assert!(check(&yard).is_clean());
        yard.write("in/a", "changed");
        yard.write("in/new", "");
        yard.remove("in/b");
        yard.git(&["add", "in/a"]);
        assert_eq!(check(&yard).unstaged.deleted, ["in/b"]);
    }
}

#[test]
fn files_left_out_by_pattern_count_again_once_they_are_there() {
    let yard = Yard::new();
    for name in ["keep/a", "drop/a", "drop/b"] {
        yard.write(name, name);
    }
    yard.write("drop/.gitignore", "*.o\n");
    yard.commit("first");
    yard.git(&["sparse-checkout", "set", "--no-cone", "/keep/"]);
    assert!(check(&yard).is_clean());
    yard.write("drop/a", "present and different");
    // Ignored by a file that is in the index only.
    yard.write("drop/x.o", "");
    assert_eq!(check(&yard).unstaged.modified, ["drop/a"]);
}

#[test]
fn flags_of_the_index_are_honoured() {
    let yard = Yard::new();
    for name in ["assumed", "assumed-gone", "skipped", "skipped-gone", "normal"] {
        yard.write(name, name);
    }
    yard.commit("first");
    yard.git(&["update-index", "--assume-unchanged", "assumed", "assumed-gone"]);
    yard.git(&["update-index", "--skip-worktree", "skipped", "skipped-gone"]);
    for name in ["assumed", "skipped", "normal"] {
        yard.write(name, "something else entirely");
    }
    yard.remove("assumed-gone");
    yard.remove("skipped-gone");
    yard.write("announced", "soon");
    yard.write("announced-gone", "soon");
    yard.git(&["add", "--intent-to-add", "announced", "announced-gone"]);
    yard.remove("announced-gone");
    let status = check(&yard);
    assert_eq!(status.unstaged.modified, ["normal"]);
    assert_eq!(status.unstaged.added, ["announced"]);
    assert_eq!(status.unstaged.deleted, ["announced-gone"]);
}

#[test]
fn other_index_formats() {
    for arguments in [
        &["update-index", "--index-version", "4"][..],
        &["update-index", "--split-index"],
        &["update-index", "--untracked-cache"],
        &["-c", "index.threads=2", "-c", "index.recordOffsetTable=true", "update-index", "--force-write-index"],
    ] {
        let yard = Yard::new();
        for number in 0..20 {
            yard.write(format!("dir{}/file{number}", number % 3), "x");
        }
        yard.commit("first");
        yard.git(arguments);
        yard.write("dir1/new", "x");
        yard.write("dir2/file2", "changed");
        yard.git(&["add", "dir1/new"]);
        check(&yard);
    }
}

#[test]
fn a_sha256_repository() {
    let yard = Yard::empty();
    yard.git(&["init", "--quiet", "--object-format=sha256", "--initial-branch=main"]);
    yard.write("file", "one");
    yard.commit("first");
    yard.write("file", "two");
    yard.write("new", "three");
    yard.git(&["add", "new"]);
    let status = check(&yard);
    assert_eq!(status.head.commit.unwrap().to_string().len(), 64);
}

#[test]
fn a_shallow_clone() {
    let yard = Yard::with_commit();
    yard.write("file", "second\n");
    yard.commit("second");
    let source = format!("file://{}", yard.root().display());
    yard.git(&["clone", "--quiet", "--depth=1", &source, "shallow"]);
    yard.write("shallow/file", "changed");
    let status = check_in(&yard, "shallow");
    assert_eq!(status.upstream.unwrap().name, "origin/main");
}

#[test]
fn a_partial_clone_without_its_files() {
    let yard = Yard::new();
    yard.git(&["config", "uploadpack.allowFilter", "true"]);
    yard.write("one", "line\n".repeat(20));
    yard.write("two", "other\n".repeat(20));
    yard.commit("first");
    let source = format!("file://{}", yard.root().display());
    yard.git(&["clone", "--quiet", "--filter=blob:none", "--no-checkout", &source, "partial"]);
    let status = bare_status(&yard.try_open("partial").unwrap());
    assert_eq!(status.staged.deleted, ["one", "two"]);
    // A rename could only be found by fetching the file, which is not done.
    yard.write("partial/three", "line\n".repeat(21));
    yard.git_in(&yard.path("partial"), &["add", "three"]);
    let status = bare_status(&yard.try_open("partial").unwrap());
    assert_eq!(status.staged.added, ["three"]);
    assert_eq!(status.staged.deleted, ["one", "two"]);
}

#[test]
fn ahead_and_behind() {
    let yard = Yard::with_commit();
    yard.git(&["clone", "--quiet", ".", "clone"]);
    let clone = yard.path("clone");
    assert_eq!(check_in(&yard, "clone").upstream.unwrap().name, "origin/main");
    for number in 0..3 {
        yard.git_in(&clone, &["commit", "--quiet", "--allow-empty", "--message", &format!("ours {number}")]);
    }
    for number in 0..2 {
        yard.git(&["commit", "--quiet", "--allow-empty", "--message", &format!("theirs {number}")]);
    }
    yard.git_in(&clone, &["fetch", "--quiet"]);
    let distance = check_in(&yard, "clone").upstream.unwrap().distance.unwrap();
    assert_eq!((distance.ahead, distance.behind), (3, 2));

    // A local branch as upstream, an upstream that is gone, and none at all.
    yard.git_in(&clone, &["checkout", "--quiet", "-b", "local", "--track", "main"]);
    assert_eq!(check_in(&yard, "clone").upstream.unwrap().name, "main");
    yard.git_in(&clone, &["branch", "--quiet", "--delete", "--force", "main"]);
    assert_eq!(check_in(&yard, "clone").upstream.unwrap().distance, None);
    yard.git_in(&clone, &["checkout", "--quiet", "-b", "without"]);
    assert_eq!(check_in(&yard, "clone").upstream, None);
}

#[test]
fn operations_in_progress() {
    let yard = Yard::with_commit();
    yard.git(&["checkout", "--quiet", "-b", "side"]);
    yard.write("file", "side\n");
    yard.commit("side");
    yard.git(&["checkout", "--quiet", "main"]);
    assert_eq!(check(&yard).operation, None);
    yard.write("file", "main\n");
    yard.commit("main");
    for (begin, expected, end) in [
        (&["merge", "side"][..], Operation::Merge, &["merge", "--abort"][..]),
        (&["cherry-pick", "side"], Operation::CherryPick, &["cherry-pick", "--abort"]),
        (&["rebase", "side"], Operation::Rebase, &["rebase", "--abort"]),
        (&["revert", "--no-edit", "HEAD~1"], Operation::Revert, &["revert", "--abort"]),
        (&["bisect", "start"], Operation::Bisect, &["bisect", "reset"]),
    ] {
        yard.try_git_in(&yard.root(), begin);
        let status = check(&yard);
        assert_eq!(status.operation, Some(expected));
        if matches!(expected, Operation::Merge | Operation::CherryPick | Operation::Rebase) {
            assert_eq!(status.conflicted[0].conflict, Conflict::BothModified);
        }
        yard.git(end);
    }
    yard.write("patch", "From 1\nFrom: a <a@b>\nSubject: x\n\n---\n file | 1 +\n--- a/file\n+++ b/file\n@@ -9 +9 @@\n-no\n+yes\n");
    yard.try_git_in(&yard.root(), &["am", "patch"]);
    assert_eq!(check(&yard).operation, Some(Operation::ApplyMailbox));
}

#[test]
fn nested_repositories_appear_as_one_directory() {
    let yard = Yard::with_commit();
    yard.write("empty-repository/x", "");
    yard.remove("empty-repository/x");
    yard.git(&["init", "--quiet", "empty-repository"]);
    yard.git(&["init", "--quiet", "deep/er/repository"]);
    yard.write("deep/er/repository/file", "");
    yard.git(&["init", "--quiet", "--bare", "bare"]);
    yard.write("not-a-repository/.git", "gitdir: nowhere\n");
    yard.write("fake/.git/config", "");
    yard.write(".gitignore", "ignored-repository\n");
    yard.git(&["init", "--quiet", "ignored-repository"]);
    let status = check(&yard);
    assert_eq!(status.untracked, [".gitignore", "bare/", "deep/", "empty-repository/"]);
    assert_eq!(status.ignored, ["ignored-repository/"]);
}

#[test]
fn submodules_are_compared_by_their_commit() {
    let yard = Yard::with_commit();
    let elsewhere = yard.path("source");
    yard.git(&["init", "--quiet", "source"]);
    yard.git_in(&elsewhere, &["commit", "--quiet", "--allow-empty", "--message", "one"]);
    yard.git(&["submodule", "--quiet", "add", "./source", "sub"]);
    yard.write(".git/info/exclude", "source\n");
    yard.commit("with a submodule");
    assert!(check(&yard).is_clean());
    let sub = yard.path("sub");
    yard.git_in(&sub, &["commit", "--quiet", "--allow-empty", "--message", "two"]);
    assert_eq!(check(&yard).unstaged.modified, ["sub"]);
    yard.git(&["add", "sub"]);
    assert_eq!(check(&yard).staged.modified, ["sub"]);
    // Its files are not looked at.
    yard.write("sub/dirt", "");
    assert_eq!(yard.status().unstaged.modified, [""; 0]);
    // Not checked out is not changed; gone is gone.
    yard.git(&["commit", "--quiet", "--message", "bump"]);
    yard.git(&["submodule", "--quiet", "deinit", "--force", "sub"]);
    assert!(check(&yard).is_clean());
    fs::remove_dir(yard.path("sub")).unwrap();
    assert_eq!(check(&yard).unstaged.deleted, ["sub"]);
    yard.write("sub", "a file now");
    assert_eq!(check(&yard).unstaged.type_changed, ["sub"]);
    // From inside, the submodule is a repository like any other.
    yard.remove("sub");
    yard.git(&["submodule", "--quiet", "update", "--init"]);
    yard.write("sub/dirt", "");
    assert_eq!(check_in(&yard, "sub").untracked, ["dirt"]);
}

#[test]
fn ignored_files() {
    let yard = Yard::new();
    yard.write(".gitignore", "*.o\n/build/\ncache/*\n!cache/keep\n\\#odd\nsub/**/deep.txt\n");
    yard.write(".git/info/exclude", "private\n*.tmp\n");
    yard.write("sub/.gitignore", "!wanted.o\nlocal\n");
    yard.write("tracked.o", "tracked although ignored");
    yard.write("build/kept", "");
    yard.git(&["add", "--force", "tracked.o", "build/kept", ".gitignore", "sub/.gitignore"]);
    yard.git(&["commit", "--quiet", "--message", "first"]);
    for name in [
        "a.o",
        "build/out",
        "build/deep/out",
        "cache/one",
        "cache/keep",
        "#odd",
        "sub/x/y/deep.txt",
        "sub/wanted.o",
        "sub/unwanted.o.tmp",
        "sub/local",
        "private",
        "only-ignored/a.o",
        "only-ignored/sub/b.o",
        "mixed/a.o",
        "mixed/b.txt",
        "mixed/sub/c.o",
        "plain/file",
    ] {
        yard.write(name, "");
    }
    fs::create_dir_all(yard.path("void/of/files")).unwrap();
    check(&yard);
}

#[test]
fn unusual_names_are_quoted() {
    use std::os::unix::ffi::OsStrExt as _;
    let yard = Yard::new();
    let latin1 = std::ffi::OsStr::from_bytes(b"gr\xfcn");
    yard.write(latin1, "");
    yard.write("new\nline", "");
    yard.write("gr\u{fc}n", "");
    yard.write("tab\there/x", "");
    assert_eq!(
        sorted(check(&yard)).untracked,
        [r#""gr\374n""#, r#""new\nline""#, r#""tab\there/""#, "grün"]
    );
}

#[test]
fn many_files_are_looked_at_by_several_threads() {
    let yard = Yard::new();
    for number in 0..3000 {
        yard.write(format!("d{}/e{}/f{number}", number % 30, number % 7), "same content");
    }
    yard.commit("first");
    for number in (0..3000).step_by(97) {
        yard.write(format!("d{}/e{}/f{number}", number % 30, number % 7), "other content");
        yard.write(format!("d{}/e{}/new{number}", number % 30, number % 7), "");
    }
    let status = check(&yard);
    assert_eq!(status.unstaged.modified.len(), 31);
    assert_eq!(status.untracked.len(), 31);
}

#[test]
fn long_lists_are_cut_and_say_so() {
    let yard = Yard::with_commit();
    for number in 0..20 {
        yard.write(format!("new{number}"), "");
    }
    let options = StatusOptions {
        limit: 5,
        ..StatusOptions::default()
    };
    let status = yard.open().status(&options, &GO_ON).unwrap();
    assert!(status.truncated && !status.is_clean());
    assert_eq!(status.untracked.len(), 5);
}

#[test]
fn a_status_writes_nothing() {
    let yard = Yard::with_commit();
    // An index that git would refresh: every file has a new time.
    yard.remove("file");
    yard.write("file", "content\n");
    let before = listing(&yard.path(".git"));
    assert!(yard.status().is_clean());
    assert_eq!(listing(&yard.path(".git")), before);
}

#[test]
fn a_cancelled_status_ends() {
    let yard = Yard::with_commit();
    let outcome = yard.open().status(&StatusOptions::default(), &AtomicBool::new(true));
    assert!(matches!(outcome, Err(Error::Cancelled)));
}

/// Every file below a directory, with its time of change and its size.
fn listing(directory: &Path) -> Vec<(String, std::time::SystemTime, u64)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let metadata = entry.metadata().unwrap();
        if metadata.is_dir() {
            found.extend(listing(&entry.path()));
        }
        found.push((entry.path().display().to_string(), metadata.modified().unwrap(), metadata.len()));
    }
    found.sort();
    found
}
