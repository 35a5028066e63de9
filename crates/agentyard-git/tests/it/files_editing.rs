//! Texts are replaced, all or none.

use agentyard_git::{Edit, EditOptions, Error, ExpectedHash};

use crate::files_support::{edit, path};
use crate::support::{GO_ON, Yard};

fn refusal(yard: &Yard, edits: &[Edit]) -> String {
    let before = std::fs::read(yard.path("file")).unwrap();
    let message = yard.edit_file("file", edits).unwrap_err().to_string();
    assert_eq!(std::fs::read(yard.path("file")).unwrap(), before, "{message}");
    message
}

#[test]
fn several_texts_are_replaced_at_once() {
    let yard = Yard::with_commit();
    yard.write("file", "one\ntwo\nthree\nfour\ntwo\n");
    yard.set_executable("file", true);
    let twice = Edit {
        count: 2,
        ..edit("two", "2")
    };
    let edited = yard
        .edit_file("file", &[edit("four\n", ""), twice, edit("one", "two")])
        .unwrap();
    // Each text is looked for in the file as it was: the new `two` is not replaced in turn.
    assert_eq!(yard.content("file"), "two\n2\nthree\n2\n");
    assert_eq!(
        (edited.replaced, edited.lines_added, edited.lines_removed),
        (4, 2, 3)
    );
    assert_eq!(
        edited.diff,
        "@@ -1,5 +1,4 @@\n-one\n two\n+2\n three\n-four\n-two\n+2\n"
    );
    assert_eq!(edited.hash, yard.read_file("file").unwrap().hash.unwrap());
    assert!(yard.read_file("file").unwrap().executable);
    assert_eq!(yard.all_paths(), ["file"]);
}

#[test]
fn one_that_fails_stops_all() {
    let yard = Yard::with_commit();
    yard.write("file", "alpha\nbeta\nbeta\n");
    assert_eq!(
        refusal(&yard, &[edit("alpha", "A"), edit("gamma", "G")]),
        "edit 2 of 2 of file: its `old` is not in the file; nothing was changed"
    );
    assert_eq!(
        refusal(&yard, &[edit("beta", "B")]),
        "the edit of file: its `old` is there 2 times (lines 2, 3), and was expected once; nothing was changed"
    );
    let thrice = Edit {
        count: 3,
        ..edit("alpha", "A")
    };
    assert_eq!(
        refusal(&yard, &[thrice]),
        "the edit of file: its `old` is there once (line 1), and was expected 3 times; nothing was changed"
    );
    assert_eq!(
        refusal(&yard, &[edit("alpha\nbeta\n", "x"), edit("pha\n", "y")]),
        "edits 1 and 2 of file cannot be used: they overlap at line 1: join them into one edit, or make one after the \
         other; nothing was changed"
    );
    for edits in [vec![], vec![edit("", "x")], vec![edit("alpha", "alpha")]] {
        refusal(&yard, &edits);
    }
    let all = Edit {
        count: 0,
        ..edit("beta", "B")
    };
    assert_eq!(yard.edit_file("file", &[all]).unwrap().replaced, 2);
}

#[test]
fn what_is_nearly_there_is_named() {
    let yard = Yard::with_commit();
    yard.write("file", "fn main() {\n\tlet total = 1;\n}\n");
    let message = refusal(&yard, &[edit("    let total = 1;", "x")]);
    assert!(
        message.contains("what begins at line 2 is the same but for white space"),
        "{message}"
    );
}

#[test]
fn line_ends_are_those_of_the_file() {
    let yard = Yard::with_commit();
    yard.write("file", "one\r\ntwo\r\nthree\r\n");
    yard.edit_file("file", &[edit("one\ntwo\n", "1\n1.5\n2\n")])
        .unwrap();
    assert_eq!(yard.content("file"), "1\r\n1.5\r\n2\r\nthree\r\n");
    // Who says CRLF means the same.
    yard.edit_file("file", &[edit("2\r\nthree", "2\r\n3")]).unwrap();
    assert_eq!(yard.content("file"), "1\r\n1.5\r\n2\r\n3\r\n");

    yard.write("file", "one\r\ntwo\r\nthree\nfour\n");
    yard.edit_file("file", &[edit("one\ntwo", "1\n2"), edit("three\nfour", "3\n4")])
        .unwrap();
    assert_eq!(yard.content("file"), "1\r\n2\r\n3\n4\n");
}

#[test]
fn other_bytes_stay_as_they_are() {
    let yard = Yard::with_commit();
    yard.write("file", b"\xef\xbb\xbfgr\xfcn = 1\n\xff\n");
    yard.edit_file("file", &[edit("n = 1", "n = 2")]).unwrap();
    assert_eq!(
        std::fs::read(yard.path("file")).unwrap(),
        b"\xef\xbb\xbfgr\xfcn = 2\n\xff\n"
    );
    yard.write("file", b"a\0b");
    assert!(refusal(&yard, &[edit("a", "b")]).contains("binary"));
}

#[test]
fn the_expected_hash_guards_and_a_dry_run_changes_nothing() {
    let yard = Yard::with_commit();
    let hash = yard.read_file("file").unwrap().hash.unwrap().to_string();
    let with = |hash: &str, dry_run| EditOptions {
        expected: Some(ExpectedHash::new(hash).unwrap()),
        dry_run,
    };
    let edits = [edit("content", "changed")];
    let tree = yard.files();
    let tried = tree
        .edit(&path("file"), &edits, &with(&hash, true), &GO_ON)
        .unwrap();
    assert_eq!(tried.diff, "@@ -1,1 +1,1 @@\n-content\n+changed\n");
    assert_eq!(yard.content("file"), "content\n");
    let done = tree
        .edit(&path("file"), &edits, &with(&hash, false), &GO_ON)
        .unwrap();
    assert_eq!(
        (done.hash, yard.content("file").as_str()),
        (tried.hash, "changed\n")
    );
    let late = tree.edit(
        &path("file"),
        &[edit("changed", "x")],
        &with(&hash, false),
        &GO_ON,
    );
    assert!(matches!(late, Err(Error::State { .. })), "{late:?}");
    assert_eq!(yard.content("file"), "changed\n");
}
