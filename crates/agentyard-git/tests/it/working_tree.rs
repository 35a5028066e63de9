//! The files as they are, as the tree that git would make of them.

use std::fs;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use crate::steps::{perform, step};
use crate::support::{GO_ON, Yard, message};

/// What `git add --all` and `git write-tree` make of the working tree. The index is left as it was.
fn git_tree(yard: &Yard) -> String {
    let before = fs::read(yard.path(".git/index")).ok();
    yard.git(&["add", "--all"]);
    let tree = yard.git(&["write-tree"]).trim().to_owned();
    match before {
        Some(before) => fs::write(yard.path(".git/index"), before).unwrap(),
        None => fs::remove_file(yard.path(".git/index")).unwrap(),
    }
    tree
}

fn our_tree(yard: &Yard) -> String {
    yard.open().working_tree(&GO_ON).unwrap().tree.to_string()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 16,
        // A failure is reproduced from its steps, which are printed; tests leave no files behind.
        failure_persistence: Some(Box::new(FileFailurePersistence::Off)),
        max_shrink_iters: 100,
        ..ProptestConfig::default()
    })]

    #[test]
    fn working_tree_is_what_git_would_commit(steps in vec(step(), 1..25)) {
        let yard = Yard::new();
        for step in &steps {
            perform(&yard, step);
        }
        let ours = our_tree(&yard);
        prop_assert_eq!(ours, git_tree(&yard));
    }
}

#[test]
fn content_is_converted_as_attributes_ask() {
    let yard = Yard::with_commit();
    yard.write(".gitattributes", "*.txt text\n*.raw -text\n");
    yard.write("sub/.gitattributes", "kept.txt -text\n");
    for path in ["lines.txt", "lines.raw", "sub/kept.txt", "sub/other.txt"] {
        yard.write(path, "one\r\ntwo\r\n");
    }
    assert_eq!(our_tree(&yard), git_tree(&yard));
}

#[test]
fn modes_links_and_submodules_are_seen() {
    let yard = Yard::with_commit();
    yard.write("run", "#!/bin/sh\n");
    yard.commit("second");
    fs::create_dir(yard.path("module")).unwrap();
    yard.git_in(
        &yard.path("module"),
        &["init", "--quiet", "--initial-branch=main"],
    );
    yard.git_in(
        &yard.path("module"),
        &["commit", "--quiet", "--allow-empty", "--message", "one"],
    );
    yard.git(&["add", "--all"]);
    yard.git(&["commit", "--quiet", "--message", "module"]);
    yard.git_in(
        &yard.path("module"),
        &["commit", "--quiet", "--allow-empty", "--message", "two"],
    );
    yard.set_executable("run", true);
    yard.remove("file");
    yard.link("run", "file");
    assert_eq!(our_tree(&yard), git_tree(&yard));
}

#[test]
fn nothing_is_written() {
    let yard = Yard::with_commit();
    yard.write("file", "changed\n");
    yard.write("new/file", "new\n");
    let before = (yard.git(&["count-objects"]), yard.index());
    let tree = yard.open().working_tree(&GO_ON).unwrap();
    assert_eq!((yard.git(&["count-objects"]), yard.index()), before);
    assert_eq!(
        tree.head.map(|id| id.to_string()),
        Some(yard.git(&["rev-parse", "HEAD"]).trim().to_owned())
    );
}

#[test]
fn large_files_are_known_by_their_names_alone() {
    let yard = Yard::with_commit();
    yard.write("large", vec![b'x'; (4 << 20) + 1]);
    assert_eq!(our_tree(&yard), git_tree(&yard));
}

#[test]
fn filters_do_not_run() {
    let yard = Yard::with_commit();
    yard.configure("[filter \"evil\"]\n\tclean = touch pwned\n\trequired = true");
    yard.write(".gitattributes", "* filter=evil\n");
    yard.write("file", "changed\n");
    our_tree(&yard);
    assert!(!yard.path("pwned").exists());
}

#[test]
fn a_pipe_is_not_waited_for() {
    let yard = Yard::with_commit();
    yard.shell("rm file && mkfifo file pipe");
    assert_eq!(
        our_tree(&yard),
        yard.git(&["hash-object", "-t", "tree", "/dev/null"]).trim()
    );
}

#[test]
fn a_bare_repository_has_no_working_tree() {
    let yard = Yard::empty();
    yard.git(&["init", "--quiet", "--bare"]);
    assert!(message(yard.open().working_tree(&GO_ON)).contains("no working tree"));
}
