//! What of a state no tree can say.

use std::collections::{BTreeMap, BTreeSet};

use gix::bstr::{BStr, BString, ByteSlice as _};
use serde::{Deserialize, Serialize};

use super::{CheckpointLeftOut, LeftOutReason};
use crate::text::parse_path;
use crate::{BranchName, Error, Head, display_path};

/// What the file `state` of a checkpoint holds. Paths are written as [`display_path`] shows them, so that any
/// bytes fit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct State {
    pub(super) format: u32,
    pub(super) head: HeadState,
    /// Branches, by their full names, and where they point; those that did not exist point nowhere.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) branches: BTreeMap<String, Option<String>>,
    /// Tracked files that are not there.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) missing: BTreeSet<String>,
    /// Announced with `git add --intent-to-add`, with their modes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) announced: BTreeMap<String, u32>,
    /// Tracked files that a sparse checkout leaves out.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) skipped: BTreeSet<String>,
    /// Tracked files that are taken to be unchanged.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) assumed: BTreeSet<String>,
    /// Permissions of files in `changed`, where git has no such mode.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) permissions: BTreeMap<String, u32>,
    /// What is not held.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) left_out: BTreeMap<String, LeftOutReason>,
}

/// What is checked out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct HeadState {
    /// The full name of the branch; none when the head is detached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) branch: Option<String>,
    /// The commit; none before the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) commit: Option<String>,
}

/// The format of checkpoints that is written here.
pub(super) const FORMAT: u32 = 1;

impl State {
    pub(super) fn to_json(&self) -> Result<Vec<u8>, Error> {
        let mut json = serde_json::to_vec_pretty(self).map_err(|error| Error::Missing {
            what: format!("the state of the working tree could not be written down: {error}"),
        })?;
        json.push(b'\n');
        Ok(json)
    }

    /// Reads a state. It may come from anybody: names of branches are checked here, paths where they are used.
    pub(super) fn from_json(json: &[u8]) -> Result<Self, String> {
        let state: Self = serde_json::from_slice(json).map_err(|error| error.to_string())?;
        if state.format != FORMAT {
            return Err(format!("it has the format {}", state.format));
        }
        let ids = state.branches.values().flatten().chain(&state.head.commit);
        for id in ids {
            if gix::ObjectId::from_hex(id.as_bytes()).is_err() {
                return Err("it names a commit by something else than an id".to_owned());
            }
        }
        for branch in state.branches.keys().chain(&state.head.branch) {
            let name = branch.strip_prefix("refs/heads/");
            if name.is_none_or(|name| BranchName::new(name).is_err()) {
                return Err("it names a branch that git would not".to_owned());
            }
        }
        Ok(state)
    }

    pub(super) fn head(&self) -> Head {
        let branch = self.head.branch.as_deref();
        Head {
            branch: branch.map(|branch| display_path(branch.trim_start_matches("refs/heads/").into())),
            commit: self.head.commit.as_deref().and_then(|id| id.parse().ok()),
        }
    }

    pub(super) fn left_out(&self) -> Vec<CheckpointLeftOut> {
        let left_out = self.left_out.iter();
        left_out
            .map(|(path, why)| CheckpointLeftOut {
                path: path.clone(),
                why: *why,
            })
            .collect()
    }

    /// Whether a path, or a directory above it, is not held.
    pub(super) fn leaves_out(&self, path: &BStr) -> bool {
        if self.left_out.is_empty() {
            return false;
        }
        let directories = path.find_iter(b"/").map(|slash| path[..slash].as_bstr());
        directories
            .chain([path])
            .any(|path| self.left_out.contains_key(&display_path(path)))
    }
}

/// The paths that differ between two sets of them.
pub(super) fn differing<'a>(
    one: impl IntoIterator<Item = &'a String>,
    other: impl IntoIterator<Item = &'a String>,
) -> Vec<BString> {
    let (one, other): (BTreeSet<_>, BTreeSet<_>) = (one.into_iter().collect(), other.into_iter().collect());
    one.symmetric_difference(&other)
        .map(|path| parse_path(path))
        .collect()
}
