//! JWTs under a key that was set: what is believed, and every way in which it is not.

use agentyard_gateway::edge::{AuthMode, AuthSettings, JwtAlgorithm, JwtSettings, JwtVerifier, TokenFault};
use agentyard_model::Secret;
use serde_json::{Value, json};

use crate::edge_keys::{AUDIENCE, ISSUER, NOW, RSA, TestKey, claims, clock, encode};

const SECRET: &str = "a shared secret of forty-odd bytes, for tests";

fn settings(algorithm: JwtAlgorithm, key: &TestKey) -> JwtSettings {
    let hmac = algorithm == JwtAlgorithm::Hs256;
    JwtSettings {
        algorithm,
        secret: hmac.then(|| Secret::new(SECRET)),
        public_key: (!hmac).then(|| key.public_pem.clone()),
        issuer: Some(ISSUER.to_owned()),
        audience: Some(AUDIENCE.to_owned()),
        ..JwtSettings::default()
    }
}

fn verifier(algorithm: JwtAlgorithm, key: &TestKey) -> JwtVerifier {
    let settings = settings(algorithm, key);
    let auth = AuthSettings {
        mode: AuthMode::Jwt,
        jwt: settings.clone(),
        ..AuthSettings::default()
    };
    auth.check("127.0.0.1:7420".parse().unwrap()).unwrap();
    JwtVerifier::new(&settings, clock()).unwrap()
}

fn refused(verifier: &JwtVerifier, token: &Secret) -> TokenFault {
    let fault = verifier.verify(token).unwrap_err();
    let signature = token.expose().rsplit('.').next().unwrap();
    let shown = format!("{fault} {fault:?}");
    assert!(signature.is_empty() || !shown.contains(signature), "{shown}");
    fault
}

#[test]
fn each_algorithm_verifies_its_own_tokens_and_no_others() {
    let keys = [
        (JwtAlgorithm::Hs256, TestKey::hmac(SECRET.as_bytes())),
        (JwtAlgorithm::Rs256, TestKey::rsa()),
        (JwtAlgorithm::Es256, TestKey::p256()),
        (JwtAlgorithm::EdDsa, TestKey::ed25519()),
    ];
    for (algorithm, key) in &keys {
        let verifier = verifier(*algorithm, key);
        for (other, signer) in &keys {
            let token = signer.token_with_header(&json!({}));
            if algorithm == other {
                let claims = verifier.verify(&token).unwrap();
                assert_eq!((claims.subject.as_str(), claims.issuer.as_str()), ("ada", ISSUER));
                assert_eq!(claims.tenant.as_deref(), Some("acme"));
                assert_eq!(claims.role.as_deref(), Some("ops"));
                assert_eq!(claims.expires_at.as_microseconds(), (NOW + 300) * 1_000_000);
            } else {
                assert_eq!(
                    refused(&verifier, &token),
                    TokenFault::Algorithm,
                    "{algorithm:?} {other:?}"
                );
            }
        }
    }
}

#[test]
fn a_public_key_is_not_a_shared_secret() {
    let verifier = verifier(JwtAlgorithm::Rs256, &RSA);
    for secret in [RSA.public_pem.as_str(), RSA.public_pem.trim()] {
        let forged = TestKey::hmac(secret.as_bytes()).token_with_header(&json!({}));
        assert_eq!(refused(&verifier, &forged), TokenFault::Algorithm);
        // Neither when the header claims the right algorithm.
        let forged = TestKey::hmac(secret.as_bytes()).token_with_header(&json!({"alg": "RS256"}));
        assert_eq!(refused(&verifier, &forged), TokenFault::Signature);
    }
}

#[test]
fn an_unsigned_token_is_no_token() {
    let verifier = verifier(JwtAlgorithm::Hs256, &RSA);
    for algorithm in ["none", "None", "NONE", "nOnE", "", "HS256\0"] {
        let header = encode(&json!({"alg": algorithm, "typ": "JWT"}));
        let token = Secret::new(format!("{header}.{}.", encode(&claims())));
        assert_eq!(refused(&verifier, &token), TokenFault::Malformed, "{algorithm:?}");
    }
    let header = encode(&json!({"alg": "HS256"}));
    let unsigned = Secret::new(format!("{header}.{}.", encode(&claims())));
    assert_eq!(refused(&verifier, &unsigned), TokenFault::Signature);
}

#[test]
fn claims_that_do_not_fit_are_refused() {
    let key = TestKey::hmac(SECRET.as_bytes());
    let verifier = verifier(JwtAlgorithm::Hs256, &key);
    let cases = [
        (json!({"exp": NOW - 31}), TokenFault::Expired),
        (json!({"nbf": NOW + 31}), TokenFault::NotYetValid),
        (json!({"aud": "https://other.example.org"}), TokenFault::Audience),
        (json!({"aud": ["a", "b"]}), TokenFault::Audience),
        (json!({"iss": "https://evil.example.org"}), TokenFault::Issuer),
        (json!({"iss": [ISSUER]}), TokenFault::Malformed),
        (json!({"exp": null}), TokenFault::Missing("exp")),
        (json!({"aud": null}), TokenFault::Missing("aud")),
        (json!({"iss": null}), TokenFault::Missing("iss")),
        (json!({"sub": null}), TokenFault::Missing("sub")),
        (json!({"sub": "ada\r\nadmin"}), TokenFault::Claim("sub")),
        (json!({"role": "admin\u{0}"}), TokenFault::Claim("role")),
    ];
    for (changes, fault) in cases {
        let token = key.token_with_claims(&changes);
        assert_eq!(refused(&verifier, &token), fault, "{changes}");
    }
    for fine in [
        json!({"exp": NOW - 29}),
        json!({"nbf": NOW + 29}),
        json!({"aud": ["x", AUDIENCE]}),
    ] {
        assert!(verifier.verify(&key.token_with_claims(&fine)).is_ok(), "{fine}");
    }
}

#[test]
fn the_clock_decides_not_the_machine() {
    let key = TestKey::hmac(SECRET.as_bytes());
    let clock = clock();
    let verifier = JwtVerifier::new(&settings(JwtAlgorithm::Hs256, &key), clock.clone()).unwrap();
    let token = key.token_with_header(&json!({}));
    assert!(verifier.verify(&token).is_ok());
    clock.advance(std::time::Duration::from_secs(329));
    assert!(verifier.verify(&token).is_ok());
    clock.advance(std::time::Duration::from_secs(1));
    assert_eq!(refused(&verifier, &token), TokenFault::Expired);
}

#[test]
fn a_header_cannot_bring_its_own_key() {
    let key = TestKey::ed25519();
    let attacker = TestKey::ed25519();
    let verifier = verifier(JwtAlgorithm::EdDsa, &key);
    let cases: [(&str, Value); 7] = [
        ("jku", json!("https://evil.example.org/jwks")),
        ("jwk", attacker.jwk("mine")),
        ("x5u", json!("https://evil.example.org/cert")),
        ("x5c", json!(["MIIB"])),
        ("crit", json!(["b64"])),
        ("zip", json!("DEF")),
        ("enc", json!("A128GCM")),
    ];
    for (name, value) in cases {
        for signer in [&attacker, &key] {
            let token = signer.token_with_header(&json!({name: value}));
            assert_eq!(refused(&verifier, &token), TokenFault::Header(name), "{name}");
        }
    }
}

#[test]
fn a_token_for_another_purpose_is_refused() {
    let key = TestKey::hmac(SECRET.as_bytes());
    let verifier = verifier(JwtAlgorithm::Hs256, &key);
    for purpose in ["at+jwt", "application/at+jwt", "AT+JWT", "jwt"] {
        assert!(
            verifier
                .verify(&key.token_with_header(&json!({"typ": purpose})))
                .is_ok(),
            "{purpose}"
        );
    }
    for purpose in ["logout+jwt", "dpop+jwt", "secevent+jwt", ""] {
        let token = key.token_with_header(&json!({"typ": purpose}));
        assert_eq!(refused(&verifier, &token), TokenFault::Type, "{purpose}");
    }
}

#[test]
fn what_is_too_long_or_garbled_is_not_read() {
    let key = TestKey::hmac(SECRET.as_bytes());
    let verifier = verifier(JwtAlgorithm::Hs256, &key);
    let long = key.token_with_claims(&json!({"padding": "x".repeat(8 * 1024)}));
    assert_eq!(refused(&verifier, &long), TokenFault::TooLong);

    let good = key.token_with_header(&json!({})).expose().to_owned();
    let [header, payload, signature] = good.split('.').collect::<Vec<_>>()[..] else {
        panic!("three parts");
    };
    let garbled = [
        String::new(),
        ".".to_owned(),
        "..".to_owned(),
        header.to_owned(),
        format!("{header}.{payload}"),
        format!("{good}.{signature}"),
        format!(" {good}"),
        format!("{header}.{payload}.{signature}=="),
        format!("{}.{payload}.{signature}", encode(&json!("HS256"))),
        format!("{}.{payload}.{signature}", encode(&json!({"alg": ["HS256"]}))),
    ];
    for token in garbled {
        assert_eq!(
            refused(&verifier, &Secret::new(token.as_str())),
            TokenFault::Malformed,
            "{token}"
        );
    }
    let other = encode(&json!({"sub": "root"}));
    let changed = Secret::new(format!("{header}.{other}.{signature}"));
    assert_eq!(refused(&verifier, &changed), TokenFault::Signature);
}

#[test]
fn a_key_is_refused_when_it_is_not_the_right_one() {
    let refused = |algorithm, pem: &str| {
        let mut settings = settings(algorithm, &RSA);
        settings.public_key = Some(pem.to_owned());
        let error = JwtVerifier::new(&settings, clock()).unwrap_err();
        assert_eq!(error.setting(), "auth.jwt.public_key");
        assert_eq!(error.variable(), "AGENTYARD_AUTH_JWT_PUBLIC_KEY");
    };
    refused(JwtAlgorithm::Rs256, &TestKey::p256().public_pem);
    refused(JwtAlgorithm::Es256, &RSA.public_pem);
    refused(JwtAlgorithm::Es256, &TestKey::ed25519().public_pem);
    refused(JwtAlgorithm::EdDsa, &TestKey::p256().public_pem);
    refused(JwtAlgorithm::Rs256, &RSA.public_pem.replace("PUBLIC", "PRIVATE"));
    refused(JwtAlgorithm::Rs256, "not a key");
}
