//! What was done to files, and which files count. git is the judge.

use std::fs;

use crate::porcelain::{check, sorted};
use crate::support::Yard;

#[test]
fn changes_of_every_kind() {
    let yard = Yard::new();
    for name in [
        "same",
        "edited",
        "gone",
        "moved/from",
        "exec",
        "link",
        "to-link",
        "sub/dir/deep",
    ] {
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
fn ignored_files() {
    let yard = Yard::new();
    yard.write(
        ".gitignore",
        "*.o\n/build/\ncache/*\n!cache/keep\n\\#odd\nsub/**/deep.txt\n",
    );
    yard.write(".git/info/exclude", "private\n*.tmp\n");
    yard.write("sub/.gitignore", "!wanted.o\nlocal\n");
    yard.write("tracked.o", "tracked although ignored");
    yard.write("build/kept", "");
    yard.git(&[
        "add",
        "--force",
        "tracked.o",
        "build/kept",
        ".gitignore",
        "sub/.gitignore",
    ]);
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
