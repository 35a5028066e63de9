//! Who has a job.

use std::time::Duration;

use agentyard_model::Timestamp;

use super::{JobState, LeasedJob};
use crate::database::{Query, Row, Transaction};
use crate::{Error, Result, Store, text};

/// What is said of a job whose last worker was never heard of again.
const WORKER_LOST: &str = "the worker went silent on the last try";

const TAKE: &str = "lease a job";

pub(super) async fn take(
    store: &Store,
    kinds: &[&str],
    worker: &str,
    duration: Duration,
) -> Result<Option<LeasedJob>> {
    if kinds.is_empty() {
        return Ok(None);
    }
    let now = store.now();
    let mut transaction = store.begin(TAKE).await?;
    give_up(&mut transaction, kinds, now).await?;
    let query = Query::new(
        TAKE,
        "UPDATE jobs SET state = 'running', worker = $1, available_at = $2, attempt = attempt + 1, fence = fence + 1 \
         WHERE id = (SELECT id FROM jobs WHERE finished_at IS NULL AND available_at <= $3 \
         AND attempt < max_attempts AND kind IN (",
    )
    .bind(&*text::bounded(worker))
    .bind(now.after(duration))
    .bind(now)
    .push_values(kinds.iter().copied())
    .push(") ORDER BY available_at, id LIMIT 1")
    .push(transaction.skipping_locked())
    .push(") RETURNING id, kind, payload, attempt, max_attempts, fence");
    let row = transaction.fetch_optional(&query).await?;
    let job = row.as_ref().map(leased).transpose()?;
    transaction.commit(TAKE).await?;
    Ok(job)
}

/// Ends the jobs whose last try nobody will report on any more.
async fn give_up(transaction: &mut Transaction, kinds: &[&str], now: Timestamp) -> Result<()> {
    let query = Query::new(
        "give up lost jobs",
        "UPDATE jobs SET state = 'failed', finished_at = $1, worker = NULL, last_error = $2 \
         WHERE id IN (SELECT id FROM jobs WHERE finished_at IS NULL AND available_at <= $1 \
         AND attempt >= max_attempts AND kind IN (",
    )
    .bind(now)
    .bind(WORKER_LOST)
    .push_values(kinds.iter().copied())
    .push(")")
    .push(transaction.skipping_locked())
    .push(")");
    transaction.execute(&query).await.map(|_| ())
}

pub(super) async fn fail(
    store: &Store,
    job: &LeasedJob,
    error: &str,
    retry_at: Option<Timestamp>,
) -> Result<JobState> {
    let retry_at = retry_at.filter(|_| job.attempt < job.max_attempts);
    let (state, finished_at) = match retry_at {
        Some(_) => (JobState::Queued, None),
        None => (JobState::Failed, Some(store.now())),
    };
    let query = Query::new(
        "report a failed job",
        "UPDATE jobs SET state = $3, finished_at = $4, available_at = COALESCE($5, available_at), worker = NULL, \
         last_error = $6 WHERE id = $1 AND fence = $2 AND finished_at IS NULL AND state = 'running'",
    )
    .bind(job.id)
    .bind(job.fence)
    .bind(state.as_str())
    .bind(finished_at)
    .bind(retry_at)
    .bind(&*text::bounded(error));
    report(store, job, &query).await?;
    Ok(state)
}

/// Writes what a worker says of its job, which changes one row or, when the job is not
/// its own any more, none.
pub(super) async fn report(store: &Store, job: &LeasedJob, query: &Query) -> Result<()> {
    let mut transaction = store.begin(query.attempt()).await?;
    if transaction.execute(query).await? == 0 {
        return Err(Error::LeaseLost(job.id));
    }
    transaction.commit(query.attempt()).await
}

fn leased(row: &Row) -> Result<LeasedJob> {
    Ok(LeasedJob {
        id: row.parsed("id")?,
        kind: row.text("kind")?,
        payload: row.text("payload")?,
        attempt: row.count("attempt")?,
        max_attempts: row.count("max_attempts")?,
        fence: row.integer("fence")?,
    })
}
