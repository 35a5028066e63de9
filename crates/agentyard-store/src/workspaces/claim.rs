//! Who gets to make the tree of a branch.

use agentyard_model::{AuditEvent, NewWorkspace, Timestamp, Workspace, WorkspaceId, WorkspaceState};

use super::{COLUMNS, least_recently_used, of_branch, of_tenant, workspace};
use crate::database::{Query, Transaction};
use crate::{Result, Store, audit, repos, text};

/// What became of a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// There was none. The row is there, opening; its tree is to be made.
    New(Workspace),
    /// There was one, closed. The row is opening; its tree is to be made again. It still says when and why it was
    /// closed and where its unsaved work was kept.
    Reopened(Workspace),
    /// There is one already, and it is opening, open or closing.
    Existing(Workspace),
    /// The repository has as many as it may have: these, least recently used first. Nothing has changed.
    Full(Vec<Workspace>),
}

const ATTEMPT: &str = "claim a workspace";

pub(super) async fn run(store: &Store, new: &NewWorkspace, event: &AuditEvent) -> Result<Claim> {
    let now = store.now();
    let mut transaction = store.begin(ATTEMPT).await?;
    // From here on nobody else decides about workspaces of this repository.
    repos::hold(&mut transaction, new.tenant, new.repo).await?;
    let found = find(&mut transaction, new).await?;
    if let Some(existing) = found.as_ref().filter(|it| it.state != WorkspaceState::Closed) {
        return Ok(Claim::Existing(existing.clone()));
    }
    let present = least_recent(&mut transaction, new).await?;
    if present.len() >= new.limit as usize {
        return Ok(Claim::Full(present));
    }
    let claim = match found {
        Some(closed) => Claim::Reopened(reopen(&mut transaction, closed, new, now).await?),
        None => Claim::New(insert(&mut transaction, new, now).await?),
    };
    audit::append(&mut transaction, event, now).await?;
    transaction.commit(ATTEMPT).await?;
    Ok(claim)
}

async fn find(transaction: &mut Transaction, new: &NewWorkspace) -> Result<Option<Workspace>> {
    let query = of_branch(new.tenant, new.repo, &new.branch);
    let row = transaction.fetch_optional(&query).await?;
    row.as_ref().map(workspace).transpose()
}

/// The workspaces that count towards the limit, as many as it takes to reach it.
async fn least_recent(transaction: &mut Transaction, new: &NewWorkspace) -> Result<Vec<Workspace>> {
    let query = of_tenant(new.tenant)
        .push(" AND repo_id = ")
        .push_value(new.repo)
        .push(" AND state <> 'closed'");
    let rows = transaction
        .fetch(&least_recently_used(query, new.limit.max(1)))
        .await?;
    rows.iter().map(workspace).collect()
}

async fn reopen(
    transaction: &mut Transaction,
    closed: Workspace,
    new: &NewWorkspace,
    now: Timestamp,
) -> Result<Workspace> {
    let reopened = Workspace {
        state: WorkspaceState::Opening,
        agent: new.agent.clone().or(closed.agent),
        task: new.task.clone().or(closed.task),
        target: new.target.clone().or(closed.target),
        owner: text::bounded(&new.owner).into_owned(),
        lease_until: new.lease_until,
        used_at: now,
        ..closed
    };
    let query = Query::new(
        ATTEMPT,
        "UPDATE workspaces SET state = 'opening', agent = $2, task = $3, target = $4, owner = $5, \
         lease_until = $6, used_at = $7 WHERE id = $1",
    )
    .bind(reopened.id)
    .bind(reopened.agent.as_deref())
    .bind(reopened.task.as_deref())
    .bind(reopened.target.as_deref())
    .bind(&reopened.owner)
    .bind(reopened.lease_until)
    .bind(reopened.used_at);
    transaction.execute(&query).await?;
    Ok(reopened)
}

async fn insert(transaction: &mut Transaction, new: &NewWorkspace, now: Timestamp) -> Result<Workspace> {
    let query = Query::new(
        ATTEMPT,
        "INSERT INTO workspaces (tenant_id, id, repo_id, branch, name, agent, task, target, state, owner, \
         lease_until, created_at, used_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'opening', $9, $10, $11, $11) RETURNING ",
    )
    .bind(new.tenant)
    .bind(WorkspaceId::new())
    .bind(new.repo)
    .bind(text::key(ATTEMPT, &new.branch)?)
    .bind(text::key(ATTEMPT, &new.name)?)
    .bind(new.agent.as_deref())
    .bind(new.task.as_deref())
    .bind(new.target.as_deref())
    .bind(&*text::bounded(&new.owner))
    .bind(new.lease_until)
    .bind(now)
    .push(COLUMNS);
    let rows = transaction
        .fetch(&query)
        .await
        .map_err(|error| error.or_exists("workspace", &new.name))?;
    match rows.first() {
        Some(row) => workspace(row),
        None => Err(crate::Error::not_found("workspace", &new.name)),
    }
}
