//! `git add`: staging whole files, or a patch.

use crate::program::LeftOut;
use crate::{Error, RepositoryPath, Work};

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

/// What was staged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Added {
    /// Filters that were not run.
    pub left_out: LeftOut,
}

impl Work<'_> {
    /// Stages changes.
    pub fn add(&self, options: &AddOptions) -> Result<Added, Error> {
        let mut paths = options.paths.clone();
        if let Some(patch) = &options.patch {
            self.invoke("apply")
                .words(&["--cached", "--whitespace=nowarn", "--recount", "-"])
                .input(patch.as_bytes())
                .run()?;
        } else if paths.is_empty() && !options.all && !options.update {
            return Err(Error::invalid(
                "a call that names nothing to stage",
                "pass `paths`, `all`, `update` or `patch`",
            ));
        }
        if paths.is_empty() && (options.all || options.update) {
            paths.push(RepositoryPath::new(".")?);
        }
        if !paths.is_empty() {
            self.invoke("add")
                .word_if(options.all, "--all")
                .word_if(options.update, "--update")
                .word_if(options.force, "--force")
                .paths_on_input(&paths)
                .run()?;
        }
        Ok(Added {
            left_out: self.left_out(&[]),
        })
    }
}
