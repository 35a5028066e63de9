//! What HTTP needs to know of a message.

use serde_json::Value;

/// A message from the client, and its line.
pub(super) struct Message {
    line: String,
    value: Value,
}

impl Message {
    /// The message in a line, if there is one.
    pub(super) fn read(line: &[u8]) -> Option<Self> {
        let line = std::str::from_utf8(line).ok()?.trim();
        let value: Value = serde_json::from_str(line).ok()?;
        value.is_object().then(|| Self {
            line: line.to_owned(),
            value,
        })
    }

    pub(super) fn line(&self) -> &str {
        &self.line
    }

    pub(super) fn id(&self) -> Option<&Value> {
        self.value.get("id").filter(|_| self.method().is_some())
    }

    pub(super) fn method(&self) -> Option<&str> {
        self.value.get("method").and_then(Value::as_str)
    }

    /// The id of the request that this message calls off.
    pub(super) fn cancels(&self) -> Option<String> {
        (self.method() == Some("notifications/cancelled"))
            .then(|| self.value["params"].get("requestId").map(ToString::to_string))
            .flatten()
    }

    /// Whether it belongs to the newer era, in which every request says all about itself.
    pub(super) fn is_self_contained(&self) -> bool {
        self.revision().is_some()
    }

    /// The headers by which a newer request is routed without reading its body.
    pub(super) fn headers(&self) -> Vec<(&'static str, String)> {
        let Some(revision) = self.revision() else {
            return Vec::new();
        };
        let mut headers = vec![("mcp-protocol-version", revision.to_owned())];
        let Some(method) = self.method() else {
            return headers;
        };
        headers.push(("mcp-method", method.to_owned()));
        let named = match method {
            "tools/call" | "prompts/get" => Some("name"),
            "resources/read" => Some("uri"),
            _ => None,
        };
        let name = named.and_then(|field| self.value["params"].get(field)?.as_str());
        if let Some(name) = name.filter(|name| name.bytes().all(|byte| (0x20..0x7f).contains(&byte))) {
            headers.push(("mcp-name", name.to_owned()));
        }
        headers
    }

    fn revision(&self) -> Option<&str> {
        self.value["params"]["_meta"]
            .get("io.modelcontextprotocol/protocolVersion")?
            .as_str()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_request_is_routed_by_its_headers() {
        let line = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"git_log","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
        let message = Message::read(line).unwrap();
        assert_eq!(
            message.headers(),
            [
                ("mcp-protocol-version", "2026-07-28".to_owned()),
                ("mcp-method", "tools/call".to_owned()),
                ("mcp-name", "git_log".to_owned()),
            ]
        );
    }

    #[test]
    fn an_older_request_needs_its_session() {
        let message = Message::read(br#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).unwrap();
        assert!(!message.is_self_contained() && message.headers().is_empty());
    }

    #[test]
    fn a_cancellation_names_its_request() {
        let line = br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#;
        assert_eq!(Message::read(line).unwrap().cancels().as_deref(), Some("7"));
        assert!(Message::read(b"[1]").is_none());
    }
}
