//! What a verified token says, checked and bounded before anybody sees it.

use std::time::Duration;

use agentyard_model::{Clock, Permission, Permissions, Timestamp};
use serde::Deserialize;
use serde_json::Number;

use super::fault::TokenFault;

const MAX_SUBJECT_LENGTH: usize = 256;
const MAX_TENANT_LENGTH: usize = 128;
const MAX_ROLE_LENGTH: usize = 64;
const MAX_SCOPE_LENGTH: usize = 2048;

/// What an issuer vouches for. Every text in it is bounded and prints as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claims {
    /// Who vouches.
    pub issuer: String,
    /// Whom they mean.
    pub subject: String,
    /// The tenant, from the claim `tid`.
    pub tenant: Option<String>,
    /// The role, from the claim `role`.
    pub role: Option<String>,
    /// What the token is limited to, from the claim `scope` (or `scp`): words with a space
    /// between, of which some may be permissions of ours.
    pub scope: Option<String>,
    /// When the token ends.
    pub expires_at: Timestamp,
}

impl Claims {
    /// The permissions of ours to which the token is limited; none when it carries no limit.
    /// Words that are not ours are passed over: issuers add `openid` and the like.
    #[must_use]
    pub fn limit(&self) -> Option<Permissions> {
        let scope = self.scope.as_ref()?;
        let words = scope.split_ascii_whitespace();
        Some(words.filter_map(|word| word.parse::<Permission>().ok()).collect())
    }
}

/// What a token must say to be for us.
#[derive(Debug, Clone)]
pub(super) struct Expected {
    pub(super) issuer: String,
    pub(super) audience: String,
    pub(super) leeway: Duration,
    pub(super) clock: Clock,
}

impl Expected {
    /// Checks what the signature has been found to cover.
    pub(super) fn check(&self, claims: RawClaims) -> Result<Claims, TokenFault> {
        if claims.iss.ok_or(TokenFault::Missing("iss"))? != self.issuer {
            return Err(TokenFault::Issuer);
        }
        if !claims
            .aud
            .ok_or(TokenFault::Missing("aud"))?
            .contains(&self.audience)
        {
            return Err(TokenFault::Audience);
        }
        let now = self.clock.now();
        let expires_at = instant("exp", &claims.exp.ok_or(TokenFault::Missing("exp"))?)?;
        if now >= expires_at.after(self.leeway) {
            return Err(TokenFault::Expired);
        }
        if let Some(not_before) = claims.nbf
            && now.after(self.leeway) < instant("nbf", &not_before)?
        {
            return Err(TokenFault::NotYetValid);
        }
        let subject = claims.sub.ok_or(TokenFault::Missing("sub"))?;
        Ok(Claims {
            issuer: self.issuer.clone(),
            subject: bounded("sub", subject, MAX_SUBJECT_LENGTH)?,
            tenant: optional("tid", claims.tid, MAX_TENANT_LENGTH)?,
            role: optional("role", claims.role, MAX_ROLE_LENGTH)?,
            scope: scope(claims.scope, claims.scp)?,
            expires_at,
        })
    }
}

/// The claims as they stand in the token. A claim that is there twice, or of another type
/// than it must be, is refused by the parser.
#[derive(Deserialize)]
pub(super) struct RawClaims {
    iss: Option<String>,
    sub: Option<String>,
    aud: Option<OneOrMany>,
    exp: Option<Number>,
    nbf: Option<Number>,
    tid: Option<String>,
    role: Option<String>,
    scope: Option<OneOrMany>,
    scp: Option<OneOrMany>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl OneOrMany {
    fn contains(&self, text: &str) -> bool {
        match self {
            Self::One(one) => one == text,
            Self::Many(many) => many.iter().any(|one| one == text),
        }
    }

    fn joined(self) -> String {
        match self {
            Self::One(one) => one,
            Self::Many(many) => many.join(" "),
        }
    }
}

/// A limit that we cannot read must not be taken for no limit, so two of them are refused.
fn scope(scope: Option<OneOrMany>, scp: Option<OneOrMany>) -> Result<Option<String>, TokenFault> {
    let limit = match (scope, scp) {
        (Some(_), Some(_)) => return Err(TokenFault::Claim("scope")),
        (limit, None) | (None, limit) => limit.map(OneOrMany::joined),
    };
    match limit {
        // A token limited to nothing is not a token without a limit.
        Some(text) if text.is_empty() => Ok(Some(text)),
        limit => optional("scope", limit, MAX_SCOPE_LENGTH),
    }
}

fn optional(name: &'static str, text: Option<String>, limit: usize) -> Result<Option<String>, TokenFault> {
    text.map(|text| bounded(name, text, limit)).transpose()
}

fn bounded(name: &'static str, text: String, limit: usize) -> Result<String, TokenFault> {
    if !text.is_empty() && text.len() <= limit && is_printable(&text) {
        Ok(text)
    } else {
        Err(TokenFault::Claim(name))
    }
}

/// Whether a text shows as it is: without control characters, and without those that are
/// invisible or turn the direction of writing, which could make one name look like another.
pub(super) fn is_printable(text: &str) -> bool {
    text.chars()
        .all(|char| matches!(char, '\'' | '"' | '\\') || char.escape_debug().len() == 1)
}

/// A moment in seconds since the epoch, with or without a fraction. Fractions are dropped.
fn instant(name: &'static str, number: &Number) -> Result<Timestamp, TokenFault> {
    let seconds = match (number.as_u64(), number.as_f64()) {
        (Some(seconds), _) => seconds,
        // The cast saturates.
        (None, Some(seconds)) if seconds >= 0.0 => seconds as u64,
        (None, _) => return Err(TokenFault::Claim(name)),
    };
    let epoch = Timestamp::from_microseconds(0);
    Ok(epoch.after(Duration::from_secs(seconds)))
}

#[cfg(test)]
mod tests;
