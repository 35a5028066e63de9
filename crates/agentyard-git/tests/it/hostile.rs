//! Repositories made to do harm: to run programs, to read elsewhere, to never answer.
//!
//! Each test would leave a file `pwned` behind, or show the word `secret`, if the repository had its way.

use std::fs;
use std::path::Path;

use agentyard_git::{Error, LogQuery, Repository, Roots, StatusOptions};
use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::support::{GO_ON, Yard, message};

/// Calls everything there is to call, and shows what came of it.
fn use_it(repository: &Repository) -> String {
    let options = StatusOptions {
        ignored: true,
        ..StatusOptions::default()
    };
    let status = repository.status(&options, &GO_ON);
    let log = repository.log(&LogQuery::default(), &GO_ON);
    let snapshot = repository.snapshot(&GO_ON);
    format!("{status:?} {log:?} {snapshot:?}")
}

fn assert_harmless(yard: &Yard) -> String {
    let shown = match yard.try_open("") {
        Ok(repository) => use_it(&repository),
        Err(error) => error.to_string(),
    };
    assert!(!yard.path("pwned").exists() && !yard.outside().join("pwned").exists());
    assert!(!shown.contains("secret"), "{shown}");
    shown
}

/// The refusal, without the path in it.
fn refusal(yard: &Yard, path: impl AsRef<Path>) -> String {
    message(yard.try_open(path)).replace(&*yard.root().to_string_lossy(), "ROOT")
}

/// Another tenant's repository.
fn foreign_repository(yard: &Yard) -> std::path::PathBuf {
    let path = yard.outside().join("foreign");
    fs::create_dir(&path).unwrap();
    yard.git_in(&path, &["init", "--quiet", "--initial-branch=secret-branch"]);
    fs::write(path.join("file"), "secret").unwrap();
    yard.git_in(&path, &["add", "file"]);
    yard.git_in(&path, &["commit", "--quiet", "--message", "secret commit"]);
    path
}

fn make_pipe(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
}

#[test]
fn filters_do_not_run() {
    let yard = Yard::with_commit();
    let touch = format!("touch {}", yard.path("pwned").display());
    yard.configure(&format!(
        "[filter \"x\"]\n\tclean = {touch}; cat\n\tsmudge = {touch}; cat\n\tprocess = {touch}\n\trequired = true"
    ));
    yard.write(".gitattributes", "* filter=x\n");
    yard.write(".git/info/attributes", "* filter=x\n");
    // Same size, other content, new time: the file has to be read.
    yard.write("file", "CONTENT\n");
    let repository = yard.open();
    let status = repository.status(&StatusOptions::default(), &GO_ON).unwrap();
    assert_eq!(status.unstaged.modified, ["file"]);
    assert_harmless(&yard);
}

#[test]
fn nothing_else_that_the_configuration_names_runs() {
    let yard = Yard::with_commit();
    let program = yard.path("program");
    fs::write(&program, format!("#!/bin/sh\ntouch {}\n", yard.path("pwned").display())).unwrap();
    yard.set_executable("program", true);
    let program = program.display();
    yard.configure(&format!(
        "[core]\n\tfsmonitor = {program}\n\tsshCommand = {program}\n\tgitProxy = {program}\n\taskPass = {program}\n\
         \teditor = {program}\n\tpager = {program}\n\thooksPath = {root}\n\talternateRefsCommand = {program}\n\
         [diff]\n\texternal = {program}\n[diff \"x\"]\n\tcommand = {program}\n\ttextconv = {program}\n\
         [merge \"x\"]\n\tdriver = {program}\n[gpg]\n\tprogram = {program}\n[log]\n\tshowSignature = true\n\
         [credential]\n\thelper = !{program}\n[alias]\n\tstatus = !{program}\n\
         [remote \"origin\"]\n\turl = ext::{program}\n\tpromisor = true\n\tuploadpack = {program}\n\
         [extensions]\n\tpartialClone = origin",
        root = yard.root().display()
    ));
    for hook in ["post-index-change", "reference-transaction", "fsmonitor-watchman", "post-checkout"] {
        yard.write(format!(".git/hooks/{hook}"), fs::read(yard.path("program")).unwrap());
        yard.set_executable(format!(".git/hooks/{hook}"), true);
    }
    yard.write(".gitattributes", "* diff=x merge=x\n");
    yard.write("renamed", "content\n".repeat(3));
    yard.remove("file");
    yard.git(&["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "add", "--all"]);
    yard.write("file", "again\n");
    assert_harmless(&yard);
}

#[test]
fn an_object_that_is_missing_is_not_fetched() {
    let yard = Yard::with_commit();
    let head = yard.git(&["rev-parse", "HEAD^{tree}"]);
    let (directory, rest) = head.trim().split_at(2);
    fs::remove_file(yard.path(format!(".git/objects/{directory}/{rest}"))).unwrap();
    yard.configure(&format!(
        "[remote \"origin\"]\n\turl = ext::touch {}\n\tpromisor = true\n[extensions]\n\tpartialClone = origin\n[core]\n\trepositoryFormatVersion = 1",
        yard.path("pwned").display()
    ));
    yard.remove(".git/index");
    assert!(matches!(yard.open().status(&StatusOptions::default(), &GO_ON), Err(Error::Read { .. })));
    assert_harmless(&yard);
}

#[test]
fn included_configuration_is_not_read() {
    let yard = Yard::with_commit();
    let included = yard.outside().join("config");
    fs::write(&included, "[remote \"secret\"]\n\turl = https://secret.example.org\n").unwrap();
    yard.configure(&format!(
        "[include]\n\tpath = {0}\n[includeIf \"gitdir:/**\"]\n\tpath = {0}\n[includeIf \"onbranch:main\"]\n\tpath = {0}",
        included.display()
    ));
    assert_harmless(&yard);
}

#[test]
fn files_that_the_configuration_names_are_not_read() {
    let yard = Yard::with_commit();
    let patterns = yard.outside().join("patterns");
    fs::write(&patterns, "hidden\n").unwrap();
    fs::write(yard.outside().join("attributes"), "* text eol=crlf\n").unwrap();
    yard.configure(&format!(
        "[core]\n\texcludesFile = {}\n\tattributesFile = {}",
        patterns.display(),
        yard.outside().join("attributes").display()
    ));
    yard.write("hidden", "");
    yard.remove("file");
    yard.write("file", "content\n");
    let status = yard.status();
    assert_eq!(status.untracked, ["hidden"]);
    assert_eq!(status.unstaged.modified, [""; 0]);
}

#[test]
fn a_git_file_that_leads_outside_is_refused() {
    let yard = Yard::empty();
    let foreign = foreign_repository(&yard);
    for target in [foreign.join(".git"), "../../outside/foreign/.git".into(), yard.outside().join("missing")] {
        yard.write("tree/.git", format!("gitdir: {}\n", target.display()));
        assert_eq!(
            refusal(&yard, "tree"),
            "the repository at ROOT/tree is refused: its .git file leads outside the directories that may be used here"
        );
    }
}

#[test]
fn a_git_link_that_leads_outside_is_refused() {
    let yard = Yard::empty();
    let foreign = foreign_repository(&yard);
    for (name, target) in [("dir", foreign.join(".git")), ("missing", yard.outside().join("missing"))] {
        yard.link(target, format!("{name}/.git"));
        assert_eq!(
            refusal(&yard, name),
            format!("the repository at ROOT/{name} is refused: its .git link leads outside the directories that may be used here")
        );
    }
    // A link that stays inside is as good as a directory.
    yard.git(&["init", "--quiet", "real"]);
    yard.link("../real/.git", "linked/.git");
    assert_eq!(yard.try_open("linked").unwrap().git_dir(), yard.path("real/.git"));
}

#[test]
fn a_common_directory_outside_is_refused() {
    let yard = Yard::with_commit();
    let foreign = foreign_repository(&yard);
    yard.git(&["worktree", "add", "--quiet", "linked"]);
    yard.write(".git/worktrees/linked/commondir", format!("{}\n", foreign.join(".git").display()));
    assert_eq!(
        refusal(&yard, "linked"),
        "the repository at ROOT/.git/worktrees/linked is refused: its commondir file leads outside the directories that may be used here"
    );
}

#[test]
fn a_worktree_outside_is_refused() {
    for target in ["/", "/etc", "../../outside", "/nonexistent"] {
        let yard = Yard::with_commit();
        yard.configure(&format!("[core]\n\tworktree = {target}"));
        assert_eq!(
            refusal(&yard, ""),
            "the repository at ROOT/.git is refused: its core.worktree setting leads outside the directories that may be used here"
        );
    }
    // The same through the configuration of a single worktree.
    let yard = Yard::with_commit();
    yard.configure("[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\tworktreeConfig = true");
    yard.write(".git/config.worktree", "[core]\n\tworktree = /etc\n");
    assert!(matches!(yard.try_open(""), Err(Error::RepositoryEscapes { .. })));
}

#[test]
fn alternates_outside_are_refused() {
    let yard = Yard::with_commit();
    let foreign = foreign_repository(&yard).join(".git/objects");
    let expected = "the repository at ROOT/.git is refused: its objects/info/alternates file leads outside the directories that may be used here";
    for target in [
        foreign.display().to_string(),
        format!("\"{}\"", foreign.display()),
        "../../../outside/foreign/.git/objects".to_owned(),
        "/nonexistent/objects".to_owned(),
    ] {
        yard.write(".git/objects/info/alternates", format!("# comment\n{target}\n"));
        assert_eq!(refusal(&yard, ""), expected);
    }
    // At second hand, too.
    yard.git(&["init", "--quiet", "middle"]);
    yard.write(".git/objects/info/alternates", "../../middle/.git/objects\n");
    assert!(yard.try_open("").is_ok());
    yard.write("middle/.git/objects/info/alternates", format!("{}\n", foreign.display()));
    assert_eq!(refusal(&yard, ""), expected);
    // In a circle, there is no way out; gix has its own opinion of that.
    yard.write("middle/.git/objects/info/alternates", "../../.git/objects\n");
    assert_harmless(&yard);
}

#[test]
fn alternates_inside_are_used() {
    let yard = Yard::with_commit();
    yard.git(&["clone", "--quiet", "--shared", ".", "shared"]);
    let repository = yard.try_open("shared").unwrap();
    assert_eq!(repository.log(&LogQuery::default(), &GO_ON).unwrap().commits.len(), 1);
}

#[test]
fn links_inside_the_git_directory_must_stay_inside() {
    let foreign_parts = ["config", "HEAD", "index", "packed-refs", "info", "objects", "refs", "objects/pack", "refs/heads", "logs", "shallow"];
    for part in foreign_parts {
        let yard = Yard::with_commit();
        let foreign = foreign_repository(&yard);
        let own = yard.path(".git").join(part);
        _ = fs::remove_file(&own);
        _ = fs::remove_dir_all(&own);
        std::os::unix::fs::symlink(foreign.join(".git").join(part), &own).unwrap();
        assert!(!assert_harmless(&yard).contains("secret"));
        assert!(yard.try_open("").is_err(), "{part}");
    }
    for link in ["refs/heads/leak", "refs/tags/deep/leak", "objects/ab", "objects/pack/pack-1.idx", "logs/refs/leak", "objects/info/commit-graph", "LEAK"] {
        let yard = Yard::with_commit();
        _ = foreign_repository(&yard);
        yard.link("/etc/passwd", format!(".git/{link}"));
        let expected = format!("the repository at ROOT/.git is refused: its {link} link leads outside the directories that may be used here");
        assert_eq!(refusal(&yard, ""), expected);
    }
}

#[test]
fn pipes_are_not_waited_for() {
    for name in ["HEAD", "index", "refs/heads/pipe", "objects/info/alternates", "info/exclude", "shallow"] {
        let yard = Yard::with_commit();
        let path = yard.path(".git").join(name);
        _ = fs::remove_file(&path);
        make_pipe(&path);
        assert!(yard.try_open("").is_err(), "{name}");
    }
    let yard = Yard::with_commit();
    for name in ["tracked", ".gitattributes", "sub/.gitignore"] {
        yard.write(name, "x");
    }
    yard.commit("second");
    for name in ["file", ".gitignore", ".gitattributes", "sub/.gitignore", "untracked/.gitignore", "nested/.git", "just-a-pipe"] {
        let path = yard.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        _ = fs::remove_file(&path);
        make_pipe(&path);
    }
    yard.write("untracked/file", "");
    yard.write("sub/file", "");
    yard.remove("tracked");
    yard.write("tracked", "y");
    let status = yard.status();
    assert_eq!(status.unstaged.modified, [".gitattributes", "file", "sub/.gitignore", "tracked"]);
    assert_eq!(status.untracked, ["sub/file", "untracked/"]);
}

#[test]
fn links_in_the_working_tree_are_not_followed() {
    let yard = Yard::with_commit();
    yard.write("dir/file", "content\n");
    yard.commit("second");
    let outside = yard.outside();
    fs::create_dir(outside.join("dir")).unwrap();
    fs::write(outside.join("dir/file"), "content\n").unwrap();
    fs::write(outside.join("dir/secret"), "").unwrap();
    fs::write(outside.join("ignore"), "hidden\n").unwrap();
    fs::remove_dir_all(yard.path("dir")).unwrap();
    yard.link(outside.join("dir"), "dir");
    yard.link(outside.join("dir"), "untracked/dir");
    yard.link(outside.join("ignore"), ".gitignore");
    yard.write("hidden", "");
    let status = yard.status();
    assert_eq!(status.unstaged.deleted, ["dir/file"]);
    assert_eq!(status.untracked, [".gitignore", "dir", "hidden", "untracked/"]);
    assert_harmless(&yard);
}

#[test]
fn nested_repositories_do_not_tell_what_is_outside() {
    let yard = Yard::with_commit();
    let foreign = foreign_repository(&yard);
    yard.write("exists/.git", format!("gitdir: {}\n", foreign.join(".git").display()));
    yard.write("missing/.git", format!("gitdir: {}\n", yard.outside().join("missing").display()));
    yard.link(foreign.join(".git"), "linked/.git");
    yard.link(yard.outside().join("missing"), "dangling/.git");
    assert_eq!(yard.status().untracked, ["dangling/", "exists/", "linked/", "missing/"]);
}

#[test]
fn an_index_that_names_paths_outside_is_refused() {
    for (good, bad) in [("aa/etc", "../etc"), ("aa/.zzz", "aa/.git"), ("zdir/file", "/dir/file"), ("aa/b", "aa/."), ("aa/bb/c", "aa/../c")] {
        let yard = Yard::new();
        yard.write(good, "secret");
        yard.git(&["add", "--all"]);
        let mut index = fs::read(yard.path(".git/index")).unwrap();
        let at = index.windows(good.len()).position(|window| window == good.as_bytes()).unwrap();
        index[at..at + good.len()].copy_from_slice(bad.as_bytes());
        fs::write(yard.path(".git/index"), index).unwrap();
        let outcome = yard.open().status(&StatusOptions::default(), &GO_ON);
        assert!(matches!(outcome, Err(Error::RepositoryMalformed { .. })), "{bad}: {outcome:?}");
    }
}

#[test]
fn a_broken_index_is_an_error_and_not_a_crash() {
    let yard = Yard::new();
    for name in ["b", "a/x", "a/y", "c"] {
        yard.write(name, name);
    }
    yard.git(&["add", "--all"]);
    let index = fs::read(yard.path(".git/index")).unwrap();
    for length in (0..index.len()).step_by(7) {
        fs::write(yard.path(".git/index"), &index[..length]).unwrap();
        _ = yard.open().status(&StatusOptions::default(), &GO_ON);
    }
    for at in 0..index.len() {
        let mut broken = index.clone();
        broken[at] ^= 0x55;
        fs::write(yard.path(".git/index"), &broken).unwrap();
        _ = yard.open().status(&StatusOptions::default(), &GO_ON);
    }
    assert_harmless(&yard);
}

#[test]
fn trees_that_grow_without_end_are_given_up() {
    let yard = Yard::new();
    yard.write("file", "x");
    yard.git(&["add", "file"]);
    let mut tree = yard.git(&["write-tree"]).trim().to_owned();
    // Ten levels of ten times the level below: ten thousand million files.
    for _ in 0..10 {
        let listing: String = (0..10).map(|number| format!("040000 tree {tree}\td{number}\n")).collect();
        yard.write(".git/listing", listing);
        let script = "git mktree < .git/listing";
        tree = yard.shell(script).trim().to_owned();
    }
    let commit = yard.git(&["commit-tree", "-m", "bomb", &tree]);
    yard.git(&["update-ref", "refs/heads/main", commit.trim()]);
    assert!(matches!(yard.open().status(&StatusOptions::default(), &GO_ON), Err(Error::TooLarge { .. })));
    assert_eq!(yard.log(&LogQuery::default()).commits.len(), 1);
}

#[test]
fn deep_directories_do_not_exhaust_the_stack() {
    let yard = Yard::with_commit();
    let mut directory = rustix::fs::open(yard.root(), rustix::fs::OFlags::PATH, Mode::empty()).unwrap();
    for _ in 0..3000 {
        rustix::fs::mkdirat(&directory, "d", Mode::from_raw_mode(0o755)).unwrap();
        directory = rustix::fs::openat(&directory, "d", rustix::fs::OFlags::PATH, Mode::empty()).unwrap();
    }
    assert_eq!(yard.status().untracked, ["d/"]);
}

#[test]
fn another_tenant_is_out_of_reach_although_the_repository_knows_its_objects() {
    let yard = Yard::with_commit();
    let foreign = foreign_repository(&yard);
    let id = yard.git_in(&foreign, &["rev-parse", "HEAD"]);
    yard.write(".git/refs/heads/main", &id);
    assert!(matches!(yard.open().log(&LogQuery::default(), &GO_ON), Err(Error::Read { .. } | Error::UnknownRevision { .. })));
    assert_harmless(&yard);
}

#[test]
fn two_roots_may_share_a_repository() {
    let yard = Yard::with_commit();
    yard.git(&["worktree", "add", "--quiet", "linked"]);
    fs::create_dir(yard.path("main-tree")).unwrap();
    let only_linked = Roots::new([yard.path("linked")]).unwrap();
    let directory = only_linked.resolve(&yard.path("linked")).unwrap();
    assert!(matches!(Repository::open(&directory), Err(Error::RepositoryEscapes { .. })));
    let both = Roots::new([yard.path("linked"), yard.path(".git")]).unwrap();
    let directory = both.resolve(&yard.path("linked")).unwrap();
    assert!(Repository::open(&directory).is_ok());
}
