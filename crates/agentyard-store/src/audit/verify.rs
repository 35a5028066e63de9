//! Verification: walks every chain from its first row to its head.

use std::fmt;

use agentyard_model::TenantId;

use super::chain::{GENESIS, Link};
use crate::database::Query;
use crate::{Error, Result, Store};

/// How many rows are held in memory at once. Reading in pieces also keeps a long
/// verification from holding back SQLite's clean-up of its log.
const STEP: u32 = 500;

/// What a verification found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditVerification {
    /// How many tenants' chains were checked.
    pub tenants: u64,
    /// How many rows were checked and found good.
    pub records: u64,
    /// The first thing that is wrong. What comes after it was not looked at.
    pub first_fault: Option<AuditFault>,
}

/// Where a chain is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditFault {
    /// In whose chain.
    pub tenant: TenantId,
    /// At which row.
    pub sequence: i64,
    /// In which way.
    pub what: AuditFaultKind,
}

/// In which way a chain is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditFaultKind {
    /// The row is not the one that was written.
    Changed,
    /// The row is not there.
    Missing,
    /// The row does not continue the row before it: one of the two was exchanged, or the
    /// chain was forked.
    Detached,
    /// The head names another row as the last one, or there is no head.
    WrongHead,
    /// There are rows after the one that the head names as the last.
    BeyondHead,
}

impl fmt::Display for AuditFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.what {
            AuditFaultKind::Changed => "was changed",
            AuditFaultKind::Missing => "is missing",
            AuditFaultKind::Detached => "does not continue the record before it",
            AuditFaultKind::WrongHead => "is not the last one that was written",
            AuditFaultKind::BeyondHead => "comes after the last one that was written",
        };
        write!(f, "audit record {} of {} {what}", self.sequence, self.tenant)
    }
}

pub(super) async fn run(store: &Store, tenant: Option<TenantId>) -> Result<AuditVerification> {
    let mut verification = AuditVerification {
        tenants: 0,
        records: 0,
        first_fault: None,
    };
    if let Some(tenant) = tenant {
        let chain = Chain::read_one(store, tenant).await?;
        check(store, &chain, &mut verification).await?;
        return Ok(verification);
    }
    let mut after = String::new();
    loop {
        let chains = Chain::read_some(store, &after).await?;
        let Some(last) = chains.last() else {
            return Ok(verification);
        };
        after = last.tenant.to_string();
        for chain in &chains {
            check(store, chain, &mut verification).await?;
            if verification.first_fault.is_some() {
                return Ok(verification);
            }
        }
    }
}

/// A tenant's chain as it was at one moment. Rows that are added while it is verified
/// come after this head and are left for the next verification.
struct Chain {
    tenant: TenantId,
    /// What the head names as the last row, and its hash.
    head: Option<(i64, String)>,
    /// What is the last row.
    last: i64,
}

impl Chain {
    async fn read_one(store: &Store, tenant: TenantId) -> Result<Self> {
        let query = Self::query().push(" WHERE tenants.id = ").push_value(tenant);
        let chain = Self::read(store, &query).await?.pop();
        chain.ok_or_else(|| Error::not_found("tenant", tenant))
    }

    async fn read_some(store: &Store, after: &str) -> Result<Vec<Self>> {
        let query = Self::query()
            .push(" WHERE tenants.id > ")
            .push_value(after)
            .push(" ORDER BY tenants.id LIMIT ")
            .push_value(STEP);
        Self::read(store, &query).await
    }

    /// Head and last row must come from one statement: between two, a row may be added.
    fn query() -> Query {
        Query::new(
            "read the heads of the audit log",
            "SELECT tenants.id, audit_heads.sequence, audit_heads.hash, \
             (SELECT MAX(audit.sequence) FROM audit WHERE audit.tenant_id = tenants.id) AS last \
             FROM tenants LEFT JOIN audit_heads ON audit_heads.tenant_id = tenants.id",
        )
    }

    async fn read(store: &Store, query: &Query) -> Result<Vec<Self>> {
        let rows = store.fetch(query).await?;
        rows.iter()
            .map(|row| {
                let sequence = row.optional_integer("sequence")?;
                Ok(Self {
                    tenant: row.parsed("id")?,
                    head: sequence.zip(row.optional_text("hash")?),
                    last: row.optional_integer("last")?.unwrap_or(0),
                })
            })
            .collect()
    }
}

async fn check(store: &Store, chain: &Chain, verification: &mut AuditVerification) -> Result<()> {
    verification.tenants += 1;
    let fault = first_fault(store, chain, &mut verification.records).await?;
    verification.first_fault = fault.map(|(sequence, what)| AuditFault {
        tenant: chain.tenant,
        sequence,
        what,
    });
    Ok(())
}

async fn first_fault(store: &Store, chain: &Chain, good: &mut u64) -> Result<Option<(i64, AuditFaultKind)>> {
    let Some((head, head_hash)) = &chain.head else {
        return Ok(Some((chain.last, AuditFaultKind::WrongHead)));
    };
    let mut checked = 0;
    let mut hash = GENESIS.to_owned();
    // Numbers are counted from 1, and a row slipped in before that must show too.
    let mut after = i64::MIN;
    loop {
        let links = read_links(store, chain.tenant, after, *head).await?;
        if links.is_empty() {
            break;
        }
        for (link, stored_hash) in links {
            let expected = checked + 1;
            if link.sequence < expected {
                return Ok(Some((link.sequence, AuditFaultKind::Detached)));
            }
            if link.sequence > expected {
                return Ok(Some((expected, AuditFaultKind::Missing)));
            }
            if link.hash() != stored_hash {
                return Ok(Some((expected, AuditFaultKind::Changed)));
            }
            if link.previous_hash != hash {
                return Ok(Some((expected, AuditFaultKind::Detached)));
            }
            checked = expected;
            after = expected;
            hash = stored_hash;
            *good += 1;
        }
    }
    Ok(if checked < *head {
        Some((checked + 1, AuditFaultKind::Missing))
    } else if hash != *head_hash {
        Some((checked, AuditFaultKind::WrongHead))
    } else if chain.last > *head {
        Some((head + 1, AuditFaultKind::BeyondHead))
    } else {
        None
    })
}

/// The next rows up to the head, each with the hash that is stored for it.
async fn read_links(store: &Store, tenant: TenantId, after: i64, head: i64) -> Result<Vec<(Link, String)>> {
    let query = Query::new("read the audit log", "SELECT ")
        .push(Link::COLUMNS)
        .push(", hash FROM audit WHERE tenant_id = ")
        .push_value(tenant)
        .push(" AND sequence > ")
        .push_value(after)
        .push(" AND sequence <= ")
        .push_value(head)
        .push(" ORDER BY sequence LIMIT ")
        .push_value(STEP);
    let rows = store.fetch(&query).await?;
    rows.iter()
        .map(|row| Ok((Link::read(row)?, row.text("hash")?)))
        .collect()
}
