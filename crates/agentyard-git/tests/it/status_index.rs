//! What the index can say about files besides their content. git is the judge.

use crate::porcelain::check;
use crate::support::Yard;

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
        &[
            "-c",
            "index.threads=2",
            "-c",
            "index.recordOffsetTable=true",
            "update-index",
            "--force-write-index",
        ],
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
