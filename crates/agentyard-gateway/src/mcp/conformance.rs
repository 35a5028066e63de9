//! What the official conformance suite (`@modelcontextprotocol/conformance`) asks a server to offer: tools,
//! resources and prompts of fixed names that exercise each part of the protocol. Listed only when a hidden
//! flag is set; none of it touches the yard.

#![expect(
    deprecated,
    reason = "the suite still tests logging, sampling and roots, which SEP-2577 is phasing out"
)]

use std::{
    borrow::Cow,
    collections::HashSet,
    hash::{BuildHasher, RandomState},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rmcp::{
    ErrorData, RoleServer,
    model::{
        ClientCapabilities, CompleteRequestParams, CompleteResult, CompletionInfo, ErrorCode, JsonObject,
        PromptsCapability, ProtocolVersion, ResourcesCapability, ServerCapabilities, SetLevelRequestParams,
        SubscribeRequestParams, SubscriptionFilter, ToolsCapability, UnsubscribeRequestParams,
    },
    service::{RequestContext, SubscriptionContext},
};
use tokio::sync::broadcast;

mod client_requests;
mod input_required;
mod prompts;
mod resources;
mod server;
mod tools;

pub(crate) use server::ConformanceServer;

/// A one-pixel PNG, in base64.
const RED_PIXEL_PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";

/// URIs that one connection may watch.
const WATCHED_URIS: usize = 64;

/// List changes that a slow `subscriptions/listen` stream may fall behind by.
const CHANGE_BACKLOG: usize = 16;

/// Steps of the tools that report as they go.
const STEP: Duration = Duration::from_millis(50);

/// The fixtures as one connection sees them: made once for the process, then
/// [`for_connection`](Self::for_connection) for each handler, so that a log level or a watch set by one
/// client does not show at another.
#[derive(Debug)]
pub(crate) struct ConformanceFixtures {
    shared: Arc<Shared>,
    connection: Mutex<Connection>,
}

#[derive(Debug)]
struct Shared {
    changes: broadcast::Sender<ListChange>,
    /// Keys the tag on a `requestState`. Made at start, so a state does not outlive the process; nor does a
    /// test.
    seal: RandomState,
}

#[derive(Debug)]
struct Connection {
    log_level: Severity,
    watched: HashSet<String>,
}

#[derive(Debug, Clone, Copy)]
enum ListChange {
    Tools,
    Prompts,
}

/// A log level by rank: rmcp's has no order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Severity(u8);

impl ConformanceFixtures {
    pub(crate) fn new() -> Self {
        let (changes, _) = broadcast::channel(CHANGE_BACKLOG);
        Self::over(Arc::new(Shared {
            changes,
            seal: RandomState::new(),
        }))
    }

    pub(crate) fn for_connection(&self) -> Self {
        Self::over(Arc::clone(&self.shared))
    }

    fn over(shared: Arc<Shared>) -> Self {
        let connection = Connection {
            log_level: Severity::INFO,
            watched: HashSet::new(),
        };
        Self {
            shared,
            connection: Mutex::new(connection),
        }
    }

    /// Adds what the fixtures need to what the server already declares.
    pub(crate) fn declare(&self, capabilities: &mut ServerCapabilities) {
        capabilities.logging = Some(JsonObject::new());
        capabilities.completions = Some(JsonObject::new());
        let prompts = capabilities
            .prompts
            .get_or_insert_with(PromptsCapability::default);
        prompts.list_changed = Some(true);
        let resources = capabilities
            .resources
            .get_or_insert_with(ResourcesCapability::default);
        resources.subscribe = Some(true);
        let tools = capabilities.tools.get_or_insert_with(ToolsCapability::default);
        tools.list_changed = Some(true);
    }

    pub(crate) fn complete(&self, params: &CompleteRequestParams) -> Result<CompleteResult, ErrorData> {
        let candidates = ["paris", "park", "party", "test", "testing"];
        let values = candidates
            .iter()
            .filter(|candidate| candidate.starts_with(&params.argument.value));
        let values = CompletionInfo::with_all_values(values.map(ToString::to_string).collect());
        values
            .map(CompleteResult::new)
            .map_err(|reason| ErrorData::internal_error(reason, None))
    }

    pub(crate) fn set_level(
        &self,
        params: &SetLevelRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        // rmcp itself refuses `ping` and `resources/subscribe` on the stateless revision, but not this one.
        if !is_legacy(context) {
            return Err(method_not_found("logging/setLevel"));
        }
        self.connection().log_level = Severity::of(params.level);
        Ok(())
    }

    pub(crate) fn subscribe(&self, params: SubscribeRequestParams) -> Result<(), ErrorData> {
        let mut connection = self.connection();
        if connection.watched.len() >= WATCHED_URIS && !connection.watched.contains(&params.uri) {
            let message =
                format!("at most {WATCHED_URIS} resources can be watched; unsubscribe from one first");
            return Err(ErrorData::invalid_params(message, None));
        }
        connection.watched.insert(params.uri);
        Ok(())
    }

    pub(crate) fn unsubscribe(&self, params: &UnsubscribeRequestParams) {
        self.connection().watched.remove(&params.uri);
    }

    /// The part of a `subscriptions/listen` filter that can ever fire here.
    pub(crate) fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> SubscriptionFilter {
        let mut accepted = requested.clone();
        accepted.resources_list_changed = None;
        if let Some(uris) = &mut accepted.resource_subscriptions {
            uris.truncate(WATCHED_URIS);
        }
        accepted
    }

    /// Passes list changes on until the client goes away.
    pub(crate) async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changes = self.shared.changes.subscribe();
        loop {
            let change = tokio::select! {
                () = context.cancelled() => return Ok(()),
                change = changes.recv() => change,
            };
            let accepted = context.accepted();
            let sent = match change {
                Ok(ListChange::Tools) if accepted.tools_list_changed == Some(true) => {
                    context.sink().notify_tool_list_changed().await
                }
                Ok(ListChange::Prompts) if accepted.prompts_list_changed == Some(true) => {
                    context.sink().notify_prompt_list_changed().await
                }
                // A stream that fell behind has been told of a change already; one more says nothing new.
                Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => Ok(()),
                Err(broadcast::error::RecvError::Closed) => return Ok(()),
            };
            if sent.is_err() {
                return Ok(());
            }
        }
    }

    /// Tells the open `subscriptions/listen` streams, after a step: rmcp acknowledges a subscription before
    /// it calls `listen`, so a client that acts on the acknowledgement at once could otherwise be too early
    /// for its own stream.
    async fn announce(&self, change: ListChange) {
        tokio::time::sleep(STEP).await;
        // An error only says that nobody listens.
        let _ = self.shared.changes.send(change);
    }

    /// A `requestState` that the client can carry but not alter.
    fn seal(&self, state: &str) -> String {
        format!("{state}.{:016x}", self.shared.seal.hash_one(state))
    }

    fn unseal<'state>(&self, sealed: Option<&'state str>) -> Result<&'state str, ErrorData> {
        let refusal = || ErrorData::invalid_params("requestState is not one that this server gave out", None);
        let state = sealed
            .and_then(|sealed| sealed.rsplit_once('.'))
            .map(|(state, _)| state)
            .ok_or_else(refusal)?;
        if sealed == Some(self.seal(state).as_str()) {
            Ok(state)
        } else {
            Err(refusal())
        }
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Severity {
    const INFO: Self = Self(1);

    fn of(level: rmcp::model::LoggingLevel) -> Self {
        use rmcp::model::LoggingLevel;
        Self(match level {
            LoggingLevel::Debug => 0,
            LoggingLevel::Info => 1,
            LoggingLevel::Notice => 2,
            LoggingLevel::Warning => 3,
            LoggingLevel::Error => 4,
            LoggingLevel::Critical => 5,
            LoggingLevel::Alert => 6,
            LoggingLevel::Emergency => 7,
        })
    }
}

/// Whether the request is of a revision that opens with `initialize`.
fn is_legacy(context: &RequestContext<RoleServer>) -> bool {
    context
        .protocol_version()
        .is_none_or(|version| version.as_str() < ProtocolVersion::V_2026_07_28.as_str())
}

fn declared(context: &RequestContext<RoleServer>) -> ClientCapabilities {
    context.client_capabilities().unwrap_or_default()
}

fn method_not_found(method: impl Into<Cow<'static, str>>) -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None)
}
