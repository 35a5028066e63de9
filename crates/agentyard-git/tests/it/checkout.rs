//! Checking out: what a name stands for, and what is not overwritten.

use agentyard_git::{CheckedOut, CheckoutOptions, Error, Head, RepositoryPath, Revision};

use crate::support::{Yard, message};

fn target(name: &str) -> CheckoutOptions {
    CheckoutOptions {
        target: Some(name.to_owned()),
        ..CheckoutOptions::default()
    }
}

fn restore(paths: &[&str]) -> CheckoutOptions {
    CheckoutOptions {
        paths: paths
            .iter()
            .map(|path| RepositoryPath::new(path).unwrap())
            .collect(),
        ..CheckoutOptions::default()
    }
}

fn checkout(yard: &Yard, options: &CheckoutOptions) -> Result<CheckedOut, Error> {
    yard.work(|work| work.checkout(options))
}

fn id(yard: &Yard, revision: &str) -> agentyard_git::ObjectId {
    yard.git(&["rev-parse", revision]).trim().parse().unwrap()
}

fn content(yard: &Yard, path: &str) -> String {
    std::fs::read_to_string(yard.path(path)).unwrap()
}

/// On `main`, with a branch `topic` that has two more files and another `file`.
fn two_branches() -> Yard {
    let yard = Yard::with_commit();
    yard.git(&["switch", "--quiet", "--create", "topic"]);
    yard.write("file", "topic\n");
    yard.write("a b", "new\n");
    yard.commit("topic");
    yard.git(&["switch", "--quiet", "main"]);
    yard
}

#[test]
fn a_branch_is_checked_out() {
    let yard = two_branches();
    let head = |branch: &str| Head {
        branch: Some(branch.to_owned()),
        commit: Some(id(&yard, branch)),
    };
    assert_eq!(
        checkout(&yard, &target("topic")).unwrap(),
        CheckedOut {
            previous: head("main"),
            head: head("topic"),
            files_changed: 2,
            ..CheckedOut::default()
        }
    );
    assert_eq!(content(&yard, "file"), "topic\n");
    assert_eq!(
        checkout(&yard, &target("refs/heads/main")).unwrap().head,
        head("main")
    );
}

#[test]
fn tags_commits_and_detached_branches_have_no_branch() {
    let yard = two_branches();
    yard.git(&["tag", "v1", "topic"]);
    let detached = Head {
        branch: None,
        commit: Some(id(&yard, "topic")),
    };
    assert_eq!(checkout(&yard, &target("v1")).unwrap().head, detached);
    checkout(&yard, &target("main")).unwrap();
    assert_eq!(checkout(&yard, &target("topic~0")).unwrap().head, detached);
    checkout(&yard, &target("main")).unwrap();
    let options = CheckoutOptions {
        detach: true,
        ..target("topic")
    };
    assert_eq!(checkout(&yard, &options).unwrap().head, detached);
}

#[test]
fn branches_are_made_here_or_elsewhere() {
    let yard = two_branches();
    let create = |name: &str, start: Option<&str>| CheckoutOptions {
        create_branch: true,
        start_point: start.map(|start| Revision::new(start).unwrap()),
        ..target(name)
    };
    let done = checkout(&yard, &create("new", None)).unwrap();
    assert_eq!(
        (done.head.branch.as_deref(), done.created, done.files_changed),
        (Some("new"), true, 0)
    );
    let done = checkout(&yard, &create("other", Some("topic"))).unwrap();
    assert_eq!(
        (done.head.commit, done.files_changed),
        (Some(id(&yard, "topic")), 2)
    );
    assert!(message(checkout(&yard, &create("topic", None))).contains("already"));
    for name in ["-d", "--orphan", "HEAD", "a b", "a..b", ""] {
        assert!(
            matches!(checkout(&yard, &create(name, None)), Err(Error::Invalid { .. })),
            "{name}"
        );
    }
}

#[test]
fn before_the_first_commit_another_branch_can_be_begun() {
    let yard = Yard::new();
    let options = CheckoutOptions {
        create_branch: true,
        ..target("other")
    };
    assert_eq!(
        checkout(&yard, &options).unwrap().head,
        Head {
            branch: Some("other".to_owned()),
            commit: None
        }
    );
    assert!(checkout(&yard, &target("main")).is_err());
}

#[test]
fn remote_branches_are_followed() {
    let yard = two_branches();
    let far = yard.outside().join("far");
    yard.git(&["clone", "--quiet", "--bare", ".", &far.display().to_string()]);
    yard.git(&["branch", "-D", "topic"]);
    yard.git(&["remote", "add", "origin", &far.display().to_string()]);
    yard.git(&["fetch", "--quiet", "origin"]);
    let upstream = |yard: &Yard| yard.git(&["rev-parse", "--abbrev-ref", "@{u}"]);

    let guessed = checkout(&yard, &target("topic")).unwrap();
    assert_eq!(
        (guessed.head.branch.as_deref(), guessed.created),
        (Some("topic"), true)
    );
    assert_eq!(upstream(&yard), "origin/topic\n");

    yard.git(&["switch", "--quiet", "main"]);
    yard.git(&["branch", "-D", "topic"]);
    assert_eq!(
        checkout(&yard, &target("origin/topic")).unwrap().head.branch,
        None
    );
    let tracked = CheckoutOptions {
        track: Some(true),
        ..target("origin/topic")
    };
    assert_eq!(
        checkout(&yard, &tracked).unwrap().head.branch.as_deref(),
        Some("topic")
    );
    assert_eq!(upstream(&yard), "origin/topic\n");

    let created = CheckoutOptions {
        create_branch: true,
        start_point: Some(Revision::new("origin/topic").unwrap()),
        ..target("mine")
    };
    checkout(&yard, &created).unwrap();
    assert_eq!(upstream(&yard), "origin/topic\n");
    yard.git(&["branch", "-D", "topic"]);
    let untracked = CheckoutOptions {
        track: Some(false),
        ..target("topic")
    };
    assert!(matches!(
        checkout(&yard, &untracked),
        Err(Error::UnknownRevision { .. })
    ));
}

#[test]
fn local_changes_are_not_overwritten_and_named() {
    let yard = two_branches();
    yard.write("file", "changed\n");
    yard.write("a b", "untracked\n");
    let error = checkout(&yard, &target("topic")).unwrap_err();
    assert!(
        matches!(&error, Error::State { what, remedy } if what.contains("file") && remedy.contains("git_stash")),
        "{error:?}"
    );
    yard.git(&["restore", "file"]);
    assert!(message(checkout(&yard, &target("topic"))).contains("a b"));
    yard.write(".git/info/exclude", "a b\n");
    assert!(
        checkout(&yard, &target("topic")).is_err(),
        "an ignored file is no worthless file"
    );
    assert_eq!(content(&yard, "a b"), "untracked\n");
    assert_eq!(yard.git(&["branch", "--show-current"]), "main\n");
}

#[test]
fn changes_are_discarded_when_that_is_confirmed_and_kept() {
    let yard = two_branches();
    yard.write("file", "changed\n");
    let mut options = CheckoutOptions {
        force: true,
        ..target("topic")
    };
    assert!(message(checkout(&yard, &options)).contains("in file"));
    assert_eq!(content(&yard, "file"), "changed\n");
    options.confirm = true;
    let done = checkout(&yard, &options).unwrap();
    assert_eq!(content(&yard, "file"), "topic\n");
    let kept = &done.kept[0].reference;
    assert_eq!(yard.git(&["show", &format!("{kept}:file")]), "changed\n");
}

#[test]
fn files_are_restored_from_the_index() {
    let yard = two_branches();
    yard.write("other", "other\n");
    yard.commit("other");
    yard.remove("other");
    assert_eq!(
        checkout(&yard, &restore(&["other"])).unwrap().files_changed,
        1,
        "nothing is lost"
    );

    yard.write("file", "changed\n");
    yard.write("other", "changed\n");
    let refusal = message(checkout(&yard, &restore(&["file"])));
    assert!(
        refusal.contains("in file") && !refusal.contains("other"),
        "{refusal}"
    );
    let done = checkout(
        &yard,
        &CheckoutOptions {
            confirm: true,
            ..restore(&["file"])
        },
    )
    .unwrap();
    assert_eq!(
        (done.files_changed, done.head.branch.as_deref()),
        (1, Some("main"))
    );
    assert_eq!(
        (content(&yard, "file"), content(&yard, "other")),
        ("content\n".to_owned(), "changed\n".to_owned())
    );
    assert_eq!(
        yard.git(&["show", &format!("{}:file", done.kept[0].reference)]),
        "changed\n"
    );
}

#[test]
fn files_are_restored_from_a_commit() {
    let yard = two_branches();
    let from_topic = |paths: &[&str], confirm| CheckoutOptions {
        target: Some("topic".to_owned()),
        confirm,
        ..restore(paths)
    };
    assert_eq!(
        checkout(&yard, &from_topic(&["file"], false))
            .unwrap()
            .files_changed,
        1
    );
    assert_eq!(yard.git(&["show", ":file"]), "topic\n");
    yard.git(&["reset", "--quiet", "--hard"]);

    // What is in the way is nowhere else, ignored or not.
    yard.write("a b", "untracked\n");
    assert!(message(checkout(&yard, &from_topic(&["."], false))).contains("a b"));
    yard.write(".git/info/exclude", "a b\n");
    assert!(message(checkout(&yard, &from_topic(&["."], false))).contains("a b"));
    let done = checkout(&yard, &from_topic(&["."], true)).unwrap();
    assert_eq!(content(&yard, "a b"), "new\n");
    assert_eq!(
        yard.git(&["show", &format!("{}:a b", done.kept[0].reference)]),
        "untracked\n"
    );
    assert!(checkout(&yard, &from_topic(&["nowhere"], false)).is_err());
}

#[test]
fn a_file_in_an_untracked_directory_is_in_the_way_too() {
    let yard = Yard::with_commit();
    yard.git(&["switch", "--quiet", "--create", "topic"]);
    yard.write("dir/file", "topic\n");
    yard.commit("topic");
    yard.git(&["switch", "--quiet", "main"]);
    yard.write("dir/file", "mine\n");
    let options = CheckoutOptions {
        target: Some("topic".to_owned()),
        ..restore(&["dir/file"])
    };
    assert!(message(checkout(&yard, &options)).contains("dir/"));
    assert_eq!(content(&yard, "dir/file"), "mine\n");
}

#[test]
fn nothing_is_checked_out_in_the_middle_of_a_merge() {
    let yard = Yard::with_commit();
    yard.conflict();
    yard.git(&["branch", "elsewhere", "main~1"]);
    let error = checkout(&yard, &target("elsewhere")).unwrap_err();
    assert!(
        matches!(error, Error::State { .. } | Error::GitFailed { .. }),
        "{error:?}"
    );
    assert_eq!(yard.git(&["branch", "--show-current"]), "main\n");
}

#[test]
fn hooks_do_not_run_and_are_named() {
    let yard = two_branches();
    let marker = yard.outside().join("pwned");
    yard.script(
        &yard.path(".git/hooks/post-checkout"),
        &format!("touch {}", marker.display()),
    );
    let done = checkout(&yard, &target("topic")).unwrap();
    assert_eq!(done.left_out.hooks, ["post-checkout"]);
    assert!(!marker.exists());
    yard.trusted_work(|work| work.checkout(&target("main"))).unwrap();
    assert!(marker.exists(), "a trusted repository runs its hooks");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let yard = two_branches();
    for name in ["--orphan=x", "-f", "nowhere", "main..topic", "a\nb", ""] {
        assert!(checkout(&yard, &target(name)).is_err(), "{name:?}");
    }
    assert!(checkout(&yard, &CheckoutOptions::default()).is_err());
    let both = CheckoutOptions {
        create_branch: true,
        ..restore(&["file"])
    };
    assert!(checkout(&yard, &both).is_err());
    assert_eq!(yard.git(&["branch", "--show-current"]), "main\n");

    let bare = Yard::empty();
    bare.git(&["init", "--quiet", "--bare"]);
    assert!(message(checkout(&bare, &target("main"))).contains("is bare"));
}
