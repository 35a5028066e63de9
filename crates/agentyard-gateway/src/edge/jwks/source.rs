//! Where an issuer's keys come from: two small documents over HTTPS.

use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, Url};
use tokio::time::timeout;

use super::document::{IssuerMetadata, KeySet};
use crate::edge::settings::{InvalidSetting, OAuthSettings, is_loopback_url, parse_url, required};

/// The largest document: some hundred keys.
const MAX_DOCUMENT_BYTES: usize = 256 * 1024;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// For all documents together; there are at most four.
const FETCH_TIMEOUT: Duration = Duration::from_secs(10);

/// Why an issuer's keys could not be fetched.
#[derive(Debug, thiserror::Error)]
pub(super) enum FetchError {
    #[error("cannot fetch {url}")]
    Request {
        url: Url,
        #[source]
        source: reqwest::Error,
    },
    #[error(
        "{url} answered {status}; redirects are not followed, so set `auth.oauth.jwks_uri` to the final address"
    )]
    Redirect { url: Url, status: u16 },
    #[error("{url} answered {status}")]
    Status { url: Url, status: u16 },
    #[error("{url} answered with more than {MAX_DOCUMENT_BYTES} bytes")]
    TooLarge { url: Url },
    #[error("{url} answered with something else than the document that belongs there")]
    Unreadable {
        url: Url,
        #[source]
        source: serde_json::Error,
    },
    #[error("{url} is the metadata of another issuer than `auth.oauth.issuer`")]
    OtherIssuer { url: Url },
    #[error("{url} names an address for its keys that is not safe; it must be https")]
    UnsafeAddress { url: Url },
    #[error("the issuer publishes no key that can verify a signature")]
    NoKeys,
    #[error("the issuer did not answer within {} seconds", FETCH_TIMEOUT.as_secs())]
    TooSlow,
}

/// One issuer, and how to ask it.
#[derive(Debug)]
pub(super) struct KeySource {
    client: Client,
    issuer: String,
    issuer_url: Url,
    jwks_url: Option<Url>,
}

impl KeySource {
    pub(super) fn new(settings: &OAuthSettings) -> Result<Self, InvalidSetting> {
        let issuer = required("auth.oauth.issuer", settings.issuer.as_deref())?;
        let unusable = |setting| InvalidSetting::new(setting, "not an address; write it as `https://…`");
        let issuer_url = parse_url(issuer).ok_or_else(|| unusable("auth.oauth.issuer"))?;
        let jwks_url = match &settings.jwks_uri {
            Some(text) => Some(parse_url(text).ok_or_else(|| unusable("auth.oauth.jwks_uri"))?),
            None => None,
        };
        let builder = Client::builder()
            // A redirect could lead anywhere, also to addresses that only this machine reaches.
            .redirect(Policy::none())
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(FETCH_TIMEOUT)
            .user_agent(concat!("agentyard/", env!("CARGO_PKG_VERSION")));
        let local = is_loopback_url(&issuer_url) || jwks_url.as_ref().is_some_and(is_loopback_url);
        let builder = if local {
            builder.no_proxy()
        } else {
            builder.https_only(true)
        };
        let client = builder.build().map_err(|error| {
            InvalidSetting::new("auth.oauth.issuer", format!("cannot set up TLS for it: {error}"))
        })?;
        Ok(Self {
            client,
            issuer: issuer.to_owned(),
            issuer_url,
            jwks_url,
        })
    }

    /// The keys as the issuer publishes them now.
    pub(super) async fn fetch(&self) -> Result<KeySet, FetchError> {
        timeout(FETCH_TIMEOUT, self.fetch_unhurried())
            .await
            .unwrap_or(Err(FetchError::TooSlow))
    }

    async fn fetch_unhurried(&self) -> Result<KeySet, FetchError> {
        let url = match &self.jwks_url {
            Some(url) => url.clone(),
            None => self.discover().await?,
        };
        let json = self.get(&url).await?;
        let keys = KeySet::parse(&json).map_err(|source| FetchError::Unreadable { url, source })?;
        if keys.len() == 0 {
            return Err(FetchError::NoKeys);
        }
        Ok(keys)
    }

    /// Asks the issuer's metadata for the address of its keys, at each place where it may lie.
    async fn discover(&self) -> Result<Url, FetchError> {
        let mut failure = FetchError::NoKeys;
        for url in metadata_urls(&self.issuer_url) {
            let answer = self.get(&url).await;
            match answer.and_then(|json| self.keys_address(url, &json)) {
                Ok(address) => return Ok(address),
                // Who cannot be reached here cannot be reached there.
                Err(error @ FetchError::Request { .. }) => return Err(error),
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    fn keys_address(&self, url: Url, json: &[u8]) -> Result<Url, FetchError> {
        let metadata: IssuerMetadata = match serde_json::from_slice(json) {
            Ok(metadata) => metadata,
            Err(source) => return Err(FetchError::Unreadable { url, source }),
        };
        if metadata.issuer != self.issuer {
            return Err(FetchError::OtherIssuer { url });
        }
        match Url::parse(&metadata.jwks_uri) {
            Ok(address) if self.is_safe(&address) => Ok(address),
            _ => Err(FetchError::UnsafeAddress { url }),
        }
    }

    /// Only an issuer on this machine may send us to an address on this machine over http.
    fn is_safe(&self, address: &Url) -> bool {
        address.scheme() == "https"
            || (address.scheme() == "http" && is_loopback_url(address) && is_loopback_url(&self.issuer_url))
    }

    async fn get(&self, url: &Url) -> Result<Vec<u8>, FetchError> {
        let failed = |source: reqwest::Error| FetchError::Request {
            url: url.clone(),
            source: source.without_url(),
        };
        let request = self.client.get(url.clone()).header("accept", "application/json");
        let mut response = request.send().await.map_err(failed)?;
        let status = response.status();
        if status.is_redirection() {
            return Err(FetchError::Redirect {
                url: url.clone(),
                status: status.as_u16(),
            });
        }
        if !status.is_success() {
            return Err(FetchError::Status {
                url: url.clone(),
                status: status.as_u16(),
            });
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(failed)? {
            if body.len() + chunk.len() > MAX_DOCUMENT_BYTES {
                return Err(FetchError::TooLarge { url: url.clone() });
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }
}

/// Where the metadata of an issuer may lie: as RFC 8414 has it, as OpenID has it, and as
/// those have it who read RFC 8414 like OpenID. They differ only for an issuer with a path.
fn metadata_urls(issuer: &Url) -> Vec<Url> {
    let path = issuer.path().trim_end_matches('/');
    let mut paths = vec![
        format!("/.well-known/oauth-authorization-server{path}"),
        format!("{path}/.well-known/openid-configuration"),
    ];
    if !path.is_empty() {
        paths.push(format!("{path}/.well-known/oauth-authorization-server"));
    }
    let at = |path: String| {
        let mut url = issuer.clone();
        url.set_path(&path);
        url
    };
    paths.into_iter().map(at).collect()
}

#[cfg(test)]
mod tests;
