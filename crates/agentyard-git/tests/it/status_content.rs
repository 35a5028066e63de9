//! Files whose content has to be read to tell whether they changed. git is the judge.

use std::fs;

use crate::porcelain::check;
use crate::support::Yard;

#[test]
fn line_endings_are_converted_before_they_are_compared() {
    let yard = Yard::new();
    yard.git(&["config", "core.autocrlf", "true"]);
    yard.write("text", "one\r\ntwo\r\n");
    yard.write("binary", b"one\r\n\0");
    yard.write(
        ".gitattributes",
        "*.lf text eol=lf\n*.raw -text\nid ident\n*.u16 text working-tree-encoding=UTF-16LE\n",
    );
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
fn a_change_within_one_tick_of_the_clock_is_found() {
    let yard = Yard::new();
    yard.git(&["config", "core.trustCTime", "false"]);
    yard.write("file", "content\n");
    yard.git(&["add", "file"]);
    let written_at = fs::metadata(yard.path("file")).unwrap().modified().unwrap();
    let set_time = |name: &str| {
        let file = fs::File::options().append(true).open(yard.path(name)).unwrap();
        file.set_modified(written_at).unwrap();
    };
    yard.write("file", "CONTENT\n");
    set_time("file");
    set_time(".git/index");
    assert_eq!(check(&yard).unstaged.modified, ["file"]);
}

#[test]
fn a_time_that_was_set_back_hides_nothing() {
    let yard = Yard::new();
    yard.write("file", "content\n");
    yard.git(&["add", "file"]);
    let written_at = fs::metadata(yard.path("file")).unwrap().modified().unwrap();
    yard.write("file", "CONTENT\n");
    fs::File::options()
        .append(true)
        .open(yard.path("file"))
        .unwrap()
        .set_modified(written_at)
        .unwrap();
    assert_eq!(yard.status().unstaged.modified, ["file"]);
}
