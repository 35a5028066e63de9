//! Keys that verify signatures. A key knows its one algorithm, so that a token cannot
//! choose how it is verified (an RSA public key must never become an HMAC secret).

use std::fmt;

use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyAlgorithm, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};
use serde_json::Value;

use super::settings::{InvalidSetting, JwtAlgorithm, JwtSettings};

/// The members of a JWK that only a private or symmetric key has.
const PRIVATE_MEMBERS: [&str; 8] = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];
const MIN_RSA_BYTES: usize = 256;

/// One key with its one algorithm.
#[derive(Clone)]
pub(super) struct VerificationKey {
    pub(super) algorithm: Algorithm,
    pub(super) key: DecodingKey,
}

impl VerificationKey {
    /// The key that an operator has set.
    pub(super) fn from_settings(settings: &JwtSettings) -> Result<Self, InvalidSetting> {
        let refused = |problem| InvalidSetting::new("auth.jwt.public_key", problem);
        let (algorithm, parse): (_, fn(&[u8]) -> _) = match settings.algorithm {
            JwtAlgorithm::Hs256 => return Self::from_secret(settings),
            JwtAlgorithm::Rs256 => (Algorithm::RS256, DecodingKey::from_rsa_pem),
            JwtAlgorithm::Es256 => (Algorithm::ES256, DecodingKey::from_ec_pem),
            JwtAlgorithm::EdDsa => (Algorithm::EdDSA, DecodingKey::from_ed_pem),
        };
        let pem = settings.public_key.as_deref().unwrap_or_default();
        if pem.contains("PRIVATE KEY") {
            return Err(refused(
                "this is a private key, which must not leave its owner; set the public one \
                 (`openssl pkey -in private.pem -pubout`)",
            ));
        }
        let unreadable =
            || refused("not a public key of this algorithm in PEM form (`-----BEGIN PUBLIC KEY-----`)");
        let key = parse(pem.as_bytes()).map_err(|_| unreadable())?;
        let jwk = Jwk::from_decoding_key(&key, Some(algorithm)).map_err(|_| unreadable())?;
        if algorithm_of(&jwk) == Ok(algorithm) {
            Ok(Self { algorithm, key })
        } else {
            Err(refused(
                "too weak, or of another algorithm than `auth.jwt.algorithm`; RS256 needs 2048 bits or more, \
                 ES256 the curve P-256",
            ))
        }
    }

    /// A key that an issuer has published.
    pub(super) fn from_published(value: &Value) -> Result<Self, UnusableKey> {
        if PRIVATE_MEMBERS.iter().any(|member| value.get(member).is_some()) {
            return Err(UnusableKey::Private);
        }
        let jwk: Jwk = serde_json::from_value(value.clone()).map_err(|_| UnusableKey::Unreadable)?;
        if let Some(PublicKeyUse::Encryption | PublicKeyUse::Other(_)) = jwk.common.public_key_use {
            return Err(UnusableKey::OtherUse);
        }
        let algorithm = algorithm_of(&jwk)?;
        let key = DecodingKey::from_jwk(&jwk).map_err(|_| UnusableKey::Unreadable)?;
        Ok(Self { algorithm, key })
    }

    fn from_secret(settings: &JwtSettings) -> Result<Self, InvalidSetting> {
        let secret = settings
            .secret
            .as_ref()
            .ok_or_else(|| InvalidSetting::new("auth.jwt.secret", "HS256 needs a secret; set one"))?;
        Ok(Self {
            algorithm: Algorithm::HS256,
            key: DecodingKey::from_secret(secret.expose().as_bytes()),
        })
    }
}

impl fmt::Debug for VerificationKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VerificationKey({:?})", self.algorithm)
    }
}

/// Why a published key is passed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum UnusableKey {
    #[error("it is a private or symmetric key and should not have been published")]
    Private,
    #[error("it is not for signatures")]
    OtherUse,
    #[error("it is not a key that can be read")]
    Unreadable,
    #[error("its type and its algorithm do not belong together, or are not supported")]
    Algorithm,
    #[error("it is too weak")]
    Weak,
}

/// The one algorithm of a key: what its type and curve allow, narrowed by what it says itself.
fn algorithm_of(jwk: &Jwk) -> Result<Algorithm, UnusableKey> {
    use Algorithm::{ES256, ES384, EdDSA, PS256, PS384, PS512, RS256, RS384, RS512};
    let allowed: &[Algorithm] = match &jwk.algorithm {
        AlgorithmParameters::RSA(rsa) if decoded_length(&rsa.n) < MIN_RSA_BYTES => {
            return Err(UnusableKey::Weak);
        }
        AlgorithmParameters::RSA(_) => &[RS256, RS384, RS512, PS256, PS384, PS512],
        AlgorithmParameters::EllipticCurve(ec) => match ec.curve {
            EllipticCurve::P256 => &[ES256],
            EllipticCurve::P384 => &[ES384],
            _ => return Err(UnusableKey::Algorithm),
        },
        AlgorithmParameters::OctetKeyPair(pair) => match pair.curve {
            EllipticCurve::Ed25519 => &[EdDSA],
            _ => return Err(UnusableKey::Algorithm),
        },
        AlgorithmParameters::OctetKey(_) => return Err(UnusableKey::Private),
        // The library's list is open: what it does not know today is not to be relied on.
        _ => return Err(UnusableKey::Unreadable),
    };
    let algorithm = match jwk.common.key_algorithm {
        Some(named) => named_algorithm(named)?,
        // Some issuers leave `alg` out; the first is what everybody then means.
        None => allowed[0],
    };
    if allowed.contains(&algorithm) {
        Ok(algorithm)
    } else {
        Err(UnusableKey::Algorithm)
    }
}

fn named_algorithm(named: KeyAlgorithm) -> Result<Algorithm, UnusableKey> {
    Algorithm::try_from(named).map_err(|_| UnusableKey::Algorithm)
}

/// How many bytes an unpadded base64url text stands for.
fn decoded_length(base64url: &str) -> usize {
    base64url.len() * 3 / 4
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn modulus(bytes: usize) -> String {
        "A".repeat((bytes * 4).div_ceil(3))
    }

    fn check(jwk: &Value, expected: Result<Algorithm, UnusableKey>) {
        let found = VerificationKey::from_published(jwk).map(|key| key.algorithm);
        assert_eq!(found, expected, "{jwk}");
    }

    #[test]
    fn a_published_key_has_exactly_one_algorithm() {
        let n = modulus(256);
        let x = modulus(32);
        check(&json!({"kty":"RSA","n":n,"e":"AQAB"}), Ok(Algorithm::RS256));
        check(
            &json!({"kty":"RSA","n":n,"e":"AQAB","alg":"PS384"}),
            Ok(Algorithm::PS384),
        );
        check(
            &json!({"kty":"EC","crv":"P-256","x":x,"y":x}),
            Ok(Algorithm::ES256),
        );
        check(&json!({"kty":"OKP","crv":"Ed25519","x":x}), Ok(Algorithm::EdDSA));
    }

    #[test]
    fn what_must_not_verify_is_passed_over() {
        let n = modulus(256);
        let x = modulus(32);
        let refused = |jwk, why| check(&jwk, Err(why));
        refused(
            json!({"kty":"RSA","n":n,"e":"AQAB","alg":"HS256"}),
            UnusableKey::Algorithm,
        );
        refused(
            json!({"kty":"EC","crv":"P-256","x":x,"y":x,"alg":"RS256"}),
            UnusableKey::Algorithm,
        );
        refused(
            json!({"kty":"EC","crv":"P-256","x":x,"y":x,"alg":"none"}),
            UnusableKey::Algorithm,
        );
        refused(
            json!({"kty":"RSA","n":modulus(128),"e":"AQAB"}),
            UnusableKey::Weak,
        );
        refused(
            json!({"kty":"RSA","n":n,"e":"AQAB","use":"enc"}),
            UnusableKey::OtherUse,
        );
        refused(json!({"kty":"RSA","n":n,"e":"AQAB","d":x}), UnusableKey::Private);
        refused(json!({"kty":"oct","k":x,"alg":"HS256"}), UnusableKey::Private);
        refused(json!({"kty":"novel"}), UnusableKey::Unreadable);
        refused(json!("text"), UnusableKey::Unreadable);
    }
}
