//! Whatever is done to a repository, a status that is kept true by watching is the one that a walk over the
//! whole tree gives.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use agentyard_git::{KeepLimits, KeptRepositories, StatusOptions};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use crate::steps::{FILES, PATTERNS, Step, perform, step};
use crate::support::{GO_ON, Yard};

/// Something done to a repository that is watched.
#[derive(Clone, Debug)]
enum Move {
    Step(Step),
    Nothing,
    Append { file: usize },
    WriteAside { file: usize },
    RemoveTree { directory: usize },
    RenameTree { from: usize, to: usize },
    ChangeMode { directory: usize, mode: u32 },
    IgnoreIn { directory: usize, pattern: usize },
    ForgetRules { directory: usize },
    Attributes { directory: usize, line: usize },
    Exclude { pattern: usize },
    Configure { line: usize },
    SecondName { file: usize, other: usize },
    NestedRepository { directory: usize },
    CommitInNested { directory: usize },
    AddNested { directory: usize },
    Git { command: usize },
    Touch { file: usize },
    ReplaceIndex { by_copy: bool },
}

const DIRECTORIES: &[&str] = &[
    "a",
    "a/b",
    "dir",
    "dir/sub",
    "dir-x",
    "zoo",
    "zoo/tmp",
    "new",
    "new/below",
    "new/sub",
];

const ATTRIBUTES: &[&str] = &["* text eol=crlf", "* -text", "*.log filter=none", "one ident"];

const CONFIGURATIONS: &[&str] = &[
    "[core] fileMode = false",
    "[core] fileMode = true",
    "[core] autocrlf = true",
    "[status] renames = false",
    "[core] ignoreCase = true",
];

const COMMANDS: &[&[&str]] = &[
    &["stash", "--quiet"],
    &["stash", "--quiet", "--include-untracked"],
    &["stash", "pop", "--quiet"],
    &["checkout", "--quiet", "-B", "one"],
    &["checkout", "--quiet", "main"],
    &["checkout", "--quiet", "--", "."],
    &["checkout", "--quiet", "--detach"],
    &["reset", "--quiet"],
    &["reset", "--quiet", "--hard"],
    &["reset", "--quiet", "--soft", "HEAD~1"],
    &["reset", "--quiet", "--hard", "HEAD~1"],
    &["rm", "--quiet", "-r", "dir"],
    &["rm", "--quiet", "-r", "--cached", "dir"],
    &["mv", "dir", "moved"],
    &["mv", "moved", "dir"],
    &["clean", "--quiet", "--force", "-d"],
    &["status"],
    &["branch", "--force", "base"],
    &["branch", "--set-upstream-to=base"],
    &["merge", "--quiet", "--no-edit", "side"],
    &["merge", "--abort"],
    &["update-index", "--refresh"],
    &["update-index", "--skip-worktree", "a.log"],
    &["update-index", "--assume-unchanged", "dir/one"],
    &["update-index", "--really-refresh"],
    &["update-index", "--split-index"],
    &["update-index", "--no-split-index"],
    &["pack-refs", "--all"],
    &["gc", "--quiet"],
    &["commit", "--quiet", "--amend", "--message", "amended"],
];

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 16,
        failure_persistence: Some(Box::new(FileFailurePersistence::Off)),
        max_shrink_iters: 300,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_watched_status_is_what_a_walk_finds(moves in vec(one_move(), 10..40)) {
        let yard = Yard::new();
        let roots = yard.roots();
        let kept = KeptRepositories::new(KeepLimits {
            watch_from: std::time::Duration::ZERO,
            ..KeepLimits::default()
        });
        for (number, one) in moves.iter().enumerate() {
            make(&yard, one);
            let directory = roots.resolve(&yard.root()).unwrap();
            let options = StatusOptions {
                untracked: number % 5 != 4,
                ..StatusOptions::default()
            };
            let watched = kept.open(&directory).and_then(|open| open.status(&options, &GO_ON));
            let walked = yard.try_open("").and_then(|open| open.status(&options, &GO_ON));
            match (watched, walked) {
                (Ok(watched), Ok(walked)) => prop_assert_eq!(watched, walked, "after move {}", number),
                (watched, walked) => prop_assert_eq!(
                    watched.map_err(|error| error.to_string()),
                    walked.map_err(|error| error.to_string())
                ),
            }
        }
    }
}

fn one_move() -> impl Strategy<Value = Move> {
    let file = || 0..FILES.len();
    let directory = || 0..DIRECTORIES.len();
    let pattern = || 0..PATTERNS.len();
    let modes = prop_oneof![Just(0o700), Just(0o755), Just(0o777)];
    prop_oneof![
        30 => step().prop_map(Move::Step),
        2 => Just(Move::Nothing),
        2 => file().prop_map(|file| Move::Append { file }),
        3 => file().prop_map(|file| Move::WriteAside { file }),
        2 => directory().prop_map(|directory| Move::RemoveTree { directory }),
        3 => (directory(), directory()).prop_map(|(from, to)| Move::RenameTree { from, to }),
        1 => (directory(), modes).prop_map(|(directory, mode)| Move::ChangeMode { directory, mode }),
        2 => (directory(), pattern()).prop_map(|(directory, pattern)| Move::IgnoreIn { directory, pattern }),
        1 => directory().prop_map(|directory| Move::ForgetRules { directory }),
        2 => (directory(), 0..ATTRIBUTES.len()).prop_map(|(directory, line)| Move::Attributes { directory, line }),
        1 => pattern().prop_map(|pattern| Move::Exclude { pattern }),
        1 => (0..CONFIGURATIONS.len()).prop_map(|line| Move::Configure { line }),
        2 => (file(), file()).prop_map(|(file, other)| Move::SecondName { file, other }),
        1 => directory().prop_map(|directory| Move::NestedRepository { directory }),
        1 => directory().prop_map(|directory| Move::CommitInNested { directory }),
        1 => directory().prop_map(|directory| Move::AddNested { directory }),
        12 => (0..COMMANDS.len()).prop_map(|command| Move::Git { command }),
        1 => file().prop_map(|file| Move::Touch { file }),
        1 => any::<bool>().prop_map(|by_copy| Move::ReplaceIndex { by_copy }),
    ]
}

/// Does what the move says, as far as the tree allows it.
fn make(yard: &Yard, one: &Move) {
    let path = |directory: usize| yard.path(DIRECTORIES[directory]);
    let git_in = |directory: &std::path::Path, arguments: &[&str]| {
        _ = yard.try_git_in(directory, arguments);
    };
    match *one {
        Move::Step(ref step) => perform(yard, step),
        Move::Nothing => {}
        Move::Append { file } => append(&yard.path(FILES[file]), "more\n"),
        Move::WriteAside { file } => {
            fs::write(yard.path("aside"), format!("aside {file}\n")).unwrap();
            _ = fs::rename(yard.path("aside"), yard.path(FILES[file]));
        }
        Move::RemoveTree { directory } => _ = fs::remove_dir_all(path(directory)),
        Move::RenameTree { from, to } => _ = fs::rename(path(from), path(to)),
        Move::ChangeMode { directory, mode } => {
            _ = fs::set_permissions(path(directory), fs::Permissions::from_mode(mode));
        }
        Move::IgnoreIn { directory, pattern } => {
            append(
                &path(directory).join(".gitignore"),
                &format!("{}\n", PATTERNS[pattern]),
            );
        }
        Move::ForgetRules { directory } => {
            _ = fs::remove_file(path(directory).join(".gitignore"));
            _ = fs::remove_file(yard.path(".gitignore"));
        }
        Move::Attributes { directory, line } => {
            append(
                &path(directory).join(".gitattributes"),
                &format!("{}\n", ATTRIBUTES[line]),
            );
        }
        Move::Exclude { pattern } => {
            append(
                &yard.path(".git/info/exclude"),
                &format!("{}\n", PATTERNS[pattern]),
            );
        }
        Move::Configure { line } => yard.configure(CONFIGURATIONS[line]),
        Move::SecondName { file, other } => {
            if fs::hard_link(yard.path(FILES[file]), yard.path(FILES[other])).is_ok() {
                append(&yard.path(FILES[other]), "by its other name\n");
            }
        }
        Move::NestedRepository { directory } => {
            if path(directory).is_dir() {
                git_in(&path(directory), &["init", "--quiet", "--initial-branch=main"]);
            }
        }
        Move::CommitInNested { directory } => {
            if path(directory).join(".git").is_dir() {
                let arguments = ["commit", "--quiet", "--allow-empty", "--message", "nested"];
                git_in(&path(directory), &arguments);
            }
        }
        Move::AddNested { directory } => git_in(&yard.root(), &["add", "--", DIRECTORIES[directory]]),
        Move::Git { command } => git_in(&yard.root(), COMMANDS[command]),
        Move::Touch { file } => {
            if let Ok(file) = fs::File::options().append(true).open(yard.path(FILES[file])) {
                file.set_modified(std::time::UNIX_EPOCH).unwrap();
            }
        }
        Move::ReplaceIndex { by_copy } => {
            let (index, aside) = (yard.path(".git/index"), yard.path(".git/aside"));
            if by_copy && index.exists() {
                fs::copy(&index, &aside).unwrap();
                fs::copy(&aside, &index).unwrap();
            } else {
                _ = fs::remove_file(index);
            }
        }
    }
}

fn append(path: &std::path::Path, text: &str) {
    use std::io::Write as _;
    if let Ok(mut file) = fs::File::options().append(true).create(true).open(path) {
        file.write_all(text.as_bytes()).unwrap();
    }
}
