//! Repositories on this machine as remotes: inside the roots, and without what they would have git run.

use std::path::Path;

use crate::program::Git;
use crate::{Error, Repository, Roots};

/// What git is told about the other repository. It would run hooks there, and follow its settings.
const SETTINGS: &str = "-c core.hooksPath=/dev/null -c core.fsmonitor=false -c core.alternateRefsCommand=: \
     -c receive.denyCurrentBranch=refuse -c receive.denyDeleteCurrent=refuse -c receive.autogc=false \
     -c receive.fsckObjects=true -c gc.auto=0 -c maintenance.auto=false -c core.fsync=all";

/// Opens the repository at a path, with every check that a repository has to pass.
pub(super) fn open(path: &Path, roots: &Roots) -> Result<Repository, Error> {
    let directory = roots.resolve(path)?;
    let repository = Repository::open(&directory)?;
    // One that only contains the directory is another one than was named.
    let is_itself = repository
        .worktree()
        .is_some_and(|worktree| worktree == directory.path())
        || repository.git_dir() == directory.path();
    if is_itself {
        return Ok(repository);
    }
    Err(Error::NotARepository {
        path: directory.shown(),
    })
}

/// The program that serves the other side, as a line for the shell that git starts it with.
pub(super) fn server(git: &Git, service: &str) -> String {
    format!(
        "{} {SETTINGS} {service}",
        quoted(&git.program().to_string_lossy())
    )
}

/// One word of a shell.
pub(super) fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_words() {
        assert_eq!(quoted("/a b/it's"), r"'/a b/it'\''s'");
    }
}
