//! Checkpoints are made, listed, kept and pruned.

use std::os::unix::fs::PermissionsExt as _;
use std::{fs, thread};

use agentyard_git::{
    CheckpointChangeKind, CheckpointName, CheckpointNote, CheckpointQuery, CheckpointSeries, LeftOutReason,
};

use crate::checkpoints_support::{NOTE, checkpoint, restore, series, whole_state};
use crate::support::{GO_ON, Yard, message};

const ALL: CheckpointQuery = CheckpointQuery {
    limit: 100,
    before: None,
};

fn page(yard: &Yard, query: &CheckpointQuery) -> agentyard_git::CheckpointPage {
    yard.open().checkpoints(&series(), query, &GO_ON).unwrap()
}

fn numbers(yard: &Yard, query: &CheckpointQuery) -> Vec<u64> {
    let listed = page(yard, query).checkpoints.into_iter();
    listed.map(|listed| listed.checkpoint.number.unwrap()).collect()
}

#[test]
fn the_same_state_is_written_down_once() {
    let yard = Yard::with_commit();
    // Nobody is known by name here, and yet every reference wants an entry in its log.
    yard.configure("[core] logAllRefUpdates = always");
    let first = checkpoint(&yard);
    assert_eq!((first.checkpoint.number, first.new), (Some(1), true));
    let again = checkpoint(&yard);
    assert_eq!((again.checkpoint, again.new), (first.checkpoint, false));
    yard.write("new", "content\n");
    assert_eq!(checkpoint(&yard).checkpoint.number, Some(2));
    yard.remove("new");
    // The state of the first, and yet not what was there last.
    let third = checkpoint(&yard);
    assert_eq!((third.checkpoint.number, third.new), (Some(3), true));
}

#[test]
fn a_checkpoint_says_what_it_is() {
    let yard = Yard::with_commit();
    let note = CheckpointNote {
        operation: "git\nBy: mallory",
        by: "agent\u{1b}[2J-7",
    };
    let made = yard
        .work(|work| work.checkpoint(&series(), &note))
        .unwrap()
        .checkpoint;
    assert_eq!(
        (made.operation.as_str(), made.by.as_str()),
        ("gitBy: mallory", "agent[2J-7")
    );
    assert_eq!(made.head, yard.open().head().unwrap());
    assert_eq!(
        made.reference.as_deref(),
        Some("refs/agentyard/checkpoints/wsp_1/000001")
    );
    let author = yard.git(&[
        "log",
        "-1",
        "--format=%an <%ae>",
        made.reference.as_deref().unwrap(),
    ]);
    assert_eq!(author, "Agentyard <agentyard@localhost>\n");
}

#[test]
fn checkpoints_are_listed_with_what_changed() {
    let yard = Yard::with_commit();
    yard.write("gone", "x\n");
    checkpoint(&yard);
    yard.write("file", "changed\n");
    yard.write("dir/new", "x\n");
    yard.remove("gone");
    checkpoint(&yard);
    yard.git(&["add", "--all"]);
    checkpoint(&yard);
    yard.git(&["commit", "--quiet", "-m", "second"]);
    checkpoint(&yard);

    let listed = page(&yard, &ALL).checkpoints;
    let shown: Vec<_> = listed
        .iter()
        .map(|listed| (listed.changed_count, listed.staged_changed, listed.head_changed))
        .collect();
    assert_eq!(
        shown,
        [
            (0, false, true),
            (0, true, false),
            (3, false, false),
            (0, false, false)
        ]
    );
    let changes: Vec<_> = listed[2]
        .changed
        .iter()
        .map(|change| (change.path.as_str(), change.kind))
        .collect();
    assert_eq!(
        changes,
        [
            ("dir/new", CheckpointChangeKind::Added),
            ("file", CheckpointChangeKind::Modified),
            ("gone", CheckpointChangeKind::Deleted)
        ]
    );
}

#[test]
fn checkpoints_are_listed_by_page() {
    let yard = Yard::with_commit();
    for round in 0..5 {
        yard.write("file", format!("{round}\n"));
        checkpoint(&yard);
    }
    let query = |limit, before| CheckpointQuery { limit, before };
    assert_eq!(numbers(&yard, &query(2, None)), [5, 4]);
    assert_eq!(numbers(&yard, &query(2, Some(4))), [3, 2]);
    assert_eq!(numbers(&yard, &query(2, Some(2))), [1]);
    assert!(page(&yard, &query(2, Some(4))).more);
    assert!(!page(&yard, &query(2, Some(2))).more);
    assert_eq!(page(&yard, &query(1, Some(3))).checkpoints[0].changed_count, 1);
}

#[test]
fn the_oldest_are_pruned_and_numbers_are_never_used_again() {
    let yard = Yard::with_commit();
    for round in 0..5 {
        yard.write("file", format!("{round}\n"));
        checkpoint(&yard);
    }
    let other = CheckpointSeries::new("wsp_2").unwrap();
    yard.work(|work| work.checkpoint(&other, &NOTE)).unwrap();
    // Packed or not makes no difference.
    yard.git(&["pack-refs", "--all"]);
    yard.write("file", "6\n");
    checkpoint(&yard);
    let removed = yard.work(|work| work.prune_checkpoints(&series(), 2)).unwrap();
    assert_eq!((removed, numbers(&yard, &ALL)), (4, vec![6, 5]));
    assert_eq!(
        yard.open()
            .checkpoints(&other, &ALL, &GO_ON)
            .unwrap()
            .checkpoints
            .len(),
        1
    );
    yard.git(&["pack-refs", "--all"]);
    yard.write("file", "7\n");
    assert_eq!(checkpoint(&yard).checkpoint.number, Some(7));
    yard.work(|work| work.prune_checkpoints(&series(), 0)).unwrap();
    assert_eq!(numbers(&yard, &ALL), [7]);
    let missing = yard.work(|work| work.restore_checkpoint(&series(), &CheckpointName::Number(1), &NOTE));
    assert_eq!(
        message(missing),
        "there is no checkpoint 1 of wsp_1; it may have been pruned"
    );
}

#[test]
fn those_made_at_the_same_time_get_a_number_each() {
    let yard = Yard::with_commit();
    thread::scope(|scope| {
        for thread in 0..4 {
            let yard = &yard;
            scope.spawn(move || {
                for round in 0..3 {
                    yard.write(format!("file-{thread}"), format!("{round}"));
                    checkpoint(yard);
                }
            });
        }
    });
    let made = numbers(&yard, &ALL);
    let expected: Vec<u64> = (1..=made.len() as u64).rev().collect();
    assert_eq!(made, expected);
}

#[test]
fn nothing_is_lost_to_git_gc_and_fsck_is_content() {
    let yard = Yard::with_commit();
    yard.conflict();
    yard.write("untracked/file", "x\n");
    yard.write("staged", "only the index has this\n");
    yard.git(&["add", "staged"]);
    yard.write("staged", "and this is in the working tree\n");
    let before = whole_state(&yard);
    checkpoint(&yard);
    yard.git(&["reset", "--quiet", "--hard"]);
    yard.git(&["switch", "--quiet", "--detach", "other"]);
    yard.git(&["branch", "--force", "main", "other"]);
    fs::remove_dir_all(yard.path("untracked")).unwrap();
    yard.git(&["reflog", "expire", "--expire=now", "--all"]);
    yard.git(&["gc", "--quiet", "--prune=now"]);
    restore(&yard, 1);
    assert_eq!(whole_state(&yard), before);
    assert_eq!(yard.git(&["fsck", "--strict", "--no-dangling"]), "");
}

#[test]
fn what_is_not_held_is_told_and_left_alone() {
    let yard = Yard::with_commit();
    checkpoint(&yard);
    fs::File::create(yard.path("large"))
        .unwrap()
        .set_len(70 << 20)
        .unwrap();
    yard.shell("mkfifo pipe dir-pipe 2>/dev/null; mkdir d; mv dir-pipe d/pipe");
    yard.shell("git init --quiet nested; echo x > nested/file");
    yard.write("d/file", "x\n");
    let made = checkpoint(&yard).checkpoint;
    let left_out: Vec<_> = made
        .left_out
        .iter()
        .map(|left| (left.path.as_str(), left.why))
        .collect();
    assert_eq!(
        left_out,
        [
            ("d/pipe", LeftOutReason::Special),
            ("large", LeftOutReason::TooLarge),
            ("nested", LeftOutReason::Repository)
        ]
    );
    let restored = restore(&yard, 1);
    assert!(yard.path("large").exists() && yard.path("nested/file").exists() && yard.path("d/pipe").exists());
    assert!(!yard.path("d/file").exists());
    assert_eq!(restored.files_removed, 1);
}

#[test]
fn work_is_kept_only_where_some_would_be_lost() {
    let yard = Yard::with_commit();
    let keep = || {
        yard.work(|work| work.keep_checkpoint(&series(), "close", &NOTE))
            .unwrap()
    };
    assert_eq!(keep(), None);
    yard.git(&["switch", "--quiet", "--detach"]);
    assert_eq!(keep(), None);
    yard.git(&["commit", "--quiet", "--allow-empty", "-m", "on no branch"]);
    let kept = keep().unwrap();
    assert!(kept.reference.starts_with("refs/agentyard/kept/"), "{kept:?}");
    let lost = yard.git(&["rev-parse", "HEAD"]);
    yard.git(&["switch", "--quiet", "main"]);
    assert_eq!(keep(), None);

    yard.write("new", "x\n");
    let kept_file = keep().unwrap();
    yard.remove("new");
    let name = |text: &str| text.parse::<CheckpointName>().unwrap();
    yard.work(|work| work.restore_checkpoint(&series(), &name(&kept_file.reference), &NOTE))
        .unwrap();
    assert_eq!(fs::read_to_string(yard.path("new")).unwrap(), "x\n");
    yard.work(|work| work.restore_checkpoint(&series(), &name(&kept.id.to_string()), &NOTE))
        .unwrap();
    assert_eq!(yard.git(&["rev-parse", "HEAD"]), lost);
    assert!(!yard.path("new").exists());
}

#[test]
fn what_is_no_checkpoint_is_refused() {
    let yard = Yard::with_commit();
    let head = yard.git(&["rev-parse", "HEAD"]);
    let restore = |name: &str| {
        let name = name.trim().parse()?;
        yard.work(|work| work.restore_checkpoint(&series(), &name, &NOTE))
    };
    let refusal = message(restore(&head));
    assert!(
        refusal.ends_with("it is no checkpoint: it is another commit"),
        "{refusal}"
    );
    let missing = message(restore(&"1".repeat(40)));
    assert!(missing.starts_with("there is no checkpoint 1111"), "{missing}");
}

#[test]
fn a_bare_repository_has_no_checkpoints() {
    let yard = Yard::empty();
    yard.git(&["init", "--quiet", "--bare"]);
    let refusal = message(yard.work(|work| work.checkpoint(&series(), &NOTE)));
    assert!(refusal.contains("is bare"), "{refusal}");
}

#[test]
fn permissions_that_git_does_not_know_are_held() {
    let yard = Yard::with_commit();
    yard.write("secret", "x\n");
    fs::set_permissions(yard.path("secret"), fs::Permissions::from_mode(0o600)).unwrap();
    checkpoint(&yard);
    fs::set_permissions(yard.path("secret"), fs::Permissions::from_mode(0o644)).unwrap();
    assert!(checkpoint(&yard).new);
    restore(&yard, 1);
    let mode = fs::metadata(yard.path("secret")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn what_was_written_can_be_settled() {
    let yard = Yard::with_commit();
    let made = checkpoint(&yard);
    assert!(!made.unsettled.is_empty());
    made.unsettled.settle().unwrap();
    assert!(checkpoint(&yard).unsettled.is_empty());
}
