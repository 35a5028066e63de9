//! How a job is doing.

use agentyard_model::{JobId, Timestamp};

use crate::database::{Query, unreadable};
use crate::{Result, Store};

/// How far a job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobState {
    /// It waits for a worker, or for its time.
    Queued,
    /// A worker has it, or had it when it was last heard of.
    Running,
    /// It was done.
    Done,
    /// It was tried often enough.
    Failed,
}

impl JobState {
    /// The state as it is written.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
        }
    }

    fn read(text: &str) -> Result<Self> {
        [Self::Queued, Self::Running, Self::Done, Self::Failed]
            .into_iter()
            .find(|state| state.as_str() == text)
            .ok_or_else(|| {
                unreadable(
                    "state",
                    format!("`{}` is not a state of a job", text.escape_debug()),
                )
            })
    }
}

/// A job as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// Which one.
    pub id: JobId,
    /// What kind of work.
    pub kind: String,
    /// How far it is.
    pub state: JobState,
    /// How often it was tried.
    pub attempt: u32,
    /// How often it is tried.
    pub max_attempts: u32,
    /// When it may be taken next: its time, or the end of its lease.
    pub available_at: Timestamp,
    /// Who has it.
    pub worker: Option<String>,
    /// What was said of the last failure.
    pub last_error: Option<String>,
    /// When it was queued.
    pub created_at: Timestamp,
    /// When it was done, or given up.
    pub finished_at: Option<Timestamp>,
}

pub(super) async fn by_id(store: &Store, id: JobId) -> Result<Option<Job>> {
    let query = Query::new(
        "look up a job",
        "SELECT id, kind, state, attempt, max_attempts, available_at, worker, last_error, created_at, finished_at \
         FROM jobs WHERE id = $1",
    )
    .bind(id);
    let Some(row) = store.fetch_optional(&query).await? else {
        return Ok(None);
    };
    Ok(Some(Job {
        id: row.parsed("id")?,
        kind: row.text("kind")?,
        state: JobState::read(&row.text("state")?)?,
        attempt: row.count("attempt")?,
        max_attempts: row.count("max_attempts")?,
        available_at: row.timestamp("available_at")?,
        worker: row.optional_text("worker")?,
        last_error: row.optional_text("last_error")?,
        created_at: row.timestamp("created_at")?,
        finished_at: row.optional_timestamp("finished_at")?,
    }))
}
