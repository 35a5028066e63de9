use rmcp::{
    ErrorData, RoleServer,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ContentBlock,
        ProgressNotificationParam, Tool, object,
    },
    service::RequestContext,
};
use serde_json::{Value, json};

use super::{
    ConformanceFixtures, ListChange, RED_PIXEL_PNG, STEP, Severity, client_requests, declared,
    input_required, is_legacy, resources,
};

/// A WAV file without samples, in base64.
const SILENT_WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

/// Name, description, input schema; in the order listed, which must not change between two calls of
/// `tools/list`.
const NO_ARGUMENTS: &[(&str, &str)] = &[
    ("test_simple_text", "Answers with a text"),
    ("test_image_content", "Answers with an image"),
    ("test_audio_content", "Answers with a sound"),
    ("test_embedded_resource", "Answers with an embedded resource"),
    (
        "test_multiple_content_types",
        "Answers with a text, an image and a resource",
    ),
    ("test_tool_with_logging", "Sends three log messages on its way"),
    (
        "test_logging_tool",
        "Sends three log messages on its way, if the request asked for a log level",
    ),
    ("test_error_handling", "Always fails"),
    ("test_tool_with_progress", "Reports progress on its way"),
    ("test_missing_capability", "Needs a client that can sample"),
    (
        "test_trigger_tool_change",
        "Announces that the list of tools changed",
    ),
    (
        "test_trigger_prompt_change",
        "Announces that the list of prompts changed",
    ),
];

impl ConformanceFixtures {
    pub(crate) fn tools(&self) -> Vec<Tool> {
        let without_arguments = NO_ARGUMENTS
            .iter()
            .chain(input_required::TOOLS)
            .chain(client_requests::TOOLS);
        let mut tools: Vec<Tool> = without_arguments
            .map(|(name, description)| tool(name, description, json!({ "type": "object", "properties": {} })))
            .collect();
        tools.extend([
            tool(
                "test_sampling",
                "Asks the client's model",
                one_string("prompt", "What to ask the model"),
            ),
            tool(
                "test_elicitation",
                "Asks the client's user",
                one_string("message", "What to show the user"),
            ),
            tool(
                "json_schema_2020_12_tool",
                "Has an input schema of the 2020-12 dialect",
                schema_2020_12(),
            ),
            tool(
                "test_custom_header",
                "Takes an argument that is repeated in a header",
                custom_header_schema(),
            ),
        ]);
        tools
    }

    /// `None` for a tool that is not a fixture.
    pub(crate) async fn call_tool(
        &self,
        params: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Option<Result<CallToolResponse, ErrorData>> {
        let content = match params.name.as_ref() {
            "test_simple_text" => vec![ContentBlock::text("This is a simple text response for testing.")],
            "test_image_content" => vec![ContentBlock::image(RED_PIXEL_PNG, "image/png")],
            "test_audio_content" => vec![ContentBlock::audio(SILENT_WAV, "audio/wav")],
            "test_embedded_resource" => vec![embedded(
                "test://embedded-resource",
                "text/plain",
                "This is an embedded resource content.",
            )],
            "test_multiple_content_types" => vec![
                ContentBlock::text("Multiple content types test:"),
                ContentBlock::image(RED_PIXEL_PNG, "image/png"),
                embedded(
                    "test://mixed-content-resource",
                    "application/json",
                    r#"{"test":"data","value":123}"#,
                ),
            ],
            "test_tool_with_logging" | "test_logging_tool" => self.log_on_the_way(context).await,
            "test_error_handling" => {
                let message = "This tool intentionally returns an error for testing";
                return Some(Ok(CallToolResult::error(vec![ContentBlock::text(message)]).into()));
            }
            "test_tool_with_progress" => report_progress(context).await,
            "test_missing_capability" => match needs_sampling(context) {
                Ok(content) => content,
                Err(error) => return Some(Err(error)),
            },
            "test_trigger_tool_change" => {
                self.announce(ListChange::Tools).await;
                vec![ContentBlock::text("announced")]
            }
            "test_trigger_prompt_change" => {
                self.announce(ListChange::Prompts).await;
                vec![ContentBlock::text("announced")]
            }
            "json_schema_2020_12_tool" | "test_custom_header" => {
                vec![ContentBlock::text(
                    Value::from(params.arguments.clone()).to_string(),
                )]
            }
            _ => {
                if let Some(answer) = client_requests::call_tool(params, context).await {
                    return Some(answer);
                }
                return self.call_input_required_tool(params, context);
            }
        };
        Some(Ok(CallToolResult::success(content).into()))
    }

    async fn log_on_the_way(&self, context: &RequestContext<RoleServer>) -> Vec<ContentBlock> {
        use rmcp::model::{LoggingLevel, LoggingMessageNotificationParam};

        // The stateless revision has no `logging/setLevel`: a request that names no level wants no messages.
        let threshold = if is_legacy(context) {
            Some(self.connection().log_level)
        } else {
            context.meta.log_level().map(Severity::of)
        };
        let wanted = threshold.is_some_and(|threshold| threshold <= Severity::INFO);
        for message in [
            "Tool execution started",
            "Tool processing data",
            "Tool execution completed",
        ] {
            if wanted {
                let message = LoggingMessageNotificationParam::new(LoggingLevel::Info, json!(message));
                // A client that has gone is noticed by the token, not by its log.
                let _ = context.peer.notify_logging_message(message).await;
            }
            tokio::time::sleep(STEP).await;
        }
        vec![ContentBlock::text("Tool with logging executed")]
    }
}

async fn report_progress(context: &RequestContext<RoleServer>) -> Vec<ContentBlock> {
    for progress in [0.0, 50.0, 100.0] {
        if let Some(token) = context.meta.get_progress_token() {
            let progress = ProgressNotificationParam::new(token, progress).with_total(100.0);
            let _ = context.peer.notify_progress(progress).await;
        }
        tokio::time::sleep(STEP).await;
    }
    vec![ContentBlock::text("Tool with progress executed")]
}

fn needs_sampling(context: &RequestContext<RoleServer>) -> Result<Vec<ContentBlock>, ErrorData> {
    if declared(context).sampling.is_some() {
        return Ok(vec![ContentBlock::text("The client can sample")]);
    }
    let required = ClientCapabilities::builder().enable_sampling().build();
    Err(ErrorData::missing_required_client_capability(required))
}

fn embedded(uri: &str, mime_type: &str, content: &str) -> ContentBlock {
    ContentBlock::resource(resources::text(uri, mime_type, content))
}

fn tool(name: &'static str, description: &'static str, schema: Value) -> Tool {
    Tool::new(name, description, object(schema))
}

fn one_string(name: &str, description: &str) -> Value {
    json!({
        "type": "object",
        "properties": { name: { "type": "string", "description": description } },
        "required": [name],
    })
}

fn schema_2020_12() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": { "street": { "type": "string" }, "city": { "type": "string" } },
            },
        },
        "properties": {
            "name": { "type": "string" },
            "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": { "type": "string" },
            "email": { "type": "string" },
        },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false,
    })
}

fn custom_header_schema() -> Value {
    json!({
        "type": "object",
        "properties": { "region": { "type": "string", "x-mcp-header": "Region" } },
    })
}
