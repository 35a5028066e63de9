//! The audit log: searched.

use agentyard_model::{
    AuditFilter, AuditRecord, Cursor, Outcome, Page, PageRequest, Permission, Timestamp, Toolset,
};
use agentyard_services::Result;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::level::{Level, LevelledField};
use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::Output;
use crate::registry::Entry;

pub(crate) const ALL: &[Entry] = &[Entry::of::<AuditSearch>()];

struct AuditSearch;

/// Search the audit log of your tenant, newest first: who did what, on what, in which
/// request, and how it ended. Arguments narrow it down together.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AuditSearchInput {
    /// Only actors whose name contains this text.
    actor: Option<String>,
    /// Only this operation, for example `token_create`.
    action: Option<String>,
    /// Only targets that contain this text.
    target: Option<String>,
    /// Only this outcome.
    outcome: Option<Outcome>,
    /// Only this request.
    request_id: Option<String>,
    /// Only at or after this time (RFC 3339).
    since: Option<Timestamp>,
    /// Only before this time (RFC 3339).
    until: Option<Timestamp>,
    /// How many at most; 50 by default.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<u32>,
    /// `next_cursor` of the page before.
    cursor: Option<Cursor>,
}

/// A page of the audit log.
#[derive(Serialize, JsonSchema)]
struct AuditPageView {
    /// The records.
    records: Vec<AuditRecordView>,
    /// Where the next page begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<Cursor>,
    /// Whether this page was cut short to fit.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

/// One record.
#[derive(Serialize, JsonSchema)]
struct AuditRecordView {
    /// Its place in the log, counted from 1.
    sequence: i64,
    /// When.
    at: Timestamp,
    /// Who.
    actor: String,
    /// On whose behalf, nearest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    on_behalf_of: Vec<String>,
    /// What.
    action: String,
    /// On what.
    target: String,
    /// How it ended.
    outcome: Outcome,
    /// In which request.
    request_id: String,
}

impl Output for AuditPageView {
    const LEVELS: &'static [LevelledField] = &[
        ("records.on_behalf_of", Level::Standard),
        ("records.request_id", Level::Standard),
    ];

    fn item_count(&self) -> usize {
        self.records.len()
    }

    fn keep(&mut self, count: usize) {
        self.records.truncate(count);
        self.next_cursor = self.records.last().map(|record| Cursor::at(record.sequence));
        self.truncated = true;
    }
}

impl Operation for AuditSearch {
    const NAME: &'static str = "audit_search";
    const TOOLSET: Toolset = Toolset::Admin;
    const EFFECT: Effect = Effect::Read;
    const ACCESS: Access = Access::Holds(Permission::AdminConfig);
    const ROUTE: Route = Route::get("/v1/audit");
    type Input = AuditSearchInput;
    type Output = AuditPageView;

    async fn call(context: Context<'_>, input: AuditSearchInput) -> Result<AuditPageView> {
        let filter = AuditFilter {
            actor: input.actor,
            action: input.action,
            target: input.target,
            outcome: input.outcome,
            request_id: input.request_id,
            since: input.since,
            until: input.until,
        };
        let page = PageRequest::new(input.limit, input.cursor);
        let records = context
            .services
            .audit
            .search(context.caller, &filter, &page)
            .await?;
        Ok(records.into())
    }
}

impl From<Page<AuditRecord>> for AuditPageView {
    fn from(page: Page<AuditRecord>) -> Self {
        let page = page.map(AuditRecordView::from);
        Self {
            records: page.items,
            next_cursor: page.next,
            truncated: false,
        }
    }
}

impl From<AuditRecord> for AuditRecordView {
    fn from(record: AuditRecord) -> Self {
        Self {
            sequence: record.sequence,
            at: record.at,
            actor: record.actor,
            on_behalf_of: record.chain,
            action: record.action,
            target: record.target,
            outcome: record.outcome,
            request_id: record.request_id,
        }
    }
}
