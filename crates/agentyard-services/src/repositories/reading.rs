//! Status and history.

use std::path::{Path, PathBuf};

use agentyard_git::{
    self as git, Between, Commit, CommitObject, DayEdge, Diff, DiffQuery, LogOrder, LogQuery, LogStart,
    Merges, RepositoryPath, Revision, Status, StatusOptions, Work,
};
use agentyard_model::{Caller, Cursor, Permission, Timestamp};

use super::{MAX_STATUS_PATHS, Repositories, named};
use crate::error::Result;
use crate::failures::from_git;
use crate::history_cursor::HistoryCursor;

/// The state of a repository, and which one it is.
#[derive(Debug)]
pub struct RepositoryStatus {
    /// Its working tree, or its git directory when it has none.
    pub repository: PathBuf,
    /// Its state.
    pub status: Status,
}

/// Which commits are wanted.
#[derive(Debug, Clone, Default)]
pub struct HistoryRequest {
    /// A revision or range; HEAD when left out.
    pub revision: Option<String>,
    /// How many commits at most.
    pub max_count: usize,
    /// Only commits from then on.
    pub since: Option<String>,
    /// Only commits until then.
    pub until: Option<String>,
    /// Only commits by authors whose name or address contains this.
    pub author: Option<String>,
    /// Only commits whose message contains this.
    pub grep: Option<String>,
    /// Only commits that change this path.
    pub file_path: Option<String>,
    /// In which order.
    pub order: LogOrder,
    /// What to do with merges.
    pub merges: Merges,
    /// Follow only the first parent of merges.
    pub first_parent: bool,
    /// Start at all references.
    pub all: bool,
    /// Only commits that change how often this text occurs.
    pub pickaxe: Option<String>,
    /// Follow `file_path` beyond its renames.
    pub follow: bool,
    /// Count what each commit changed.
    pub stat: bool,
    /// Say how each commit is signed.
    pub signatures: bool,
    /// Where an earlier page ended; stronger than `revision`.
    pub cursor: Option<Cursor>,
}

/// Commits of a repository, and which one it is.
#[derive(Debug)]
pub struct History {
    /// Its working tree, or its git directory when it has none.
    pub repository: PathBuf,
    /// The commits, newest first.
    pub commits: Vec<Commit>,
    /// How each of them is signed, when that was asked for.
    pub signatures: Vec<Option<&'static str>>,
    /// How many commits came before these, on earlier pages.
    pub offset: usize,
    /// Whether more follow.
    pub more: bool,
    /// What the cursors of this history begin with; the number of commits shown follows.
    pub cursor_stem: String,
}

impl History {
    /// The cursor to what follows the first `shown` commits of this page.
    #[must_use]
    pub fn cursor_after(&self, shown: usize) -> Cursor {
        Cursor::at(format!("{}{}", self.cursor_stem, self.offset + shown))
    }
}

impl Repositories {
    /// What changed in a repository since its last commit.
    ///
    /// # Errors
    /// When the caller may not look, or there is no repository that it may look at.
    pub async fn status(
        &self,
        caller: &Caller,
        path: Option<&Path>,
        untracked: bool,
    ) -> Result<RepositoryStatus> {
        caller.require(Permission::ProjectRead)?;
        let options = StatusOptions {
            untracked,
            limit: MAX_STATUS_PATHS,
            ..StatusOptions::default()
        };
        self.read(caller, path, move |repository, cancel| {
            Ok(RepositoryStatus {
                status: repository.status(&options, cancel)?,
                repository: named(repository),
            })
        })
        .await
    }

    /// The commits of a repository, newest first.
    ///
    /// # Errors
    /// When the caller may not look, there is no repository that it may look at, or the
    /// revision, a date or the path names nothing in it.
    pub async fn log(
        &self,
        caller: &Caller,
        path: Option<&Path>,
        request: HistoryRequest,
    ) -> Result<History> {
        caller.require(Permission::ProjectRead)?;
        let wants_signatures = request.signatures;
        let query = log_query(request, self.clock.now())?;
        self.read(caller, path, move |repository, cancel| {
            let page = repository.log(&query, cancel)?;
            let mut signatures = Vec::new();
            for commit in page.commits.iter().filter(|_| wants_signatures) {
                signatures.push(repository.described(commit.clone())?.signature);
            }
            let start = HistoryCursor {
                tips: page.tips,
                skip: 0,
            };
            Ok(History {
                repository: named(repository),
                commits: page.commits,
                signatures,
                offset: query.skip,
                more: page.more,
                cursor_stem: start.to_string().trim_end_matches('0').to_owned(),
            })
        })
        .await
    }
}

/// The most commits whose changes are shown at once.
const MAX_PATCHES: usize = 50;

/// When this much text of changes is there, the commits that follow are left to the next page.
const PATCH_BYTES: usize = 2 << 20;

impl Repositories {
    /// Commits with what each changed against its first parent.
    ///
    /// # Errors
    /// As [`Repositories::log`].
    pub async fn log_with_changes(
        &self,
        caller: &Caller,
        path: Option<&Path>,
        request: HistoryRequest,
    ) -> Result<(History, Vec<(CommitObject, Diff)>)> {
        let paths: Vec<String> = request
            .file_path
            .iter()
            .filter(|_| !request.follow)
            .cloned()
            .collect();
        let request = HistoryRequest {
            max_count: request.max_count.min(MAX_PATCHES),
            ..request
        };
        let mut history = self.log(caller, path, request).await?;
        let commits = history.commits.clone();
        let changes = self
            .ask(caller, path, move |work| changes(work, commits, &paths))
            .await?;
        history.more |= changes.result.len() < history.commits.len();
        Ok((history, changes.result))
    }
}

fn changes(
    work: &Work<'_>,
    commits: Vec<Commit>,
    paths: &[String],
) -> Result<Vec<(CommitObject, Diff)>, git::Error> {
    let mut changes = Vec::new();
    let mut bytes = 0;
    for commit in commits {
        let commit = work.repository().described(commit)?;
        let diff = work.diff(&DiffQuery {
            between: Between::Objects(commit.base, commit.commit.id),
            paths: RepositoryPath::list(paths)?,
            ..DiffQuery::default()
        })?;
        bytes += diff
            .files
            .iter()
            .filter_map(|file| file.patch.as_ref())
            .map(String::len)
            .sum::<usize>();
        changes.push((commit, diff));
        if bytes > PATCH_BYTES {
            break;
        }
    }
    Ok(changes)
}

fn log_query(request: HistoryRequest, now: Timestamp) -> Result<LogQuery> {
    let date = |text: Option<String>, edge| {
        text.map(|text| git::parse_date(&text, edge, now.into()))
            .transpose()
            .map_err(from_git)
    };
    let (start, skip) = match &request.cursor {
        Some(cursor) => {
            let place: HistoryCursor = cursor.place()?;
            (LogStart::Tips(place.tips), place.skip)
        }
        None => {
            let revision = match &request.revision {
                Some(text) => Revision::new(text).map_err(from_git)?,
                None => Revision::head(),
            };
            (LogStart::Revision(revision), 0)
        }
    };
    Ok(LogQuery {
        start,
        skip,
        max_count: request.max_count,
        since: date(request.since, DayEdge::Start)?,
        until: date(request.until, DayEdge::End)?,
        author: request.author,
        grep: request.grep,
        path: request.file_path,
        follow: request.follow,
        pickaxe: request.pickaxe,
        merges: request.merges,
        first_parent: request.first_parent,
        all_refs: request.all,
        order: request.order,
        stat: request.stat,
    })
}
