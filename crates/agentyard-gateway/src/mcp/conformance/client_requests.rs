//! Tools that ask the client something while they run, which only the revisions with an `initialize`
//! handshake allow. (The stateless revision answers with what it needs instead: see `input_required`.)

use std::time::Duration;

use rmcp::{
    ErrorData, RoleServer, ServiceError,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ClientResult, ContentBlock, ElicitRequest,
        ElicitRequestParams, ServerRequest,
    },
    service::{PeerRequestOptions, RequestContext},
};
use serde_json::{Value, json};

use super::declared;

/// How long a person may take to answer.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) const TOOLS: &[(&str, &str)] = &[
    (
        "test_elicitation_sep1034_defaults",
        "Asks the client's user with a default for each field",
    ),
    (
        "test_elicitation_sep1330_enums",
        "Asks the client's user to choose in each of five ways",
    ),
];

pub(super) async fn call_tool(
    params: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Option<Result<CallToolResponse, ErrorData>> {
    let answer = match params.name.as_ref() {
        "test_sampling" => sample(argument(params, "prompt"), context).await,
        "test_elicitation" => {
            let answer = elicit(argument(params, "message"), user_schema(), context).await;
            answer.map(|answer| format!("User response: {answer}"))
        }
        "test_elicitation_sep1034_defaults" => {
            let answer = elicit("Please review the defaults", defaults_schema(), context).await;
            answer.map(|answer| format!("Elicitation completed: {answer}"))
        }
        "test_elicitation_sep1330_enums" => {
            let answer = elicit("Please choose", enums_schema(), context).await;
            answer.map(|answer| format!("Elicitation completed: {answer}"))
        }
        _ => return None,
    };
    // A client that cannot be asked is something the model can act on, so it is told in the result.
    let result = match answer {
        Ok(text) => CallToolResult::success(vec![ContentBlock::text(text)]),
        Err(reason) => CallToolResult::error(vec![ContentBlock::text(reason)]),
    };
    Some(Ok(result.into()))
}

/// The parameters of an `elicitation/create`, from a schema written as JSON.
pub(super) fn form(message: &str, schema: Value) -> Result<ElicitRequest, ErrorData> {
    let requested_schema = serde_json::from_value(schema).map_err(|error| {
        ErrorData::internal_error(format!("the form's schema is not valid: {error}"), None)
    })?;
    let message = message.to_owned();
    Ok(ElicitRequest::new(ElicitRequestParams::FormElicitationParams {
        meta: None,
        message,
        requested_schema,
    }))
}

async fn sample(prompt: &str, context: &RequestContext<RoleServer>) -> Result<String, String> {
    use rmcp::model::{CreateMessageRequest, CreateMessageRequestParams, SamplingMessage};

    if declared(context).sampling.is_none() {
        return Err("this client does not offer sampling".to_owned());
    }
    let params = CreateMessageRequestParams::new(vec![SamplingMessage::user_text(prompt)], 100);
    let request = ServerRequest::CreateMessageRequest(CreateMessageRequest::new(params));
    match ask(request, context).await? {
        ClientResult::CreateMessageResult(result) => {
            let text = result
                .message
                .content
                .first()
                .and_then(|content| content.as_text());
            Ok(format!(
                "LLM response: {}",
                text.map_or("", |content| content.text.as_str())
            ))
        }
        _ => Err("the client answered with something other than a message".to_owned()),
    }
}

async fn elicit(
    message: &str,
    schema: Value,
    context: &RequestContext<RoleServer>,
) -> Result<String, String> {
    if declared(context).elicitation.is_none() {
        return Err("this client does not offer elicitation".to_owned());
    }
    let request = form(message, schema).map_err(|error| error.message.into_owned())?;
    match ask(ServerRequest::ElicitRequest(request), context).await? {
        ClientResult::ElicitResult(result) => {
            let action = json!(result.action);
            let content = result.content.unwrap_or_default();
            Ok(format!(
                "action={}, content={content}",
                action.as_str().unwrap_or_default()
            ))
        }
        _ => Err("the client answered with something other than a form".to_owned()),
    }
}

/// Sends a request to the client and waits, but not for longer than the call itself is wanted.
async fn ask(request: ServerRequest, context: &RequestContext<RoleServer>) -> Result<ClientResult, String> {
    let answer = async {
        let options = PeerRequestOptions::with_timeout(PATIENCE);
        context
            .peer
            .send_request_with_option(request, options)
            .await?
            .await_response()
            .await
    };
    let answer = tokio::select! {
        answer = answer => answer,
        () = context.ct.cancelled() => Err(ServiceError::Cancelled { reason: None }),
    };
    answer.map_err(|error| error.to_string())
}

fn argument<'params>(params: &'params CallToolRequestParams, name: &str) -> &'params str {
    params
        .arguments
        .as_ref()
        .and_then(|arguments| arguments.get(name)?.as_str())
        .unwrap_or_default()
}

fn user_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "username": { "type": "string", "description": "User's response" },
            "email": { "type": "string", "description": "User's email address" },
        },
        "required": ["username", "email"],
    })
}

fn defaults_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "name": { "type": "string", "default": "John Doe" },
            "age": { "type": "integer", "default": 30 },
            "score": { "type": "number", "default": 95.5 },
            "status": { "type": "string", "enum": ["active", "inactive", "pending"], "default": "active" },
            "verified": { "type": "boolean", "default": true },
        },
    })
}

fn enums_schema() -> Value {
    let options = json!(["option1", "option2", "option3"]);
    let titled = json!([
        { "const": "value1", "title": "First" },
        { "const": "value2", "title": "Second" },
        { "const": "value3", "title": "Third" },
    ]);
    json!({
        "type": "object",
        "properties": {
            "untitledSingle": { "type": "string", "enum": options },
            "titledSingle": { "type": "string", "oneOf": titled },
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"],
            },
            "untitledMulti": { "type": "array", "items": { "type": "string", "enum": options } },
            "titledMulti": { "type": "array", "items": { "anyOf": titled } },
        },
    })
}
