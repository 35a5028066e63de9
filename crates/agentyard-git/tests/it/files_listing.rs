//! What is in a directory.

use std::fs;

use agentyard_git::{FileTree, ListQuery, RepositoryPath};

use crate::files_support::{list, listed, path};
use crate::support::{GO_ON, Yard};

fn yard() -> Yard {
    let yard = Yard::with_commit();
    yard.write(".gitignore", "*.log\n/target/\n");
    yard.write("src/main.rs", "fn main() {}\n");
    yard.write("src/deep/er/x", "");
    yard.write("src-2/y", "");
    yard.write("a.log", "");
    yard.write("target/debug/z", "");
    yard.write("run.sh", "");
    yard.set_executable("run.sh", true);
    yard.link("src/main.rs", "link");
    yard.link("/etc/passwd", "outside");
    yard.shell("mkfifo pipe");
    yard
}

#[test]
fn a_directory_is_listed_without_git_s_own() {
    let yard = yard();
    let listing = yard.list_files(&list("."));
    assert_eq!(
        listed(&listing),
        [
            ".gitignore",
            "!a.log",
            "file",
            "link -> src/main.rs",
            "outside -> /etc/passwd",
            "pipe (pipe)",
            "run.sh*",
            "src/",
            "src-2/",
            "!target/",
        ]
    );
    let file = &listing.entries[2];
    assert_eq!(file.size, Some(8));
    assert!(file.modified_at > 1_700_000_000);
    assert_eq!(
        listed(&yard.list_files(&list("src"))),
        ["src/deep/", "src/main.rs"]
    );
    assert_eq!(listed(&yard.list_files(&list("src/main.rs"))), ["src/main.rs"]);
}

#[test]
fn deeper_levels_come_after_their_directory_and_ignored_ones_are_not_entered() {
    let yard = yard();
    let query = ListQuery {
        depth: 3,
        hide_ignored: true,
        ..list(".")
    };
    let all = listed(&yard.list_files(&query));
    assert_eq!(
        all,
        [
            ".gitignore",
            "file",
            "link -> src/main.rs",
            "outside -> /etc/passwd",
            "pipe (pipe)",
            "run.sh*",
            "src/",
            "src/deep/",
            "src/deep/er/",
            "src/main.rs",
            "src-2/",
            "src-2/y",
        ]
    );
    // Page by page it is the same, wherever a page ends.
    for limit in 1..all.len() {
        let mut pages = Vec::new();
        let mut after = None;
        loop {
            let page = yard.list_files(&ListQuery {
                limit,
                after: after.clone(),
                ..query.clone()
            });
            pages.extend(listed(&page));
            if !page.more {
                break;
            }
            after = page.entries.last().map(|entry| entry.path.clone());
        }
        assert_eq!(pages, all, "{limit}");
    }
    let gone = ListQuery {
        after: Some("src/deeper-and-gone".to_owned()),
        ..query
    };
    assert_eq!(
        listed(&yard.list_files(&gone)),
        ["src/main.rs", "src-2/", "src-2/y"]
    );
}

#[test]
fn rules_above_a_directory_count_and_what_is_ignored_can_be_listed() {
    let yard = yard();
    yard.write("src/b.log", "");
    yard.write("target/debug/deps/x", "");
    let below = FileTree::open(&yard.confined("src")).unwrap();
    assert_eq!(
        listed(&below.list(&list("."), &GO_ON).unwrap()),
        ["!b.log", "deep/", "main.rs"]
    );
    let below = FileTree::open(&yard.confined("target")).unwrap();
    assert_eq!(
        listed(&below.list(&list("debug"), &GO_ON).unwrap()),
        ["!debug/deps/", "!debug/z"]
    );
}

#[test]
fn unusual_names_are_quoted_and_read_back() {
    let yard = Yard::empty();
    yard.write("a\nb\x1b/x", "text\n");
    let listing = yard.list_files(&ListQuery {
        depth: 2,
        ..list(".")
    });
    assert_eq!(listed(&listing), ["\"a\\nb\\033\"/", "\"a\\nb\\033/x\""]);
    let file = RepositoryPath::new(&listing.entries[1].path).unwrap();
    assert!(yard.files().read(&file, &Default::default(), &GO_ON).is_ok());
    let rest = ListQuery {
        depth: 2,
        after: Some(listing.entries[0].path.clone()),
        ..list(".")
    };
    assert_eq!(yard.list_files(&rest).entries, listing.entries[1..]);
}

#[test]
fn what_is_not_there_is_an_error() {
    let yard = Yard::with_commit();
    fs::create_dir(yard.path("empty")).unwrap();
    assert_eq!(yard.list_files(&list("empty")).entries, []);
    assert!(yard.files().list(&list("nothing"), &GO_ON).is_err());
    let foreign = ListQuery {
        after: Some("elsewhere/x".to_owned()),
        path: path("empty"),
        ..list(".")
    };
    assert!(yard.files().list(&foreign, &GO_ON).is_err());
}
