//! The MCP server: both eras, one handler.
//!
//! In the older era a connection begins with `initialize`; in the newer there are only
//! requests, each with its own metadata. Nothing here depends on which it is: what is
//! offered follows from the flags, the address and the caller of each request.

// Logging is on its way out of the protocol and still in use: setting a level must work.
#![expect(deprecated, reason = "log levels are part of the revisions we serve")]

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use agentyard_model::Caller;
use agentyard_operations::{Context, Face, Progress, Step};
use arc_swap::ArcSwapOption;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, CompletionInfo,
    CustomRequest, CustomResult, DiscoverResult, ErrorCode, GetPromptRequestParams, GetPromptResponse,
    Implementation, InitializeRequestParams, InitializeResult, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, LoggingLevel,
    LoggingMessageNotificationParam, PaginatedRequestParams, ProgressNotificationParam, ProgressToken,
    ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, Reference, ServerCapabilities,
    ServerConfig, SetLevelRequestParams, Tool,
};
use rmcp::service::{Peer, RequestContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::json;
use tokio::sync::watch;

use super::scope::{Identity, Scope};
use super::{guide, pages, prompts, resources, tools};
use crate::platform::Platform;

/// The revisions that are served. Older ones lack structured answers and titles.
pub(crate) const REVISIONS: &[ProtocolVersion] = &[
    ProtocolVersion::V_2025_06_18,
    ProtocolVersion::V_2025_11_25,
    ProtocolVersion::V_2026_07_28,
];

/// Methods that exist, so that a request for one of them whose parameters do not fit is told
/// apart from a request for nothing.
const METHODS: &[&str] = &[
    "tools/call",
    "tools/list",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "completion/complete",
    "subscriptions/listen",
];

/// Those that only the older era has.
const OLDER_METHODS: &[&str] = &[
    "initialize",
    "logging/setLevel",
    "resources/subscribe",
    "resources/unsubscribe",
];

/// How often a client that asked for progress hears of a call that reports none. Clients
/// are known to give up after a minute.
const SIGN_OF_LIFE: Duration = Duration::from_secs(10);

/// How long clients may keep a list: it changes only with the flags and the caller's rights.
const LIST_TTL_MS: u64 = 60_000;

/// One MCP server: of a process (stdio), of a session, or of a single request.
pub struct McpServer {
    platform: Platform,
    identity: Identity,
    /// What an older client asked to be told of, for as long as its session lasts.
    log_level: ArcSwapOption<LoggingLevel>,
}

impl McpServer {
    /// A server for whoever started this process.
    #[must_use]
    pub fn for_process(platform: Platform, caller: Caller) -> Self {
        Self::new(platform, Identity::Process(Box::new(caller)))
    }

    /// A server for whoever the edge finds in each request.
    pub(crate) fn for_requests(platform: Platform) -> Self {
        Self::new(platform, Identity::Request)
    }

    fn new(platform: Platform, identity: Identity) -> Self {
        Self {
            platform,
            identity,
            log_level: ArcSwapOption::empty(),
        }
    }

    fn scope(&self, context: &RequestContext<RoleServer>) -> Scope {
        Scope::of(&self.identity, &self.platform.selection, &context.extensions)
    }

    /// What is declared to this caller, and so what answers.
    fn describe(scope: &Scope) -> ServerConfig {
        let mut capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_completions()
            .enable_logging()
            .build();
        if !prompts::prompts(scope).is_empty() {
            capabilities.prompts = Some(Default::default());
        }
        ServerConfig::new(capabilities)
            .with_server_info(implementation())
            // What a client gets that asks for a revision we do not serve.
            .with_protocol_version(ProtocolVersion::V_2025_11_25)
            .with_instructions(guide::instructions(scope))
    }

    async fn run_tool(
        &self,
        scope: &Scope,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let operation = scope
            .find(&request.name)
            .ok_or_else(|| tools::unknown(&request.name, scope))?;
        let started = Instant::now();
        let (progress, steps) = match context.meta.get_progress_token() {
            Some(token) => {
                let (progress, steps) = Progress::watched();
                (progress, Some((token, steps)))
            }
            None => (Progress::ignored(), None),
        };
        let call_context = Context {
            services: &self.platform.services,
            caller: &scope.caller,
            progress: &progress,
        };
        let arguments = request.arguments.unwrap_or_default();
        let call = operation.call(call_context, arguments, self.platform.presentation, Face::Mcp);
        let show_progress = async {
            if let Some((token, steps)) = steps {
                forward(&context.peer, token, steps).await;
            }
            std::future::pending::<()>().await;
        };
        // Dropping the call is what cancels it. Progress runs beside it and is never
        // waited for: once the client has closed its side, sending it would wait for ever.
        let result = tokio::select! {
            biased;
            () = context.ct.cancelled() => return Err(ErrorData::internal_error("the call was cancelled", None)),
            result = call => result,
            () = show_progress => unreachable!("showing progress never ends"),
        };
        let answer = match result {
            Ok(reply) => tools::answer(reply),
            Err(error) => tools::failure(&error, &scope.caller.request_id),
        };
        self.tell_log(&context, &request.name, scope, started).await;
        Ok(answer.into())
    }

    /// Tells a client that asked for it what was called and how long it took.
    async fn tell_log(
        &self,
        context: &RequestContext<RoleServer>,
        tool: &str,
        scope: &Scope,
        started: Instant,
    ) {
        let session_level = self.log_level.load_full().map(|level| *level);
        if context.meta.log_level().or(session_level) != Some(LoggingLevel::Debug) {
            return;
        }
        let data = json!({
            "tool": tool,
            "duration_ms": started.elapsed().as_secs_f64() * 1000.0,
            "request_id": scope.caller.request_id.as_str(),
        });
        let message =
            LoggingMessageNotificationParam::new(LoggingLevel::Debug, data).with_logger("agentyard");
        tokio::select! {
            () = context.ct.cancelled() => {}
            _ = context.peer.notify_logging_message(message) => {}
        }
    }
}

/// Passes steps on, and says now and then that the call goes on when there are none:
/// clients give up on a call of which they hear nothing.
async fn forward(peer: &Peer<RoleServer>, token: ProgressToken, mut steps: watch::Receiver<Step>) {
    let mut sent = -1.0_f64;
    while let Ok(Ok(())) | Err(_) = tokio::time::timeout(SIGN_OF_LIFE, steps.changed()).await {
        let step = steps.borrow_and_update().clone();
        // The protocol wants a figure that grows each time.
        sent = (step.done as f64).max(sent + 1.0);
        let mut progress = ProgressNotificationParam::new(token.clone(), sent);
        progress.total = step.total.map(|total| (total as f64).max(sent));
        progress.message = Some(step.message).filter(|message| !message.is_empty());
        if peer.notify_progress(progress).await.is_err() {
            return;
        }
    }
}

fn implementation() -> Implementation {
    Implementation::new("agentyard", env!("CARGO_PKG_VERSION")).with_title("Agentyard")
}

/// What was not declared does not answer, whatever the library would make of it.
fn undeclared<M: rmcp::model::ConstString>() -> ErrorData {
    ErrorData::method_not_found::<M>()
}

impl ServerHandler for McpServer {
    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(REVISIONS)
    }

    fn get_info(&self) -> ServerConfig {
        let selection = self.platform.selection.clone();
        let caller = match &self.identity {
            Identity::Process(caller) => (**caller).clone(),
            Identity::Request => Caller::anonymous(),
        };
        Self::describe(&Scope { caller, selection })
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        let negotiated = self.negotiate_initialize(&request)?;
        let described = Self::describe(&self.scope(&context));
        Ok(described.with_protocol_version(negotiated.protocol_version))
    }

    async fn discover(&self, context: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let described = Self::describe(&self.scope(&context));
        Ok(DiscoverResult::from_server_info(REVISIONS.to_vec(), described).with_ttl_ms(LIST_TTL_MS))
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let scope = self.scope(&context);
        let read_only = scope.selection.read_only;
        let shown = scope.shown().map(|operation| tools::tool(operation, read_only));
        let (items, next) = pages::page(shown, request.as_ref())?;
        let mut list = ListToolsResult::with_all_items(items).with_ttl_ms(LIST_TTL_MS);
        list.next_cursor = next;
        Ok(list)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let operation = agentyard_operations::registry().find(name)?;
        Some(tools::tool(operation, self.platform.selection.read_only))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let scope = self.scope(&context);
        self.run_tool(&scope, request, context).await
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let scope = self.scope(&context);
        let (items, next) = pages::page(resources::resources(&scope).into_iter(), request.as_ref())?;
        let mut list = ListResourcesResult::with_all_items(items).with_ttl_ms(LIST_TTL_MS);
        list.next_cursor = next;
        Ok(list)
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let (items, next) = pages::page(resources::templates().into_iter(), request.as_ref())?;
        let mut list = ListResourceTemplatesResult::with_all_items(items).with_ttl_ms(LIST_TTL_MS);
        list.next_cursor = next;
        Ok(list)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let scope = self.scope(&context);
        let contents = resources::read(&scope, &self.platform.services, &request.uri).await?;
        Ok(contents.into())
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let prompts = prompts::prompts(&self.scope(&context));
        if prompts.is_empty() {
            return Err(undeclared::<rmcp::model::ListPromptsRequestMethod>());
        }
        let (items, next) = pages::page(prompts.into_iter(), request.as_ref())?;
        let mut list = ListPromptsResult::with_all_items(items).with_ttl_ms(LIST_TTL_MS);
        list.next_cursor = next;
        Ok(list)
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let scope = self.scope(&context);
        if prompts::prompts(&scope).is_empty() {
            return Err(undeclared::<rmcp::model::GetPromptRequestMethod>());
        }
        prompts::prompt(&scope, &request.name, request.arguments.as_ref()).map(Into::into)
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let scope = self.scope(&context);
        let (name, begun) = (&request.argument.name, &request.argument.value);
        let mut values = match &request.r#ref {
            Reference::Prompt(prompt) => prompts::completions(&prompt.name, name, begun),
            Reference::Resource(template) => resources::completions(&scope, &template.uri, name, begun),
            // A kind of reference that a later revision may bring.
            _ => Vec::new(),
        };
        values.truncate(CompletionInfo::MAX_VALUES);
        let completion = CompletionInfo::with_all_values(values)
            .map_err(|reason| ErrorData::internal_error(reason, None))?;
        Ok(CompleteResult::new(completion))
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if !is_older(&context) {
            return Err(undeclared::<rmcp::model::SetLevelRequestMethod>());
        }
        self.log_level.store(Some(Arc::new(request.level)));
        Ok(())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = request.method;
        let exists = METHODS.contains(&method.as_str())
            || (is_older(&context) && OLDER_METHODS.contains(&method.as_str()));
        Err(if exists {
            ErrorData::invalid_params(format!("the parameters of `{method}` do not fit"), None)
        } else {
            ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None)
        })
    }
}

/// Whether a request belongs to a session that began with `initialize`.
fn is_older(context: &RequestContext<RoleServer>) -> bool {
    context
        .protocol_version()
        .is_none_or(|version| version.as_str() < ProtocolVersion::V_2026_07_28.as_str())
}
