//! Which files commits changed.

use std::sync::atomic::AtomicBool;

use crate::raw_commit::RawCommit;
use crate::tree_diff::TreeDiff;
use crate::{Error, ObjectId, Repository, display_path};

/// How many files are named for each commit.
const MAX_FILES: usize = 1000;

/// The files that a commit changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    /// By path; no more than a thousand.
    pub files: Vec<String>,
    /// How many there are.
    pub count: usize,
}

impl Repository {
    /// The files that each of these commits changed against its first parent.
    pub fn touched(&self, commits: &[ObjectId], cancel: &AtomicBool) -> Result<Vec<Touched>, Error> {
        let local = self.local();
        let tree = |id: gix::ObjectId| -> Result<(gix::ObjectId, Option<gix::ObjectId>), Error> {
            let object = local
                .find_object(id)
                .map_err(Error::read(format!("commit {id}")))?;
            let commit = RawCommit::parse(&object.data).ok_or(Error::NotACommit { id: id.into() })?;
            Ok((commit.tree, commit.parents.first().copied()))
        };
        let touched = commits.iter().map(|&id| {
            let (after, parent) = tree(id.into())?;
            // The parent of a shallow clone's last commit is not there.
            let before = parent.and_then(|parent| tree(parent).ok()).map(|(tree, _)| tree);
            if parent.is_some() && before.is_none() {
                return Ok(Touched::default());
            }
            let diff = TreeDiff::new(&local, before, Some(after), &[], cancel)?;
            let files = diff.changes.iter().take(MAX_FILES);
            Ok(Touched {
                files: files.map(|change| display_path(change.path())).collect(),
                count: diff.changes.len(),
            })
        });
        touched.collect()
    }
}
