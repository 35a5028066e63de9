//! Things that are done to a working tree and its index, at random.

use std::fs;

use proptest::prelude::*;

use crate::support::Yard;

/// Something done to a working tree or its index. Files are numbers into [`FILES`].
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Write {
        file: usize,
        variant: u8,
        changed_lines: u8,
    },
    Delete {
        file: usize,
    },
    Rename {
        from: usize,
        to: usize,
    },
    MakeExecutable {
        file: usize,
    },
    Link {
        file: usize,
    },
    MakeDirectory {
        file: usize,
    },
    Ignore {
        pattern: usize,
    },
    Stage {
        file: usize,
    },
    StageAll,
    Announce {
        file: usize,
    },
    Forget {
        file: usize,
    },
    Commit,
    Conflict {
        file: usize,
        ours: Option<u8>,
        theirs: Option<u8>,
    },
}

/// Some of these are in each other's way: `a` is a file or a directory, never both.
pub(crate) const FILES: &[&str] = &[
    "a",
    "a/b",
    "a/b/c",
    "a-b",
    "a.log",
    "dir/one",
    "dir/two",
    "dir/sub/one",
    "dir/sub/two.log",
    "dir-x/one",
    "ümlaut \"q\"",
    "zoo/tmp/one",
    "zoo/tmp/keep.log",
    "zoo/two",
];

pub(crate) const PATTERNS: &[&str] = &["*.log", "tmp/", "/a", "!keep.log", "dir/sub", "zoo/*", "!zoo/two"];

pub(crate) fn step() -> impl Strategy<Value = Step> {
    let file = || 0..FILES.len();
    let variant = || proptest::option::weighted(0.7, 0..4_u8);
    prop_oneof![
        8 => (file(), 0..3_u8, 0..20_u8).prop_map(|(file, variant, changed_lines)| Step::Write { file, variant, changed_lines }),
        3 => file().prop_map(|file| Step::Delete { file }),
        3 => (file(), file()).prop_map(|(from, to)| Step::Rename { from, to }),
        1 => file().prop_map(|file| Step::MakeExecutable { file }),
        1 => file().prop_map(|file| Step::Link { file }),
        1 => file().prop_map(|file| Step::MakeDirectory { file }),
        1 => (0..PATTERNS.len()).prop_map(|pattern| Step::Ignore { pattern }),
        3 => file().prop_map(|file| Step::Stage { file }),
        2 => Just(Step::StageAll),
        1 => file().prop_map(|file| Step::Announce { file }),
        1 => file().prop_map(|file| Step::Forget { file }),
        3 => Just(Step::Commit),
        1 => (file(), variant(), variant()).prop_map(|(file, ours, theirs)| Step::Conflict { file, ours, theirs }),
    ]
}

/// Does what the step says, as far as the tree allows it. A step that does not fit does nothing.
pub(crate) fn perform(yard: &Yard, step: &Step) {
    let root = yard.root();
    let quiet = |arguments: &[&str]| yard.try_git_in(&root, arguments).status.success();
    match *step {
        Step::Write {
            file,
            variant,
            changed_lines,
        } => write(yard, file, variant, changed_lines),
        Step::Delete { file } => _ = fs::remove_file(yard.path(FILES[file])),
        Step::Rename { from, to } => {
            _ = fs::create_dir_all(yard.path(FILES[to]).parent().unwrap());
            _ = fs::rename(yard.path(FILES[from]), yard.path(FILES[to]));
        }
        Step::MakeExecutable { file } => {
            if yard.path(FILES[file]).is_file() {
                yard.set_executable(FILES[file], true);
            }
        }
        Step::Link { file } => {
            _ = fs::remove_file(yard.path(FILES[file]));
            _ = std::os::unix::fs::symlink("dir/one", yard.path(FILES[file]));
        }
        Step::MakeDirectory { file } => _ = fs::create_dir_all(yard.path(FILES[file]).join("empty")),
        Step::Ignore { pattern } => {
            let before = fs::read_to_string(yard.path(".gitignore")).unwrap_or_default();
            yard.write(".gitignore", format!("{before}{}\n", PATTERNS[pattern]));
        }
        Step::Stage { file } => _ = quiet(&["add", "--", FILES[file]]),
        Step::StageAll => _ = quiet(&["add", "--all"]),
        Step::Announce { file } => _ = quiet(&["add", "--intent-to-add", "--", FILES[file]]),
        Step::Forget { file } => _ = quiet(&["rm", "--quiet", "--cached", "--", FILES[file]]),
        Step::Commit => _ = quiet(&["commit", "--quiet", "--message", "step"]),
        Step::Conflict { file, ours, theirs } => {
            let prepared = quiet(&["add", "--all"])
                && quiet(&["commit", "--quiet", "--allow-empty", "--message", "before"])
                && quiet(&["branch", "--force", "side"]);
            if !prepared || !quiet(&["checkout", "--quiet", "side"]) {
                return;
            }
            write_or_delete(yard, file, theirs);
            quiet(&["add", "--all", "--force"]);
            quiet(&["commit", "--quiet", "--allow-empty", "--message", "theirs"]);
            quiet(&["checkout", "--quiet", "main"]);
            write_or_delete(yard, file, ours);
            quiet(&["add", "--all", "--force"]);
            quiet(&["commit", "--quiet", "--allow-empty", "--message", "ours"]);
            quiet(&["merge", "--quiet", "--no-edit", "side"]);
        }
    }
}

fn write_or_delete(yard: &Yard, file: usize, variant: Option<u8>) {
    match variant {
        Some(variant) => write(yard, file, variant, 20),
        None => _ = fs::remove_file(yard.path(FILES[file])),
    }
}

/// Twenty lines, some of which differ from those of the same variant elsewhere: more or less a copy.
pub(crate) fn write(yard: &Yard, file: usize, variant: u8, changed_lines: u8) {
    let lines: String = (0..20)
        .map(|line| {
            if line < changed_lines {
                format!("line {line} of {} {changed_lines}\n", FILES[file])
            } else {
                format!("line {line} of variant {variant}\n")
            }
        })
        .collect();
    _ = fs::create_dir_all(yard.path(FILES[file]).parent().unwrap());
    _ = fs::write(yard.path(FILES[file]), lines);
}
