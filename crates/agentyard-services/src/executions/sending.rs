//! The task that sends records on: gathers, sends, notes what was taken, and is patient with a server that is away.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use agentyard_model::ExecutionId;
use agentyard_store::Delivery;

use super::Shared;
use super::surreal::{SendError, Surreal};

/// How long is waited after a failure at most. At first that is as long as records are gathered, and twice as long after
/// each further failure.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// How often the table is looked at although nobody rang: another process may have written to it.
const LOOK: Duration = Duration::from_secs(60);

/// How long a process that ends goes on sending.
const LAST_CALL: Duration = Duration::from_secs(5);

/// Why sending came to a halt.
#[derive(Debug, thiserror::Error)]
enum Halt {
    #[error("the records cannot be read or marked")]
    Store(#[from] agentyard_store::Error),
    #[error("SurrealDB takes no records")]
    Send(#[from] SendError),
    #[error("SurrealDB takes none of the records: {0}")]
    AllRefused(String),
}

/// Begins to send, unless that was begun before or there is nowhere to send to.
pub(super) fn begin(shared: &Arc<Shared>) {
    if shared.surreal.is_none() {
        return;
    }
    let mut sender = shared.sender.lock().unwrap_or_else(PoisonError::into_inner);
    if sender.is_none() {
        *sender = Some(tokio::spawn(keep_sending(Arc::clone(shared))));
    }
}

/// Ends the task, and sends what can be sent within a moment, if it was ever begun.
pub(super) async fn end(shared: &Arc<Shared>) {
    let task = shared
        .sender
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    let (Some(task), Some(surreal)) = (task, &shared.surreal) else {
        return;
    };
    // What it was just sending is sent again, which does no harm.
    task.abort();
    match tokio::time::timeout(LAST_CALL, send_all(shared, surreal)).await {
        Ok(Ok(())) => {}
        Ok(Err(halt)) => warn(&halt),
        Err(_) => tracing::warn!("not all executions were sent to SurrealDB; the next process goes on"),
    }
}

async fn keep_sending(shared: Arc<Shared>) {
    let Some(surreal) = &shared.surreal else { return };
    // What was refused may be welcome by now: somebody has changed something and started us again.
    if let Err(error) = shared.store.executions().retry_refused().await {
        tracing::warn!(%error, "executions that SurrealDB refused could not be looked for");
    }
    let gathering = surreal.settings.flush_interval;
    let mut pause = gathering;
    loop {
        match send_all(&shared, surreal).await {
            Ok(()) => {
                pause = gathering;
                let _rung = tokio::time::timeout(LOOK, shared.news.notified()).await;
                tokio::time::sleep(gathering).await;
            }
            Err(halt) => {
                warn(&halt);
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
    }
}

/// Sends until nothing waits any more.
async fn send_all(shared: &Shared, surreal: &Surreal) -> Result<(), Halt> {
    while send_some(shared, surreal).await? {}
    Ok(())
}

/// Sends one call's worth, and says whether there was anything to send.
async fn send_some(shared: &Shared, surreal: &Surreal) -> Result<bool, Halt> {
    let executions = shared.store.executions();
    let waiting = executions.waiting(surreal.settings.batch.clamp(1, 1000)).await?;
    if waiting.is_empty() {
        return Ok(false);
    }
    let verdicts = surreal.send(&waiting).await?;
    let mut taken: Vec<ExecutionId> = Vec::new();
    let mut refused: Vec<(ExecutionId, String)> = Vec::new();
    for (execution, verdict) in waiting.iter().zip(verdicts) {
        match verdict {
            Ok(()) => taken.push(execution.id),
            Err(reason) => refused.push((execution.id, reason)),
        }
    }
    if let (true, Some((_, reason))) = (taken.is_empty(), refused.first()) {
        // Nothing speaks for its being the records' fault.
        return Err(Halt::AllRefused(reason.clone()));
    }
    executions.settle(&taken, Delivery::Sent).await?;
    // Others were taken by the same call: these would only hold up those that follow.
    for (execution, reason) in &refused {
        tracing::warn!(%execution, reason, "SurrealDB refused an execution; it is set aside until the next start");
    }
    let refused: Vec<ExecutionId> = refused.into_iter().map(|(execution, _)| execution).collect();
    executions.settle(&refused, Delivery::Refused).await?;
    Ok(true)
}

fn warn(halt: &Halt) {
    let mut reason = halt.to_string();
    let mut cause = std::error::Error::source(halt);
    while let Some(error) = cause {
        reason.push_str(": ");
        reason.push_str(&error.to_string());
        cause = error.source();
    }
    tracing::warn!(reason, "executions wait to be sent");
}
