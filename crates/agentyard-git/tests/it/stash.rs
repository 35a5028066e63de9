//! Changes put aside, and taken back.

use agentyard_git::{Error, RepositoryPath, StashOptions, StashSelector, Touched};

use crate::support::{Yard, message};

fn first() -> StashSelector {
    StashSelector::default()
}

fn untracked() -> StashOptions {
    StashOptions {
        include_untracked: true,
        ..StashOptions::default()
    }
}

fn content(yard: &Yard, path: &str) -> String {
    std::fs::read_to_string(yard.path(path)).unwrap()
}

fn stashes(yard: &Yard) -> Vec<String> {
    let list = yard.open().stashes(10, &crate::support::GO_ON).unwrap();
    list.stashes.into_iter().map(|stash| stash.description).collect()
}

#[test]
fn changes_are_put_aside_and_taken_back() {
    let yard = Yard::with_commit();
    yard.write("file", "changed\n");
    yard.write("a\nb", "new\n");
    let options = StashOptions {
        message: Some("--all of it".to_owned()),
        ..untracked()
    };
    let stash = yard.work(|work| work.stash_push(&options)).unwrap().unwrap();
    assert_eq!(
        (stash.description.as_str(), stash.branch.as_deref()),
        ("--all of it", Some("main"))
    );
    assert!(yard.status().is_clean());

    let shown = yard.work(|work| work.stash_show(first())).unwrap();
    assert_eq!(
        (shown.changed.files, shown.untracked),
        (
            vec!["file".to_owned()],
            Touched {
                files: vec![r#""a\nb""#.to_owned()],
                count: 1
            }
        )
    );

    let applied = yard.work(|work| work.stash_apply(first(), false)).unwrap();
    assert!(!applied.dropped && applied.conflicts.is_empty());
    assert_eq!(
        (content(&yard, "file"), content(&yard, "a\nb")),
        ("changed\n".to_owned(), "new\n".to_owned())
    );
    yard.git(&["reset", "--quiet", "--hard"]);
    yard.git(&["clean", "-qfd"]);
    let popped = yard.work(|work| work.stash_apply(first(), true)).unwrap();
    assert!(popped.dropped && stashes(&yard).is_empty());
    assert_eq!(content(&yard, "file"), "changed\n");
}

#[test]
fn only_what_is_asked_for_is_put_aside() {
    let yard = Yard::with_commit();
    yard.write("other", "other\n");
    yard.write("*", "star\n");
    yard.commit("other");
    yard.write("file", "changed\n");
    yard.write("other", "changed\n");
    yard.write("*", "changed\n");
    let options = StashOptions {
        paths: RepositoryPath::list(&["file".to_owned(), "*".to_owned()]).unwrap(),
        ..StashOptions::default()
    };
    yard.work(|work| work.stash_push(&options)).unwrap().unwrap();
    assert_eq!(
        (content(&yard, "file"), content(&yard, "other")),
        ("content\n".to_owned(), "changed\n".to_owned())
    );

    assert_eq!(content(&yard, "*"), "star\n");
    yard.write("file", "changed again\n");
    yard.git(&["add", "other"]);
    let options = StashOptions {
        keep_index: true,
        ..StashOptions::default()
    };
    yard.work(|work| work.stash_push(&options)).unwrap().unwrap();
    assert_eq!(yard.status().staged.modified, ["other"]);
    assert_eq!(content(&yard, "file"), "content\n");
}

#[test]
fn nothing_to_put_aside_is_no_failure() {
    let yard = Yard::with_commit();
    yard.write("untracked", "x\n");
    assert_eq!(
        yard.work(|work| work.stash_push(&StashOptions::default()))
            .unwrap(),
        None
    );
    assert!(yard.work(|work| work.stash_push(&untracked())).unwrap().is_some());
    assert_eq!(
        yard.work(|work| work.stash_push(&untracked())).unwrap(),
        None,
        "not the one before"
    );
}

#[test]
fn a_stash_that_conflicts_is_kept_and_the_files_are_named() {
    let yard = Yard::with_commit();
    yard.write("file", "stashed\n");
    yard.work(|work| work.stash_push(&StashOptions::default()))
        .unwrap();
    yard.write("file", "committed\n");
    yard.commit("another");
    let popped = yard.work(|work| work.stash_apply(first(), true)).unwrap();
    assert_eq!(
        (
            popped.conflicts.files[0].path.as_str(),
            popped.conflicts.files.len(),
            popped.dropped
        ),
        ("file", 1, false)
    );
    assert_eq!(stashes(&yard).len(), 1);

    let refusal = message(yard.work(|work| work.stash_apply(first(), true)));
    assert!(refusal.contains("unresolved conflicts in file"), "{refusal}");
    assert!(
        yard.work(|work| work.stash_push(&StashOptions::default()))
            .is_err()
    );
}

#[test]
fn what_is_in_the_way_is_named_and_nothing_is_touched() {
    let yard = Yard::with_commit();
    yard.write("file", "stashed\n");
    yard.write("new", "stashed\n");
    yard.work(|work| work.stash_push(&untracked())).unwrap();
    yard.write("new", "mine\n");
    let refusal = message(yard.work(|work| work.stash_apply(first(), true)));
    assert!(refusal.contains("new"), "{refusal}");
    assert_eq!(
        (content(&yard, "file"), content(&yard, "new")),
        ("content\n".to_owned(), "mine\n".to_owned())
    );
    yard.remove("new");
    yard.write("file", "mine\n");
    let refusal = message(yard.work(|work| work.stash_apply(first(), true)));
    assert!(refusal.contains("file"), "{refusal}");
    assert_eq!(
        (content(&yard, "file"), stashes(&yard).len()),
        ("mine\n".to_owned(), 1)
    );
}

#[test]
fn dropping_needs_a_confirmation_and_keeps() {
    let yard = Yard::with_commit();
    for number in 0..3 {
        yard.write("file", format!("{number}\n"));
        let options = StashOptions {
            message: Some(format!("number {number}")),
            ..StashOptions::default()
        };
        yard.work(|work| work.stash_push(&options)).unwrap();
    }
    let second = StashSelector::new("stash@{1}").unwrap();
    let refusal = yard.work(|work| work.stash_drop(second, false)).unwrap_err();
    assert!(
        matches!(&refusal, Error::Refused { what, .. } if what.contains("number 1") && what.contains("file"))
    );
    let kept = yard.work(|work| work.stash_drop(second, true)).unwrap();
    assert_eq!(stashes(&yard), ["number 2", "number 0"]);
    assert_eq!(yard.git(&["show", &format!("{}:file", kept.reference)]), "1\n");

    let refusal = message(yard.work(|work| work.stash_clear(false)));
    assert!(
        refusal.contains("number 2") && refusal.contains("number 0"),
        "{refusal}"
    );
    let kept = yard.work(|work| work.stash_clear(true)).unwrap();
    assert!(stashes(&yard).is_empty());
    let contents: Vec<String> = kept
        .iter()
        .map(|kept| yard.git(&["show", &format!("{}:file", kept.reference)]))
        .collect();
    assert_eq!(contents, ["2\n", "0\n"]);
    assert_eq!(yard.work(|work| work.stash_clear(false)).unwrap(), []);
}

#[test]
fn a_stash_that_is_not_there_is_said_to_be_missing() {
    let yard = Yard::with_commit();
    assert!(matches!(
        yard.work(|work| work.stash_show(first())),
        Err(Error::Missing { .. })
    ));
    yard.write("file", "changed\n");
    yard.work(|work| work.stash_push(&StashOptions::default()))
        .unwrap();
    let seventh = StashSelector::new("7").unwrap();
    for result in [
        yard.work(|work| work.stash_apply(seventh, true)).map(drop),
        yard.work(|work| work.stash_drop(seventh, true)).map(drop),
    ] {
        assert!(message(result).contains("there is one stash"));
    }
}

#[test]
fn before_the_first_commit_bare_and_detached() {
    let yard = Yard::new();
    yard.write("file", "x\n");
    assert!(message(yard.work(|work| work.stash_push(&untracked()))).contains("first commit"));
    let bare = Yard::empty();
    bare.git(&["init", "--quiet", "--bare"]);
    assert!(message(bare.work(|work| work.stash_push(&untracked()))).contains("is bare"));

    let yard = Yard::empty();
    yard.git(&[
        "init",
        "--quiet",
        "--initial-branch=main",
        "--object-format=sha256",
    ]);
    yard.write("file", "x\n");
    yard.commit("first");
    yard.git(&["checkout", "--quiet", "--detach"]);
    yard.write("file", "y\n");
    let stash = yard.work(|work| work.stash_push(&untracked())).unwrap().unwrap();
    assert_eq!(stash.branch, None);
    assert!(yard.work(|work| work.stash_apply(first(), true)).unwrap().dropped);
}

#[test]
fn a_merge_driver_of_the_repository_does_not_run() {
    let yard = Yard::with_commit();
    let marker = yard.outside().join("pwned");
    let script = yard.outside().join("driver");
    yard.script(&script, &format!("touch {}", marker.display()));
    yard.write("file", "stashed\n");
    yard.work(|work| work.stash_push(&StashOptions::default()))
        .unwrap();
    yard.write(".gitattributes", "* merge=evil\n");
    yard.write("file", "committed\n");
    yard.commit("another");
    yard.configure(&format!("[merge \"evil\"]\n driver = {}", script.display()));
    let result = yard.work(|work| work.stash_apply(first(), true));
    assert!(
        matches!(result, Err(Error::UntrustedSetting { .. })),
        "{result:?}"
    );
    assert!(!marker.exists());
}
