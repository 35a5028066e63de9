//! The chain: how a row is tied to the one before it.

use agentyard_model::{AuditEvent, AuditId, AuditRecord, TenantId, Timestamp};
use sha2::{Digest, Sha256};

use crate::database::{Query, Row, Transaction};
use crate::{Error, Result, text};

/// What the first row of a chain names as the hash before it.
pub(super) const GENESIS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// What is hashed first: which fields follow, in which order. A change of that is a new name.
const FORM: &str = "agentyard audit 1";

/// Starts the chain of a new tenant.
pub(crate) async fn start(transaction: &mut Transaction, tenant: TenantId) -> Result<()> {
    let query = Query::new(
        "start an audit log",
        "INSERT INTO audit_heads (tenant_id, sequence, hash) VALUES ($1, 0, $2)",
    )
    .bind(tenant)
    .bind(GENESIS);
    transaction.execute(&query).await.map(|_| ())
}

/// Adds a row to the chain of its tenant, as the last act of a transaction: the head stays
/// locked until the end of it, which is what keeps a chain from forking, and whoever holds
/// it wants nothing else any more, which is what keeps two from waiting for each other.
pub(crate) async fn append(
    transaction: &mut Transaction,
    event: &AuditEvent,
    at: Timestamp,
) -> Result<AuditRecord> {
    let record = Unnumbered::new(event, at);
    // Counting up both locks the head and says what it was.
    let query = Query::new(
        "take the head of the audit log",
        "UPDATE audit_heads SET sequence = sequence + 1 WHERE tenant_id = $1 RETURNING sequence, hash",
    )
    .bind(event.tenant);
    let head = transaction
        .fetch_optional(&query)
        .await?
        .ok_or_else(|| Error::not_found("tenant", event.tenant))?;
    let link = record.at_place(head.integer("sequence")?, head.text("hash")?);
    let hash = link.hash();
    transaction.execute(&insertion(&link, &hash)).await?;
    let query = Query::new(
        "move the head of the audit log",
        "UPDATE audit_heads SET hash = $2 WHERE tenant_id = $1",
    )
    .bind(event.tenant)
    .bind(hash);
    transaction.execute(&query).await?;
    Ok(AuditRecord {
        id: record.id,
        sequence: link.sequence,
        at,
        actor: link.actor,
        chain: record.chain,
        action: link.action,
        target: link.target,
        request_id: link.request_id,
        outcome: event.outcome,
    })
}

/// A row before its place in the chain is known.
struct Unnumbered<'a> {
    event: &'a AuditEvent,
    id: AuditId,
    at: Timestamp,
    chain: Vec<String>,
}

impl<'a> Unnumbered<'a> {
    fn new(event: &'a AuditEvent, at: Timestamp) -> Self {
        Self {
            event,
            id: AuditId::new(),
            at,
            chain: event
                .chain
                .iter()
                .map(|subject| text::bounded(subject).into_owned())
                .collect(),
        }
    }

    fn at_place(&self, sequence: i64, previous_hash: String) -> Link {
        Link {
            tenant: self.event.tenant.to_string(),
            sequence,
            id: self.id.to_string(),
            at: self.at.as_microseconds(),
            actor: text::bounded(&self.event.actor).into_owned(),
            chain: serde_json::json!(self.chain).to_string(),
            action: self.event.action.to_owned(),
            target: text::bounded(&self.event.target).into_owned(),
            request_id: self.event.request_id.to_string(),
            outcome: self.event.outcome.to_string(),
            previous_hash,
        }
    }
}

/// A row as it is hashed: every column as it is stored, and nothing interpreted, so that
/// any change shows.
pub(super) struct Link {
    pub(super) tenant: String,
    pub(super) sequence: i64,
    pub(super) id: String,
    pub(super) at: i64,
    pub(super) actor: String,
    pub(super) chain: String,
    pub(super) action: String,
    pub(super) target: String,
    pub(super) request_id: String,
    pub(super) outcome: String,
    pub(super) previous_hash: String,
}

impl Link {
    /// The columns from which [`Link::read`] reads.
    pub(super) const COLUMNS: &str =
        "tenant_id, sequence, id, at, actor, chain, action, target, request_id, outcome, previous_hash";

    pub(super) fn read(row: &Row) -> Result<Self> {
        Ok(Self {
            tenant: row.text("tenant_id")?,
            sequence: row.integer("sequence")?,
            id: row.text("id")?,
            at: row.integer("at")?,
            actor: row.text("actor")?,
            chain: row.text("chain")?,
            action: row.text("action")?,
            target: row.text("target")?,
            request_id: row.text("request_id")?,
            outcome: row.text("outcome")?,
            previous_hash: row.text("previous_hash")?,
        })
    }

    /// SHA-256 over all fields, each behind its length: no two rows give the same bytes.
    pub(super) fn hash(&self) -> String {
        let sequence = self.sequence.to_string();
        let at = self.at.to_string();
        let fields = [
            FORM,
            &self.previous_hash,
            &self.tenant,
            &sequence,
            &self.id,
            &at,
            &self.actor,
            &self.chain,
            &self.action,
            &self.target,
            &self.request_id,
            &self.outcome,
        ];
        let mut digest = Sha256::new();
        for field in fields {
            digest.update((field.len() as u64).to_be_bytes());
            digest.update(field);
        }
        hex::encode(digest.finalize())
    }
}

fn insertion(link: &Link, hash: &str) -> Query {
    Query::new(
        "write to the audit log",
        "INSERT INTO audit (tenant_id, sequence, id, at, actor, chain, action, target, request_id, outcome, \
         previous_hash, hash) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
    )
    .bind(&link.tenant)
    .bind(link.sequence)
    .bind(&link.id)
    .bind(link.at)
    .bind(&link.actor)
    .bind(&link.chain)
    .bind(&link.action)
    .bind(&link.target)
    .bind(&link.request_id)
    .bind(&link.outcome)
    .bind(&link.previous_hash)
    .bind(hash)
}
