//! What plain git and the file system say about a working tree.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use agentyard_git::{CheckpointMade, CheckpointName, CheckpointNote, CheckpointSeries, Restored};

use crate::support::Yard;

pub(crate) const NOTE: CheckpointNote<'static> = CheckpointNote {
    operation: "write_file",
    by: "agent-7",
};

pub(crate) fn series() -> CheckpointSeries {
    CheckpointSeries::new("wsp_1").unwrap()
}

pub(crate) fn checkpoint(yard: &Yard) -> CheckpointMade {
    yard.work(|work| work.checkpoint(&series(), &NOTE)).unwrap()
}

pub(crate) fn restore(yard: &Yard, number: u64) -> Restored {
    let name = CheckpointName::Number(number);
    yard.work(|work| work.restore_checkpoint(&series(), &name, &NOTE))
        .unwrap()
}

/// All that a checkpoint is to bring back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WholeState {
    /// What is tracked or not ignored: permissions and content.
    pub(crate) files: BTreeMap<String, (u32, String)>,
    pub(crate) index: String,
    pub(crate) head: String,
    pub(crate) status: String,
    pub(crate) operation: BTreeMap<String, String>,
}

const OPERATION: &[&str] = &[
    "MERGE_HEAD",
    "MERGE_MSG",
    "MERGE_MODE",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "REBASE_HEAD",
    "AUTO_MERGE",
    "SQUASH_MSG",
    "ORIG_HEAD",
    "rebase-merge/git-rebase-todo",
    "rebase-merge/onto",
    "rebase-merge/head-name",
    "sequencer/todo",
];

pub(crate) fn whole_state(yard: &Yard) -> WholeState {
    whole_state_in(yard, &yard.root())
}

pub(crate) fn whole_state_in(yard: &Yard, top: &Path) -> WholeState {
    let git = |arguments: &[&str]| {
        let output = yard.try_git_in(top, arguments);
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    // First, for it brings the index up to date.
    let status = git(&["status", "--porcelain=v2", "--branch", "--untracked-files=all"]);
    let listed = yard.try_git_in(
        top,
        &["ls-files", "-z", "--cached", "--others", "--exclude-standard"],
    );
    let changed = ["diff-files", "-z", "--name-only"];
    let untracked = ["ls-files", "-z", "--others", "--exclude-standard"];
    let loose = [
        yard.try_git_in(top, &changed).stdout,
        yard.try_git_in(top, &untracked).stdout,
    ]
    .concat();
    let loose: HashSet<&[u8]> = loose.split(|byte| *byte == 0).collect();
    let files = listed
        .stdout
        .split(|byte| *byte == 0)
        .filter(|path| !path.is_empty());
    let files = files.filter_map(|path| {
        let place = top.join(std::ffi::OsStr::from_bytes(path));
        let metadata = fs::symlink_metadata(&place).ok()?;
        let content = if metadata.is_symlink() {
            fs::read_link(&place).unwrap().as_os_str().as_bytes().to_vec()
        } else {
            fs::read(&place).ok()?
        };
        // Of a file that is as it was committed, git knows no more than whether it can be executed.
        let known = if loose.contains(path) {
            0o177_777
        } else {
            0o170_100
        };
        let mode = metadata.permissions().mode() & known;
        let content = String::from_utf8_lossy(&content).into_owned();
        Some((String::from_utf8_lossy(path).into_owned(), (mode, content)))
    });
    let git_dir = git(&["rev-parse", "--absolute-git-dir"]);
    let git_dir = Path::new(git_dir.trim());
    let operation = OPERATION.iter().filter_map(|name| {
        let content = fs::read(git_dir.join(name)).ok()?;
        Some(((*name).to_owned(), String::from_utf8_lossy(&content).into_owned()))
    });
    WholeState {
        files: files.collect(),
        index: git(&["ls-files", "-s"]) + &git(&["ls-files", "-v"]),
        head: git(&["symbolic-ref", "-q", "HEAD"]) + &git(&["rev-parse", "--verify", "-q", "HEAD"]),
        status,
        operation: operation.collect(),
    }
}
