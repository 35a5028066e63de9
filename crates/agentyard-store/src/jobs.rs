//! Long work: queued, leased to one worker at a time, resumed when that worker is gone.
//!
//! What keeps a job from being finished twice is its fence, a number that grows with every
//! lease: a worker that was suspended, cut off or declared dead holds an older number, and
//! nothing it reports about the job is taken. The clock decides only when a job is tried
//! again, so the clock of each machine is good enough. One that is ahead takes a job from a
//! worker that still lives, as a lease that is too short would, and the fence settles it.
//!
//! Jobs are bookkeeping and leave no audit rows; the operation that wants one, and the work
//! that it does, do.

mod lease;
mod read;

use std::time::Duration;

use agentyard_model::{JobId, Timestamp};

use crate::database::Query;
use crate::{Result, Store, text};

pub use read::{Job, JobState};

/// Work to be done.
#[derive(Debug, Clone)]
pub struct NewJob {
    /// What kind of work; who leases a job asks for kinds.
    pub kind: String,
    /// What the worker needs to know, as JSON.
    pub payload: String,
    /// Not before this instant.
    pub run_at: Timestamp,
    /// How often it is tried. A try that ends with its worker's death counts.
    pub max_attempts: u32,
    /// Of several unfinished jobs of a kind with the same key there is only one.
    pub unique_key: Option<String>,
}

/// What became of work that was to be queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enqueued {
    /// It is queued.
    New(JobId),
    /// There is already such a job, and it is not finished.
    Already(JobId),
}

impl Enqueued {
    /// The job, new or not.
    #[must_use]
    pub fn id(self) -> JobId {
        match self {
            Self::New(id) | Self::Already(id) => id,
        }
    }
}

/// A job that was given to one worker for a while.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeasedJob {
    /// Which one.
    pub id: JobId,
    /// What kind of work.
    pub kind: String,
    /// What the worker needs to know, as JSON.
    pub payload: String,
    /// Which try this is, counted from 1.
    pub attempt: u32,
    /// How many there are.
    pub max_attempts: u32,
    /// Which lease of the job this is. Whatever the worker writes elsewhere can carry it,
    /// so that a later worker's writes are told from an earlier one's.
    pub fence: i64,
}

/// The job table.
#[derive(Debug, Clone, Copy)]
pub struct Jobs<'a> {
    store: &'a Store,
}

impl<'a> Jobs<'a> {
    pub(crate) fn new(store: &'a Store) -> Self {
        Self { store }
    }

    /// Queues work.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn enqueue(self, new: &NewJob) -> Result<Enqueued> {
        const ATTEMPT: &str = "queue a job";
        let id = JobId::new();
        let unique_key = match &new.unique_key {
            Some(unique_key) => Some(text::key(ATTEMPT, unique_key)?.to_owned()),
            None => None,
        };
        // An update that changes nothing gives back the row that is in the way.
        let query = Query::new(
            ATTEMPT,
            "INSERT INTO jobs (id, kind, payload, unique_key, state, available_at, attempt, max_attempts, fence, \
             created_at) VALUES ($1, $2, $3, $4, 'queued', $5, 0, $6, 0, $7) \
             ON CONFLICT (kind, unique_key) WHERE unique_key IS NOT NULL AND finished_at IS NULL \
             DO UPDATE SET unique_key = excluded.unique_key \
             RETURNING id",
        )
        .bind(id)
        .bind(text::key(ATTEMPT, &new.kind)?)
        .bind(new.payload.as_str())
        .bind(unique_key)
        .bind(new.run_at)
        .bind(new.max_attempts.max(1))
        .bind(self.store.now());
        let mut transaction = self.store.begin(ATTEMPT).await?;
        let row = transaction.fetch_optional(&query).await?;
        let queued = match row {
            Some(row) => row.parsed("id")?,
            None => id,
        };
        transaction.commit(ATTEMPT).await?;
        Ok(if queued == id {
            Enqueued::New(id)
        } else {
            Enqueued::Already(queued)
        })
    }

    /// How a job is doing.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn get(self, id: JobId) -> Result<Option<Job>> {
        read::by_id(self.store, id).await
    }

    /// Takes the job of these kinds that has waited longest, for so long. None, when there
    /// is nothing to do.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub async fn lease(self, kinds: &[&str], worker: &str, duration: Duration) -> Result<Option<LeasedJob>> {
        lease::take(self.store, kinds, worker, duration).await
    }

    /// Keeps the job, for so long from now. To be called well before the lease runs out.
    ///
    /// # Errors
    /// [`LeaseLost`](crate::Error::LeaseLost) when another worker has the job by now, and this one must
    /// stop; or when it cannot be written.
    pub async fn heartbeat(self, job: &LeasedJob, duration: Duration) -> Result<()> {
        let until = self.store.now().after(duration);
        let query = Query::new(
            "keep a job",
            "UPDATE jobs SET available_at = $3 WHERE id = $1 AND fence = $2 AND finished_at IS NULL \
             AND state = 'running'",
        )
        .bind(job.id)
        .bind(job.fence)
        .bind(until);
        lease::report(self.store, job, &query).await
    }

    /// Says that the work is done. Also taken when the lease has run out, as long as nobody
    /// else took the job: the work need not be done again.
    ///
    /// # Errors
    /// [`LeaseLost`](crate::Error::LeaseLost) when another worker has the job by now, or when it cannot be
    /// written.
    pub async fn complete(self, job: &LeasedJob) -> Result<()> {
        let query = Query::new(
            "finish a job",
            "UPDATE jobs SET state = 'done', finished_at = $3, worker = NULL, last_error = NULL \
             WHERE id = $1 AND fence = $2 AND finished_at IS NULL AND state = 'running'",
        )
        .bind(job.id)
        .bind(job.fence)
        .bind(self.store.now());
        lease::report(self.store, job, &query).await
    }

    /// Says that this try failed, and when to try again. Without a time, or when this was
    /// the last try, the job has failed.
    ///
    /// # Errors
    /// [`LeaseLost`](crate::Error::LeaseLost) when another worker has the job by now, or when it cannot be
    /// written.
    pub async fn fail(self, job: &LeasedJob, error: &str, retry_at: Option<Timestamp>) -> Result<JobState> {
        lease::fail(self.store, job, error, retry_at).await
    }

    /// Forgets the jobs that were finished before this instant, and says how many.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn forget_finished(self, before: Timestamp) -> Result<u64> {
        let query = Query::new(
            "forget finished jobs",
            "DELETE FROM jobs WHERE finished_at IS NOT NULL AND finished_at < $1",
        )
        .bind(before);
        let mut transaction = self.store.begin(query.attempt()).await?;
        let forgotten = transaction.execute(&query).await?;
        transaction.commit(query.attempt()).await?;
        Ok(forgotten)
    }
}
