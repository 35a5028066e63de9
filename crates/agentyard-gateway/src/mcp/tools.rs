//! Tools: the registry in MCP's words.

use std::sync::Arc;

use agentyard_model::RequestId;
use agentyard_operations::{AttachedContent, Attachment, Effect, Entry, Registered, Reply, base64, nearest};
use agentyard_services::Error;
use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock, Resource, ResourceContents, Tool, ToolAnnotations};

use super::scope::Scope;
use crate::failure::error_object;

/// The tool that an operation is, here or where nothing may be changed.
pub(super) fn tool(operation: &'static Registered, read_only: bool) -> Tool {
    let entry = operation.entry();
    let effect = if read_only { Effect::Read } else { entry.effect };
    let listed = operation.listed(read_only);
    Tool::new(entry.name, listed.description, Arc::new(listed.schema))
        .with_annotations(annotations(entry, effect))
}

/// What an operation's effect means to a client that asks before it acts.
fn annotations(entry: &Entry, effect: Effect) -> ToolAnnotations {
    let hints = ToolAnnotations::new().open_world(entry.reaches_out);
    // What MCP takes for granted is not said: that a tool changes and destroys things, and again each time.
    match effect {
        Effect::Read => hints.read_only(true),
        Effect::Set => hints.destructive(false).idempotent(true),
        Effect::Write => hints.destructive(false),
        Effect::Destroy => hints,
    }
}

/// The answer in MCP's words: text alone, which for an object is its minified JSON. Every client shows text, and
/// sending the object a second time as `structuredContent` would double what an answer costs. What it brings along
/// follows, each as a block of its own.
pub(super) fn answer(reply: Reply) -> CallToolResult {
    let (text, attachments) = match reply {
        Reply::Structured {
            json, attachments, ..
        } => (json, attachments),
        Reply::Text { text, .. } => (text, Vec::new()),
    };
    let mut blocks = vec![ContentBlock::text(text)];
    blocks.extend(attachments.into_iter().map(block));
    CallToolResult::success(blocks)
}

fn block(attachment: Attachment) -> ContentBlock {
    let Attachment {
        name,
        media_type,
        content,
    } = attachment;
    match content {
        AttachedContent::Bytes(bytes) => ContentBlock::image(base64(&bytes), media_type),
        AttachedContent::Text { uri, text } => {
            ContentBlock::resource(ResourceContents::text(text, uri).with_mime_type(media_type))
        }
        AttachedContent::Link { uri, description, .. } => ContentBlock::resource_link(
            Resource::new(uri, name)
                .with_mime_type(media_type)
                .with_description(description),
        ),
    }
}

/// A failure that the model should read.
pub(super) fn failure(error: &Error, request_id: &RequestId) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(
        error_object(error, request_id).to_string(),
    )])
}

/// A call that names no tool there is.
pub(super) fn unknown(name: &str, scope: &Scope) -> ErrorData {
    let shown: Vec<&str> = scope.shown().map(|operation| operation.entry().name).collect();
    let name: String = name.escape_debug().take(60).collect();
    let message = match nearest(&name, &shown) {
        Some(nearest) => format!("unknown tool `{name}`; did you mean `{nearest}`?"),
        None => format!("unknown tool `{name}`; `tools/list` names those there are"),
    };
    ErrorData::invalid_params(message, None)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn what_an_answer_brings_along_follows_it() {
        let attachment = |name: &str, media_type, content| Attachment {
            name: name.to_owned(),
            media_type,
            content,
        };
        let reply = Reply::Structured {
            value: json!({ "exit_code": 0 }),
            json: r#"{"exit_code":0}"#.to_owned(),
            attachments: vec![
                attachment("plot.png", "image/png", AttachedContent::Bytes(vec![1, 2, 3])),
                attachment(
                    "plot.svg",
                    "image/svg+xml",
                    AttachedContent::Text {
                        uri: "file:///workspace/plot.svg".to_owned(),
                        text: "<svg/>".to_owned(),
                    },
                ),
                attachment(
                    "stdout",
                    "text/plain",
                    AttachedContent::Link {
                        uri: "agentyard://runs/x/stdout".to_owned(),
                        route: "/v1/runs/x/stdout".to_owned(),
                        description: "All of it.".to_owned(),
                    },
                ),
            ],
        };
        let answer = serde_json::to_value(answer(reply.clone())).unwrap();
        let blocks: Vec<Value> = answer["content"].as_array().unwrap().clone();
        assert_eq!(blocks[0], json!({ "type": "text", "text": r#"{"exit_code":0}"# }));
        assert_eq!(
            blocks[1],
            json!({ "type": "image", "data": "AQID", "mimeType": "image/png" })
        );
        assert_eq!(blocks[2]["type"], "resource");
        assert_eq!(
            blocks[2]["resource"],
            json!({ "uri": "file:///workspace/plot.svg", "mimeType": "image/svg+xml", "text": "<svg/>" })
        );
        assert_eq!(blocks[3]["type"], "resource_link");
        assert_eq!(blocks[3]["uri"], "agentyard://runs/x/stdout");
        assert_eq!(blocks.len(), 4);
        // The same where there is nothing but JSON.
        assert_eq!(
            reply.into_object(),
            json!({ "exit_code": 0, "attachments": [
                { "name": "plot.png", "media_type": "image/png", "base64": "AQID" },
                { "name": "plot.svg", "media_type": "image/svg+xml", "text": "<svg/>" },
                { "name": "stdout", "media_type": "text/plain", "href": "/api/v1/runs/x/stdout" },
            ] })
        );
    }
}
