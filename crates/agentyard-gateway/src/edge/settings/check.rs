//! Refuses settings that cannot work or would leave the door open, before anything listens.

use std::net::{IpAddr, SocketAddr};

use reqwest::Url;

use super::{AuthMode, AuthSettings, HttpSettings, JwtAlgorithm, JwtSettings, OAuthSettings};
use crate::edge::keys::VerificationKey;
use crate::edge::origin::Guard;

/// The shortest secret for HS256: as long as the hash, below which guessing gets cheaper.
const MIN_SECRET_BYTES: usize = 32;
const MAX_LEEWAY_SECONDS: u64 = 300;
const MIN_REFRESH_SECONDS: u64 = 30;

/// A setting that cannot stand. It says which, where it can be set, and what to do; never
/// its value, which may be a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{setting}` ({}): {problem}", self.variable())]
pub struct InvalidSetting {
    setting: &'static str,
    problem: String,
}

impl InvalidSetting {
    /// The complaint about a setting; the problem says what to do, and never quotes a value.
    pub fn new(setting: &'static str, problem: impl Into<String>) -> Self {
        Self {
            setting,
            problem: problem.into(),
        }
    }

    /// The setting as it is written in a file, for example `auth.jwt.secret`.
    #[must_use]
    pub fn setting(&self) -> &'static str {
        self.setting
    }

    /// The environment variable that sets the same, for example `AGENTYARD_AUTH_JWT_SECRET`.
    #[must_use]
    pub fn variable(&self) -> String {
        format!("AGENTYARD_{}", self.setting.replace('.', "_").to_uppercase())
    }
}

impl AuthSettings {
    /// Refuses what cannot authorize anybody, or would let in everybody, on this address.
    ///
    /// # Errors
    /// Names the first setting that cannot stand.
    pub fn check(&self, listen: SocketAddr) -> Result<(), InvalidSetting> {
        match self.mode {
            AuthMode::Token => Ok(()),
            AuthMode::Jwt => self.jwt.check(),
            AuthMode::OAuth => self.oauth.check(),
            AuthMode::None if listen.ip().to_canonical().is_loopback() => Ok(()),
            AuthMode::None => Err(InvalidSetting::new(
                "auth.mode",
                format!(
                    "`none` lets everybody in and {listen} is not a loopback address; \
                     set it to `token`, or `http.listen` to `127.0.0.1:{}`",
                    listen.port()
                ),
            )),
        }
    }
}

impl JwtSettings {
    fn check(&self) -> Result<(), InvalidSetting> {
        match (self.algorithm, &self.secret, &self.public_key) {
            (JwtAlgorithm::Hs256, Some(_), None) => {}
            (JwtAlgorithm::Hs256, None, _) => {
                return Err(InvalidSetting::new(
                    "auth.jwt.secret",
                    "HS256 needs a secret; set one of 32 bytes or more, or choose RS256, ES256 or EdDSA in \
                     `auth.jwt.algorithm` and set `auth.jwt.public_key`",
                ));
            }
            (JwtAlgorithm::Hs256, Some(_), Some(_)) => {
                return Err(InvalidSetting::new(
                    "auth.jwt.public_key",
                    "HS256 uses the secret only; remove the key, or choose its algorithm in `auth.jwt.algorithm`",
                ));
            }
            (JwtAlgorithm::Rs256 | JwtAlgorithm::Es256 | JwtAlgorithm::EdDsa, Some(_), _) => {
                return Err(InvalidSetting::new(
                    "auth.jwt.secret",
                    "only HS256 uses a secret; remove it",
                ));
            }
            (JwtAlgorithm::Rs256 | JwtAlgorithm::Es256 | JwtAlgorithm::EdDsa, None, None) => {
                return Err(InvalidSetting::new(
                    "auth.jwt.public_key",
                    "this algorithm needs a public key; set it in PEM form",
                ));
            }
            (JwtAlgorithm::Rs256 | JwtAlgorithm::Es256 | JwtAlgorithm::EdDsa, None, Some(_)) => {}
        }
        if let Some(secret) = &self.secret
            && secret.expose().len() < MIN_SECRET_BYTES
        {
            return Err(InvalidSetting::new(
                "auth.jwt.secret",
                "shorter than 32 bytes; make one with `openssl rand -base64 48`",
            ));
        }
        VerificationKey::from_settings(self)?;
        required("auth.jwt.issuer", self.issuer.as_deref())?;
        required("auth.jwt.audience", self.audience.as_deref())?;
        at_most("auth.jwt.leeway_seconds", self.leeway_seconds, MAX_LEEWAY_SECONDS)
    }
}

impl OAuthSettings {
    fn check(&self) -> Result<(), InvalidSetting> {
        let issuer = required("auth.oauth.issuer", self.issuer.as_deref())?;
        check_issuer_url("auth.oauth.issuer", issuer)?;
        required("auth.oauth.audience", self.audience.as_deref())?;
        if let Some(address) = &self.jwks_uri {
            check_issuer_url("auth.oauth.jwks_uri", address)?;
        }
        at_most(
            "auth.oauth.leeway_seconds",
            self.leeway_seconds,
            MAX_LEEWAY_SECONDS,
        )?;
        at_least(
            "auth.oauth.refresh_seconds",
            self.refresh_seconds,
            MIN_REFRESH_SECONDS,
        )?;
        at_least(
            "auth.oauth.stale_seconds",
            self.stale_seconds,
            self.refresh_seconds,
        )
    }
}

impl HttpSettings {
    /// Refuses what cannot be served.
    ///
    /// # Errors
    /// Names the first setting that cannot stand.
    pub fn check(&self) -> Result<(), InvalidSetting> {
        Guard::from_settings(self)?;
        let positive = |setting, number: usize| at_least(setting, number as u64, 1);
        positive("http.max_body_bytes", self.max_body_bytes)?;
        positive("http.max_concurrent_requests", self.max_concurrent_requests)?;
        positive("http.max_event_streams", self.max_event_streams)?;
        at_least("http.head_timeout_seconds", self.head_timeout_seconds, 1)?;
        at_least(
            "http.failed_attempts_per_minute",
            self.failed_attempts_per_minute.into(),
            1,
        )?;
        if self.requests_per_second > 0 {
            at_least("http.request_burst", self.request_burst.into(), 1)?;
        }
        Ok(())
    }
}

/// The URL, if it has a host and nothing that a base address must not have.
pub(in crate::edge) fn parse_url(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    let plain = matches!(url.scheme(), "http" | "https")
        && url.has_host()
        && url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none();
    plain.then_some(url)
}

/// Whether the URL leads to this machine, so that nobody can listen on the way.
pub(in crate::edge) fn is_loopback_url(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    host == "localhost"
        || host
            .trim_matches(['[', ']'])
            .parse::<IpAddr>()
            .is_ok_and(|address| address.to_canonical().is_loopback())
}

fn check_issuer_url(setting: &'static str, text: &str) -> Result<(), InvalidSetting> {
    let url = parse_url(text).ok_or_else(|| {
        InvalidSetting::new(
            setting,
            "not an address; write it as `https://issuer.example.org`, without user, query or fragment",
        )
    })?;
    if url.scheme() == "https" || is_loopback_url(&url) {
        Ok(())
    } else {
        Err(InvalidSetting::new(
            setting,
            "keys fetched over http can be exchanged on the way; use an `https` address (`http` is for \
             loopback addresses only)",
        ))
    }
}

/// A setting without which its mode cannot work.
pub(in crate::edge) fn required<'a>(
    setting: &'static str,
    value: Option<&'a str>,
) -> Result<&'a str, InvalidSetting> {
    value.filter(|text| !text.is_empty()).ok_or_else(|| {
        InvalidSetting::new(
            setting,
            "not set, and `auth.mode` needs it; set it to what tokens carry",
        )
    })
}

fn at_most(setting: &'static str, number: u64, limit: u64) -> Result<(), InvalidSetting> {
    if number <= limit {
        Ok(())
    } else {
        Err(InvalidSetting::new(
            setting,
            format!("more than {limit}; set it lower"),
        ))
    }
}

fn at_least(setting: &'static str, number: u64, limit: u64) -> Result<(), InvalidSetting> {
    if number >= limit {
        Ok(())
    } else {
        Err(InvalidSetting::new(
            setting,
            format!("less than {limit}; set it higher"),
        ))
    }
}

#[cfg(test)]
mod tests;
