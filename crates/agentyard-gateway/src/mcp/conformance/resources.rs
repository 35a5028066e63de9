use rmcp::{
    ErrorData,
    model::{
        ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Resource, ResourceContents,
        ResourceTemplate,
    },
};
use serde_json::json;

use super::{ConformanceFixtures, RED_PIXEL_PNG};

const STATIC_TEXT: &str = "test://static-text";
const STATIC_BINARY: &str = "test://static-binary";
const WATCHED: &str = "test://watched-resource";

impl ConformanceFixtures {
    pub(crate) fn resources(&self) -> Vec<Resource> {
        vec![
            Resource::new(STATIC_TEXT, "static-text")
                .with_description("A text that never changes")
                .with_mime_type("text/plain"),
            Resource::new(STATIC_BINARY, "static-binary")
                .with_description("A one-pixel image")
                .with_mime_type("image/png"),
            Resource::new(WATCHED, "watched-resource")
                .with_description("A text that can be subscribed to")
                .with_mime_type("text/plain"),
        ]
    }

    pub(crate) fn resource_templates(&self) -> Vec<ResourceTemplate> {
        vec![
            ResourceTemplate::new("test://template/{id}/data", "template")
                .with_description("Data made from the id in its address")
                .with_mime_type("application/json"),
        ]
    }

    /// `None` for an address that is not a fixture's.
    pub(crate) fn read_resource(
        &self,
        params: &ReadResourceRequestParams,
    ) -> Option<Result<ReadResourceResponse, ErrorData>> {
        let uri = params.uri.as_str();
        let contents = match uri {
            STATIC_TEXT => text(
                uri,
                "text/plain",
                "This is the content of the static text resource.",
            ),
            STATIC_BINARY => ResourceContents::blob(RED_PIXEL_PNG, uri).with_mime_type("image/png"),
            WATCHED => text(uri, "text/plain", "Watched resource content"),
            _ => {
                let id = uri.strip_prefix("test://template/")?.strip_suffix("/data")?;
                let data = json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
                text(uri, "application/json", data.to_string())
            }
        };
        Some(Ok(ReadResourceResult::new(vec![contents]).into()))
    }
}

pub(super) fn text(uri: &str, mime_type: &str, content: impl Into<String>) -> ResourceContents {
    ResourceContents::text(content, uri).with_mime_type(mime_type)
}
