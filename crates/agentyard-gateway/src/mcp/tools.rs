//! Tools: the registry in MCP's words.

use std::borrow::Cow;
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
    Tool::new(
        entry.name,
        Cow::Borrowed(operation.description()),
        Arc::new(operation.brief_schema(read_only)),
    )
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
