//! Differences, held against the git program.

use std::fs;

use agentyard_git::{Between, Change, ChangedFile, Diff, DiffQuery, Error, RepositoryPath, Revision};

use crate::support::{Yard, message};

fn diff(yard: &Yard, query: &DiffQuery) -> Diff {
    yard.work(|work| work.diff(query)).unwrap()
}

fn revision(text: &str) -> Revision {
    Revision::new(text).unwrap()
}

fn between(between: Between) -> DiffQuery {
    DiffQuery {
        between,
        leave_out_generated: false,
        ..DiffQuery::default()
    }
}

fn path(shown: &str) -> RepositoryPath {
    RepositoryPath::new(shown).unwrap()
}

fn text(diff: &Diff) -> String {
    diff.files.iter().filter_map(|file| file.patch.clone()).collect()
}

/// The files in short: letter, paths, counts.
fn files(diff: &Diff) -> Vec<String> {
    let short = |file: &ChangedFile| {
        let old = file
            .old_path
            .as_ref()
            .map(|old| format!("{old}>"))
            .unwrap_or_default();
        let counts = match file.binary {
            true => "binary".to_owned(),
            false => format!("+{} -{}", file.insertions, file.deletions),
        };
        format!("{:?} {old}{} {counts}", file.change, file.path)
    };
    diff.files.iter().map(short).collect()
}

/// Everything that a diff can have: two commits, then staged and unstaged changes.
fn busy(format: &[&str]) -> Yard {
    let yard = Yard::empty();
    let mut init = vec!["init", "--quiet", "--initial-branch=main"];
    init.extend(format);
    yard.git(&init);
    let long: String = (0..60).map(|number| format!("line {number}\n")).collect();
    yard.write("moved", &long);
    yard.write("copied", long.to_uppercase());
    yard.write("edited", &long);
    yard.write("gone", "gone\n");
    yard.write("crlf", "one\r\ntwo\r\n");
    yard.write("no newline", "end");
    yard.write("a\tb \"c\" \\", "odd\n");
    yard.write("bin", b"\0\x01\x02");
    yard.write("grün", "ü\n");
    yard.write("script", "#!\n");
    yard.link("edited", "link");
    yard.write("spoof", "text\n");
    yard.commit("first");
    fs::create_dir(yard.path("renamed")).unwrap();
    yard.git(&["mv", "moved", "renamed/elsewhere"]);
    yard.write("renamed/elsewhere", format!("{long}more\n"));
    yard.write("copied", format!("{}x\n", long.to_uppercase()));
    yard.write("copy", long.to_uppercase());
    yard.write(
        "edited",
        long.replace("line 7\n", "line seven\n").replace("line 50\n", ""),
    );
    yard.remove("gone");
    yard.write("crlf", "one\r\n2\r\n");
    yard.write("no newline", "end\n");
    yard.write("a\tb \"c\" \\", "odder\n");
    yard.write("bin", b"\0\x03");
    yard.write("grün", "ü\nä\n");
    yard.set_executable("script", true);
    yard.remove("link");
    yard.write("link", "no link any more\n");
    yard.write("spoof", "diff --git a/edited b/edited\n--- a/x\n@@ -1 +1 @@\n");
    yard.write("empty", "");
    yard.commit("second");
    yard
}

/// Held against what git prints, but for what must not be shown as it is.
fn assert_as_git(yard: &Yard, query: &DiffQuery, arguments: &[&str]) {
    let mut words = vec!["-c", "core.quotePath=false", "diff"];
    words.extend(arguments);
    let printed = yard.git(&words).replace('\r', "\\r");
    assert_eq!(text(&diff(yard, query)), printed, "{arguments:?}");
}

#[test]
fn the_text_is_what_git_prints() {
    for format in [&[][..], &["--object-format=sha256"]] {
        let yard = busy(format);
        let commits = || Between::Commits(revision("HEAD~1"), revision("HEAD"));
        let plain = between(commits());
        assert_as_git(&yard, &plain, &["HEAD~1", "HEAD"]);
        let range = between(Between::CommitAndWorktree(revision("HEAD~1..HEAD")));
        assert_as_git(&yard, &range, &["HEAD~1", "HEAD"]);
        let wide = DiffQuery {
            context_lines: 0,
            copies: true,
            ..between(commits())
        };
        assert_as_git(&yard, &wide, &["-C", "-U0", "HEAD~1", "HEAD"]);
        let unlinked = DiffQuery {
            renames: false,
            ..between(commits())
        };
        assert_as_git(&yard, &unlinked, &["--no-renames", "HEAD~1", "HEAD"]);
        let words = DiffQuery {
            words: true,
            ..between(commits())
        };
        let printed = yard.git(&[
            "-c",
            "core.quotePath=false",
            "diff",
            "--word-diff",
            "HEAD~1",
            "HEAD",
        ]);
        assert_eq!(
            text(&diff(&yard, &words)).replace("\\r", ""),
            printed.replace('\r', "")
        );
    }
}

#[test]
fn files_are_listed_with_their_counts() {
    let yard = busy(&[]);
    let found = diff(
        &yard,
        &between(Between::Commits(revision("HEAD~1"), revision("HEAD"))),
    );
    assert_eq!(
        files(&found),
        [
            r#"Modified "a\tb \"c\" \\" +1 -1"#,
            "Modified bin binary",
            "Modified copied +1 -0",
            "Added copy +60 -0",
            "Modified crlf +1 -1",
            "Modified edited +1 -2",
            "Added empty +0 -0",
            "Deleted gone +0 -1",
            "Modified grün +1 -0",
            "TypeChanged link +1 -1",
            "Modified no newline +1 -1",
            "Renamed moved>renamed/elsewhere +1 -0",
            "Modified script +0 -0",
            "Modified spoof +3 -1",
        ]
    );
}

#[test]
fn index_and_working_tree_are_told_apart() {
    let yard = Yard::with_commit();
    yard.write("file", "staged\n");
    yard.git(&["add", "file"]);
    yard.write("file", "worktree\n");
    assert_as_git(&yard, &between(Between::IndexAndWorktree), &[]);
    assert_as_git(&yard, &between(Between::CommitAndIndex(None)), &["--cached"]);
    let head = between(Between::CommitAndWorktree(revision("HEAD")));
    assert_as_git(&yard, &head, &["HEAD"]);
}

#[test]
fn a_range_with_three_dots_begins_where_the_two_parted() {
    let yard = Yard::with_commit();
    yard.git(&["checkout", "--quiet", "-b", "topic"]);
    yard.write("topic", "topic\n");
    yard.commit("topic");
    yard.git(&["checkout", "--quiet", "main"]);
    yard.write("main", "main\n");
    yard.commit("main");
    let three = between(Between::CommitAndWorktree(revision("main...topic")));
    assert_as_git(&yard, &three, &["main...topic"]);
    assert_eq!(files(&diff(&yard, &three)), ["Added topic +1 -0"]);
}

#[test]
fn comparing_writes_nothing_and_does_not_report_what_was_only_touched() {
    let yard = Yard::new();
    yard.write("text", "text\n");
    yard.write("bin", b"\0\x01");
    yard.write("changed", b"\0\x01");
    yard.commit("first");
    yard.write("changed", b"\0\x02");
    yard.shell("touch -d 2001-01-01 text bin changed");
    let index = fs::read(yard.path(".git/index")).unwrap();
    for wants_text in [true, false] {
        let query = DiffQuery {
            text: wants_text,
            ..DiffQuery::default()
        };
        assert_eq!(files(&diff(&yard, &query)), ["Modified changed binary"]);
        let trusted = yard.trusted_work(|work| work.diff(&query)).unwrap();
        assert_eq!(files(&trusted), ["Modified changed binary"]);
    }
    assert_eq!(fs::read(yard.path(".git/index")).unwrap(), index);
    assert!(!yard.path(".git/index.lock").exists());
}

#[test]
fn untracked_files_are_shown_as_git_would_show_them_added() {
    let yard = Yard::with_commit();
    yard.write(".gitignore", "ignored\n");
    yard.write("ignored", "x\n");
    yard.write("new/one", "1\n");
    yard.write("new/many", "1\n2\n3");
    yard.write("new/empty", "");
    yard.write("new/run", "#!\n");
    yard.set_executable("new/run", true);
    yard.write("new/bin", b"\0");
    yard.link("/etc/passwd", "new/link");
    yard.write("file", "changed\n");
    let query = DiffQuery {
        untracked: true,
        ..DiffQuery::default()
    };
    let found = diff(&yard, &query);
    yard.git(&["add", "--intent-to-add", "--all"]);
    let without_ids = |text: String| -> Vec<String> {
        let lines = text
            .lines()
            .filter(|line| !line.starts_with("index ") && !line.starts_with("Binary"));
        let mut files: Vec<String> = Vec::new();
        for line in lines {
            match files.last_mut() {
                Some(file) if !line.starts_with("diff ") => *file += &format!("{line}\n"),
                _ => files.push(format!("{line}\n")),
            }
        }
        files.sort();
        files
    };
    let mut expected = without_ids(yard.git(&["diff"]));
    expected.retain(|file| !file.contains("new/bin"));
    assert_eq!(without_ids(text(&found)), expected);
    assert_eq!(
        found.files.last().map(|file| file.change),
        Some(Change::Untracked)
    );
    let staged = DiffQuery {
        untracked: true,
        ..between(Between::CommitAndIndex(None))
    };
    assert!(message(yard.work(|work| work.diff(&staged))).contains("include_untracked"));
}

#[test]
fn generated_files_are_named_and_their_text_left_out() {
    let yard = Yard::with_commit();
    yard.write("Cargo.lock", "lock\n");
    yard.write("src", "source\n");
    yard.commit("second");
    let commits = || Between::Commits(revision("HEAD~1"), revision("HEAD"));
    let query = DiffQuery {
        leave_out_generated: true,
        ..between(commits())
    };
    let found = diff(&yard, &query);
    assert_eq!(files(&found), ["Added Cargo.lock +1 -0", "Added src +1 -0"]);
    assert!(found.files[0].left_out && found.files[0].patch.is_none());
    let asked = DiffQuery {
        paths: vec![path("Cargo.lock")],
        ..query
    };
    assert!(text(&diff(&yard, &asked)).contains("+lock"));
}

#[test]
fn conflicts_are_compared_with_our_side() {
    let yard = Yard::with_commit();
    yard.git(&["checkout", "--quiet", "-b", "topic"]);
    yard.write("file", "theirs\n");
    yard.commit("theirs");
    yard.git(&["checkout", "--quiet", "main"]);
    yard.write("file", "ours\n");
    yard.commit("ours");
    yard.try_git_in(&yard.root(), &["merge", "topic"]);
    let found = diff(&yard, &DiffQuery::default());
    assert_eq!(files(&found), ["Conflicted file +0 -0", "Modified file +4 -0"]);
    assert!(text(&found).contains("+<<<<<<< HEAD\n ours\n+=======\n+theirs\n+>>>>>>> topic\n"));
}

#[test]
fn control_characters_do_not_get_through() {
    let yard = Yard::with_commit();
    yard.write("file", b"a\x1b]0;title\x07\xff\n");
    let shown = text(&diff(&yard, &DiffQuery::default()));
    assert!(shown.contains("+a\\x1b]0;title\\x07\u{fffd}\n"), "{shown}");
}

#[test]
fn white_space_can_be_ignored() {
    let yard = Yard::with_commit();
    yard.write("file", "  con tent\n");
    let query = DiffQuery {
        ignore_whitespace: true,
        ..DiffQuery::default()
    };
    assert_eq!(files(&diff(&yard, &query)), [""; 0]);
}

#[test]
fn neither_configuration_nor_attributes_steer_the_comparison() {
    let yard = Yard::with_commit();
    let script = yard.outside().join("script");
    fs::write(
        &script,
        format!("#!/bin/sh\ntouch {}/pwned\n", yard.outside().display()),
    )
    .unwrap();
    yard.shell(&format!("chmod +x {}", script.display()));
    let script = script.display();
    yard.write(".gitattributes", "* diff=evil\n");
    yard.commit("attributes");
    yard.configure(&format!(
        "[diff]\n external = {script}\n noprefix = true\n context = 0\n colorMoved = true\n orderFile = /etc/passwd\n \
         relative = true\n wordRegex = .\n[color]\n ui = always\n diff = always\n[diff \"evil\"]\n command = {script}\n textconv = {script}"
    ));
    yard.write("file", "a\nb\n");
    for work in [
        yard.work(|work| work.diff(&DiffQuery::default())),
        yard.trusted_work(|work| work.diff(&DiffQuery::default())),
    ] {
        let shown = text(&work.unwrap());
        assert!(
            shown.contains("--- a/file\n+++ b/file\n@@ -1 +1,2 @@\n-content\n+a\n+b\n"),
            "{shown}"
        );
    }
    assert!(!yard.outside().join("pwned").exists());
}

#[test]
fn later_files_are_reached_when_there_is_too_much_text() {
    let yard = Yard::with_commit();
    let big = |fill: &str| format!("{}\n", fill.repeat(99)).repeat(50_000);
    for name in ["a", "b", "c"] {
        yard.write(name, big(name));
    }
    yard.write("d", "d\n");
    yard.commit("big");
    let query = between(Between::Commits(revision("HEAD~1"), revision("HEAD")));
    let first = diff(&yard, &query);
    assert_eq!(first.reached, Some(1));
    let later = diff(
        &yard,
        &DiffQuery {
            from_file: 1,
            ..query.clone()
        },
    );
    assert_eq!((later.reached, later.fingerprint), (Some(2), first.fingerprint));
    let last = diff(
        &yard,
        &DiffQuery {
            from_file: 2,
            ..query
        },
    );
    assert_eq!(last.reached, None);
    assert!(last.files[3].patch.as_ref().unwrap().ends_with("+d\n"));
    assert!(
        last.files[2]
            .patch
            .as_ref()
            .unwrap()
            .ends_with(&format!("+{}\n", "c".repeat(99)))
    );
}

#[test]
fn submodules_are_shown_by_their_commits() {
    let yard = Yard::with_commit();
    let inner = yard.outside().join("inner");
    fs::create_dir(&inner).unwrap();
    yard.git_in(&inner, &["init", "--quiet", "--initial-branch=main"]);
    yard.git_in(
        &inner,
        &["commit", "--quiet", "--allow-empty", "--message", "inner"],
    );
    let url = inner.display().to_string();
    yard.git(&["submodule", "--quiet", "add", &url, "sub"]);
    yard.commit("submodule");
    yard.git_in(
        &yard.path("sub"),
        &["commit", "--quiet", "--allow-empty", "--message", "more"],
    );
    assert_as_git(&yard, &between(Between::IndexAndWorktree), &[]);
    assert_eq!(files(&diff(&yard, &DiffQuery::default())), ["Modified sub +1 -1"]);
}

#[test]
fn what_cannot_be_compared_says_why() {
    let yard = Yard::with_commit();
    let unknown = between(Between::CommitAndWorktree(revision("nowhere")));
    assert!(matches!(
        yard.work(|work| work.diff(&unknown)),
        Err(Error::UnknownRevision { .. })
    ));
    let range = between(Between::Commits(revision("HEAD..HEAD"), revision("HEAD")));
    assert!(message(yard.work(|work| work.diff(&range))).contains("a single commit"));

    let bare = Yard::empty();
    bare.git(&["init", "--quiet", "--bare"]);
    assert!(message(bare.work(|work| work.diff(&DiffQuery::default()))).contains("no working tree"));

    let unborn = Yard::new();
    unborn.write("file", "x\n");
    unborn.git(&["add", "file"]);
    assert_eq!(
        files(&diff(&unborn, &between(Between::CommitAndIndex(None)))),
        ["Added file +1 -0"]
    );
}

#[test]
fn large_files_are_neither_compared_nor_shown() {
    let yard = Yard::with_commit();
    let large = "0123456789abcde\n".repeat((17 << 20) / 16);
    yard.write("large", &large);
    yard.commit("large");
    yard.write("large", format!("{large}more\n"));
    let found = diff(&yard, &DiffQuery::default());
    assert_eq!(files(&found), ["Modified large binary"]);
    let name = agentyard_git::ObjectName::new("HEAD:large", None).unwrap();
    let object = yard.open().object(&name, &crate::support::GO_ON).unwrap();
    let agentyard_git::Object::Blob(blob) = object else {
        panic!("a file");
    };
    assert_eq!((blob.size, blob.text), (17 << 20, None));
}

/// Large enough that git is told where to look.
#[test]
fn a_large_working_tree_is_compared_like_a_small_one() {
    let yard = Yard::new();
    for number in 0..3500 {
        yard.write(
            format!("d{}/file-{number}", number % 50),
            format!("{number}\none\ntwo\nthree\nfour\n"),
        );
    }
    yard.write("Cargo.lock", "locked\n");
    yard.write("odd \"name\"\n", "one\n");
    yard.commit("many");
    assert!(fs::metadata(yard.path(".git/index")).unwrap().len() > 256 * 1024);
    let query = between(Between::IndexAndWorktree);
    assert_eq!(diff(&yard, &query).files, []);

    yard.write("d1/file-1", "changed\n");
    yard.write("d1/file-51", "\0binary");
    yard.write("Cargo.lock", "changed\n");
    yard.write("odd \"name\"\n", "two\n");
    yard.remove("d2/file-2");
    yard.set_executable("d3/file-3", true);
    yard.write("untracked", "new\n");
    // Touched, and not changed.
    yard.write("d4/file-4", "4\none\ntwo\nthree\nfour\n");
    let found = diff(&yard, &query);
    assert_eq!(
        text(&found),
        yard.git(&["-c", "core.quotePath=false", "diff", "--no-color"])
    );

    let below = DiffQuery {
        paths: vec![RepositoryPath::new("d1").unwrap()],
        ..query.clone()
    };
    assert_eq!(
        text(&diff(&yard, &below)),
        yard.git(&["diff", "--no-color", "--", "d1"])
    );
    let elsewhere = DiffQuery {
        paths: vec![RepositoryPath::new("d9").unwrap()],
        ..query.clone()
    };
    assert_eq!(diff(&yard, &elsewhere).files, []);

    let usual = DiffQuery {
        leave_out_generated: true,
        ..query
    };
    let left_out = diff(&yard, &usual).files.into_iter().filter(|file| file.left_out);
    let left_out: Vec<String> = left_out.map(|file| file.path).collect();
    assert_eq!(left_out, ["Cargo.lock"]);
}
