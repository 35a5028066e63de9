//! What an operator can set about the edge. The configuration reference is generated from
//! these comments.

mod check;

use std::net::{Ipv4Addr, SocketAddr};

use agentyard_model::{RoleName, Secret};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use check::InvalidSetting;
pub(super) use check::{is_loopback_url, parse_url, required};

/// How callers prove over HTTP who they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AuthMode {
    /// With a token that this installation made (`agentyard token create`).
    #[default]
    Token,
    /// With a JWT signed by a shared secret or by the holder of a key pair.
    Jwt,
    /// With an access token of an OAuth authorization server.
    OAuth,
    /// Not at all: everybody who can connect is the owner. Loopback addresses only.
    None,
}

/// How a JWT is signed. One key has one algorithm; what a token says about itself does not
/// change it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub enum JwtAlgorithm {
    /// HMAC with SHA-256 and a shared secret.
    #[default]
    #[serde(rename = "HS256")]
    Hs256,
    /// RSA (PKCS #1 v1.5) with SHA-256.
    #[serde(rename = "RS256")]
    Rs256,
    /// ECDSA on P-256 with SHA-256.
    #[serde(rename = "ES256")]
    Es256,
    /// Ed25519.
    #[serde(rename = "EdDSA")]
    EdDsa,
}

/// Who may call, and how they prove it.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AuthSettings {
    /// How callers prove over HTTP who they are: `token`, `jwt`, `oauth` or `none`.
    pub mode: AuthMode,
    /// The role of a caller whose JWT names none. Without it: `dev`.
    pub default_role: Option<RoleName>,
    /// The key for `mode = "jwt"`.
    pub jwt: JwtSettings,
    /// The authorization server for `mode = "oauth"`.
    pub oauth: OAuthSettings,
}

/// Tokens that somebody signs with a key we are told.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct JwtSettings {
    /// How tokens are signed: `HS256` (needs `secret`), or `RS256`, `ES256`, `EdDSA` (need
    /// `public_key`).
    pub algorithm: JwtAlgorithm,
    /// The shared secret for `HS256`, 32 bytes or more. Better set by environment than in a file.
    pub secret: Option<Secret>,
    /// The public key for `RS256` (2048 bits or more), `ES256` or `EdDSA`, in PEM form.
    pub public_key: Option<String>,
    /// What the `iss` claim must be.
    pub issuer: Option<String>,
    /// What the `aud` claim must be or contain: the name by which the issuer knows this server.
    pub audience: Option<String>,
    /// How far the issuer's clock may be from ours, in seconds; at most 300.
    pub leeway_seconds: u64,
}

impl Default for JwtSettings {
    fn default() -> Self {
        Self {
            algorithm: JwtAlgorithm::default(),
            secret: None,
            public_key: None,
            issuer: None,
            audience: None,
            leeway_seconds: DEFAULT_LEEWAY_SECONDS,
        }
    }
}

/// An OAuth authorization server whose access tokens are JWTs.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OAuthSettings {
    /// The issuer's address, exactly as it stands in the `iss` claim, trailing slash included.
    pub issuer: Option<String>,
    /// What the `aud` claim must be or contain: usually this server's public address.
    pub audience: Option<String>,
    /// Where the issuer publishes its keys. Without it the issuer's metadata is asked.
    pub jwks_uri: Option<String>,
    /// How often the keys are fetched again, in seconds; at least 30.
    pub refresh_seconds: u64,
    /// How long keys are used on while the issuer cannot be reached, in seconds; at least
    /// `refresh_seconds`.
    pub stale_seconds: u64,
    /// How far the issuer's clock may be from ours, in seconds; at most 300.
    pub leeway_seconds: u64,
}

impl Default for OAuthSettings {
    fn default() -> Self {
        Self {
            issuer: None,
            audience: None,
            jwks_uri: None,
            refresh_seconds: 600,
            stale_seconds: 86_400,
            leeway_seconds: DEFAULT_LEEWAY_SECONDS,
        }
    }
}

/// The HTTP server.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HttpSettings {
    /// The address to listen on.
    pub listen: SocketAddr,
    /// The address by which clients reach this server, when that is not the one they write in
    /// the `Host` header with `http`: for example `https://yard.example.org` behind a proxy.
    pub public_url: Option<String>,
    /// Further names that a `Host` header may carry: `yard.example.org` (any port) or
    /// `yard.example.org:8443`. The loopback names, the listen address and `public_url` are
    /// allowed without being listed.
    pub allowed_hosts: Vec<String>,
    /// Web pages of other origins that may call this server from a browser, for example
    /// `https://tools.example.org`. Pages that this server itself serves need not be listed.
    pub allowed_origins: Vec<String>,
    /// The largest request body, in bytes.
    pub max_body_bytes: usize,
    /// A domain below which each port of each sandbox has a host name of its own, `<port>-<sandbox>.<domain>`, for
    /// clients of E2B and browsers. A wildcard record of it must lead to this server. Without it, clients reach
    /// sandboxes at the server's own address.
    pub sandbox_domain: Option<String>,
    /// The largest request into a sandbox, in bytes: files that are uploaded by clients of E2B.
    pub max_sandbox_upload_bytes: u64,
    /// How many requests a caller, or an address without an identity, may make per second in
    /// the long run; 0 for any number.
    pub requests_per_second: u32,
    /// How many requests may come at once before that rate is enforced.
    pub request_burst: u32,
    /// How many times a minute one address may present a credential that is not accepted.
    pub failed_attempts_per_minute: u32,
    /// How many requests are worked on at the same time; more are answered with 503.
    pub max_concurrent_requests: usize,
    /// How many event streams may be open at the same time, beside those requests.
    pub max_event_streams: usize,
    /// How long a client may take to send the head of a request, in seconds.
    pub head_timeout_seconds: u64,
    /// How long requests in progress may go on after the server was told to stop, in seconds.
    pub drain_seconds: u64,
    /// Whether `/metrics` answers without a token.
    pub public_metrics: bool,
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 7420)),
            public_url: None,
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            max_body_bytes: 16 * 1024 * 1024,
            sandbox_domain: None,
            max_sandbox_upload_bytes: 8 * 1024 * 1024 * 1024,
            requests_per_second: 1000,
            request_burst: 5000,
            failed_attempts_per_minute: 30,
            max_concurrent_requests: 512,
            max_event_streams: 1024,
            head_timeout_seconds: 10,
            drain_seconds: 30,
            public_metrics: false,
        }
    }
}

/// Enough for machines that keep time, little for a stolen token.
const DEFAULT_LEEWAY_SECONDS: u64 = 30;
