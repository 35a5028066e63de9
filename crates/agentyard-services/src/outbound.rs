//! Calls to other machines over HTTP: bounded in time and size, and never led elsewhere.

use std::time::Duration;

use reqwest::header::HeaderMap;
use reqwest::redirect::Policy;
use reqwest::{Client, StatusCode, Url};

/// How long a connection may take to be made.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The largest answer that is read.
const MAX_ANSWER_BYTES: usize = 1024 * 1024;

/// Why a call came to nothing.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OutboundError {
    #[error("calls to other machines cannot be set up")]
    Unable(#[source] reqwest::Error),
    #[error("{url} cannot be reached")]
    Unreachable {
        url: Url,
        #[source]
        source: reqwest::Error,
    },
    #[error("{url} answered with more than {MAX_ANSWER_BYTES} bytes")]
    TooLarge { url: Url },
}

/// The one way in which services call other machines.
#[derive(Debug, Clone)]
pub(crate) struct Outbound {
    client: Client,
}

impl Outbound {
    /// For calls that may take so long, all in all.
    pub(crate) fn new(timeout: Duration) -> Result<Self, OutboundError> {
        let client = Client::builder()
            // A redirect could lead anywhere, and would take the credentials along.
            .redirect(Policy::none())
            // Variables of the environment are the binary's business.
            .no_proxy()
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(timeout)
            .user_agent(concat!("agentyard/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(OutboundError::Unable)?;
        Ok(Self { client })
    }

    /// Sends JSON and reads the answer, whatever its status.
    pub(crate) async fn post_json(
        &self,
        url: &Url,
        headers: HeaderMap,
        body: Vec<u8>,
    ) -> Result<(StatusCode, Vec<u8>), OutboundError> {
        let unreachable = |source: reqwest::Error| OutboundError::Unreachable {
            url: url.clone(),
            // The address stands before it already.
            source: source.without_url(),
        };
        let request = self.client.post(url.clone()).headers(headers).body(body);
        let mut response = request.send().await.map_err(unreachable)?;
        let status = response.status();
        let mut answer = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(unreachable)? {
            if answer.len() + piece.len() > MAX_ANSWER_BYTES {
                return Err(OutboundError::TooLarge { url: url.clone() });
            }
            answer.extend_from_slice(&piece);
        }
        Ok((status, answer))
    }
}
