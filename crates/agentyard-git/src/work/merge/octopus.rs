//! Merging several heads at once.
//!
//! git's own way is a shell script, which cannot run here. The merge is made in the object database instead; files
//! change only when it is known to succeed.

use super::{FastForward, Head, MergeOptions, MergeResult, MergeStrategy, Merged};
use crate::work::in_the_way::named_files;
use crate::work::keep::object_in;
use crate::{Error, ObjectId, Work};

impl Work<'_> {
    pub(super) fn merge_many(
        &self,
        options: &MergeOptions,
        heads: &[Head],
        ours: ObjectId,
    ) -> Result<Merged, Error> {
        if options.fast_forward == FastForward::Only {
            return Err(Error::state(
                "several branches that have diverged cannot be merged by a fast-forward",
                "leave `fast_forward_only` out",
            ));
        }
        let tree = self.tree_of_all(options, heads, ours)?;
        let message = options.message.clone().unwrap_or_else(|| default_message(heads));
        let mut call = self.invoke_merging("commit-tree", options.sign)?;
        // Unlike `git commit`, this asks no setting whether to sign.
        call = call.word_if(self.signs(options.sign, "commit.gpgsign")?, "-S");
        for parent in [&ours].into_iter().chain(heads.iter().map(|head| &head.id)) {
            call = call.word("-p").object(parent);
        }
        let made = call.words(&["-F", "-"]).input(message).object(&tree).run()?;
        let commit = object_in(&made.output)?;
        self.invoke("merge")
            .words(&[
                "--ff-only",
                "--no-stat",
                "--no-progress",
                "--no-autostash",
                "--quiet",
            ])
            .variable("GIT_REFLOG_ACTION", "merge (octopus)")
            .end_of_options()
            .object(&commit)
            .run()
            .map_err(|failure| named_files("the merge", failure))?;
        self.merged(MergeResult::Committed, Some(ours))
    }

    fn tree_of_all(&self, options: &MergeOptions, heads: &[Head], ours: ObjectId) -> Result<ObjectId, Error> {
        if options.strategy == Some(MergeStrategy::Ours) {
            return self.tree_of_commit(&ours);
        }
        let mut joined = ours;
        let mut tree = ours;
        for head in heads {
            let step = self.try_merge(None, &joined, &head.id, options)?;
            if !step.conflicted.is_empty() {
                return Err(Error::state(
                    format!(
                        "{} cannot be merged together with the others, and nothing was done; conflicts in {}",
                        head.operand.to_string_lossy(),
                        step.conflicted.join(", ")
                    ),
                    "merge the branches one at a time, which lets you resolve each conflict",
                ));
            }
            tree = step.tree;
            joined = self.note("octopus", &tree, [&joined, &head.id])?;
        }
        Ok(tree)
    }
}

fn default_message(heads: &[Head]) -> String {
    let names: Vec<String> = heads
        .iter()
        .map(|head| format!("'{}'", head.operand.to_string_lossy()))
        .collect();
    match names.split_last() {
        Some((last, [])) => format!("Merge {last}\n"),
        Some((last, others)) => format!("Merge branches {} and {last}\n", others.join(", ")),
        None => "Merge\n".to_owned(),
    }
}
