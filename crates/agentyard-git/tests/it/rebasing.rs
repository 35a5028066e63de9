//! Rebases: plain ones, and those by a plan. The history that git shows afterwards is the judge.

#![expect(
    clippy::redundant_closure_for_method_calls,
    reason = "the methods are not general enough over the lifetime of `Work`"
)]

use agentyard_git::{
    BranchName, Conflict, Error, Operation, RebaseOptions, RebaseProgress, RebaseResult, RebaseStop, Rebased,
    Revision, Trust,
};

use crate::support::{GO_ON, Yard, diverged, message, tree_state};

fn onto(upstream: &str) -> RebaseOptions {
    RebaseOptions {
        upstream: Some(Revision::new(upstream).unwrap()),
        ..RebaseOptions::default()
    }
}

fn rebase(yard: &Yard, options: &RebaseOptions) -> Result<Rebased, Error> {
    yard.work(|work| work.rebase(options))
}

fn stop(rebased: Rebased) -> RebaseStop {
    match rebased.result {
        RebaseResult::Stopped(stop) => stop,
        other => panic!("it did not stop: {other:?}"),
    }
}

fn id(yard: &Yard, revision: &str) -> String {
    yard.git(&["rev-parse", revision]).trim().to_owned()
}

/// Messages of the commits since the first, oldest first, each with the files that it changes.
fn history(yard: &Yard) -> String {
    let base = yard.git(&["rev-list", "--max-parents=0", "HEAD"]);
    let range = format!("{}..HEAD", base.trim());
    yard.git(&["log", "--reverse", "--format=[%B]", "--name-only", &range])
        .replace('\n', " ")
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

/// Four commits on a branch, each with a file of its own.
fn four() -> Yard {
    let yard = Yard::with_commit();
    yard.git(&["checkout", "--quiet", "-b", "topic"]);
    for name in ["a", "b", "c", "d"] {
        yard.write(name, name);
        yard.commit(&format!("add {name}\n\n#1 about {name}"));
    }
    yard
}

fn plan(yard: &Yard, steps: &[(&str, &str, &str)]) -> Result<Rebased, Error> {
    let commit = |name: &str| yard.git(&["log", "-1", "--format=%h", &format!("--grep=^add {name}")]);
    let options = RebaseOptions {
        plan: steps
            .iter()
            .map(|(verb, name, rest)| format!("{verb} {} {rest}", commit(name).trim()))
            .collect(),
        ..onto("main")
    };
    rebase(yard, &options)
}

#[test]
fn commits_are_put_on_another_base_and_the_old_ones_are_kept() {
    let yard = diverged("ours\n", "content\n");
    let old = id(&yard, "side");
    yard.git(&["checkout", "--quiet", "--detach", "main"]);
    let options = RebaseOptions {
        branch: Some(BranchName::new("side").unwrap()),
        ..onto("main")
    };
    let rebased = rebase(&yard, &options).unwrap();
    assert_eq!(rebased.result, RebaseResult::Done { commits: 1 });
    assert_eq!(yard.git(&["symbolic-ref", "--short", "HEAD"]).trim(), "side");
    assert_eq!(history(&yard), "[main ] file [side ] only-side");
    assert_eq!(id(&yard, &rebased.kept.unwrap().reference), old);

    let again = rebase(&yard, &onto("main")).unwrap();
    assert_eq!((again.result, again.kept), (RebaseResult::UpToDate, None));
    let kept = yard.git(&["for-each-ref", "refs/agentyard"]);
    assert_eq!(
        kept.lines().count(),
        1,
        "nothing is kept where nothing happened: {kept}"
    );
}

#[test]
fn commits_are_put_where_onto_says() {
    let yard = four();
    let options = RebaseOptions {
        onto: Some(Revision::new("main").unwrap()),
        ..onto("HEAD~2")
    };
    assert_eq!(
        rebase(&yard, &options).unwrap().result,
        RebaseResult::Done { commits: 2 }
    );
    assert_eq!(history(&yard), "[add c #1 about c ] c [add d #1 about d ] d");
}

#[test]
fn a_plan_reorders_and_drops() {
    let yard = four();
    let rebased = plan(
        &yard,
        &[
            ("pick", "d", ""),
            ("drop", "b", ""),
            ("p", "c", "add c"),
            ("pick", "a", ""),
        ],
    )
    .unwrap();
    assert_eq!(rebased.result, RebaseResult::Done { commits: 3 });
    assert_eq!(
        history(&yard),
        "[add d #1 about d ] d [add c #1 about c ] c [add a #1 about a ] a"
    );
    assert_eq!(yard.git(&["symbolic-ref", "--short", "HEAD"]).trim(), "topic");
    assert!(yard.status().is_clean());
    assert_eq!(yard.status().operation, None);
}

#[test]
fn a_plan_joins_commits_and_their_messages() {
    let yard = four();
    let author = yard.git(&["log", "-1", "--format=%an %ae %at", "HEAD~3"]);
    plan(
        &yard,
        &[
            ("pick", "a", ""),
            ("squash", "b", ""),
            ("fixup", "c", ""),
            ("squash", "d", ""),
        ],
    )
    .unwrap();
    assert_eq!(
        history(&yard),
        "[add a #1 about a add b #1 about b add d #1 about d ] a b c d"
    );
    assert_eq!(yard.git(&["log", "-1", "--format=%an %ae %at"]), author);

    let yard = four();
    plan(
        &yard,
        &[
            ("pick", "a", ""),
            ("squash", "b", "# a and b"),
            ("pick", "c", ""),
            ("fixup", "d", ""),
        ],
    )
    .unwrap();
    assert_eq!(history(&yard), "[# a and b ] a b [add c #1 about c ] c d");
}

#[test]
fn a_plan_rewords_without_an_editor() {
    let yard = four();
    let author = yard.git(&["log", "--format=%an %ae %at"]);
    plan(
        &yard,
        &[
            ("pick", "a", ""),
            (
                "reword",
                "b",
                "exec touch pwned\n\n# not a comment\nexec touch pwned",
            ),
            ("reword", "c", "$(touch pwned)"),
            ("squash", "d", ""),
        ],
    )
    .unwrap();
    assert_eq!(
        history(&yard),
        "[add a #1 about a ] a [exec touch pwned # not a comment exec touch pwned ] b [$(touch pwned) add d #1 about d ] c d"
    );
    assert!(!yard.path("pwned").exists());
    assert_eq!(
        yard.git(&["log", "--format=%an %ae %at"]),
        author.split_once('\n').unwrap().1
    );
}

#[test]
fn a_plan_that_would_lose_something_is_refused() {
    let yard = four();
    let before = tree_state(&yard);
    for (steps, expected) in [
        (
            &[("pick", "a", ""), ("pick", "b", ""), ("pick", "c", "")][..],
            "leaves out",
        ),
        (&[("pick", "a", ""), ("pick", "a", "")], "twice"),
        (&[("squash", "a", "")], "no commit before it"),
        (&[("drop", "a", ""), ("fixup", "b", "")], "no commit before it"),
        (&[("reword", "a", " ")], "new message"),
        (&[("exec", "a", "")], "begins with none of"),
        (&[("pick", "", "main")], "not among those to rebase"),
        (&[("pick", "", "--exec=touch")], "not a revision"),
    ] {
        let error = if steps[0].1.is_empty() {
            let options = RebaseOptions {
                plan: vec![format!("pick {}", steps[0].2)],
                ..onto("main")
            };
            message(rebase(&yard, &options))
        } else {
            message(plan(&yard, steps))
        };
        assert!(error.contains(expected), "{error}");
        assert_eq!(tree_state(&yard), before, "{error}");
    }
    assert_eq!(yard.git(&["for-each-ref", "refs/agentyard"]), "");
}

#[test]
fn a_plan_that_stops_can_be_continued_by_any_git() {
    let yard = Yard::with_commit();
    yard.git(&["checkout", "--quiet", "-b", "topic"]);
    for name in ["a", "b", "c"] {
        yard.write("file", format!("{name}\n"));
        yard.write(name, name);
        yard.commit(&format!("add {name}"));
    }
    let before = tree_state(&yard);
    let steps = [("pick", "b", ""), ("pick", "a", ""), ("drop", "c", "")];
    let waiting = stop(plan(&yard, &steps).unwrap());
    assert_eq!(waiting.conflicts.files[0].conflict, Conflict::BothModified);
    assert_eq!(
        (
            waiting.progress.step,
            waiting.progress.total,
            waiting.progress.branch.as_deref()
        ),
        (1, 2, Some("topic"))
    );
    assert_eq!(yard.status().operation, Some(Operation::Rebase));
    assert_eq!(yard.status().rebase.unwrap(), waiting.progress);

    let error = message(yard.work(|work| work.continue_rebase(None)));
    assert!(error.contains("unresolved conflicts: file"), "{error}");
    yard.write("file", "resolved\n");
    yard.git(&["add", "file"]);
    let waiting = stop(yard.work(|work| work.continue_rebase(None)).unwrap());
    assert_eq!(waiting.progress.step, 2);

    let aborted = yard.work(|work| work.abort_rebase()).unwrap();
    assert_eq!(aborted.result, RebaseResult::Aborted);
    assert_eq!(tree_state(&yard), before);

    stop(plan(&yard, &steps).unwrap());
    yard.write("file", "resolved\n");
    yard.git(&["add", "file"]);
    yard.try_git_in(&yard.root(), &["-c", "core.editor=true", "rebase", "--continue"]);
    yard.write("file", "again\n");
    yard.git(&["add", "file"]);
    yard.git(&["-c", "core.editor=true", "rebase", "--continue"]);
    assert_eq!(history(&yard), "[add b ] b file [add a ] a file");
}

#[test]
fn an_edit_stops_without_conflicts() {
    let yard = four();
    let waiting = stop(
        plan(
            &yard,
            &[
                ("edit", "a", ""),
                ("pick", "b", ""),
                ("pick", "c", ""),
                ("pick", "d", ""),
            ],
        )
        .unwrap(),
    );
    assert!(waiting.conflicts.is_empty());
    assert_eq!((waiting.progress.step, waiting.progress.total), (1, 4));
    yard.write("a", "edited");
    yard.git(&["add", "a"]);
    let rebased = yard.work(|work| work.continue_rebase(None)).unwrap();
    assert_eq!(rebased.result, RebaseResult::Done { commits: 4 });
    assert_eq!(yard.git(&["show", "HEAD~3:a"]), "edited");
}

#[test]
fn a_commit_in_conflict_is_skipped_and_what_was_done_is_kept() {
    let yard = diverged("ours\n", "theirs\n");
    yard.write("own", "own");
    yard.commit("own");
    let rebased = rebase(&yard, &onto("side")).unwrap();
    let main = id(&yard, "main~1");
    let waiting = stop(rebased);
    assert_eq!(
        waiting.progress,
        RebaseProgress {
            branch: Some("main".to_owned()),
            onto: Some(id(&yard, "side").parse().unwrap()),
            step: 1,
            total: 2,
            commit: Some(main.parse().unwrap()),
        }
    );
    yard.write("file", "half resolved\n");
    let rebased = yard.work(|work| work.skip_rebase(None)).unwrap();
    assert_eq!(rebased.result, RebaseResult::Done { commits: 1 });
    assert_eq!(history(&yard), "[side ] file only-side [own ] own");
    let kept = rebased.kept.unwrap().reference;
    assert_eq!(yard.git(&["show", &format!("{kept}:file")]), "half resolved\n");
}

#[test]
fn a_rebase_that_somebody_else_began_is_aborted_exactly() {
    let yard = diverged("ours\n", "theirs\n");
    yard.write("untracked", "mine");
    let before = tree_state(&yard);
    yard.try_git_in(&yard.root(), &["rebase", "--apply", "side"]);
    assert_eq!(yard.status().rebase.unwrap().total, 1);
    yard.work(|work| work.abort_rebase()).unwrap();
    assert_eq!(tree_state(&yard), before);
    let error = message(yard.work(|work| work.continue_rebase(None)));
    assert_eq!(error, "no rebase is in progress in this repository");
}

#[test]
fn uncommitted_changes_are_named_and_nothing_is_touched() {
    let yard = diverged("ours\n", "theirs\n");
    yard.write("file", "not committed\n");
    yard.write("new", "staged\n");
    yard.git(&["add", "new"]);
    let before = tree_state(&yard);
    let error = message(rebase(&yard, &onto("side")));
    assert!(error.contains("uncommitted changes in file, new"), "{error}");
    assert_eq!(tree_state(&yard), before);
}

#[test]
fn an_untracked_file_in_the_way_stops_a_plan_before_it_begins() {
    let yard = diverged("ours\n", "theirs\n");
    yard.write("only-side", "untracked\n");
    let before = tree_state(&yard);
    let options = RebaseOptions {
        plan: vec!["pick HEAD".to_owned()],
        ..onto("side")
    };
    let error = message(rebase(&yard, &options));
    assert!(error.contains("only-side"), "{error}");
    assert_eq!(tree_state(&yard), before);
    assert!(!yard.path(".git/rebase-merge").exists());
}

#[test]
fn pushed_commits_of_a_protected_branch_are_not_rewritten() {
    let yard = diverged("ours\n", "content\n");
    yard.git(&["update-ref", "refs/remotes/origin/main", "main"]);
    let before = tree_state(&yard);
    let error = message(rebase(&yard, &onto("side")));
    assert!(
        error.contains("pushed already") && error.contains("protected"),
        "{error}"
    );
    assert_eq!(tree_state(&yard), before);

    // What is not pushed yet may be put on what is, on any branch; and other branches may be rewritten.
    yard.git(&["update-ref", "refs/remotes/origin/main", "side"]);
    assert_eq!(
        rebase(&yard, &onto("side")).unwrap().result,
        RebaseResult::Done { commits: 1 }
    );
    let yard = four();
    yard.git(&["update-ref", "refs/remotes/origin/topic", "topic"]);
    plan(
        &yard,
        &[
            ("pick", "a", ""),
            ("fixup", "b", ""),
            ("fixup", "c", ""),
            ("fixup", "d", ""),
        ],
    )
    .unwrap();
}

#[test]
fn merges_are_flattened_or_made_anew_and_fixups_find_their_place() {
    for (rebase_merges, parents) in [(false, 1), (true, 2)] {
        let yard = diverged("ours\n", "content\n");
        yard.git(&["branch", "base", "main~1"]);
        yard.git(&["checkout", "--quiet", "-b", "other", "base"]);
        yard.write("other", "");
        yard.commit("other");
        yard.git(&["merge", "--quiet", "--no-edit", "side"]);
        let options = RebaseOptions {
            rebase_merges,
            ..onto("main")
        };
        rebase(&yard, &options).unwrap();
        assert_eq!(
            yard.git(&["log", "-1", "--format=%P"]).split_whitespace().count(),
            parents
        );
        let error = message(rebase(
            &yard,
            &RebaseOptions {
                plan: vec!["pick HEAD".to_owned()],
                ..options
            },
        ));
        assert!(rebase_merges == error.contains("cannot be combined"), "{error}");
    }
    let yard = four();
    yard.write("a", "mended");
    yard.git(&["add", "a"]);
    yard.git(&["commit", "--quiet", "--fixup=HEAD~3"]);
    let options = RebaseOptions {
        autosquash: true,
        ..onto("main")
    };
    assert_eq!(
        rebase(&yard, &options).unwrap().result,
        RebaseResult::Done { commits: 4 }
    );
    assert_eq!(yard.git(&["show", "HEAD~3:a"]), "mended");
}

#[test]
fn programs_in_a_plan_of_the_repositorys_own_do_not_run() {
    for trust in [Trust::Untrusted, Trust::Trusted] {
        let yard = diverged("ours\n", "content\n");
        let mark = yard.outside().join("pwned");
        yard.configure(&format!(
            "[rebase]\n instructionFormat = %nexec touch {}",
            mark.display()
        ));
        let rebased = yard.work_until(&GO_ON, trust, |work| work.rebase(&onto("side")));
        assert_eq!(rebased.unwrap().result, RebaseResult::Done { commits: 1 });
        assert!(!mark.exists());
    }

    let yard = diverged("ours\n", "theirs\n");
    let mark = yard.outside().join("pwned");
    stop(rebase(&yard, &onto("side")).unwrap());
    yard.write("file", "resolved\n");
    yard.git(&["add", "file"]);
    yard.write(
        ".git/rebase-merge/git-rebase-todo",
        format!(" exec touch {}\n", mark.display()),
    );
    for attempt in [
        yard.work(|work| work.continue_rebase(None)),
        yard.work(|work| work.skip_rebase(None)),
    ] {
        let error = message(attempt);
        assert!(error.contains("`exec` lines") && !mark.exists(), "{error}");
    }
    yard.trusted_work(|work| work.continue_rebase(None)).unwrap();
    assert!(mark.exists(), "in a trusted repository they do");
}

#[test]
fn where_nothing_can_be_rebased_that_is_said() {
    let yard = Yard::new();
    assert!(rebase(&yard, &onto("HEAD")).is_err());
    let yard = diverged("ours\n", "theirs\n");
    let error = message(rebase(&yard, &RebaseOptions::default()));
    assert!(error.contains("pass `upstream`"), "{error}");
    assert!(message(rebase(&yard, &onto("main..side"))).contains("names a range"));
    yard.git(&["clone", "--quiet", "--bare", ".", "bare.git"]);
    let bare = yard.try_open("bare.git").unwrap();
    assert!(message(yard.work_in(&bare, |work| work.rebase(&onto("side")))).contains("bare"));

    yard.git(&["worktree", "add", "--quiet", "-b", "topic", "linked", "main"]);
    let linked = yard.try_open("linked").unwrap();
    let rebased = yard.work_in(&linked, |work| work.rebase(&onto("side"))).unwrap();
    stop(rebased);
    assert_eq!(yard.status().operation, None);
    assert_eq!(
        yard.status_of("linked").rebase.unwrap().branch.as_deref(),
        Some("topic")
    );
    yard.work_in(&linked, |work| work.abort_rebase()).unwrap();
}

#[test]
fn what_is_wrong_is_found_before_another_branch_is_checked_out() {
    let yard = diverged("ours\n", "theirs\n");
    let before = tree_state(&yard);
    let side = Some(BranchName::new("side").unwrap());
    for options in [
        RebaseOptions {
            branch: side.clone(),
            ..onto("nowhere")
        },
        RebaseOptions {
            branch: side.clone(),
            plan: vec!["pick main".to_owned()],
            ..onto("main")
        },
        RebaseOptions {
            branch: Some(BranchName::new("nowhere").unwrap()),
            ..onto("main")
        },
        RebaseOptions {
            branch: side,
            ..RebaseOptions::default()
        },
    ] {
        let error = message(rebase(&yard, &options));
        assert_eq!(tree_state(&yard), before, "{error}");
    }
}

#[test]
fn a_repository_with_long_object_ids() {
    let yard = Yard::empty();
    yard.git(&[
        "init",
        "--quiet",
        "--object-format=sha256",
        "--initial-branch=main",
    ]);
    for name in ["first", "a", "b"] {
        yard.write(name, name);
        yard.commit(name);
    }
    let options = RebaseOptions {
        plan: vec!["reword HEAD new b".to_owned(), "squash HEAD~1 and a".to_owned()],
        ..onto("HEAD~2")
    };
    let rebased = rebase(&yard, &options).unwrap();
    assert_eq!(rebased.result, RebaseResult::Done { commits: 1 });
    assert_eq!(history(&yard), "[and a ] a b");
    assert_eq!(rebased.head.unwrap().to_string().len(), 64);
}
