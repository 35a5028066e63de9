//! Executions on their way to another database. The rows themselves are the queue, so a restart loses nothing.

use agentyard_model::{Execution, ExecutionId};

use super::row;
use crate::database::Query;
use crate::{Result, Store};

/// Where an execution stands on its way to another database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// It is not to be sent.
    None,
    /// It waits to be sent.
    Waiting,
    /// It was sent, and taken.
    Sent,
    /// It was sent, and refused while others were taken. It is not tried again before somebody asks for that.
    Refused,
}

impl Delivery {
    pub(super) fn as_column(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Waiting => Some("waiting"),
            Self::Sent => Some("sent"),
            Self::Refused => Some("refused"),
        }
    }
}

pub(super) async fn waiting(store: &Store, limit: u32) -> Result<Vec<Execution>> {
    let query = row::select("look for executions to send")
        .push(" WHERE delivery = 'waiting' ORDER BY id LIMIT ")
        .push_value(limit);
    let rows = store.fetch(&query).await?;
    rows.iter().map(row::execution).collect()
}

pub(super) async fn settle(store: &Store, executions: &[ExecutionId], delivery: Delivery) -> Result<()> {
    if executions.is_empty() {
        return Ok(());
    }
    let query = Query::new(
        "note that executions were sent",
        "UPDATE executions SET delivery = $1 WHERE id IN (",
    )
    .bind(delivery.as_column())
    .push_values(executions)
    .push(")");
    change(store, &query).await.map(|_| ())
}

pub(super) async fn retry_refused(store: &Store) -> Result<u64> {
    let query = Query::new(
        "look for executions that were refused",
        "UPDATE executions SET delivery = 'waiting' WHERE delivery = 'refused'",
    );
    change(store, &query).await
}

/// What is lost of this with the machine's power is only sent once more.
async fn change(store: &Store, query: &Query) -> Result<u64> {
    let mut transaction = store.begin_hastily(query.attempt()).await?;
    let changed = transaction.execute(query).await?;
    transaction.commit(query.attempt()).await?;
    Ok(changed)
}
