//! Which files of a large working tree are worth a look.
//!
//! git looks at every tracked file to compare the working tree with the index. A status does so too, but one of a
//! repository that was watched since the last does not: so git is asked about the files that changed, by name.

use std::path::Path;

use rustix::fs::AtFlags;

use super::DiffQuery;
use super::between::Sides;
use crate::program::Trust;
use crate::{Error, RepositoryPath, StatusOptions, Work};

/// Below this, git is done sooner than anybody could tell it where to look. Some 2,500 files.
const LARGE_INDEX: i64 = 256 * 1024;

/// More files than this are not named one by one.
const MAX_NAMED: usize = 500;

/// The same question about the files that changed; with no paths when there is none. Nothing where git should look
/// for itself.
pub(super) fn narrowed(
    work: &Work<'_>,
    query: &DiffQuery,
    sides: &Sides,
) -> Result<Option<DiffQuery>, Error> {
    // Of a trusted repository, git runs the filters, which decide what counts as changed.
    if !matches!(sides, Sides::Worktree(None)) || work.trust() == Trust::Trusted || !has_large_index(work) {
        return Ok(None);
    }
    let options = StatusOptions {
        untracked: false,
        limit: MAX_NAMED,
        ..StatusOptions::default()
    };
    let status = work.repository().status(&options, work.cancel())?;
    if status.truncated {
        return Ok(None);
    }
    let unstaged = &status.unstaged;
    let conflicted = status.conflicted.iter().map(|file| &file.path);
    let changed = [
        &unstaged.modified,
        &unstaged.deleted,
        &unstaged.type_changed,
        &unstaged.added,
    ];
    let paths = changed.into_iter().flatten().chain(conflicted);
    let mut paths = RepositoryPath::list(paths)?;
    paths.retain(|path| query.paths.is_empty() || query.paths.iter().any(|asked| is_below(path, asked)));
    Ok((paths.len() <= MAX_NAMED).then(|| DiffQuery {
        paths,
        ..query.clone()
    }))
}

fn has_large_index(work: &Work<'_>) -> bool {
    let git_dir = work.repository().confined_git_dir();
    rustix::fs::statat(git_dir.directory(), "index", AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|index| index.st_size >= LARGE_INDEX)
}

fn is_below(path: &RepositoryPath, asked: &RepositoryPath) -> bool {
    asked.as_path() == Path::new(".") || path.as_path().starts_with(asked.as_path())
}
