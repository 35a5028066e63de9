//! The files in which two commits differ.

use gix::bstr::ByteSlice as _;

use crate::{Error, ObjectId, Work, display_path};

/// The files in which two commits differ.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangedFiles {
    /// The first of them, by path.
    pub paths: Vec<String>,
    /// How many there are, at least.
    pub total: usize,
}

/// How many paths are named.
const NAMED: usize = 100;

/// How much of a list is read to count them.
const LIST_LIMIT: usize = 8 << 20;

impl Work<'_> {
    /// The files in which two commits differ. Before the first commit there were none.
    pub(crate) fn changed_between(
        &self,
        old: Option<&ObjectId>,
        new: Option<&ObjectId>,
    ) -> Result<ChangedFiles, Error> {
        let Some(new) = new.filter(|new| Some(*new) != old) else {
            return Ok(ChangedFiles::default());
        };
        let list = match old {
            Some(old) => self
                .invoke("diff-tree")
                .words(&["-r", "-z", "--name-only", "--no-renames", "--no-ext-diff"])
                .object(old)
                .object(new),
            None => self
                .invoke("ls-tree")
                .words(&["-r", "-z", "--name-only", "--full-tree"])
                .object(new),
        };
        let listed = list.output_limit(LIST_LIMIT).run()?.output;
        let paths = || listed.split(|byte| *byte == 0).filter(|path| !path.is_empty());
        Ok(ChangedFiles {
            paths: paths()
                .take(NAMED)
                .map(|path| display_path(path.as_bstr()))
                .collect(),
            total: paths().count(),
        })
    }
}
