//! Staging: whole files, and hunks.

use agentyard_git::{AddOptions, Conflict, Conflicted, Error, Head, Moved, RepositoryPath, Staged, Staging};

use crate::support::{Yard, message};

fn paths(names: &[&str]) -> AddOptions {
    AddOptions {
        paths: names
            .iter()
            .map(|name| RepositoryPath::new(name).unwrap())
            .collect(),
        ..AddOptions::default()
    }
}

fn patch(patch: impl Into<String>) -> AddOptions {
    AddOptions {
        patch: Some(patch.into()),
        ..AddOptions::default()
    }
}

fn all() -> AddOptions {
    AddOptions {
        all: true,
        ..AddOptions::default()
    }
}

fn lines(numbers: std::ops::RangeInclusive<u32>) -> String {
    numbers.map(|number| format!("{number}\n")).collect()
}

#[test]
fn the_answer_is_what_is_staged() {
    let yard = Yard::with_commit();
    yard.write("gone", "gone\n");
    yard.write("old name", lines(1..=20));
    yard.commit("second");
    yard.remove("gone");
    yard.write("file", "changed\n");
    yard.write("a\tb", "new\n");
    yard.git(&["mv", "old name", "new name"]);
    let added = yard.work(|work| work.add(&all())).unwrap();
    let head = yard.git(&["rev-parse", "HEAD"]).trim().parse().unwrap();
    assert_eq!(
        added.staging,
        Staging {
            head: Head {
                branch: Some("main".to_owned()),
                commit: Some(head),
            },
            staged: Staged {
                added: vec![r#""a\tb""#.to_owned()],
                modified: vec!["file".to_owned()],
                deleted: vec!["gone".to_owned()],
                renamed: vec![Moved {
                    to: "new name".to_owned(),
                    from: "old name".to_owned(),
                }],
                ..Staged::default()
            },
            ..Staging::default()
        }
    );
}

#[test]
fn files_are_staged_before_the_first_commit_and_with_sha256() {
    for format in ["sha1", "sha256"] {
        let yard = Yard::empty();
        yard.git(&[
            "init",
            "--quiet",
            "--initial-branch=main",
            "--object-format",
            format,
        ]);
        yard.write("file", "content\n");
        let added = yard.work(|work| work.add(&all())).unwrap();
        assert_eq!(added.staging.staged.added, ["file"]);
        assert_eq!(added.staging.head.commit, None);
    }
}

#[test]
fn update_leaves_new_files_alone() {
    let yard = Yard::with_commit();
    yard.write("file", "changed\n");
    yard.write("new", "new\n");
    let options = AddOptions {
        update: true,
        ..AddOptions::default()
    };
    let staged = yard.work(|work| work.add(&options)).unwrap().staging.staged;
    assert_eq!((staged.modified, staged.added), (vec!["file".to_owned()], vec![]));
}

#[test]
fn a_deleted_file_is_staged_by_its_name() {
    let yard = Yard::with_commit();
    yard.remove("file");
    let added = yard.work(|work| work.add(&paths(&["file"]))).unwrap();
    assert_eq!(added.staging.staged.deleted, ["file"]);
}

#[test]
fn a_call_that_fails_halfway_leaves_the_index_as_it_was() {
    let yard = Yard::with_commit();
    yard.write(".gitignore", "ignored\n");
    yard.write("ignored", "x\n");
    yard.write("file", "changed\n");
    let before = yard.index();
    let error = yard
        .work(|work| work.add(&paths(&["file", "ignored"])))
        .unwrap_err();
    assert!(matches!(error, Error::GitFailed { .. }), "{error:?}");
    assert!(error.to_string().contains("ignored"));
    assert_eq!(yard.index(), before);
    let names = yard.shell("ls .git");
    assert!(!names.contains("lock") && !names.contains("agentyard"), "{names}");

    let forced = AddOptions {
        force: true,
        ..paths(&["file", "ignored"])
    };
    assert_eq!(
        yard.work(|work| work.add(&forced)).unwrap().staging.staged.len(),
        2
    );
}

#[test]
fn before_there_is_an_index_a_failure_leaves_none() {
    let yard = Yard::new();
    yard.write("file", "x\n");
    yard.write(".gitignore", "ignored\n");
    yard.write("ignored", "x\n");
    yard.work(|work| work.add(&paths(&["file", "ignored"])))
        .unwrap_err();
    assert!(!yard.path(".git/index").exists() && !yard.path(".git/index.lock").exists());
}

#[test]
fn a_single_hunk_is_staged_and_the_working_tree_is_left_alone() {
    let yard = Yard::with_commit();
    yard.write("file", lines(1..=20));
    yard.commit("twenty");
    let changed = format!("one\n{}twenty\n", lines(2..=19));
    yard.write("file", &changed);
    let diff = yard.git(&["diff", "file"]);
    let second_hunk = diff.rfind("\n@@").unwrap() + 1;
    let added = yard
        // Without the line end at the very end, as models like to give it.
        .work(|work| work.add(&patch(diff[..second_hunk].trim_end())))
        .unwrap();
    assert_eq!(added.staging.staged.modified, ["file"]);
    assert_eq!(yard.git(&["show", ":file"]), format!("one\n{}", lines(2..=20)));
    assert_eq!(std::fs::read_to_string(yard.path("file")).unwrap(), changed);
}

#[test]
fn lines_of_a_hunk_need_not_be_counted_again() {
    let yard = Yard::with_commit();
    let text = "diff --git a/file b/file\n--- a/file\n+++ b/file\n@@ -1,7 +1,9 @@\n content\n+more\n";
    yard.work(|work| work.add(&patch(text))).unwrap();
    assert_eq!(yard.git(&["show", ":file"]), "content\nmore\n");
}

#[test]
fn a_patch_that_does_not_apply_names_the_place_and_stages_nothing() {
    let yard = Yard::with_commit();
    yard.write("other", "other\n");
    yard.commit("other");
    let before = yard.index();
    let text = "--- a/other\n+++ b/other\n@@ -1 +1 @@\n-other\n+fine\n\
                --- a/file\n+++ b/file\n@@ -1 +1 @@\n-not there\n+new\n";
    let refusal = message(yard.work(|work| work.add(&patch(text))));
    assert!(refusal.contains("patch failed: file:1"), "{refusal}");
    assert_eq!(yard.index(), before);
}

#[test]
fn a_patch_cannot_leave_the_repository() {
    let yard = Yard::with_commit();
    let before = yard.index();
    for path in [
        "../escape",
        "/etc/escape",
        ".git/hooks/post-commit",
        "a/../../escape",
    ] {
        let text = format!("--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n");
        let result = yard.work(|work| work.add(&patch(text)));
        assert!(result.is_err(), "{path}");
        assert_eq!(yard.index(), before, "{path}");
    }
    for text in ["", "  \n", "no patch at all", "--output=x"] {
        assert!(yard.work(|work| work.add(&patch(text))).is_err(), "{text:?}");
    }
    let huge = "+".repeat((4 << 20) + 1);
    assert!(message(yard.work(|work| work.add(&patch(huge)))).contains("bytes"));
}

#[test]
fn conflicts_are_named_until_they_are_staged() {
    let yard = Yard::with_commit();
    yard.conflict();
    yard.write("new", "new\n");
    let added = yard.work(|work| work.add(&paths(&["new"]))).unwrap();
    assert_eq!(
        added.staging.conflicted,
        [Conflicted {
            path: "file".to_owned(),
            conflict: Conflict::BothModified,
        }]
    );
    let added = yard.work(|work| work.add(&paths(&["file"]))).unwrap();
    assert_eq!(added.staging.conflicted, []);
}

#[test]
fn a_bare_repository_has_nothing_to_stage_from() {
    let yard = Yard::empty();
    yard.git(&["init", "--quiet", "--bare"]);
    assert!(message(yard.work(|work| work.add(&all()))).contains("is bare"));
}
