//! SurrealDB over its HTTP API. Values travel as variables of a call, never in the text of a statement.

use std::time::Duration;

use agentyard_model::{Execution, Secret};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{StatusCode, Url};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::rows;
use crate::error::{Error, Result};
use crate::outbound::{Outbound, OutboundError};

/// How much of one call is rows. SurrealDB takes 4 MiB unless told otherwise.
const MAX_CALL_BYTES: usize = 1024 * 1024;

/// How much of what it says about a failure is kept.
const MAX_REASON: usize = 300;

/// Where records are sent, and how.
#[derive(Debug, Clone)]
pub struct SurrealSettings {
    /// The server, for example `http://127.0.0.1:8000`.
    pub url: String,
    /// The namespace, which exists.
    pub namespace: String,
    /// The database in it, which exists.
    pub database: String,
    /// The table, which is made when it does not exist.
    pub table: String,
    /// How the server knows us.
    pub credentials: SurrealCredentials,
    /// How many records are sent at once.
    pub batch: u32,
    /// For how long records are gathered.
    pub flush_interval: Duration,
    /// How long one call may take.
    pub timeout: Duration,
}

/// How a SurrealDB server knows who calls.
#[derive(Debug, Clone)]
pub enum SurrealCredentials {
    /// It takes anybody.
    None,
    /// By a name and a password.
    Password {
        /// The name.
        username: String,
        /// The password.
        password: Secret,
        /// Where this user is defined.
        level: SurrealLevel,
    },
    /// By a token.
    Token(Secret),
}

/// Where a user of SurrealDB is defined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SurrealLevel {
    /// For the whole server.
    Root,
    /// In the namespace.
    Namespace,
    /// In the database.
    Database,
}

impl SurrealSettings {
    /// Whether records can be sent to this place at all.
    ///
    /// # Errors
    /// When one of the settings cannot be what it should be.
    pub fn check(&self) -> Result<()> {
        Connection::new(self).map(|_| ())
    }
}

/// What became of each record of a call, in their order: taken, or refused for a reason.
pub(super) type Verdicts = Vec<Result<(), String>>;

/// Why a call came to nothing as a whole.
#[derive(Debug, thiserror::Error)]
pub(super) enum SendError {
    #[error(transparent)]
    Settings(#[from] Error),
    #[error(transparent)]
    Outbound(#[from] OutboundError),
    #[error("it answered {status}{}{reason}", if reason.is_empty() { "" } else { ": " })]
    Status { status: StatusCode, reason: String },
    #[error("it refused the call: {0}")]
    Refused(String),
    #[error("its answer is not understood: {0}")]
    Unreadable(String),
}

/// A SurrealDB server.
pub(super) struct Surreal {
    pub(super) settings: SurrealSettings,
    connection: tokio::sync::OnceCell<Connection>,
}

impl Surreal {
    pub(super) fn new(settings: SurrealSettings) -> Self {
        Self {
            settings,
            connection: tokio::sync::OnceCell::new(),
        }
    }

    /// Sends the first of these records, as many as fit into one call, and says what became of each that was sent.
    pub(super) async fn send(&self, executions: &[Execution]) -> Result<Verdicts, SendError> {
        let connection = self
            .connection
            .get_or_try_init(async || Connection::new(&self.settings))
            .await?;
        let mut variables = Map::new();
        let mut size = 0;
        for execution in executions {
            let row = rows::row(execution);
            size += row.to_string().len();
            if size > MAX_CALL_BYTES && !variables.is_empty() {
                break;
            }
            variables.insert(rows::variable(variables.len()), row);
        }
        let count = variables.len();
        let statements = rows::statements(&self.settings.table, count);
        let call = json!({ "id": 1, "method": "query", "params": [statements, variables] });
        let answer = connection.call(call.to_string().into_bytes()).await?;
        verdicts(&answer, count)
    }
}

struct Connection {
    outbound: Outbound,
    endpoint: Url,
    headers: HeaderMap,
}

impl Connection {
    fn new(settings: &SurrealSettings) -> Result<Self> {
        let outbound = Outbound::new(settings.timeout)
            .map_err(|error| Error::internal("setting up calls to SurrealDB", error))?;
        if !is_identifier(&settings.table) {
            return Err(Error::invalid(
                "`executions.surreal_table`: expected letters, digits and `_`, not a digit first",
            ));
        }
        Ok(Self {
            outbound,
            endpoint: endpoint(&settings.url)?,
            headers: headers(settings)?,
        })
    }

    async fn call(&self, body: Vec<u8>) -> Result<Vec<u8>, SendError> {
        let sent = self
            .outbound
            .post_json(&self.endpoint, self.headers.clone(), body);
        let (status, answer) = sent.await?;
        if status.is_success() {
            return Ok(answer);
        }
        let reason = shown(&String::from_utf8_lossy(&answer));
        Err(SendError::Status { status, reason })
    }
}

fn endpoint(text: &str) -> Result<Url> {
    let unusable = || {
        Error::invalid(
            "`executions.surreal_url`: expected an address such as `https://surreal.example.org`, without a user, \
             query or fragment",
        )
    };
    // Clients of SurrealDB name the same server by these.
    let text = text.trim().trim_end_matches('/').trim_end_matches("/rpc");
    let text = match text.split_once("://") {
        Some(("ws", rest)) => format!("http://{rest}"),
        Some(("wss", rest)) => format!("https://{rest}"),
        _ => text.to_owned(),
    };
    let url = Url::parse(&format!("{text}/rpc")).map_err(|_| unusable())?;
    let plain = matches!(url.scheme(), "http" | "https")
        && url.has_host()
        && url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none();
    if plain { Ok(url) } else { Err(unusable()) }
}

fn headers(settings: &SurrealSettings) -> Result<HeaderMap> {
    let mut headers = HeaderMap::new();
    let json = HeaderValue::from_static("application/json");
    headers.insert(ACCEPT, json.clone());
    headers.insert(CONTENT_TYPE, json);
    let mut name = |header: &'static str, key: &str, text: &str| -> Result<()> {
        let value = HeaderValue::from_str(text).ok().filter(|_| !text.is_empty());
        let value = value.ok_or_else(|| Error::invalid(format!("`executions.{key}`: expected a name")))?;
        headers.insert(HeaderName::from_static(header), value);
        Ok(())
    };
    name("surreal-ns", "surreal_namespace", &settings.namespace)?;
    name("surreal-db", "surreal_database", &settings.database)?;
    if let SurrealCredentials::Password { level, .. } = &settings.credentials {
        if *level != SurrealLevel::Root {
            name("surreal-auth-ns", "surreal_namespace", &settings.namespace)?;
        }
        if *level == SurrealLevel::Database {
            name("surreal-auth-db", "surreal_database", &settings.database)?;
        }
    }
    let authorization = match &settings.credentials {
        SurrealCredentials::None => return Ok(headers),
        SurrealCredentials::Password {
            username, password, ..
        } => {
            let pair = Secret::new(format!("{username}:{}", password.expose()));
            Secret::new(format!("Basic {}", STANDARD.encode(pair.expose())))
        }
        SurrealCredentials::Token(token) => Secret::new(format!("Bearer {}", token.expose().trim())),
    };
    let mut value = HeaderValue::from_str(authorization.expose())
        .map_err(|_| Error::invalid("`executions.surreal_token`: expected a token, without spaces"))?;
    value.set_sensitive(true);
    headers.insert(AUTHORIZATION, value);
    Ok(headers)
}

fn is_identifier(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && !text.starts_with(|first: char| first.is_ascii_digit())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[derive(Deserialize)]
struct Answer {
    result: Option<Vec<Statement>>,
    error: Option<Value>,
}

/// What became of one statement.
#[derive(Deserialize)]
struct Statement {
    status: String,
    #[serde(default)]
    result: Value,
}

/// What became of each of so many records. Only what the answer says in so many words was taken.
fn verdicts(answer: &[u8], count: usize) -> Result<Verdicts, SendError> {
    let answer: Answer =
        serde_json::from_slice(answer).map_err(|error| SendError::Unreadable(error.to_string()))?;
    if let Some(error) = answer.error {
        let reason = error
            .get("message")
            .and_then(Value::as_str)
            .unwrap_or("no reason given");
        return Err(SendError::Refused(shown(reason)));
    }
    let statements = answer.result.unwrap_or_default();
    if statements.len() > count {
        return Err(SendError::Unreadable(format!(
            "{} answers to {count} statements",
            statements.len()
        )));
    }
    let mut verdicts: Verdicts = statements
        .into_iter()
        .map(|statement| match statement.status.as_str() {
            "OK" => Ok(()),
            _ => Err(shown(statement.result.as_str().unwrap_or("no reason given"))),
        })
        .collect();
    verdicts.resize(count, Err("it was not answered".to_owned()));
    Ok(verdicts)
}

/// The beginning of what somebody else worded, as it can stand in a log.
fn shown(text: &str) -> String {
    text.escape_debug().take(MAX_REASON).collect()
}

#[cfg(test)]
mod tests;
