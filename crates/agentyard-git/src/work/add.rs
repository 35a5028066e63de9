//! `git add`: staging whole files, or a patch.

use super::saved_index::SavedIndex;
use crate::program::LeftOut;
use crate::{Error, RepositoryPath, Staging, Work};

/// What to stage.
#[derive(Debug, Clone, Default)]
pub struct AddOptions {
    /// These files and directories.
    pub paths: Vec<RepositoryPath>,
    /// Everything that changed, new files included.
    pub all: bool,
    /// Only files that are tracked already.
    pub update: bool,
    /// Ignored files too.
    pub force: bool,
    /// A patch, which is applied to the index alone.
    pub patch: Option<String>,
}

/// What came of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Added {
    /// What is staged now.
    pub staging: Staging,
    /// Filters that were not run.
    pub left_out: LeftOut,
}

/// No patch is larger.
const MAX_PATCH: usize = 4 << 20;

impl Work<'_> {
    /// Stages changes. When that fails, the index is as it was.
    pub fn add(&self, options: &AddOptions) -> Result<Added, Error> {
        self.require_worktree("to stage files from")?;
        if options.patch.is_none() && options.paths.is_empty() && !options.all && !options.update {
            return Err(Error::invalid(
                "a call that names nothing to stage",
                "pass `paths`, `all`, `update` or `patch`",
            ));
        }
        SavedIndex::or_restored(self, || {
            if let Some(patch) = &options.patch {
                self.stage_patch(patch)?;
            }
            self.stage_files(options)
        })?;
        Ok(Added {
            staging: self.repository().staging(self.cancel())?,
            left_out: self.left_out(&[]),
        })
    }

    /// Stages files as they are.
    pub(super) fn stage_files(&self, options: &AddOptions) -> Result<(), Error> {
        let mut paths = options.paths.clone();
        if paths.is_empty() && (options.all || options.update) {
            paths.push(RepositoryPath::new(".")?);
        }
        if paths.is_empty() {
            return Ok(());
        }
        self.invoke("add")
            // A path whose file is gone is staged as deleted; only named ones, unless all are asked for.
            .word_if(!options.update, "--all")
            .word_if(options.update, "--update")
            .word_if(options.force, "--force")
            .paths_on_input(&paths)
            .run()
            .map(drop)
    }

    fn stage_patch(&self, patch: &str) -> Result<(), Error> {
        if patch.trim().is_empty() {
            return Err(Error::invalid("the patch", "it is empty"));
        }
        if patch.len() > MAX_PATCH {
            return Err(Error::invalid(
                "the patch",
                format!(
                    "it has {} bytes, and {MAX_PATCH} are allowed; stage it in parts",
                    patch.len()
                ),
            ));
        }
        let mut input = patch.as_bytes().to_vec();
        if !input.ends_with(b"\n") {
            input.push(b'\n');
        }
        // Paths that lead out of the repository or into its git directory are refused by git itself, which
        // never touches the working tree here.
        let apply = |recount| {
            self.invoke("apply")
                .words(&["--cached", "--whitespace=nowarn"])
                .word_if(recount, "--recount")
                .word("-")
                .input(input.as_slice())
                .run()
        };
        let applied = match apply(false) {
            // Whoever leaves out lines of a hunk seldom counts them again.
            Err(Error::GitFailed { said, .. }) if said.contains("corrupt patch") => apply(true),
            other => other,
        };
        match applied {
            Err(Error::GitFailed { said, .. }) => Err(Error::state(
                format!("the patch was not staged, and nothing else was: {said}"),
                "its context must match what is staged now: take it from git_diff (unstaged changes) and leave \
                 out hunks, keeping context lines and the file headers",
            )),
            other => other.map(drop),
        }
    }
}
