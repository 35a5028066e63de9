//! Repositories: what is in them, as far as the caller may look.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use agentyard_git::{
    self as git, Commit, DayEdge, KeepLimits, KeptRepositories, LogQuery, LogStart, Remote, Repository,
    Revision, Roots, Status, StatusOptions, Tag,
};
use agentyard_model::{Caller, Clock, Cursor, Permission, TenantId, Timestamp};
use tokio::sync::Semaphore;

use crate::error::{Error, ErrorKind, Result};
use crate::history_cursor::HistoryCursor;
use crate::working_directories::WorkingDirectories;

/// How many repositories are read at the same time. More would only take turns on the
/// cores, and each holds memory while it waits.
const READERS: usize = 8;

/// How many paths each list of a status may have. What does not fit into one answer is
/// fetched by cursor; past this, a tree is not looked at path by path any more.
const MAX_STATUS_PATHS: usize = 100_000;

/// Repositories.
pub struct Repositories {
    roots: Roots,
    working_directories: WorkingDirectories,
    kept: Arc<KeptRepositories>,
    readers: Semaphore,
    timeout: Duration,
    clock: Clock,
}

/// What repositories may be read, and for how long.
pub struct RepositorySettings {
    /// The directories that the local tenant may use.
    pub roots: Roots,
    /// Where the directories that `.` stands for are kept.
    pub working_directories: WorkingDirectories,
    /// How long one call may read.
    pub timeout: Duration,
}

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

/// A repository at a glance.
#[derive(Debug)]
pub struct Snapshot {
    /// Which one.
    pub repository: PathBuf,
    /// The directory that `.` stands for now.
    pub directory: PathBuf,
    /// Its state.
    pub status: Status,
    /// Its newest commits.
    pub commits: Vec<Commit>,
    /// Its newest tags.
    pub tags: Vec<Tag>,
    /// Where it fetches from and pushes to.
    pub remotes: Vec<Remote>,
}

impl Repositories {
    pub(crate) fn new(settings: RepositorySettings, clock: Clock) -> Self {
        Self {
            roots: settings.roots,
            working_directories: settings.working_directories,
            kept: Arc::new(KeptRepositories::new(KeepLimits::default())),
            readers: Semaphore::new(READERS),
            timeout: settings.timeout,
            clock,
        }
    }

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
        let query = log_query(request, self.clock.now())?;
        self.read(caller, path, move |repository, cancel| {
            let page = repository.log(&query, cancel)?;
            let start = HistoryCursor {
                tips: page.tips,
                skip: 0,
            };
            Ok(History {
                repository: named(repository),
                commits: page.commits,
                offset: query.skip,
                more: page.more,
                cursor_stem: start.to_string().trim_end_matches('0').to_owned(),
            })
        })
        .await
    }

    /// Makes a directory the one that `.` stands for, and tells what is there.
    ///
    /// # Errors
    /// When the caller may not look, or there is no repository that it may look at.
    pub async fn set_working_directory(&self, caller: &Caller, path: &Path) -> Result<Snapshot> {
        caller.require(Permission::ProjectRead)?;
        let directory = self.directory(caller, Some(path)).await?;
        let roots = self.roots_of(caller)?;
        let kept = Arc::clone(&self.kept);
        let snapshot = self
            .in_background(move |cancel| {
                let confined = roots.resolve(&directory)?;
                let directory = confined.path().to_owned();
                let repository = kept.open(&confined)?;
                let options = StatusOptions {
                    limit: MAX_STATUS_PATHS,
                    ..StatusOptions::default()
                };
                let recent = repository.snapshot(cancel)?;
                Ok(Snapshot {
                    status: repository.status(&options, cancel)?,
                    repository: named(&repository),
                    directory,
                    commits: recent.recent_commits,
                    tags: recent.recent_tags,
                    remotes: recent.remotes,
                })
            })
            .await?;
        self.working_directories.set(caller, &snapshot.directory).await?;
        Ok(snapshot)
    }

    /// Forgets the directory that `.` stood for, and tells which it was.
    ///
    /// # Errors
    /// When the caller may not look at repositories at all.
    pub async fn clear_working_directory(&self, caller: &Caller) -> Result<Option<PathBuf>> {
        caller.require(Permission::ProjectRead)?;
        self.working_directories.clear(caller).await
    }

    /// The directory that `.` stands for.
    ///
    /// # Errors
    /// When the caller may not look at repositories at all.
    pub async fn working_directory(&self, caller: &Caller) -> Result<Option<PathBuf>> {
        caller.require(Permission::ProjectRead)?;
        self.working_directories.get(caller).await
    }

    async fn read<T: Send + 'static>(
        &self,
        caller: &Caller,
        path: Option<&Path>,
        work: impl FnOnce(&Repository, &AtomicBool) -> Result<T, git::Error> + Send + 'static,
    ) -> Result<T> {
        let roots = self.roots_of(caller)?;
        let directory = self.directory(caller, path).await?;
        let kept = Arc::clone(&self.kept);
        self.in_background(move |cancel| {
            let confined = roots.resolve(&directory)?;
            work(&*kept.open(&confined)?, cancel)
        })
        .await
    }

    /// The roots are the local tenant's: other tenants' repositories will be projects,
    /// and until they have some there is nothing here for them to see.
    fn roots_of(&self, caller: &Caller) -> Result<Roots> {
        if caller.tenant == TenantId::LOCAL {
            return Ok(self.roots.clone());
        }
        Err(Error::not_found("your tenant has no repositories on this server"))
    }

    async fn directory(&self, caller: &Caller, path: Option<&Path>) -> Result<PathBuf> {
        match path {
            Some(path) if path.is_absolute() => Ok(path.to_owned()),
            Some(path) if path != Path::new(".") && !path.as_os_str().is_empty() => {
                Err(Error::invalid(format!(
                    "`path`: expected an absolute path, or `.` for the working directory, got `{}`",
                    path.display().to_string().escape_debug()
                )))
            }
            _ => self.working_directories.get(caller).await?.ok_or_else(|| {
                Error::invalid("`path` is `.`, and no working directory is set")
                    .hint("call git_set_working_dir first, or pass the repository's absolute path")
            }),
        }
    }

    /// Runs work that blocks on a thread for such work, and stops it when the caller
    /// goes away or the time is up.
    async fn in_background<T: Send + 'static>(
        &self,
        work: impl FnOnce(&AtomicBool) -> Result<T, git::Error> + Send + 'static,
    ) -> Result<T> {
        let _turn = self
            .readers
            .acquire()
            .await
            .map_err(|error| Error::internal("waiting for a turn to read", error))?;
        let cancel = StopWhenDropped::default();
        let flag = cancel.0.clone();
        let span = tracing::Span::current();
        let reading = tokio::task::spawn_blocking(move || span.in_scope(|| work(&flag)));
        tokio::time::timeout(self.timeout, reading)
            .await
            .map_err(|_| {
                let seconds = self.timeout.as_secs_f64();
                Error::new(
                    ErrorKind::LimitExceeded,
                    format!("reading the repository took longer than {seconds} s"),
                )
                .hint("ask for less, or raise `git.timeout_ms`")
            })?
            .map_err(|error| Error::internal("reading the repository", error))?
            .map_err(from_git)
    }
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
    })
}

/// Tells the thread that nobody waits for its answer any more.
#[derive(Default)]
struct StopWhenDropped(Arc<AtomicBool>);

impl Drop for StopWhenDropped {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn named(repository: &Repository) -> PathBuf {
    repository
        .worktree()
        .unwrap_or_else(|| repository.git_dir())
        .to_owned()
}

/// What the git port's failure means to a client.
fn from_git(error: git::Error) -> Error {
    use git::Error as GitError;
    let message = error.to_string();
    match error {
        GitError::InvalidPath { .. } | GitError::InvalidRevision { .. } | GitError::InvalidDate { .. } => Error::invalid(message),
        GitError::OutsideRoots { .. } => Error::new(ErrorKind::Forbidden, message).hint(
            "the directories that may be used are set where Agentyard is started: `agentyard mcp --root DIR`, \
             or `git.roots` for a server",
        ),
        GitError::NotFound { .. } | GitError::NotADirectory { .. } | GitError::NotARepository { .. } => Error::not_found(message),
        GitError::UnknownRevision { .. } => Error::not_found(message).because(error),
        GitError::RepositoryEscapes { .. } | GitError::RepositoryMalformed { .. } | GitError::ForeignOwner { .. } => {
            Error::new(ErrorKind::Forbidden, message)
        }
        GitError::UnsupportedRepository { .. } => Error::invalid(message),
        GitError::NotACommit { .. } => Error::new(ErrorKind::Conflict, message),
        GitError::Cancelled => Error::new(ErrorKind::Unavailable, message),
        GitError::OpenDirectory { .. } | GitError::OpenRoot { .. } | GitError::OpenRepository { .. } | GitError::Read { .. } | GitError::ReadFile { .. } => {
            Error::new(ErrorKind::Conflict, message)
                .hint("the repository may be damaged or in the middle of a change: look at it with `git fsck`")
                .because(error)
        }
    }
}
