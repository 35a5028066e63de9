//! A server somewhere else: operations called over its REST face.

mod live;

use agentyard_model::Secret;
use agentyard_operations::{Registered, Route};
use reqwest::{Client, RequestBuilder, Response, StatusCode, Url};
use serde_json::{Map, Value, json};

/// How long an answer may take.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(300);

/// The longest answer that is read.
const MAX_ANSWER_BYTES: usize = 32 * 1024 * 1024;

/// Why a remote call gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// The address cannot be one of a server.
    #[error("`{address}` is not a server's address: expected http:// or https://")]
    Address {
        /// What was given.
        address: String,
    },
    /// The server cannot be reached, or broke off.
    #[error("the server at {address} did not answer")]
    Unreachable {
        /// Where it was sought.
        address: Url,
        /// Why.
        #[source]
        source: reqwest::Error,
    },
    /// The server stopped in the middle of an answer.
    #[error("the server at {address} broke off before the call had ended")]
    BrokeOff {
        /// Where.
        address: Url,
    },
    /// The server answered with something that is not ours.
    #[error("the server at {address} answered with status {status} and no answer of Agentyard's")]
    Foreign {
        /// Where.
        address: Url,
        /// What it answered.
        status: StatusCode,
    },
    /// The server answered with an error.
    #[error("{}", .object["error"]["message"].as_str().unwrap_or("the server refused"))]
    Refused {
        /// The error object, as the server wrote it.
        object: Value,
    },
}

impl RemoteError {
    /// The error as every face shows it.
    #[must_use]
    pub fn object(&self) -> Value {
        match self {
            Self::Refused { object } => object.clone(),
            Self::Address { .. } => {
                json!({ "error": { "kind": "invalid_input", "message": self.to_string() } })
            }
            Self::Unreachable { source, .. } => json!({ "error": {
                "kind": "unavailable",
                "message": format!("{self}: {}", root_cause(source)),
                "hints": ["check --server or AGENTYARD_URL, and that `agentyard serve` runs there"],
            } }),
            Self::BrokeOff { .. } => json!({ "error": {
                "kind": "unavailable",
                "message": self.to_string(),
                "hints": ["what it had begun ends when nobody waits for it; look at the state before you call again"],
            } }),
            Self::Foreign { .. } => json!({ "error": {
                "kind": "unavailable",
                "message": self.to_string(),
                "hints": ["check --server or AGENTYARD_URL: something else listens there, or a proxy stands before it"],
            } }),
        }
    }
}

/// A server somewhere else.
pub struct RemoteServer {
    client: Client,
    address: Url,
    token: Option<Secret>,
}

impl RemoteServer {
    /// The server at this address. Nothing is sent yet.
    ///
    /// # Errors
    /// When the address is none.
    pub fn new(address: &str, token: Option<Secret>) -> Result<Self, RemoteError> {
        let parsed = Url::parse(address)
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https") && url.username().is_empty())
            .ok_or_else(|| RemoteError::Address {
                address: address.chars().take(200).collect(),
            })?;
        let client = Client::builder()
            .timeout(PATIENCE)
            // The token must not follow a redirect to somebody else.
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|source| RemoteError::Unreachable {
                address: parsed.clone(),
                source,
            })?;
        Ok(Self {
            client,
            address: parsed,
            token,
        })
    }

    /// Calls an operation there.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn call(
        &self,
        operation: &Registered,
        arguments: Map<String, Value>,
    ) -> Result<Value, RemoteError> {
        let request = self.request(operation, arguments);
        let response = request.send().await.map_err(|source| self.unreachable(source))?;
        self.answer(response).await
    }

    fn request(&self, operation: &Registered, mut arguments: Map<String, Value>) -> RequestBuilder {
        let route = route_for(operation, &arguments);
        let path = route.path.split('/').skip(1);
        let segments: Vec<String> = path
            .map(
                |segment| match segment.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
                    Some(name) => text(&arguments.remove(name).unwrap_or_default()),
                    None => segment.to_owned(),
                },
            )
            .collect();
        let mut url = self.url(segments.iter().map(String::as_str));
        let method = reqwest::Method::from_bytes(route.method.as_str().as_bytes()).unwrap_or_default();
        if !route.method.has_body() {
            append_query(&mut url, &arguments);
        }
        let mut request = self.client.request(method, url);
        if route.method.has_body() {
            request = request.json(&arguments);
        }
        self.with_token(request)
    }

    fn url<'a>(&self, below: impl IntoIterator<Item = &'a str>) -> Url {
        let mut url = self.address.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().push("api").extend(below);
        }
        url
    }

    fn with_token(&self, request: RequestBuilder) -> RequestBuilder {
        match &self.token {
            Some(token) => request.bearer_auth(token.expose()),
            None => request,
        }
    }

    async fn answer(&self, mut response: Response) -> Result<Value, RemoteError> {
        let status = response.status();
        let mut body = Vec::new();
        while let Some(chunk) = response
            .chunk()
            .await
            .map_err(|source| self.unreachable(source))?
        {
            body.extend_from_slice(&chunk);
            if body.len() > MAX_ANSWER_BYTES {
                return Err(self.foreign(status));
            }
        }
        let answer: Value = serde_json::from_slice(&body).map_err(|_| self.foreign(status))?;
        match (status.is_success(), answer["error"].is_object()) {
            (true, _) => Ok(answer),
            (false, true) => Err(RemoteError::Refused { object: answer }),
            (false, false) => Err(self.foreign(status)),
        }
    }

    fn unreachable(&self, source: reqwest::Error) -> RemoteError {
        RemoteError::Unreachable {
            address: self.address.clone(),
            source: source.without_url(),
        }
    }

    fn broke_off(&self) -> RemoteError {
        RemoteError::BrokeOff {
            address: self.address.clone(),
        }
    }

    fn foreign(&self, status: StatusCode) -> RemoteError {
        RemoteError::Foreign {
            address: self.address.clone(),
            status,
        }
    }
}

/// The route all of whose parameters are known.
fn route_for(operation: &Registered, arguments: &Map<String, Value>) -> Route {
    let entry = operation.entry();
    let fits = |route: &Route| route.parameters().all(|name| arguments.contains_key(name));
    entry.routes().find(fits).unwrap_or(entry.route)
}

fn append_query(url: &mut Url, arguments: &Map<String, Value>) {
    if arguments.is_empty() {
        return;
    }
    let mut query = url.query_pairs_mut();
    for (name, value) in arguments {
        match value {
            Value::Array(items) => items.iter().for_each(|item| {
                query.append_pair(name, &text(item));
            }),
            single => {
                query.append_pair(name, &text(single));
            }
        }
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn root_cause(error: &(dyn std::error::Error + 'static)) -> String {
    let mut cause = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}
