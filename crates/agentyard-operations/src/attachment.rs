//! What an answer brings along beside its object or text: pictures to look at, and where there is more to read.

use base64::Engine as _;
use serde_json::{Map, Value};

/// Something beside an answer. Each face has its own way to hand it over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// What it is called, such as the path of a file.
    pub name: String,
    /// What kind of content it is.
    pub media_type: &'static str,
    /// The content, or where it is.
    pub content: AttachedContent,
}

/// What is attached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttachedContent {
    /// Bytes, such as those of a picture.
    Bytes(Vec<u8>),
    /// Text, and under which name a client may keep it.
    Text {
        /// An address of our own.
        uri: String,
        /// The text.
        text: String,
    },
    /// Not the content itself but where to get it.
    Link {
        /// Over MCP, as a resource.
        uri: String,
        /// Over REST, below `/api`.
        route: String,
        /// What is there.
        description: String,
    },
}

impl Attachment {
    /// The attachment as an object, for faces that have nothing but JSON.
    #[must_use]
    pub fn to_object(&self) -> Value {
        let mut object = Map::new();
        object.insert("name".to_owned(), self.name.clone().into());
        object.insert("media_type".to_owned(), self.media_type.into());
        let (field, value) = match &self.content {
            AttachedContent::Bytes(bytes) => ("base64", base64(bytes)),
            AttachedContent::Text { text, .. } => ("text", text.clone()),
            AttachedContent::Link { route, .. } => ("href", format!("/api{route}")),
        };
        object.insert(field.to_owned(), value.into());
        Value::Object(object)
    }
}

/// Bytes, as JSON can hold them.
#[must_use]
pub fn base64(bytes: &[u8]) -> String {
    base64::engine::general_purpose::STANDARD.encode(bytes)
}
