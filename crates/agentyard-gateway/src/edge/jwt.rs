//! JWTs: reading one suspiciously, and verifying it with a key that was set.

use std::time::Duration;

use agentyard_model::{Clock, Secret};
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Header, Validation};

use super::claims::{Claims, Expected, RawClaims, is_printable};
use super::fault::TokenFault;
use super::keys::VerificationKey;
use super::settings::{InvalidSetting, JwtSettings, required};

/// The longest token: what fits into one header, with room for the rest of the request.
pub(super) const MAX_TOKEN_BYTES: usize = 8 * 1024;
const MAX_KEY_ID_BYTES: usize = 256;

/// Verifies tokens with the one key that the configuration names.
#[derive(Debug)]
pub struct JwtVerifier {
    key: VerificationKey,
    expected: Expected,
}

impl JwtVerifier {
    /// A verifier for these settings.
    ///
    /// # Errors
    /// Names the setting that cannot stand.
    pub fn new(settings: &JwtSettings, clock: Clock) -> Result<Self, InvalidSetting> {
        Ok(Self {
            key: VerificationKey::from_settings(settings)?,
            expected: Expected {
                issuer: required("auth.jwt.issuer", settings.issuer.as_deref())?.to_owned(),
                audience: required("auth.jwt.audience", settings.audience.as_deref())?.to_owned(),
                leeway: Duration::from_secs(settings.leeway_seconds),
                clock,
            },
        })
    }

    /// What the token says, if it is to be believed.
    ///
    /// # Errors
    /// Says what is wrong with it, without a word of its content.
    pub fn verify(&self, token: &Secret) -> Result<Claims, TokenFault> {
        let unverified = UnverifiedToken::read(token)?;
        unverified.verify(&self.key, &self.expected)
    }
}

/// A token whose header was looked at, and nothing more.
pub(super) struct UnverifiedToken<'a> {
    text: &'a str,
    header: Header,
}

impl<'a> UnverifiedToken<'a> {
    /// Reads the header, and refuses a token that wants to bring or name its own key.
    pub(super) fn read(token: &'a Secret) -> Result<Self, TokenFault> {
        let text = token.expose();
        if text.len() > MAX_TOKEN_BYTES {
            return Err(TokenFault::TooLong);
        }
        let header = jsonwebtoken::decode_header(text).map_err(|_| TokenFault::Malformed)?;
        let unwanted = [
            ("jku", header.jku.is_some()),
            ("jwk", header.jwk.is_some()),
            ("x5u", header.x5u.is_some()),
            ("x5c", header.x5c.is_some()),
            ("crit", header.crit.is_some()),
            ("enc", header.enc.is_some()),
            ("zip", header.zip.is_some()),
        ];
        if let Some((name, _)) = unwanted.into_iter().find(|(_, present)| *present) {
            return Err(TokenFault::Header(name));
        }
        if !header.typ.as_deref().is_none_or(is_access_token_type) {
            return Err(TokenFault::Type);
        }
        let plain_key_id = |id: &str| id.len() <= MAX_KEY_ID_BYTES && is_printable(id);
        if !header.kid.as_deref().is_none_or(plain_key_id) {
            return Err(TokenFault::UnknownKey);
        }
        Ok(Self { text, header })
    }

    /// What the token calls its key: good for a look-up in a map, and for nothing else.
    pub(super) fn key_id(&self) -> Option<&str> {
        self.header.kid.as_deref()
    }

    /// Verifies the signature, then what it covers.
    pub(super) fn verify(&self, key: &VerificationKey, expected: &Expected) -> Result<Claims, TokenFault> {
        if self.header.alg != key.algorithm {
            return Err(TokenFault::Algorithm);
        }
        let mut validation = Validation::new(key.algorithm);
        validation.set_required_spec_claims(&["exp", "aud", "iss", "sub"]);
        validation.set_issuer(&[&expected.issuer]);
        validation.set_audience(&[&expected.audience]);
        // Times are compared with our own clock, below.
        validation.validate_exp = false;
        validation.validate_nbf = false;
        let token = jsonwebtoken::decode::<RawClaims>(self.text, &key.key, &validation)
            .map_err(|error| fault_of(error.kind()))?;
        expected.check(token.claims)
    }
}

/// Access tokens say `at+jwt` (RFC 9068) or just `JWT`; what says anything else, such as a
/// logout token, was signed by the same key for another purpose.
fn is_access_token_type(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    matches!(
        name.strip_prefix("application/").unwrap_or(&name),
        "jwt" | "at+jwt"
    )
}

fn fault_of(kind: &ErrorKind) -> TokenFault {
    match kind {
        ErrorKind::InvalidSignature => TokenFault::Signature,
        ErrorKind::InvalidAlgorithm => TokenFault::Algorithm,
        ErrorKind::InvalidIssuer => TokenFault::Issuer,
        ErrorKind::InvalidAudience => TokenFault::Audience,
        ErrorKind::MissingRequiredClaim(name) => match name.as_str() {
            "exp" => TokenFault::Missing("exp"),
            "aud" => TokenFault::Missing("aud"),
            "iss" => TokenFault::Missing("iss"),
            _ => TokenFault::Missing("sub"),
        },
        // The library's list is open; whatever else it finds, the token is not one.
        _ => TokenFault::Malformed,
    }
}
