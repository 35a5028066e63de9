//! The middleware of every route that needs an identity: settles it, once, and counts.

use std::net::IpAddr;
use std::sync::Arc;

use agentyard_model::{Caller, RequestId, SandboxId, Secret};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::{Extensions, HeaderMap};

use super::authenticator::{AuthFailure, Authenticator};
use super::bearer::bearer_token;
use super::limits::{FailedAttempts, KnownTokens, RateLimits};
use super::origin::BaseUrl;
use super::peer::peer_of;
use super::refusal::Refusal;
use super::settings::HttpSettings;

/// Who may come in.
#[derive(Debug)]
pub struct Admission {
    authenticator: Authenticator,
    rates: Arc<RateLimits>,
    attempts: FailedAttempts,
    known: KnownTokens,
    /// By which address we are reached, when the guard has not said so.
    base: BaseUrl,
}

impl Admission {
    /// Admission by this authenticator, at these rates.
    #[must_use]
    pub fn new(settings: &HttpSettings, authenticator: Authenticator, rates: Arc<RateLimits>) -> Self {
        let base = match &settings.public_url {
            Some(url) => url.trim_end_matches('/').into(),
            None => format!("http://{}", settings.listen).into(),
        };
        Self {
            authenticator,
            rates,
            attempts: FailedAttempts::new(settings.failed_attempts_per_minute),
            known: KnownTokens::default(),
            base: BaseUrl(base),
        }
    }

    /// Fetches ahead what would otherwise be fetched for the first caller.
    pub async fn warm(&self) {
        self.authenticator.warm().await;
    }

    /// Who calls, if they may come in now.
    async fn admit(&self, headers: &HeaderMap, extensions: &Extensions) -> Result<Caller, Refusal> {
        let peer = peer_of(extensions);
        let token = bearer_token(headers).ok();
        self.may_try(token.as_ref(), peer)?;
        let request_id = extensions
            .get::<RequestId>()
            .cloned()
            .unwrap_or_else(RequestId::new);
        match self.authenticator.authenticate(headers, peer).await {
            Ok(caller) => {
                if let Some(token) = &token {
                    self.known.insert(token);
                }
                self.rates.check(Some(&caller), peer)?;
                Ok(caller.in_request(request_id))
            }
            Err(failure) => {
                self.count_failure(&failure, token.as_ref(), peer, &request_id)?;
                let base = extensions.get::<BaseUrl>().unwrap_or(&self.base);
                Err(failure.refusal(base))
            }
        }
    }

    fn count_failure(
        &self,
        failure: &AuthFailure,
        token: Option<&Secret>,
        peer: IpAddr,
        request_id: &RequestId,
    ) -> Result<(), Refusal> {
        if failure.is_failed_attempt() {
            tracing::info!(%peer, %request_id, reason = %failure, "refused a credential");
            self.refused(token, peer);
        }
        self.rates.check(None, peer)
    }

    /// Refuses an address that has guessed too often, unless this token was accepted lately. For those who check
    /// credentials of another kind than ours, and who then say how it went.
    pub(crate) fn may_try(&self, token: Option<&Secret>, peer: IpAddr) -> Result<(), Refusal> {
        if token.is_some_and(|token| self.known.contains(token)) {
            return Ok(());
        }
        self.attempts.check(peer)
    }

    /// Remembers a token that was accepted, and counts the request as one to this sandbox.
    pub(crate) fn accepted(&self, token: Option<&Secret>, sandbox: SandboxId) -> Result<(), Refusal> {
        if let Some(token) = token {
            self.known.insert(token);
        }
        self.rates.check_sandbox(sandbox)
    }

    /// Counts a request of somebody without an identity.
    pub(crate) fn count(&self, peer: IpAddr) -> Result<(), Refusal> {
        self.rates.check(None, peer)
    }

    /// Counts a credential that was not accepted.
    pub(crate) fn refused(&self, token: Option<&Secret>, peer: IpAddr) {
        self.attempts.record(peer);
        if let Some(token) = token {
            self.known.remove(token);
        }
    }
}

/// Lets a request pass with its [`Caller`] in the extensions, or answers it with a refusal.
pub async fn admit(State(admission): State<Arc<Admission>>, mut request: Request, next: Next) -> Response {
    match admission.admit(request.headers(), request.extensions()).await {
        Ok(caller) => {
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        Err(refusal) => refusal.into_response(),
    }
}
