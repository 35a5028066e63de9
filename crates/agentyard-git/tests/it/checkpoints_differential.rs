//! Whatever is done to a working tree, a checkpoint brings back what plain git and the file system said when it was
//! made.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use agentyard_git::{CheckpointName, Git, KeepLimits, KeptRepositories, Trust, Work};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use crate::checkpoints_support::{NOTE, series, whole_state};
use crate::steps::{FILES, Step, perform, step};
use crate::support::{GO_ON, Yard, settings};

#[derive(Clone, Debug)]
enum Move {
    Step(Step),
    Git(usize),
    Permissions { file: usize, mode: u32 },
    RemoveTree { directory: usize },
    PartialAdd { file: usize },
    Checkpoint,
    Restore { which: usize },
}

const DIRECTORIES: &[&str] = &["a", "dir", "dir/sub", "zoo", "zoo/tmp"];

const COMMANDS: &[&[&str]] = &[
    &["stash", "--quiet"],
    &["stash", "--quiet", "--include-untracked"],
    &["stash", "pop", "--quiet"],
    &["checkout", "--quiet", "-B", "one"],
    &["checkout", "--quiet", "main"],
    &["checkout", "--quiet", "--detach"],
    &["checkout", "--quiet", "--", "."],
    &["reset", "--quiet"],
    &["reset", "--quiet", "--hard"],
    &["reset", "--quiet", "--soft", "HEAD~1"],
    &["reset", "--quiet", "--hard", "HEAD~1"],
    &["rm", "--quiet", "-r", "--force", "dir"],
    &["rm", "--quiet", "-r", "--cached", "dir"],
    &["mv", "dir", "moved"],
    &["clean", "--quiet", "--force", "-d"],
    &["merge", "--quiet", "--no-edit", "one"],
    &["merge", "--quiet", "--squash", "one"],
    &["merge", "--abort"],
    &["rebase", "--quiet", "one"],
    &["rebase", "--abort"],
    &["cherry-pick", "one"],
    &["cherry-pick", "--abort"],
    &["revert", "--no-edit", "HEAD"],
    &["commit", "--quiet", "--all", "--amend", "--no-edit"],
    &["checkout", "--quiet", "--orphan", "fresh"],
];

fn next_move() -> impl Strategy<Value = Move> {
    let file = || 0..FILES.len();
    prop_oneof![
        10 => step().prop_map(Move::Step),
        5 => (0..COMMANDS.len()).prop_map(Move::Git),
        1 => (file(), prop_oneof![Just(0o600), Just(0o644), Just(0o755), Just(0o400)])
            .prop_map(|(file, mode)| Move::Permissions { file, mode }),
        1 => (0..DIRECTORIES.len()).prop_map(|directory| Move::RemoveTree { directory }),
        2 => file().prop_map(|file| Move::PartialAdd { file }),
        6 => Just(Move::Checkpoint),
        1 => (0..100_usize).prop_map(|which| Move::Restore { which }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 8,
        failure_persistence: Some(Box::new(FileFailurePersistence::Off)),
        max_shrink_iters: 200,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_checkpoint_brings_everything_back(
        moves in vec(next_move(), 1..30),
        order in vec(0..100_usize, 1..5),
        watched in any::<bool>(),
    ) {
        let yard = Yard::new();
        // `git reset` before the first commit notes the empty tree and does not write it, which fsck then misses.
        yard.shell("git hash-object -w -t tree /dev/null");
        let kept = KeptRepositories::new(KeepLimits {
            watch_from: std::time::Duration::ZERO,
            ..KeepLimits::default()
        });
        let git = Git::find(settings());
        let mut states = Vec::new();
        let roots = yard.roots();
        let work = |act: &mut dyn FnMut(&Work<'_>) -> u64| {
            let place = roots.resolve(&yard.root()).unwrap();
            if watched {
                let repository = kept.open(&place).unwrap();
                act(&Work::new(&git, &repository, Trust::Untrusted, &GO_ON, &|_| {}))
            } else {
                act(&Work::new(&git, &yard.open(), Trust::Untrusted, &GO_ON, &|_| {}))
            }
        };
        let mut checkpoint = |work: &Work<'_>| {
            work.checkpoint(&series(), &NOTE).unwrap().checkpoint.number.unwrap()
        };
        let restore = |states: &Vec<(u64, _)>, which: usize| -> Result<(), TestCaseError> {
            if states.is_empty() {
                return Ok(());
            }
            let (number, expected) = &states[which % states.len()];
            let mut from = 0;
            let before = whole_state(&yard);
            work(&mut |work: &Work<'_>| {
                let restored = work.restore_checkpoint(&series(), &CheckpointName::Number(*number), &NOTE);
                let restored = restored.unwrap();
                from = restored.from.number.unwrap();
                from
            });
            prop_assert_eq!(&whole_state(&yard), expected);
            // Going back can be undone, and done again.
            if which.is_multiple_of(2) {
                for (number, expected) in [(from, &before), (*number, expected)] {
                    work(&mut |work: &Work<'_>| {
                        let name = CheckpointName::Number(number);
                        work.restore_checkpoint(&series(), &name, &NOTE).unwrap().from.number.unwrap()
                    });
                    prop_assert_eq!(&whole_state(&yard), expected);
                }
            }
            Ok(())
        };
        for next in &moves {
            match next {
                Move::Checkpoint => {
                    let number = work(&mut checkpoint);
                    states.push((number, whole_state(&yard)));
                }
                Move::Restore { which } => restore(&states, *which)?,
                other => make(&yard, other),
            }
        }
        for which in order {
            restore(&states, which)?;
        }
        prop_assert_eq!(yard.git(&["fsck", "--no-dangling"]), "");
    }
}

fn make(yard: &Yard, next: &Move) {
    let root = yard.root();
    let quiet = |arguments: &[&str]| _ = yard.try_git_in(&root, arguments);
    match next {
        Move::Step(step) => perform(yard, step),
        Move::Git(command) => quiet(COMMANDS[*command]),
        Move::Permissions { file, mode } => {
            let path = yard.path(FILES[*file]);
            if path.is_file() && !path.is_symlink() {
                fs::set_permissions(path, fs::Permissions::from_mode(*mode)).unwrap();
            }
        }
        Move::RemoveTree { directory } => _ = fs::remove_dir_all(yard.path(DIRECTORIES[*directory])),
        Move::PartialAdd { file } => {
            let path = yard.path(FILES[*file]);
            if path.is_file() && !path.is_symlink() {
                let content = fs::read(&path).unwrap();
                fs::write(&path, b"staged\n").unwrap();
                quiet(&["add", "--", FILES[*file]]);
                fs::write(&path, content).unwrap();
            }
        }
        Move::Checkpoint | Move::Restore { .. } => {}
    }
}
