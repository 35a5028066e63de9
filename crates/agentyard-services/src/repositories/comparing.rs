//! Differences.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use agentyard_git::{self as git, Between, Diff, DiffQuery, RepositoryPath, Revision, Work};
use agentyard_model::{Caller, Cursor};

use super::{In, Repositories};
use crate::error::Result;

/// What to compare, and how.
#[derive(Debug, Clone, Default)]
pub struct DiffRequest {
    /// A commit, or a range of them.
    pub target: Option<String>,
    /// The commit to compare `target` with.
    pub source: Option<String>,
    /// What is staged instead of what is in the working tree.
    pub staged: bool,
    /// Only these files and directories.
    pub paths: Vec<String>,
    /// Show untracked files as added.
    pub untracked: bool,
    /// Whether the text of the changes is wanted.
    pub text: bool,
    /// Unchanged lines around each change.
    pub context_lines: Option<u32>,
    /// Mark changed words instead of lines.
    pub words: bool,
    /// Take lines that differ in white space alone for the same.
    pub ignore_whitespace: bool,
    /// Do not look for files under another name.
    pub no_renames: bool,
    /// Look for copies.
    pub copies: bool,
    /// Also show the text of generated files.
    pub generated: bool,
    /// Where an earlier page ended.
    pub cursor: Option<Cursor>,
}

/// Differences, and where this page of them begins.
#[derive(Debug, Clone, Default)]
pub struct DiffPage {
    /// What differs.
    pub diff: Diff,
    /// Where the page begins.
    pub place: DiffPlace,
    /// Whether the differences changed since the page before, so that this is the first one again.
    pub begun_anew: bool,
}

/// A place in a diff.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DiffPlace {
    /// Of which diff.
    pub fingerprint: u64,
    /// The number of the file.
    pub file: usize,
    /// The line in that file's part.
    pub line: usize,
}

impl fmt::Display for DiffPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}+{}.{}", self.fingerprint, self.file, self.line)
    }
}

impl FromStr for DiffPlace {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (fingerprint, place) = text.split_once('+').ok_or(())?;
        let (file, line) = place.split_once('.').ok_or(())?;
        Ok(Self {
            fingerprint: u64::from_str_radix(fingerprint, 16).map_err(|_| ())?,
            file: file.parse().map_err(|_| ())?,
            line: line.parse().map_err(|_| ())?,
        })
    }
}

impl Repositories {
    /// What differs between two commits, the index and the working tree.
    ///
    /// # Errors
    /// When the caller may not look, or a revision or path names nothing.
    pub async fn diff(
        &self,
        caller: &Caller,
        path: Option<&Path>,
        request: DiffRequest,
    ) -> Result<In<DiffPage>> {
        let place = place(request.cursor.as_ref())?;
        self.ask(caller, path, move |work| page(work, query(&request)?, place))
            .await
    }
}

/// Where a cursor leads; nowhere means the beginning.
pub(super) fn place(cursor: Option<&Cursor>) -> Result<Option<DiffPlace>> {
    Ok(cursor.map(Cursor::place).transpose()?)
}

/// The page of a diff that begins at a place, or its first page when it is not the same diff any more.
pub(super) fn page(
    work: &Work<'_>,
    query: DiffQuery,
    place: Option<DiffPlace>,
) -> Result<DiffPage, git::Error> {
    let Some(place) = place else {
        return Ok(DiffPage {
            diff: work.diff(&query)?,
            ..DiffPage::default()
        });
    };
    let diff = work.diff(&DiffQuery {
        from_file: place.file,
        ..query.clone()
    })?;
    if diff.fingerprint == place.fingerprint {
        return Ok(DiffPage {
            diff,
            place,
            begun_anew: false,
        });
    }
    Ok(DiffPage {
        diff: work.diff(&query)?,
        place: DiffPlace::default(),
        begun_anew: true,
    })
}

fn query(request: &DiffRequest) -> Result<DiffQuery, git::Error> {
    let defaults = DiffQuery::default();
    Ok(DiffQuery {
        between: between(request)?,
        paths: RepositoryPath::list(&request.paths)?,
        untracked: request.untracked,
        text: request.text,
        context_lines: request.context_lines.unwrap_or(defaults.context_lines),
        words: request.words,
        ignore_whitespace: request.ignore_whitespace,
        renames: !request.no_renames,
        copies: request.copies,
        leave_out_generated: !request.generated,
        from_file: 0,
    })
}

fn between(request: &DiffRequest) -> Result<Between, git::Error> {
    let revision = |text: &Option<String>| text.as_ref().map(Revision::new).transpose();
    let (source, target) = (revision(&request.source)?, revision(&request.target)?);
    match (source, target, request.staged) {
        (Some(_), Some(_), true) => Err(git::Error::Invalid {
            what: "`staged` with both `source` and `target`".to_owned(),
            reason: "the index is compared with one commit; leave out one of the three".to_owned(),
        }),
        (source, target, true) => Ok(Between::CommitAndIndex(target.or(source))),
        (Some(source), Some(target), false) => Ok(Between::Commits(source, target)),
        (Some(one), None, false) | (None, Some(one), false) => Ok(Between::CommitAndWorktree(one)),
        (None, None, false) => Ok(Between::IndexAndWorktree),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_reads_back_as_itself() {
        let place = DiffPlace {
            fingerprint: u64::MAX - 7,
            file: 3,
            line: 40,
        };
        assert_eq!(place.to_string().parse(), Ok(place));
        for wrong in ["", "+1.2", "ab+1", "zz+1.2", "1+-1.2"] {
            assert!(wrong.parse::<DiffPlace>().is_err(), "{wrong}");
        }
    }
}
