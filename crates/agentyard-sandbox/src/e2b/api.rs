//! The service's REST calls: bounded in time and size, tried again where that is called for, and never led elsewhere.

mod copies;

use std::sync::Arc;
use std::time::Duration;

use agentyard_model::{RunId, Secret};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use reqwest::redirect::Policy;
use reqwest::{Client, Proxy, Url};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::RwLock;

use super::network::reach_in_words;
use super::{E2bSettings, InvalidE2b};
use crate::standing::{Load, Reach};

/// How long a connection may take to be made.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long one call may take.
const CALL_TIMEOUT: Duration = Duration::from_secs(60);

/// How long nothing may come from a sandbox. Streams are kept alive more often than that.
const SILENCE: Duration = Duration::from_secs(600);

/// The largest answer that is read.
const MAX_ANSWER_BYTES: usize = 4 * 1024 * 1024;

/// How often a call is tried that the service could not take just now.
const TRIES: u32 = 4;

/// How long to wait before the second try when the service does not say; each further time twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(200);

/// The longest that is waited before another try.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// Why a call came to nothing.
#[derive(Debug, thiserror::Error)]
pub(super) enum ApiError {
    /// Nobody answered.
    #[error("{what} came to nothing: {host} cannot be reached ({reason})")]
    Unreachable {
        what: &'static str,
        host: String,
        reason: String,
    },
    /// The answer is no.
    #[error("{what} was refused by {host}: {message} ({status})")]
    Refused {
        what: &'static str,
        host: String,
        status: StatusCode,
        message: String,
    },
    /// The answer makes no sense.
    #[error("{what} got an answer from {host} that is not to be understood: {reason}")]
    Unreadable {
        what: &'static str,
        host: String,
        reason: String,
    },
}

impl ApiError {
    /// Whether the sandbox is not there any more.
    pub(super) fn is_gone(&self) -> bool {
        matches!(self, Self::Refused { status, .. } if *status == StatusCode::NOT_FOUND)
    }

    pub(super) fn remedy(&self) -> &'static str {
        match self {
            Self::Unreachable { .. } => "see `e2b.api_url` and `e2b.domain`; `agentyard doctor` tries it",
            Self::Refused { status, .. } => match status.as_u16() {
                401 | 403 => "see `e2b.api_key`",
                404 => {
                    "try again: another sandbox is made; if it is made from a snapshot or template, see whether the service still has that"
                }
                429 => "try again later, or let fewer run at once: see `e2b.pool_max`",
                _ => "try again later; `agentyard doctor` tries it",
            },
            Self::Unreadable { .. } => "see whether `e2b.api_url` is a server that speaks E2B's protocol",
        }
    }
}

/// The service.
#[derive(Debug)]
pub(super) struct Api {
    /// For calls to sandboxes too.
    pub(super) client: Client,
    base: Url,
    key: HeaderValue,
    /// Where all sandboxes are reached, or the domain below which each is.
    pub(super) sandboxes: SandboxAddress,
    template: String,
    /// Read by whoever ends a sandbox that nobody waits for.
    pub(super) ending: Arc<RwLock<()>>,
}

/// Where sandboxes are reached.
#[derive(Debug, Clone)]
pub(super) enum SandboxAddress {
    One(Url),
    Below(String),
}

/// A sandbox that was made.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Made {
    #[serde(rename = "sandboxID")]
    pub(super) id: String,
    #[serde(default)]
    pub(super) envd_access_token: Option<Secret>,
    #[serde(default)]
    pub(super) traffic_access_token: Option<Secret>,
    #[serde(default)]
    pub(super) domain: Option<String>,
}

/// What a sandbox is made with.
#[derive(Debug)]
pub(super) struct Order<'a> {
    pub(super) template: Option<&'a str>,
    pub(super) environment: &'a [(String, String)],
    pub(super) reach: &'a Reach,
    pub(super) registries: &'a [String],
    pub(super) lifetime: Duration,
    pub(super) purpose: &'a str,
}

impl Api {
    pub(super) fn new(settings: &E2bSettings) -> Result<Self, InvalidE2b> {
        let invalid = |key, reason: &dyn std::fmt::Display| InvalidE2b {
            key,
            reason: reason.to_string(),
        };
        let address = |key, text: &str| {
            let url = Url::parse(text).map_err(|error| invalid(key, &format!("is no address: {error}")))?;
            match url.scheme() {
                "http" | "https" if url.host().is_some() && !url.cannot_be_a_base() => Ok(url),
                _ => Err(invalid(key, &"must begin with `https://` or `http://`")),
            }
        };
        let is_host = |text: &str| {
            !text.is_empty()
                && text
                    .chars()
                    .all(|character| character.is_ascii_alphanumeric() || ".-".contains(character))
        };
        if !is_host(&settings.domain) {
            return Err(invalid("e2b.domain", &"is no domain"));
        }
        let usual = format!("https://api.{}", settings.domain);
        let base = address("e2b.api_url", settings.api_url.as_deref().unwrap_or(&usual))?;
        let sandboxes = match &settings.sandbox_url {
            Some(url) => SandboxAddress::One(address("e2b.sandbox_url", url)?),
            None => SandboxAddress::Below(settings.domain.clone()),
        };
        if settings.api_key.expose().is_empty() {
            return Err(invalid("e2b.api_key", &"is missing: set it, or `E2B_API_KEY`"));
        }
        let mut key = HeaderValue::from_str(settings.api_key.expose())
            .map_err(|_| invalid("e2b.api_key", &"has characters that a key cannot have"))?;
        key.set_sensitive(true);
        let mut client = Client::builder()
            // A redirect could lead anywhere, and would take the key along.
            .redirect(Policy::none())
            // Variables of the environment are the binary's business.
            .no_proxy()
            .connect_timeout(CONNECT_TIMEOUT)
            .read_timeout(SILENCE)
            .tcp_keepalive(Duration::from_secs(30))
            .user_agent(concat!("agentyard/", env!("CARGO_PKG_VERSION")));
        if let Some(proxy) = &settings.proxy {
            let proxy = Proxy::all(proxy.expose())
                .map_err(|_| invalid("sandbox.proxy", &"is no address of a proxy"))?;
            client = client.proxy(proxy);
        }
        let client = client
            .build()
            .map_err(|error| invalid("e2b", &format!("cannot be set up: {error}")))?;
        Ok(Self {
            client,
            base,
            key,
            sandboxes,
            template: settings.template.clone(),
            ending: Arc::default(),
        })
    }

    /// Makes a sandbox.
    pub(super) async fn create(&self, order: Order<'_>) -> Result<Made, ApiError> {
        let what = "making a sandbox";
        let (internet, network) = reach_in_words(order.reach, order.registries);
        let variables: serde_json::Map<String, Value> = order
            .environment
            .iter()
            .map(|(name, value)| (name.clone(), json!(value)))
            .collect();
        let mut body = json!({
            "templateID": order.template.unwrap_or(&self.template),
            "timeout": seconds(order.lifetime),
            "secure": true,
            "metadata": { "agentyard": order.purpose },
            "envVars": variables,
            "allow_internet_access": internet,
        });
        if let Some(network) = network {
            body["network"] = network;
        }
        let answer = self
            .call(what, Method::POST, "v2/sandboxes", Some(&body), true)
            .await?;
        self.made(what, &answer)
    }

    /// Lets a sandbox that is paused go on.
    pub(super) async fn connect(&self, id: &str, lifetime: Duration) -> Result<Made, ApiError> {
        let what = "waking a sandbox";
        let body = json!({ "timeout": seconds(lifetime) });
        let path = format!("v2/sandboxes/{id}/connect");
        let answer = self.call(what, Method::POST, &path, Some(&body), false).await?;
        self.made(what, &answer)
    }

    pub(super) async fn set_timeout(&self, id: &str, lifetime: Duration) -> Result<(), ApiError> {
        let body = json!({ "timeout": seconds(lifetime) });
        let path = format!("sandboxes/{id}/timeout");
        let what = "letting a sandbox stay";
        self.call(what, Method::POST, &path, Some(&body), false)
            .await
            .map(drop)
    }

    pub(super) async fn pause(&self, id: &str) -> Result<(), ApiError> {
        let path = format!("sandboxes/{id}/pause");
        let paused = self
            .call("pausing a sandbox", Method::POST, &path, Some(&json!({})), false)
            .await;
        match paused {
            // It is paused already.
            Err(ApiError::Refused { status, .. }) if status == StatusCode::CONFLICT => Ok(()),
            paused => paused.map(drop),
        }
    }

    /// Ends a sandbox. One that is gone is ended.
    pub(super) async fn kill(&self, id: &str) -> Result<(), ApiError> {
        let path = format!("sandboxes/{id}");
        match self
            .call("ending a sandbox", Method::DELETE, &path, None, false)
            .await
        {
            Err(error) if error.is_gone() => Ok(()),
            ended => ended.map(drop),
        }
    }

    pub(super) async fn set_reach(
        &self,
        id: &str,
        reach: &Reach,
        registries: &[String],
    ) -> Result<(), ApiError> {
        let (internet, network) = reach_in_words(reach, registries);
        let mut body = network.unwrap_or_else(|| json!({}));
        body["allow_internet_access"] = json!(internet);
        let path = format!("sandboxes/{id}/network");
        let what = "setting whom a sandbox may talk to";
        self.call(what, Method::PUT, &path, Some(&body), false)
            .await
            .map(drop)
    }

    /// What a sandbox takes, as it was measured last.
    pub(super) async fn load(&self, id: &str) -> Result<Load, ApiError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        #[derive(Default)]
        struct Measured {
            mem_used: Option<u64>,
            mem_cache: Option<u64>,
            disk_used: Option<u64>,
        }
        let what = "measuring a sandbox";
        let path = format!("sandboxes/{id}/metrics");
        let answer = self.call(what, Method::GET, &path, None, false).await?;
        let all: Vec<Measured> = self.read(what, &answer)?;
        let last = all.into_iter().next_back().unwrap_or_default();
        Ok(Load {
            cpu: None,
            memory_bytes: last.mem_used,
            cache_bytes: last.mem_cache,
            disk_bytes: last.disk_used,
        })
    }

    /// Whether the service answers, and knows the key.
    pub(super) async fn reachable(&self) -> Result<(), ApiError> {
        let path = "v2/sandboxes?limit=1";
        self.call("asking for sandboxes", Method::GET, path, None, false)
            .await
            .map(drop)
    }

    fn made(&self, what: &'static str, answer: &Bytes) -> Result<Made, ApiError> {
        self.checked(what, self.read(what, answer)?)
    }

    fn checked(&self, what: &'static str, made: Made) -> Result<Made, ApiError> {
        let is_plain = |text: &str| {
            !text.is_empty()
                && text.len() <= 128
                && text
                    .chars()
                    .all(|character| character.is_ascii_alphanumeric() || character == '-')
        };
        // Both become part of addresses.
        if !is_plain(&made.id) {
            return Err(self.unreadable(what, &"the sandbox's name is none"));
        }
        if let (SandboxAddress::Below(ours), Some(told)) = (&self.sandboxes, &made.domain) {
            let is_ours = told == ours || told.strip_suffix(ours).is_some_and(|part| part.ends_with('.'));
            if !is_ours || !told.split('.').all(is_plain) {
                let told = format!("the sandbox is said to be at {told}, which is not below `e2b.domain`");
                return Err(self.unreadable(what, &told));
            }
        }
        Ok(made)
    }

    fn read<T: serde::de::DeserializeOwned>(&self, what: &'static str, answer: &[u8]) -> Result<T, ApiError> {
        serde_json::from_slice(answer).map_err(|error| self.unreadable(what, &error))
    }

    fn unreadable(&self, what: &'static str, reason: &dyn std::fmt::Display) -> ApiError {
        ApiError::Unreadable {
            what,
            host: self.host(),
            // It may quote what it is about.
            reason: one_line(&reason.to_string()),
        }
    }

    fn host(&self) -> String {
        self.base.host_str().unwrap_or_default().to_owned()
    }

    /// Makes a call, and again while the service says that it cannot take it just now.
    async fn call(
        &self,
        what: &'static str,
        method: Method,
        path: &str,
        body: Option<&Value>,
        is_creation: bool,
    ) -> Result<Bytes, ApiError> {
        // The same for each try, so that what was made by one that seemed to fail is not made twice.
        // The service takes lower-case letters, digits and hyphens.
        let key = is_creation.then(|| RunId::new().to_string().to_lowercase().replace('_', "-"));
        let (mut wait, mut tries) = (FIRST_WAIT, 1);
        loop {
            let (status, headers, answer) = self
                .once(what, method.clone(), path, body, key.as_deref())
                .await?;
            if status.is_success() {
                return Ok(answer);
            }
            let pause = pause_before_retry(status, &headers, wait).filter(|_| tries < TRIES);
            let Some(pause) = pause else {
                return Err(ApiError::Refused {
                    what,
                    host: self.host(),
                    status,
                    message: message_of(&answer),
                });
            };
            tokio::time::sleep(pause).await;
            wait = (wait * 2).min(LONGEST_WAIT);
            tries += 1;
        }
    }

    async fn once(
        &self,
        what: &'static str,
        method: Method,
        path: &str,
        body: Option<&Value>,
        idempotency: Option<&str>,
    ) -> Result<(StatusCode, HeaderMap, Bytes), ApiError> {
        let unreachable = |error: &dyn std::fmt::Display| ApiError::Unreachable {
            what,
            host: self.host(),
            reason: error.to_string(),
        };
        let base = self.base.as_str().trim_end_matches('/');
        let mut request = self
            .client
            .request(method, format!("{base}/{path}"))
            .header(HeaderName::from_static("x-api-key"), self.key.clone())
            .timeout(CALL_TIMEOUT);
        if let Some(key) = idempotency {
            request = request.header(HeaderName::from_static("idempotency-key"), key);
        }
        if let Some(body) = body {
            request = request.json(body);
        }
        let mut answer = request
            .send()
            .await
            .map_err(|error| unreachable(&causes(&error.without_url())))?;
        let (status, headers) = (answer.status(), answer.headers().clone());
        let mut whole = Vec::new();
        while let Some(piece) = answer
            .chunk()
            .await
            .map_err(|error| unreachable(&error.without_url()))?
        {
            if whole.len() + piece.len() > MAX_ANSWER_BYTES {
                return Err(self.unreadable(what, &"it is too long"));
            }
            whole.extend_from_slice(&piece);
        }
        Ok((status, headers, whole.into()))
    }
}

/// How long to wait before a call is made again; none when that would be no use.
fn pause_before_retry(status: StatusCode, headers: &HeaderMap, usual: Duration) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let is_passing = match text("should-retry") {
        Some("true") => true,
        Some("false") => false,
        _ => matches!(status.as_u16(), 429 | 502 | 503 | 504),
    };
    let asked = text("retry-after")
        .and_then(|text| text.trim().parse().ok())
        .map(Duration::from_secs);
    is_passing.then(|| asked.unwrap_or(usual).min(LONGEST_WAIT))
}

/// What the service says about a refusal, in one short line.
fn message_of(answer: &[u8]) -> String {
    #[derive(Deserialize)]
    struct Told {
        message: String,
    }
    let text = serde_json::from_slice(answer)
        .map(|told: Told| told.message)
        .unwrap_or_else(|_| String::from_utf8_lossy(answer).into_owned());
    one_line(&text)
}

fn one_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let line: String = line.chars().filter(|c| !c.is_control()).take(300).collect();
    if line.is_empty() {
        "no reason was given".to_owned()
    } else {
        line
    }
}

/// An error with what it came from: the outermost says nothing.
fn causes(error: &reqwest::Error) -> String {
    let mut told = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        told = error.to_string();
        source = error.source();
    }
    told
}

/// Whole seconds; a sandbox that stays for none would be gone at once.
fn seconds(time: Duration) -> u64 {
    time.as_secs().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_made_again_only_where_that_is_of_use() {
        let usual = Duration::from_millis(200);
        let pause = |status: u16, headers: &[(&'static str, &'static str)]| {
            let mut map = HeaderMap::new();
            for (name, value) in headers {
                map.insert(*name, HeaderValue::from_static(value));
            }
            pause_before_retry(StatusCode::from_u16(status).unwrap(), &map, usual)
        };
        for status in [429, 502, 503, 504] {
            assert_eq!(pause(status, &[]), Some(usual), "{status}");
            assert_eq!(pause(status, &[("should-retry", "false")]), None, "{status}");
        }
        for status in [400, 401, 404, 409, 500] {
            assert_eq!(pause(status, &[]), None, "{status}");
        }
        assert_eq!(pause(500, &[("should-retry", "true")]), Some(usual));
        assert_eq!(pause(429, &[("retry-after", "2")]), Some(Duration::from_secs(2)));
        assert_eq!(pause(429, &[("retry-after", "86400")]), Some(LONGEST_WAIT));
        assert_eq!(pause(429, &[("retry-after", "soon")]), Some(usual));
    }

    #[test]
    fn a_refusal_is_one_short_line() {
        assert_eq!(
            message_of(br#"{"code":400,"message":"no such template"}"#),
            "no such template"
        );
        assert_eq!(message_of(b"<html>\x1b[2J\nmore"), "<html>[2J");
        assert_eq!(message_of(b""), "no reason was given");
        assert_eq!(message_of("é".repeat(900).as_bytes()).chars().count(), 300);
    }

    #[test]
    fn a_sandbox_is_where_it_should_be_and_nowhere_else() {
        let api = Api::new(&E2bSettings {
            api_key: Secret::new("e2b_x"),
            domain: "e2b.test".to_owned(),
            ..E2bSettings::default()
        })
        .unwrap();
        let made = |id: &str, domain: Option<&str>| {
            let told = json!({ "sandboxID": id, "domain": domain });
            api.made("making a sandbox", &told.to_string().into())
        };
        for domain in [None, Some("e2b.test"), Some("eu.e2b.test")] {
            assert!(made("abc", domain).is_ok(), "{domain:?}");
        }
        let elsewhere = [
            "",
            "evil.test",
            "xe2b.test",
            "e2b.test.evil.test",
            "evil.test/.e2b.test",
            "a@.e2b.test",
        ];
        for domain in elsewhere {
            assert!(made("abc", Some(domain)).is_err(), "{domain}");
        }
        for id in [
            "",
            "..",
            "a/b",
            "a.evil.test",
            "a@b",
            "a:1",
            "a?b",
            "a%2fb",
            "a\nb",
            &"a".repeat(129),
        ] {
            assert!(made(id, None).is_err(), "{id}");
        }
        let long = api.made(
            "making a sandbox",
            &json!({ "sandboxID": ["x".repeat(9000)] }).to_string().into(),
        );
        assert!(long.unwrap_err().to_string().len() < 600);
    }

    #[test]
    fn settings_with_which_nothing_is_reached_are_refused() {
        let settings = || E2bSettings {
            api_key: Secret::new("e2b_x"),
            ..E2bSettings::default()
        };
        assert!(Api::new(&settings()).is_ok());
        let wrong = [
            E2bSettings {
                api_key: Secret::new(""),
                ..settings()
            },
            E2bSettings {
                api_key: Secret::new("a\nb"),
                ..settings()
            },
            E2bSettings {
                domain: "e2b.app/x".to_owned(),
                ..settings()
            },
            E2bSettings {
                api_url: Some("ftp://e2b.app".to_owned()),
                ..settings()
            },
            E2bSettings {
                sandbox_url: Some("nowhere".to_owned()),
                ..settings()
            },
        ];
        for settings in wrong {
            assert!(Api::new(&settings).is_err(), "{settings:?}");
        }
    }
}
