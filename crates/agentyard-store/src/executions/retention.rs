//! Forgetting executions, some at a time: whoever wants to write meanwhile gets in between.

use agentyard_model::{ExecutionPlace, Timestamp};

use crate::database::{Query, Row};
use crate::{Result, Store};

/// How many rows go at once.
const BATCH: u32 = 500;

const ATTEMPT: &str = "forget executions";

/// What is still to be sent.
const UNDELIVERED: &str = "delivery IN ('waiting', 'refused')";

pub(super) async fn forget_older(store: &Store, than: Timestamp) -> Result<u64> {
    let mut forgotten = 0;
    loop {
        let query = Query::new(
            ATTEMPT,
            "DELETE FROM executions WHERE id IN (SELECT id FROM executions WHERE started_at < $1 \
             AND (delivery IS NULL OR delivery = 'sent') ORDER BY started_at, id LIMIT $2)",
        )
        .bind(than)
        .bind(BATCH);
        let mut transaction = store.begin_hastily(ATTEMPT).await?;
        let gone = transaction.execute(&query).await?;
        transaction.commit(ATTEMPT).await?;
        forgotten += gone;
        if gone < u64::from(BATCH) {
            return Ok(forgotten);
        }
    }
}

pub(super) async fn keep_newest(store: &Store, count: u64) -> Result<(u64, u64)> {
    let query = Query::new(
        ATTEMPT,
        "SELECT started_at, id FROM executions ORDER BY started_at DESC, id DESC LIMIT 1 OFFSET $1",
    )
    .bind(count);
    let Some(newest_to_go) = store.fetch_optional(&query).await? else {
        return Ok((0, 0));
    };
    let newest_to_go = place(&newest_to_go)?;
    let (mut forgotten, mut unsent) = (0, 0);
    loop {
        let (gone, undelivered) = forget_up_to(store, newest_to_go).await?;
        forgotten += gone;
        unsent += undelivered;
        if gone < u64::from(BATCH) {
            return Ok((forgotten, unsent));
        }
    }
}

async fn forget_up_to(store: &Store, place: ExecutionPlace) -> Result<(u64, u64)> {
    let query = Query::new(
        ATTEMPT,
        "DELETE FROM executions WHERE id IN (SELECT id FROM executions WHERE (started_at, id) <= ($1, $2) \
         ORDER BY started_at, id LIMIT $3) RETURNING CASE WHEN ",
    )
    .bind(place.started_at)
    .bind(place.id)
    .bind(BATCH)
    .push(UNDELIVERED)
    .push(" THEN 'unsent' ELSE '' END AS standing");
    let mut transaction = store.begin_hastily(ATTEMPT).await?;
    let rows = transaction.fetch(&query).await?;
    transaction.commit(ATTEMPT).await?;
    let mut unsent = 0;
    for row in &rows {
        unsent += u64::from(row.text("standing")? == "unsent");
    }
    Ok((rows.len() as u64, unsent))
}

fn place(row: &Row) -> Result<ExecutionPlace> {
    Ok(ExecutionPlace {
        started_at: row.timestamp("started_at")?,
        id: row.parsed("id")?,
    })
}
