//! Our server with the fixtures before it: what the suite calls goes to them, all else
//! through to the real thing.

use std::borrow::Cow;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, CustomRequest,
    CustomResult, DiscoverResult, GetPromptRequestParams, GetPromptResponse, InitializeRequestParams,
    InitializeResult, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, ServerConfig,
    SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};

use super::ConformanceFixtures;
use crate::mcp::McpServer;

/// The server that the suite is pointed at.
pub(crate) struct ConformanceServer {
    fixtures: ConformanceFixtures,
    server: McpServer,
}

impl ConformanceServer {
    pub(crate) fn new(fixtures: ConformanceFixtures, server: McpServer) -> Self {
        Self { fixtures, server }
    }
}

type Context = RequestContext<RoleServer>;
type Page = Option<PaginatedRequestParams>;

impl ServerHandler for ConformanceServer {
    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        self.server.supported_protocol_versions()
    }

    fn get_info(&self) -> ServerConfig {
        let mut info = self.server.get_info();
        self.fixtures.declare(&mut info.capabilities);
        info
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: Context,
    ) -> Result<InitializeResult, ErrorData> {
        let mut result = self.server.initialize(request, context).await?;
        self.fixtures.declare(&mut result.capabilities);
        Ok(result)
    }

    async fn discover(&self, context: Context) -> Result<DiscoverResult, ErrorData> {
        let mut result = self.server.discover(context).await?;
        self.fixtures.declare(&mut result.capabilities);
        Ok(result)
    }

    async fn list_tools(&self, request: Page, context: Context) -> Result<ListToolsResult, ErrorData> {
        let mut list = self.server.list_tools(request, context).await?;
        list.tools.extend(self.fixtures.tools());
        Ok(list)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let fixture = self.fixtures.tools().into_iter().find(|tool| tool.name == name);
        fixture.or_else(|| self.server.get_tool(name))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: Context,
    ) -> Result<CallToolResponse, ErrorData> {
        match self.fixtures.call_tool(&request, &context).await {
            Some(answer) => answer,
            None => self.server.call_tool(request, context).await,
        }
    }

    async fn list_resources(
        &self,
        request: Page,
        context: Context,
    ) -> Result<ListResourcesResult, ErrorData> {
        let mut list = self.server.list_resources(request, context).await?;
        list.resources.extend(self.fixtures.resources());
        Ok(list)
    }

    async fn list_resource_templates(
        &self,
        request: Page,
        context: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let mut list = self.server.list_resource_templates(request, context).await?;
        list.resource_templates.extend(self.fixtures.resource_templates());
        Ok(list)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        match self.fixtures.read_resource(&request) {
            Some(answer) => answer,
            None => self.server.read_resource(request, context).await,
        }
    }

    async fn list_prompts(&self, request: Page, context: Context) -> Result<ListPromptsResult, ErrorData> {
        let mut list = self.server.list_prompts(request, context).await?;
        list.prompts.extend(self.fixtures.prompts());
        Ok(list)
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: Context,
    ) -> Result<GetPromptResponse, ErrorData> {
        match self.fixtures.get_prompt(&request, &context) {
            Some(answer) => answer,
            None => self.server.get_prompt(request, context).await,
        }
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _: Context,
    ) -> Result<CompleteResult, ErrorData> {
        self.fixtures.complete(&request)
    }

    async fn set_level(&self, request: SetLevelRequestParams, context: Context) -> Result<(), ErrorData> {
        self.fixtures.set_level(&request, &context)
    }

    async fn subscribe(&self, request: SubscribeRequestParams, _: Context) -> Result<(), ErrorData> {
        self.fixtures.subscribe(request)
    }

    async fn unsubscribe(&self, request: UnsubscribeRequestParams, _: Context) -> Result<(), ErrorData> {
        self.fixtures.unsubscribe(&request);
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(self.fixtures.accepted_subscription_filter(requested))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        self.fixtures.listen(context).await
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: Context,
    ) -> Result<CustomResult, ErrorData> {
        self.server.on_custom_request(request, context).await
    }
}
