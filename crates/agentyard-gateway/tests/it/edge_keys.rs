//! Keys made for one test run, and tokens signed with them, well formed or not.

use std::sync::LazyLock;

use agentyard_model::{Clock, Secret, Timestamp};
use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der, PublicKeyX509Der};
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey};
use serde_json::{Value, json};

pub(crate) const ISSUER: &str = "https://id.example.org";
pub(crate) const AUDIENCE: &str = "https://yard.example.org";
/// What every test clock shows, in seconds.
pub(crate) const NOW: i64 = 1_800_000_000;

/// Making an RSA key takes a while, so all tests share one.
pub(crate) static RSA: LazyLock<TestKey> = LazyLock::new(TestKey::rsa);

pub(crate) fn clock() -> Clock {
    Clock::fixed(Timestamp::from_microseconds(NOW * 1_000_000))
}

/// A key pair, or a shared secret.
pub(crate) struct TestKey {
    pub(crate) algorithm: Algorithm,
    pub(crate) public_pem: String,
    signing: EncodingKey,
}

impl TestKey {
    pub(crate) fn rsa() -> Self {
        let pair = aws_lc_rs::rsa::KeyPair::generate(KeySize::Rsa2048).unwrap();
        let private: Pkcs8V1Der<'_> = pair.as_der().unwrap();
        let public: PublicKeyX509Der<'_> = pair.public_key().as_der().unwrap();
        let pem = pem("PRIVATE KEY", private.as_ref());
        Self {
            algorithm: Algorithm::RS256,
            public_pem: self::pem("PUBLIC KEY", public.as_ref()),
            signing: EncodingKey::from_rsa_pem(pem.as_bytes()).unwrap(),
        }
    }

    pub(crate) fn p256() -> Self {
        let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap();
        let public: PublicKeyX509Der<'_> = pair.public_key().as_der().unwrap();
        Self {
            algorithm: Algorithm::ES256,
            public_pem: pem("PUBLIC KEY", public.as_ref()),
            signing: EncodingKey::from_ec_der(pair.to_pkcs8v1().unwrap().as_ref()),
        }
    }

    pub(crate) fn ed25519() -> Self {
        let pair = Ed25519KeyPair::generate().unwrap();
        let public: PublicKeyX509Der<'_> = pair.public_key().as_der().unwrap();
        Self {
            algorithm: Algorithm::EdDSA,
            public_pem: pem("PUBLIC KEY", public.as_ref()),
            signing: EncodingKey::from_ed_der(pair.to_pkcs8().unwrap().as_ref()),
        }
    }

    pub(crate) fn hmac(secret: &[u8]) -> Self {
        Self {
            algorithm: Algorithm::HS256,
            public_pem: String::new(),
            signing: EncodingKey::from_secret(secret),
        }
    }

    /// The public key as an issuer publishes it.
    pub(crate) fn jwk(&self, id: &str) -> Value {
        let parse = match self.algorithm {
            Algorithm::RS256 => DecodingKey::from_rsa_pem,
            Algorithm::ES256 => DecodingKey::from_ec_pem,
            _ => DecodingKey::from_ed_pem,
        };
        let key = parse(self.public_pem.as_bytes()).unwrap();
        let mut jwk =
            serde_json::to_value(Jwk::from_decoding_key(&key, Some(self.algorithm)).unwrap()).unwrap();
        jwk["kid"] = json!(id);
        jwk
    }

    /// A token with exactly this header and these claims.
    pub(crate) fn sign(&self, header: &Value, claims: &Value) -> Secret {
        let message = format!("{}.{}", encode(header), encode(claims));
        let signature =
            jsonwebtoken::crypto::sign(message.as_bytes(), &self.signing, self.algorithm).unwrap();
        Secret::new(format!("{message}.{signature}"))
    }

    /// A good token but for these claims; `null` stands for none.
    pub(crate) fn token_with_claims(&self, changes: &Value) -> Secret {
        self.sign(&json!({"alg": self.algorithm}), &merged(claims(), changes))
    }

    /// A good token but for these members of its header.
    pub(crate) fn token_with_header(&self, changes: &Value) -> Secret {
        self.sign(
            &merged(json!({"alg": self.algorithm, "typ": "JWT"}), changes),
            &claims(),
        )
    }
}

/// What a good token says.
pub(crate) fn claims() -> Value {
    json!({
        "iss": ISSUER, "aud": AUDIENCE, "sub": "ada", "exp": NOW + 300, "iat": NOW,
        "tid": "acme", "role": "ops",
    })
}

pub(crate) fn encode(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}

fn merged(mut value: Value, changes: &Value) -> Value {
    for (name, change) in changes.as_object().unwrap() {
        value[name] = change.clone();
    }
    value
}

fn pem(label: &str, der: &[u8]) -> String {
    format!(
        "-----BEGIN {label}-----\n{}\n-----END {label}-----\n",
        STANDARD.encode(der)
    )
}
