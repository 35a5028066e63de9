//! Configuration made to run programs or to have other files read.
//!
//! Each test would leave a file `pwned` behind, or show the word `secret`, if the repository had its way.

use std::fs;

use agentyard_git::{Error, StatusOptions};

use crate::support::{GO_ON, Yard, assert_harmless, refusal};

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
    fs::write(
        &program,
        format!("#!/bin/sh\ntouch {}\n", yard.path("pwned").display()),
    )
    .unwrap();
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
    for hook in [
        "post-index-change",
        "reference-transaction",
        "fsmonitor-watchman",
        "post-checkout",
    ] {
        yard.write(
            format!(".git/hooks/{hook}"),
            fs::read(yard.path("program")).unwrap(),
        );
        yard.set_executable(format!(".git/hooks/{hook}"), true);
    }
    yard.write(".gitattributes", "* diff=x merge=x\n");
    yard.write("renamed", "content\n".repeat(3));
    yard.remove("file");
    yard.git(&[
        "-c",
        "core.fsmonitor=false",
        "-c",
        "core.hooksPath=/dev/null",
        "add",
        "--all",
    ]);
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
    assert!(matches!(
        yard.open().status(&StatusOptions::default(), &GO_ON),
        Err(Error::Read { .. })
    ));
    assert_harmless(&yard);
}

#[test]
fn included_configuration_is_not_read() {
    let yard = Yard::with_commit();
    let included = yard.outside().join("config");
    fs::write(
        &included,
        "[remote \"secret\"]\n\turl = https://secret.example.org\n",
    )
    .unwrap();
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
