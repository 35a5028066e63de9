//! A new sandbox: its row, before there is anything else of it.

use std::time::Duration;

use agentyard_model::{AuditEvent, NewSandbox, Sandbox, SandboxId, Secret, Timestamp};
use serde::Serialize;

use super::{COLUMNS, Sandboxes, sandbox};
use crate::database::{Query, Transaction};
use crate::{Error, Result, audit, text};

const ATTEMPT: &str = "make a sandbox";

/// How long somebody who asks again with the same key gets what was made then.
const KEY_LIFE: Duration = Duration::from_secs(3600);

/// What became of the wish for a sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Creation {
    /// The row is there, starting; the sandbox is to be made.
    Made(Sandbox),
    /// Its owner has asked for it before, with the same key.
    Existing(Sandbox),
    /// Its owner has asked for something else before, with the same key. Nothing has changed.
    OtherWish(Sandbox),
    /// The tenant has as many as it may have. Nothing has changed.
    TenantFull,
    /// There are as many as there may be. Nothing has changed.
    Full,
}

impl Sandboxes<'_> {
    /// Writes down that a sandbox is going to be made. The event is written only when it is.
    ///
    /// # Errors
    /// When there is no such tenant, there is no key, or it cannot be written.
    pub async fn create(self, new: &NewSandbox, event: &AuditEvent) -> Result<Creation> {
        let now = self.store.now();
        let environment = Secret::new(written(&new.environment)?);
        let key = self.store.sealing_key().await?;
        let sealed = key.seal_at(&place(new.id), &environment)?;
        // It tells whether two wishes are the same, and nothing about the secrets in them.
        let wish = (
            &new.template,
            &new.metadata,
            &new.environment,
            new.lifecycle,
            &new.network,
            new.timeout,
        );
        let wish = hex::encode(key.derive(&format!("wish:{}", written(&wish)?)));
        let mut transaction = self.store.begin_hastily(ATTEMPT).await?;
        // The first thing that happens: nobody else decides about sandboxes of this tenant until the end.
        audit::append(&mut transaction, event, now).await?;
        if let Some((existing, is_same)) = asked_before(&mut transaction, new, &wish, now).await? {
            return Ok(match is_same {
                true => Creation::Existing(existing),
                false => Creation::OtherWish(existing),
            });
        }
        let (of_tenant, all) = counts(&mut transaction, new).await?;
        if of_tenant >= new.most_of_tenant {
            return Ok(Creation::TenantFull);
        }
        if all >= new.most {
            return Ok(Creation::Full);
        }
        let query = Query::new(
            ATTEMPT,
            "INSERT INTO sandboxes (id, tenant_id, owner, template, state, metadata, environment, \
             environment_nonce, auto_pause, auto_resume, files_only, network, image, keeper, in_memory, wish, \
             idempotency_key, created_at, started_at, ends_at) \
             VALUES ($1, $2, $3, $4, 'starting', $5, $6, $7, $8, $9, $10, $11, $12, $13, 1, $14, $15, $16, $16, $17) \
             RETURNING ",
        )
        .bind(new.id)
        .bind(new.tenant)
        .bind(text::key(ATTEMPT, &new.owner)?)
        .bind(text::key(ATTEMPT, &new.template)?)
        .bind(written(&new.metadata)?)
        .bind(sealed.text)
        .bind(sealed.nonce)
        .bind(new.lifecycle.auto_pause)
        .bind(new.lifecycle.auto_resume)
        .bind(new.lifecycle.files_only)
        .bind(written(&new.network)?)
        .bind(new.image.as_deref())
        .bind(new.keeper.as_str())
        .bind(wish)
        .bind(new.idempotency_key.as_deref())
        .bind(now)
        .bind(now.after(new.timeout))
        .push(COLUMNS);
        let row = transaction.fetch_optional(&query).await?;
        let row = row.ok_or_else(|| Error::not_found("sandbox", new.id))?;
        transaction.commit(ATTEMPT).await?;
        sandbox(&row).map(Creation::Made)
    }
}

/// What was made when the same key was last used, unless that is too long ago: then it is free again.
async fn asked_before(
    transaction: &mut Transaction,
    new: &NewSandbox,
    wish: &str,
    now: Timestamp,
) -> Result<Option<(Sandbox, bool)>> {
    let Some(key) = new.idempotency_key.as_deref() else {
        return Ok(None);
    };
    let query = Query::new(ATTEMPT, "SELECT wish, ")
        .push(COLUMNS)
        .push(" FROM sandboxes WHERE tenant_id = ")
        .push_value(new.tenant)
        .push(" AND owner = ")
        .push_value(&new.owner)
        .push(" AND idempotency_key = ")
        .push_value(text::key(ATTEMPT, key)?);
    let Some(row) = transaction.fetch_optional(&query).await? else {
        return Ok(None);
    };
    let existing = sandbox(&row)?;
    if existing.created_at.after(KEY_LIFE) > now {
        let is_same = row.text("wish")? == wish;
        return Ok(Some((existing, is_same)));
    }
    let query = Query::new(
        ATTEMPT,
        "UPDATE sandboxes SET idempotency_key = NULL WHERE id = $1",
    )
    .bind(existing.id);
    transaction.execute(&query).await?;
    Ok(None)
}

/// How many sandboxes the tenant has, and all have. Those that other tenants are making just now may not be counted.
async fn counts(transaction: &mut Transaction, new: &NewSandbox) -> Result<(u32, u32)> {
    let query = Query::new(
        ATTEMPT,
        "SELECT COUNT(*) AS all_of_them, COUNT(CASE WHEN tenant_id = $1 THEN 1 END) AS of_tenant FROM sandboxes",
    )
    .bind(new.tenant);
    match transaction.fetch_optional(&query).await? {
        Some(row) => Ok((row.count("of_tenant")?, row.count("all_of_them")?)),
        None => Ok((0, 0)),
    }
}

/// Where the environment of a sandbox is sealed. No tenant's name has a colon.
pub(super) fn place(id: SandboxId) -> String {
    format!("sandbox:{id}")
}

pub(super) fn written(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|_| Error::Unstorable {
        attempt: ATTEMPT,
        reason: "it has no written form",
    })
}
