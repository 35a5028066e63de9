//! Settles who calls, in the way that the configuration asks for.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use agentyard_model::{Caller, Clock, Secret};
use futures::future::BoxFuture;
use http::HeaderMap;

use super::bearer::{NoToken, bearer_token, challenge};
use super::claims::Claims;
use super::fault::TokenFault;
use super::jwks::JwksVerifier;
use super::jwt::JwtVerifier;
use super::origin::BaseUrl;
use agentyard_services::ErrorKind;

use super::refusal::Refusal;
use super::settings::{AuthMode, AuthSettings, InvalidSetting};

/// How long to wait for an issuer that cannot be reached.
const ISSUER_RETRY: Duration = Duration::from_secs(30);

/// Knows callers: tenants, roles and tokens are kept below the edge.
pub trait Identities: Send + Sync {
    /// The holder of a token that was made here; none when it is unknown, expired or revoked.
    fn caller_of_token(&self, token: Secret) -> BoxFuture<'_, Result<Option<Caller>, Refusal>>;

    /// The caller for whom an issuer vouches; none when nobody here knows the tenant or role.
    fn caller_of_claims(&self, claims: Claims) -> BoxFuture<'_, Result<Option<Caller>, Refusal>>;
}

/// One way of settling who calls.
pub enum Authenticator {
    /// By tokens that were made here.
    Token(Arc<dyn Identities>),
    /// By JWTs of somebody whose key we were told.
    Jwt(JwtVerifier, Arc<dyn Identities>),
    /// By access tokens of an issuer that publishes its keys.
    OAuth(JwksVerifier, Arc<dyn Identities>),
    /// Not at all: whoever reaches a loopback address owns the machine.
    None,
}

impl Authenticator {
    /// The way that these settings ask for.
    ///
    /// # Errors
    /// Names the setting that cannot stand.
    pub fn new(
        settings: &AuthSettings,
        identities: Arc<dyn Identities>,
        clock: Clock,
    ) -> Result<Self, InvalidSetting> {
        Ok(match settings.mode {
            AuthMode::Token => Self::Token(identities),
            AuthMode::Jwt => Self::Jwt(JwtVerifier::new(&settings.jwt, clock)?, identities),
            AuthMode::OAuth => Self::OAuth(JwksVerifier::new(&settings.oauth, clock)?, identities),
            AuthMode::None => Self::None,
        })
    }

    /// Fetches ahead what would otherwise be fetched for the first caller.
    pub async fn warm(&self) {
        match self {
            Self::OAuth(verifier, _) => verifier.warm().await,
            Self::Token(_) | Self::Jwt(..) | Self::None => {}
        }
    }

    /// Who calls. The peer is the other end of the connection.
    ///
    /// # Errors
    /// Says why nobody was found, in words that hold nothing of the token.
    pub async fn authenticate(&self, headers: &HeaderMap, peer: IpAddr) -> Result<Caller, AuthFailure> {
        let caller = match self {
            Self::None if peer.to_canonical().is_loopback() => return Ok(Caller::local()),
            Self::None => return Err(AuthFailure::NotLocal),
            Self::Token(identities) => identities.caller_of_token(bearer_token(headers)?).await,
            Self::Jwt(verifier, identities) => {
                let claims = verifier.verify(&bearer_token(headers)?)?;
                identities.caller_of_claims(claims).await
            }
            Self::OAuth(verifier, identities) => {
                let claims = verifier.verify(&bearer_token(headers)?).await?;
                identities.caller_of_claims(claims).await
            }
        };
        caller.map_err(AuthFailure::Refused)?.ok_or(AuthFailure::Unknown)
    }
}

impl fmt::Debug for Authenticator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Token(_) => "Authenticator::Token",
            Self::Jwt(..) => "Authenticator::Jwt",
            Self::OAuth(..) => "Authenticator::OAuth",
            Self::None => "Authenticator::None",
        })
    }
}

/// Why nobody was found to call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuthFailure {
    /// The request carries no token.
    #[error("this call needs a token")]
    Missing,
    /// It carries something that cannot be a token.
    #[error("{0}")]
    Malformed(&'static str),
    /// Its token is not to be believed.
    #[error(transparent)]
    Rejected(#[from] TokenFault),
    /// Its token is of nobody that we know.
    #[error("the token is not known here, or has expired or been revoked")]
    Unknown,
    /// Only this machine may call, and the request comes from another.
    #[error("without authorization only this machine may call")]
    NotLocal,
    /// Those who know the callers have refused, or could not tell.
    #[error(transparent)]
    Refused(Refusal),
}

impl From<NoToken> for AuthFailure {
    fn from(none: NoToken) -> Self {
        match none {
            NoToken::Missing => Self::Missing,
            NoToken::Malformed(what) => Self::Malformed(what),
            NoToken::TooLong => Self::Rejected(TokenFault::TooLong),
        }
    }
}

impl AuthFailure {
    /// Whether somebody presented a credential and it was wrong, as one who guesses does.
    #[must_use]
    pub fn is_failed_attempt(&self) -> bool {
        match self {
            Self::Rejected(fault) => *fault != TokenFault::KeysUnavailable,
            Self::Unknown | Self::Malformed(_) => true,
            Self::Missing | Self::NotLocal | Self::Refused(_) => false,
        }
    }

    /// How the client is told.
    #[must_use]
    pub fn refusal(self, base: &BaseUrl) -> Refusal {
        let unauthenticated = |message: String, error: Option<&str>| {
            Refusal::new(ErrorKind::Unauthenticated, message).with_challenge(challenge(base, error))
        };
        let message = self.to_string();
        match self {
            Self::Missing => {
                unauthenticated(message, None).with_hint("Send the header `Authorization: Bearer <token>`.")
            }
            Self::Malformed(_) => Refusal::new(ErrorKind::InvalidInput, message)
                .with_hint("Send exactly one header `Authorization: Bearer <token>`.")
                .with_challenge(challenge(base, Some("invalid_request"))),
            Self::Rejected(TokenFault::KeysUnavailable) => {
                Refusal::new(ErrorKind::Unavailable, message).retry_after(ISSUER_RETRY)
            }
            Self::Rejected(_) => unauthenticated(message, Some("invalid_token")),
            Self::Unknown => unauthenticated(message, Some("invalid_token"))
                .with_hint("Get a new token, for example with `agentyard token create`."),
            Self::NotLocal => Refusal::new(ErrorKind::Forbidden, message)
                .with_hint("Set `auth.mode` to `token` to let other machines call."),
            Self::Refused(refusal) if refusal.kind() == ErrorKind::Unauthenticated => {
                refusal.with_challenge(challenge(base, Some("invalid_token")))
            }
            Self::Refused(refusal) => refusal,
        }
    }
}
