//! Working trees, indexes and trees made to lead astray, to block, or to exhaust.

use std::fs;
use std::path::Path;

use agentyard_git::{Error, LogQuery, MAX_STAT_FILES, StatusOptions};
use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::support::{GO_ON, Yard, assert_harmless, foreign_repository};

fn make_pipe(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
}

#[test]
fn pipes_are_not_waited_for() {
    for name in [
        "HEAD",
        "index",
        "refs/heads/pipe",
        "objects/info/alternates",
        "info/exclude",
        "shallow",
    ] {
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
    for name in [
        "file",
        ".gitignore",
        ".gitattributes",
        "sub/.gitignore",
        "untracked/.gitignore",
        "nested/.git",
        "just-a-pipe",
    ] {
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
    assert_eq!(
        status.unstaged.modified,
        [".gitattributes", "file", "sub/.gitignore", "tracked"]
    );
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
    yard.write(
        "exists/.git",
        format!("gitdir: {}\n", foreign.join(".git").display()),
    );
    yard.write(
        "missing/.git",
        format!("gitdir: {}\n", yard.outside().join("missing").display()),
    );
    yard.link(foreign.join(".git"), "linked/.git");
    yard.link(yard.outside().join("missing"), "dangling/.git");
    assert_eq!(
        yard.status().untracked,
        ["dangling/", "exists/", "linked/", "missing/"]
    );
}

#[test]
fn an_index_that_names_paths_outside_is_refused() {
    for (good, bad) in [
        ("aa/etc", "../etc"),
        ("aa/.zzz", "aa/.git"),
        ("zdir/file", "/dir/file"),
        ("aa/b", "aa/."),
        ("aa/bb/c", "aa/../c"),
    ] {
        let yard = Yard::new();
        yard.write(good, "secret");
        yard.git(&["add", "--all"]);
        let mut index = fs::read(yard.path(".git/index")).unwrap();
        let at = index
            .windows(good.len())
            .position(|window| window == good.as_bytes())
            .unwrap();
        index[at..at + good.len()].copy_from_slice(bad.as_bytes());
        fs::write(yard.path(".git/index"), index).unwrap();
        let outcome = yard.open().status(&StatusOptions::default(), &GO_ON);
        assert!(
            matches!(outcome, Err(Error::RepositoryMalformed { .. })),
            "{bad}: {outcome:?}"
        );
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
    for at in (0..index.len()).step_by(3) {
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
    let blob = yard.git(&["hash-object", "-w", "/dev/null"]);
    let make_tree = |count: usize, entry: &str| {
        let listing: String = (0..count).map(|number| format!("{entry}\tn{number}\n")).collect();
        yard.write(".git/listing", listing);
        yard.shell("git mktree < .git/listing").trim().to_owned()
    };
    let mut tree = make_tree(10_000, &format!("100644 blob {}", blob.trim()));
    // Ten levels of ten times the level below: a hundred million million files.
    for _ in 0..10 {
        tree = make_tree(10, &format!("040000 tree {tree}"));
    }
    let commit = yard.git(&["commit-tree", "-m", "bomb", &tree]);
    yard.git(&["update-ref", "refs/heads/main", commit.trim()]);
    let status = yard.status();
    assert!(status.truncated);
    assert_eq!(status.staged.deleted.len(), StatusOptions::default().limit);
    assert_eq!(yard.log(&LogQuery::default()).commits.len(), 1);
    let query = LogQuery {
        stat: true,
        ..LogQuery::default()
    };
    let stat = yard.log(&query).commits.remove(0).stat.unwrap();
    assert!(stat.truncated);
    assert_eq!(stat.files.len(), MAX_STAT_FILES);
}

#[test]
fn deep_directories_do_not_exhaust_the_stack() {
    let yard = Yard::with_commit();
    let mut directory = rustix::fs::open(yard.root(), rustix::fs::OFlags::PATH, Mode::empty()).unwrap();
    for _ in 0..1500 {
        rustix::fs::mkdirat(&directory, "d", Mode::from_raw_mode(0o755)).unwrap();
        directory = rustix::fs::openat(&directory, "d", rustix::fs::OFlags::PATH, Mode::empty()).unwrap();
    }
    assert_eq!(yard.status().untracked, ["d/"]);
}

#[test]
fn files_that_are_read_whole_may_not_be_endless() {
    for name in ["HEAD", "config", "shallow", "refs/heads/huge"] {
        let yard = Yard::with_commit();
        let path = yard.path(".git").join(name);
        let file = fs::File::options().create(true).append(true).open(path).unwrap();
        file.set_len(1 << 40).unwrap();
        let outcome = yard.try_open("");
        assert!(
            matches!(outcome, Err(Error::RepositoryMalformed { .. })),
            "{name}"
        );
    }
}

#[test]
fn a_malformed_commit_does_not_hide_what_is_behind_it() {
    let yard = Yard::with_commit();
    let (tree, parent) = (
        yard.git(&["rev-parse", "HEAD^{tree}"]),
        yard.git(&["rev-parse", "HEAD"]),
    );
    let commit = format!("tree {tree}parent {parent}author nobody\ncommitter at some time\n\nodd\n");
    yard.write(".git/odd", commit);
    let id = yard.git(&["hash-object", "-t", "commit", "-w", "--literally", ".git/odd"]);
    yard.git(&["update-ref", "refs/heads/main", id.trim()]);
    let page = yard.log(&LogQuery::default());
    let subjects: Vec<&str> = page
        .commits
        .iter()
        .map(|commit| commit.subject.as_str())
        .collect();
    assert_eq!(subjects, ["odd", "first"]);
    assert_eq!(page.commits[0].author.name, "nobody");
    assert!(yard.status().is_clean());
}
