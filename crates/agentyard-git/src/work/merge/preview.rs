//! What a merge would bring, found out without touching a file.

use gix::bstr::ByteSlice as _;

use super::MergeOptions;
use crate::work::keep::object_in;
use crate::{Error, ObjectId, Work, display_path};

/// What a merge would bring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergePreview {
    /// The files that it would leave in conflict.
    pub conflicted: Vec<String>,
    /// The tree that would come of it.
    pub tree: ObjectId,
}

impl Work<'_> {
    /// Tries a merge of one head. Works in a bare repository too.
    pub fn preview_merge(&self, options: &MergeOptions) -> Result<MergePreview, Error> {
        options.check()?;
        let [head] = options.heads.as_slice() else {
            return Err(Error::invalid(
                "this merge",
                "`dry_run` tries one branch at a time",
            ));
        };
        let theirs = self.commit_named(head)?;
        let ours = self.head()?.ok_or_else(|| {
            Error::state(
                "nothing is committed yet, so nothing can conflict",
                "merge without `dry_run`",
            )
        })?;
        self.try_merge(None, &ours, &theirs, options)
    }

    /// Merges two commits in the object database alone.
    pub(in crate::work) fn try_merge(
        &self,
        base: Option<&ObjectId>,
        ours: &ObjectId,
        theirs: &ObjectId,
        options: &MergeOptions,
    ) -> Result<MergePreview, Error> {
        let mut call = self
            .invoke_merging("merge-tree", Some(false))?
            .words(&["--write-tree", "-z", "--name-only", "--no-messages"])
            .word_if(options.allow_unrelated_histories, "--allow-unrelated-histories");
        if let Some(base) = base {
            call = call.option("--merge-base", base.to_string());
        }
        if let Some(favor) = options.favor {
            call = call.option("--strategy-option", favor.as_str());
        }
        let finished = call
            .end_of_options()
            .object(ours)
            .object(theirs)
            .run_whatever_it_answers()?;
        if !matches!(finished.code, Some(0 | 1)) {
            return Err(self.merge_failure(&finished));
        }
        let mut parts = finished.output.split(|byte| *byte == 0);
        Ok(MergePreview {
            tree: object_in(parts.next().unwrap_or_default())?,
            conflicted: parts
                .filter(|path| !path.is_empty())
                .map(|path| display_path(path.as_bstr()))
                .collect(),
        })
    }
}
