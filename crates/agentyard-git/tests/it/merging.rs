//! Merges: how they end, and conflicts as data. What git says of the repository afterwards is the judge.

#![expect(
    clippy::redundant_closure_for_method_calls,
    reason = "the methods are not general enough over the lifetime of `Work`"
)]

use std::os::unix::ffi::OsStrExt as _;

use agentyard_git::{
    BranchName, Conflict, ConflictContent, ConflictHunk, ConflictSide, Error, FastForward, Favor,
    MergeOptions, MergeResult, MergeStrategy, Merged, Operation, Revision,
};

use crate::support::{Yard, diverged, message, tree_state};

pub(crate) fn merge_of(heads: &[&str]) -> MergeOptions {
    MergeOptions {
        heads: heads.iter().map(|head| Revision::new(*head).unwrap()).collect(),
        ..MergeOptions::default()
    }
}

fn merge(yard: &Yard, options: &MergeOptions) -> Result<Merged, Error> {
    yard.work(|work| work.merge(options))
}

fn stopped(merged: &Merged) -> Vec<(String, Conflict)> {
    let MergeResult::Stopped(conflicts) = &merged.result else {
        panic!("no conflicts: {merged:?}");
    };
    conflicts
        .files
        .iter()
        .map(|file| (file.path.clone(), file.conflict))
        .collect()
}

fn subject(yard: &Yard) -> String {
    yard.git(&["log", "-1", "--format=%s"]).trim().to_owned()
}

#[test]
fn a_merge_ends_as_git_would_end_it() {
    let yard = diverged("ours\n", "content\n");
    yard.git(&["branch", "ahead"]);
    yard.git(&["checkout", "--quiet", "-b", "late", "main~1"]);

    let merged = merge(&yard, &merge_of(&["main"])).unwrap();
    assert_eq!(merged.result, MergeResult::FastForward);
    assert_eq!(merged.changed.paths, ["file"]);
    assert_eq!(
        merge(&yard, &merge_of(&["main"])).unwrap().result,
        MergeResult::UpToDate
    );

    let merged = merge(&yard, &merge_of(&["side"])).unwrap();
    assert_eq!(merged.result, MergeResult::Committed);
    assert_eq!(merged.changed.paths, ["only-side"]);
    assert_eq!(subject(&yard), "Merge branch 'side' into late");
    assert_eq!(
        yard.git(&["rev-parse", "HEAD"]).trim(),
        merged.head.unwrap().to_string()
    );
    assert!(yard.status().is_clean());
}

#[test]
fn fast_forwards_squashes_and_messages_are_as_asked_for() {
    let yard = diverged("ours\n", "content\n");
    let only = MergeOptions {
        fast_forward: FastForward::Only,
        ..merge_of(&["side"])
    };
    let before = tree_state(&yard);
    assert!(message(merge(&yard, &only)).contains("diverged"));
    assert_eq!(tree_state(&yard), before);

    let squash = MergeOptions {
        squash: true,
        ..merge_of(&["side"])
    };
    assert_eq!(merge(&yard, &squash).unwrap().result, MergeResult::Squashed);
    assert_eq!(yard.status().staged.added, ["only-side"]);
    yard.git(&["reset", "--quiet", "--hard"]);

    yard.git(&["checkout", "--quiet", "-b", "late", "main~1"]);
    let never = MergeOptions {
        fast_forward: FastForward::Never,
        message: Some("--amend\n\nA message that looks like an option.".to_owned()),
        ..merge_of(&["main"])
    };
    assert_eq!(merge(&yard, &never).unwrap().result, MergeResult::Committed);
    assert_eq!(subject(&yard), "--amend");
    assert_eq!(yard.git(&["rev-list", "--count", "HEAD"]).trim(), "3");
}

#[test]
fn a_conflict_is_data() {
    let yard = diverged("one\nours\n", "one\ntheirs\n");
    let merged = merge(&yard, &merge_of(&["side"])).unwrap();
    let MergeResult::Stopped(conflicts) = merged.result else {
        panic!("no conflicts");
    };
    let side = |label: &str, text: &str| ConflictSide {
        label: label.to_owned(),
        text: text.to_owned(),
        cut: false,
    };
    let base = yard.git(&["rev-parse", "--short", "main~1"]);
    assert_eq!(conflicts.files.len(), 1);
    let file = &conflicts.files[0];
    assert_eq!(
        (file.path.as_str(), file.conflict),
        ("file", Conflict::BothModified)
    );
    assert_eq!(
        file.content,
        ConflictContent::Text {
            hunks: vec![ConflictHunk {
                first_line: 2,
                last_line: 8,
                ours: side("HEAD", "ours\n"),
                base: Some(side(base.trim(), "content\n")),
                theirs: side("side", "theirs\n"),
            }],
            hunks_left_out: 0,
            crlf: false,
        }
    );
    assert_eq!(yard.status().operation, Some(Operation::Merge));
}

#[test]
fn what_each_side_did_is_told_for_every_sort_of_conflict() {
    let yard = Yard::new();
    for name in ["gone-here", "gone-there", "moved"] {
        // Each unlike the others, such that none is taken for another under a new name.
        yard.write(name, format!("{name}\n").repeat(9));
    }
    yard.write("binary", b"\0base");
    yard.write("crlf", "base\r\n");
    yard.commit("first");
    yard.git(&["checkout", "--quiet", "-b", "side"]);
    for (branch, mine, other) in [
        ("side", "gone-there", "gone-here"),
        ("main", "gone-here", "gone-there"),
    ] {
        yard.git(&["checkout", "--quiet", branch]);
        yard.git(&["rm", "--quiet", mine]);
        yard.write(other, format!("{branch}\n") + &format!("{other}\n").repeat(9));
        yard.git(&["mv", "moved", &format!("moved-{branch}")]);
        yard.write("both", format!("{branch}\n"));
        yard.write("binary", [b"\0", branch.as_bytes()].concat());
        yard.write("crlf", format!("{branch}\r\n"));
        yard.write("a b\n\"é", format!("{branch}\n"));
        yard.write(std::ffi::OsStr::from_bytes(b"latin\xe4"), format!("{branch}\n"));
        yard.commit(branch);
    }
    let merged = merge(&yard, &merge_of(&["side"])).unwrap();
    assert_eq!(
        stopped(&merged),
        [
            ("\"a b\\n\\\"é\"", Conflict::BothAdded),
            ("binary", Conflict::BothModified),
            ("both", Conflict::BothAdded),
            ("crlf", Conflict::BothModified),
            ("gone-here", Conflict::DeletedByUs),
            ("gone-there", Conflict::DeletedByThem),
            ("\"latin\\344\"", Conflict::BothAdded),
            ("moved", Conflict::BothDeleted),
            ("moved-main", Conflict::AddedByUs),
            ("moved-side", Conflict::AddedByThem),
        ]
        .map(|(path, conflict)| (path.to_owned(), conflict))
    );
    let MergeResult::Stopped(conflicts) = merged.result else {
        panic!("no conflicts");
    };
    let content = |path: &str| {
        let file = conflicts.files.iter().find(|file| file.path == path).unwrap();
        file.content.clone()
    };
    assert_eq!(content("binary"), ConflictContent::Binary);
    assert_eq!(content("moved"), ConflictContent::Absent);
    assert!(
        matches!(content("crlf"), ConflictContent::Text { crlf: true, hunks, .. } if hunks[0].ours.text == "main\n")
    );
    assert!(matches!(content("gone-here"), ConflictContent::Text { hunks, .. } if hunks.is_empty()));
}

#[test]
fn a_merge_is_continued_when_all_is_resolved() {
    let yard = diverged("ours\n", "theirs\n");
    merge(&yard, &merge_of(&["side"])).unwrap();
    let error = message(yard.work(|work| work.continue_merge(None, None)));
    assert!(error.contains("unresolved conflicts: file"), "{error}");
    yard.write("file", "both\n");
    yard.git(&["add", "file"]);
    let merged = yard.work(|work| work.continue_merge(None, None)).unwrap();
    assert_eq!(merged.result, MergeResult::Committed);
    assert_eq!(
        yard.git(&["log", "-1", "--format=%B"]).trim(),
        "Merge branch 'side'"
    );
    assert_eq!(
        yard.git(&["rev-parse", "HEAD^2"]),
        yard.git(&["rev-parse", "side"])
    );
    assert_eq!(yard.status().operation, None);
}

#[test]
fn a_merge_that_somebody_else_began_is_concluded_with_a_message() {
    let yard = diverged("ours\n", "theirs\n");
    yard.try_git_in(&yard.root(), &["merge", "side"]);
    yard.write("file", "both\n");
    yard.git(&["add", "file"]);
    yard.work(|work| work.continue_merge(Some("#1 first\n\n# kept\n"), None))
        .unwrap();
    assert_eq!(
        yard.git(&["log", "-1", "--format=%B"]).trim(),
        "#1 first\n\n# kept"
    );
    assert_eq!(
        yard.git(&["rev-list", "--parents", "-1", "HEAD"])
            .split(' ')
            .count(),
        3
    );
}

#[test]
fn an_abort_restores_everything_and_keeps_what_was_resolved() {
    let yard = diverged("ours\n", "theirs\n");
    yard.write("local", "tracked\n");
    yard.commit("local");
    yard.write("local", "not committed\n");
    yard.write("untracked", "mine\n");
    let before = tree_state(&yard);
    merge(&yard, &merge_of(&["side"])).unwrap();
    yard.write("file", "half resolved\n");
    let aborted = yard.work(|work| work.abort_merge()).unwrap();
    assert_eq!(aborted.result, MergeResult::Aborted);
    assert_eq!(tree_state(&yard), before);
    let kept = aborted.kept.unwrap();
    assert_eq!(
        yard.git(&["show", &format!("{}:file", kept.reference)]),
        "half resolved\n"
    );
    let error = message(yard.work(|work| work.abort_merge()));
    assert_eq!(error, "no merge is in progress in this repository");
}

#[test]
fn local_changes_in_the_way_are_named_and_nothing_is_touched() {
    let yard = diverged("ours\n", "theirs\n");
    yard.write("file", "not committed\n");
    yard.write("only-side", "untracked\n");
    let before = tree_state(&yard);
    let error = message(merge(&yard, &merge_of(&["side"])));
    assert!(error.contains("in the way: file"), "{error}");
    assert_eq!(tree_state(&yard), before);
    yard.git(&["checkout", "--quiet", "file"]);
    let before = tree_state(&yard);
    let error = message(merge(&yard, &merge_of(&["side"])));
    assert!(error.contains("only-side"), "{error}");
    assert_eq!(tree_state(&yard), before);
}

#[test]
fn a_side_can_be_favored_or_ignored() {
    for (options, expected) in [
        (
            MergeOptions {
                favor: Some(Favor::Theirs),
                ..merge_of(&["side"])
            },
            "theirs\n",
        ),
        (
            MergeOptions {
                strategy: Some(MergeStrategy::Recursive),
                favor: Some(Favor::Ours),
                ..merge_of(&["side"])
            },
            "ours\n",
        ),
        (
            MergeOptions {
                strategy: Some(MergeStrategy::Ours),
                ..merge_of(&["side"])
            },
            "ours\n",
        ),
    ] {
        let yard = diverged("ours\n", "theirs\n");
        assert_eq!(merge(&yard, &options).unwrap().result, MergeResult::Committed);
        assert_eq!(yard.git(&["show", "HEAD:file"]), expected);
    }
}

#[test]
fn several_branches_are_merged_at_once() {
    let yard = Yard::with_commit();
    for name in ["a", "b", "c"] {
        yard.git(&["checkout", "--quiet", "-b", name, "main"]);
        yard.write(name, name);
        yard.commit(name);
    }
    yard.git(&["checkout", "--quiet", "main"]);
    yard.write("own", "own");
    yard.commit("own");
    let merged = merge(&yard, &merge_of(&["a", "b", "c", "main", "main~1"])).unwrap();
    assert_eq!(merged.result, MergeResult::Committed);
    assert_eq!(merged.changed.paths, ["a", "b", "c"]);
    assert_eq!(subject(&yard), "Merge branches 'a', 'b' and 'c'");
    assert_eq!(
        yard.git(&["rev-parse", "HEAD^2", "HEAD^3", "HEAD^4"]),
        yard.git(&["rev-parse", "a", "b", "c"])
    );
    assert!(yard.status().is_clean());
}

#[test]
fn several_branches_that_conflict_are_refused_whole() {
    let yard = diverged("ours\n", "theirs\n");
    yard.git(&["branch", "fine", "main~1"]);
    yard.git(&["checkout", "--quiet", "fine"]);
    yard.write("fine", "");
    yard.commit("fine");
    yard.git(&["checkout", "--quiet", "main"]);
    let before = tree_state(&yard);
    let error = message(merge(&yard, &merge_of(&["fine", "side"])));
    assert!(
        error.contains("side cannot be merged") && error.contains("conflicts in file"),
        "{error}"
    );
    assert_eq!(tree_state(&yard), before);
}

#[test]
fn a_merge_can_be_tried_without_touching_anything() {
    let yard = diverged("ours\n", "theirs\n");
    yard.write("file", "not committed\n");
    let before = tree_state(&yard);
    let preview = yard
        .work(|work| work.preview_merge(&merge_of(&["side"])))
        .unwrap();
    assert_eq!(preview.conflicted, ["file"]);
    assert_eq!(tree_state(&yard), before);
    let preview = yard
        .work(|work| work.preview_merge(&merge_of(&["main"])))
        .unwrap();
    assert!(preview.conflicted.is_empty());
}

#[test]
fn where_nothing_can_be_merged_that_is_said() {
    let yard = diverged("ours\n", "theirs\n");
    yard.git(&["clone", "--quiet", "--bare", ".", "bare.git"]);
    let bare = yard.try_open("bare.git").unwrap();
    let error = message(yard.work_in(&bare, |work| work.merge(&merge_of(&["side"]))));
    assert!(error.contains("bare"), "{error}");

    merge(&yard, &merge_of(&["side"])).unwrap();
    let error = message(merge(&yard, &merge_of(&["side"])));
    assert_eq!(error, "a merge is in progress in this repository");
    yard.git(&["merge", "--abort"]);

    yard.git(&["checkout", "--quiet", "--orphan", "unborn"]);
    yard.git(&["rm", "--quiet", "-r", "-f", "."]);
    assert_eq!(
        merge(&yard, &merge_of(&["side"])).unwrap().result,
        MergeResult::FastForward
    );
    yard.git(&["checkout", "--quiet", "--detach", "main"]);
    yard.git(&["checkout", "--quiet", "--orphan", "unrelated"]);
    yard.commit("unrelated");
    let error = message(merge(&yard, &merge_of(&["side"])));
    assert!(error.contains("no common ancestor"), "{error}");
    let allowed = MergeOptions {
        allow_unrelated_histories: true,
        strategy: Some(MergeStrategy::Ours),
        ..merge_of(&["side"])
    };
    assert_eq!(merge(&yard, &allowed).unwrap().result, MergeResult::Committed);
}

#[test]
fn names_that_look_like_options_or_other_things_are_not_taken_for_them() {
    let yard = diverged("ours\n", "content\n");
    assert!(Revision::new("--exec=touch pwned").is_err());
    assert!(BranchName::new("-s").is_err());
    // A tag of the same name is what git means by it; both ways to resolve it agree.
    yard.git(&["tag", "twice", "side"]);
    yard.git(&["branch", "twice", "main"]);
    yard.git(&["update-ref", "refs/heads/-s", "side"]);
    assert_eq!(
        merge(&yard, &merge_of(&["twice"])).unwrap().result,
        MergeResult::Committed
    );
    assert_eq!(
        yard.git(&["rev-parse", "HEAD^2"]),
        yard.git(&["rev-parse", "side"])
    );
}

#[test]
fn options_and_drivers_in_a_hostile_configuration_do_not_count() {
    let yard = diverged("ours\n", "theirs\n");
    let mark = yard.outside().join("pwned");
    yard.configure(&format!(
        "[branch \"main\"]\n mergeOptions = --strategy=ours --no-verify\n[merge \"evil\"]\n driver = touch {}",
        mark.display()
    ));
    yard.write(".git/info/attributes", "* merge=evil\n");
    let error = message(merge(&yard, &merge_of(&["side"])));
    assert!(error.contains("merge.evil.driver") && !mark.exists(), "{error}");

    let yard = diverged("ours\n", "theirs\n");
    yard.configure("[branch \"main\"]\n mergeOptions = --strategy=ours");
    assert_eq!(stopped(&merge(&yard, &merge_of(&["side"])).unwrap()).len(), 1);
}

#[test]
fn a_merge_that_cannot_be_signed_is_not_made() {
    let yard = diverged("ours\n", "content\n");
    let before = tree_state(&yard);
    let options = MergeOptions {
        sign: Some(true),
        ..merge_of(&["side"])
    };
    let result = yard.work_with_setting("gpg.program", "/nonexistent/gpg", |work| work.merge(&options));
    assert!(message(result).contains("failed"));
    assert_eq!(tree_state(&yard), before);
}

#[test]
fn a_squash_with_conflicts_is_told_from_a_merge_in_progress() {
    let yard = diverged("ours\n", "theirs\n");
    let squash = MergeOptions {
        squash: true,
        ..merge_of(&["side"])
    };
    let merged = merge(&yard, &squash).unwrap();
    assert!(
        matches!(merged.result, MergeResult::SquashStopped(conflicts) if conflicts.files[0].path == "file")
    );
    assert_eq!(yard.status().operation, None);
    // Nothing else begins on top of it.
    let error = message(merge(&yard, &merge_of(&["side"])));
    assert_eq!(error, "there are unresolved conflicts in file");
}

#[test]
fn hooks_run_in_a_trusted_repository_only_and_are_named_otherwise() {
    let yard = diverged("ours\n", "content\n");
    let mark = yard.outside().join("ran");
    let hook = ".git/hooks/pre-merge-commit";
    yard.write(hook, format!("#!/bin/sh\ntouch {}\n", mark.display()));
    yard.set_executable(hook, true);
    let merged = merge(&yard, &merge_of(&["side"])).unwrap();
    assert_eq!(merged.left_out.hooks, ["pre-merge-commit"]);
    assert!(!mark.exists());
    yard.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    let merged = yard
        .trusted_work(|work| work.merge(&merge_of(&["side"])))
        .unwrap();
    assert!(merged.left_out.hooks.is_empty() && mark.exists());
}
