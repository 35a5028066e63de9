//! Moving a branch, and unstaging: what goes, what stays, and what is kept.

use agentyard_git::{Error, Head, RepositoryPath, ResetDone, ResetMode, ResetOptions, Revision};

use crate::support::{Yard, message};

fn to(mode: ResetMode, target: &str) -> ResetOptions {
    ResetOptions {
        mode,
        target: Revision::new(target).unwrap(),
        paths: Vec::new(),
        confirm: false,
    }
}

fn confirmed(mode: ResetMode, target: &str) -> ResetOptions {
    ResetOptions {
        confirm: true,
        ..to(mode, target)
    }
}

fn unstage(paths: &[&str]) -> ResetOptions {
    ResetOptions {
        paths: paths
            .iter()
            .map(|path| RepositoryPath::new(path).unwrap())
            .collect(),
        ..to(ResetMode::Mixed, "HEAD")
    }
}

fn reset(yard: &Yard, options: &ResetOptions) -> Result<ResetDone, Error> {
    yard.work(|work| work.reset(options))
}

/// Two commits on a branch that is not protected.
fn two_commits() -> Yard {
    let yard = Yard::with_commit();
    yard.git(&["switch", "--quiet", "--create", "topic"]);
    yard.write("file", "second\n");
    yard.commit("second");
    yard
}

fn id(yard: &Yard, revision: &str) -> agentyard_git::ObjectId {
    yard.git(&["rev-parse", revision]).trim().parse().unwrap()
}

fn content(yard: &Yard, path: &str) -> String {
    std::fs::read_to_string(yard.path(path)).unwrap()
}

#[test]
fn files_are_unstaged_by_name() {
    let yard = Yard::with_commit();
    yard.write("file", "changed\n");
    yard.write("-q", "new\n");
    yard.write("other", "new\n");
    yard.git(&["add", "--all"]);
    let done = reset(&yard, &unstage(&["file", "-q"])).unwrap();
    let head = Some(id(&yard, "HEAD"));
    assert_eq!(
        done,
        ResetDone {
            previous: head,
            head: Head {
                branch: Some("main".to_owned()),
                commit: head,
            },
            unstaged: vec!["-q".to_owned(), "file".to_owned()],
            ..ResetDone::default()
        }
    );
    assert_eq!(yard.git(&["diff", "--cached", "--name-only"]), "other\n");
    assert_eq!(content(&yard, "file"), "changed\n");
}

#[test]
fn before_the_first_commit_everything_is_unstaged() {
    let yard = Yard::new();
    yard.write("file", "new\n");
    yard.git(&["add", "file"]);
    let done = reset(&yard, &to(ResetMode::Mixed, "HEAD")).unwrap();
    assert_eq!((done.previous, done.unstaged), (None, vec!["file".to_owned()]));
    yard.git(&["add", "file"]);
    assert_eq!(reset(&yard, &unstage(&["file"])).unwrap().unstaged, ["file"]);
}

#[test]
fn a_branch_that_loses_commits_needs_a_confirmation_and_they_are_kept() {
    let yard = two_commits();
    let second = id(&yard, "HEAD");
    for mode in [
        ResetMode::Soft,
        ResetMode::Mixed,
        ResetMode::Keep,
        ResetMode::Hard,
    ] {
        let refusal = reset(&yard, &to(mode, "HEAD~1")).unwrap_err();
        assert!(
            matches!(&refusal, Error::Refused { what, remedy }
            if what.contains("1 commit") && remedy.contains("confirm: true")),
            "{refusal:?}"
        );
        assert_eq!(id(&yard, "HEAD"), second);

        let done = reset(&yard, &confirmed(mode, "HEAD~1")).unwrap();
        assert_eq!((done.previous, done.commits_removed), (Some(second), 1));
        assert_eq!(done.kept.len(), 1, "{mode:?}");
        assert_eq!(id(&yard, &done.kept[0].reference), second);
        assert_eq!(id(&yard, "HEAD"), id(&yard, "main"));
        yard.git(&["reset", "--quiet", "--hard", &second.to_string()]);
    }
}

#[test]
fn going_forward_loses_nothing() {
    let yard = two_commits();
    yard.git(&["checkout", "--quiet", "main"]);
    let done = reset(&yard, &to(ResetMode::Mixed, "topic")).unwrap();
    assert_eq!((done.commits_removed, done.kept), (0, vec![]));
}

#[test]
fn a_hard_reset_keeps_what_was_not_committed() {
    let yard = two_commits();
    yard.write("file", "staged\n");
    yard.git(&["add", "file"]);
    yard.write("file", "unstaged\n");
    yard.write("a\nb", "untracked\n");
    let refusal = message(reset(&yard, &to(ResetMode::Hard, "HEAD")));
    assert!(refusal.contains("in file"), "{refusal}");
    assert_eq!(content(&yard, "file"), "unstaged\n");

    let done = reset(&yard, &confirmed(ResetMode::Hard, "HEAD")).unwrap();
    assert_eq!(content(&yard, "file"), "second\n");
    assert_eq!(content(&yard, "a\nb"), "untracked\n");
    let kept = &done.kept[0].reference;
    assert_eq!(yard.git(&["show", &format!("{kept}:file")]), "unstaged\n");
    assert_eq!(yard.git(&["show", &format!("{kept}^2:file")]), "staged\n");
    assert_eq!(yard.git(&["show", &format!("{kept}:a\nb")]), "untracked\n");
    assert_eq!(id(&yard, &format!("{kept}^1")), id(&yard, "HEAD"));
}

#[test]
fn a_protected_branch_loses_no_commits_but_changes() {
    let yard = two_commits();
    yard.git(&["checkout", "--quiet", "-B", "main"]);
    for mode in [ResetMode::Hard, ResetMode::Merge, ResetMode::Keep] {
        let refusal = reset(&yard, &confirmed(mode, "HEAD~1")).unwrap_err();
        assert!(
            matches!(&refusal, Error::Refused { what, .. } if what.contains("protected")),
            "{refusal:?}"
        );
    }
    yard.write("file", "changed\n");
    assert_eq!(
        reset(&yard, &confirmed(ResetMode::Hard, "HEAD"))
            .unwrap()
            .kept
            .len(),
        1
    );
    assert_eq!(content(&yard, "file"), "second\n");
    assert!(reset(&yard, &to(ResetMode::Soft, "HEAD~1")).is_err());
    assert_eq!(
        reset(&yard, &confirmed(ResetMode::Soft, "HEAD~1"))
            .unwrap()
            .kept
            .len(),
        1
    );
}

#[test]
fn a_merge_that_is_given_up_is_kept_with_its_conflicts() {
    let yard = Yard::with_commit();
    yard.conflict();
    let done = reset(&yard, &confirmed(ResetMode::Merge, "HEAD")).unwrap();
    assert!(yard.status().is_clean());
    let kept = &done.kept[0].reference;
    assert!(yard.git(&["show", &format!("{kept}:file")]).contains("<<<<<<<"));
}

#[test]
fn keep_fails_rather_than_lose_changes() {
    let yard = two_commits();
    yard.write("file", "changed\n");
    assert!(reset(&yard, &confirmed(ResetMode::Keep, "HEAD~1")).is_err());
    assert_eq!(content(&yard, "file"), "changed\n");
}

#[test]
fn a_detached_head_and_sha256() {
    let yard = Yard::empty();
    yard.git(&[
        "init",
        "--quiet",
        "--initial-branch=main",
        "--object-format=sha256",
    ]);
    yard.write("file", "one\n");
    yard.commit("one");
    yard.write("file", "two\n");
    yard.commit("two");
    yard.git(&["checkout", "--quiet", "--detach"]);
    let done = reset(&yard, &confirmed(ResetMode::Hard, "HEAD~1")).unwrap();
    assert_eq!((done.head.branch, done.kept.len()), (None, 1));
}

#[test]
fn what_makes_no_sense_is_refused() {
    let yard = two_commits();
    let mut options = unstage(&["file"]);
    options.mode = ResetMode::Hard;
    options.confirm = true;
    assert!(message(reset(&yard, &options)).contains("`paths`"));
    assert!(matches!(
        reset(&yard, &to(ResetMode::Mixed, "nowhere")),
        Err(Error::UnknownRevision { .. })
    ));
    assert!(reset(&yard, &to(ResetMode::Mixed, "main..topic")).is_err());

    let bare = Yard::empty();
    bare.git(&[
        "clone",
        "--quiet",
        "--bare",
        &yard.root().display().to_string(),
        ".",
    ]);
    assert!(message(reset(&bare, &to(ResetMode::Mixed, "HEAD"))).contains("is bare"));
    let done = reset(&bare, &confirmed(ResetMode::Soft, "HEAD~1")).unwrap();
    assert_eq!(done.commits_removed, 1);
}
