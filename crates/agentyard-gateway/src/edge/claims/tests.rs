use serde_json::{Value, json};

use super::*;

const NOW: u64 = 1_000_000;

fn expected() -> Expected {
    Expected {
        issuer: "https://issuer.example".to_owned(),
        audience: "yard".to_owned(),
        leeway: Duration::from_secs(30),
        clock: Clock::fixed(Timestamp::from_microseconds(NOW as i64 * 1_000_000)),
    }
}

/// Good claims with some of them changed, or removed where the change is `null`.
fn claims_with(changes: Value) -> Value {
    let mut claims = json!({
        "iss": "https://issuer.example", "aud": "yard", "sub": "ada", "exp": NOW + 60,
    });
    let (Value::Object(claims_map), Value::Object(changes)) = (&mut claims, changes) else {
        panic!("objects");
    };
    for (name, value) in changes {
        claims_map.insert(name, value);
    }
    claims
}

fn judge(changes: Value) -> Result<Claims, TokenFault> {
    let raw = serde_json::from_value(claims_with(changes)).map_err(|_| TokenFault::Malformed)?;
    expected().check(raw)
}

#[test]
fn good_claims_are_taken_over() {
    let claims = judge(json!({
        "aud": ["other", "yard"], "tid": "acme", "role": "ops", "scope": "project:read openid",
    }))
    .unwrap();
    assert_eq!(
        claims,
        Claims {
            issuer: "https://issuer.example".to_owned(),
            subject: "ada".to_owned(),
            tenant: Some("acme".to_owned()),
            role: Some("ops".to_owned()),
            scope: Some("project:read openid".to_owned()),
            expires_at: Timestamp::from_microseconds((NOW as i64 + 60) * 1_000_000),
        }
    );
}

#[test]
fn each_bad_claim_is_refused() {
    let long = "a".repeat(257);
    let cases = [
        (json!({"iss": null}), TokenFault::Missing("iss")),
        (json!({"aud": null}), TokenFault::Missing("aud")),
        (json!({"sub": null}), TokenFault::Missing("sub")),
        (json!({"exp": null}), TokenFault::Missing("exp")),
        (json!({"iss": "https://issuer.example/"}), TokenFault::Issuer),
        (json!({"iss": ["https://issuer.example"]}), TokenFault::Malformed),
        (json!({"aud": "yard2"}), TokenFault::Audience),
        (json!({"aud": []}), TokenFault::Audience),
        (json!({"aud": ["yar", "YARD"]}), TokenFault::Audience),
        (json!({"exp": NOW - 30}), TokenFault::Expired),
        (json!({"exp": 0}), TokenFault::Expired),
        (json!({"exp": -1}), TokenFault::Claim("exp")),
        (json!({"exp": "9999999999"}), TokenFault::Malformed),
        (json!({"nbf": NOW + 31}), TokenFault::NotYetValid),
        (json!({"sub": ""}), TokenFault::Claim("sub")),
        (json!({"sub": long}), TokenFault::Claim("sub")),
        (json!({"sub": "ada\n2026 admin"}), TokenFault::Claim("sub")),
        (json!({"sub": "\u{202e}ada"}), TokenFault::Claim("sub")),
        (json!({"sub": "ad\u{200b}a"}), TokenFault::Claim("sub")),
        (json!({"sub": 7}), TokenFault::Malformed),
        (json!({"tid": "a\u{0}"}), TokenFault::Claim("tid")),
        (json!({"role": "\u{1b}[0m"}), TokenFault::Claim("role")),
        (json!({"role": ["admin"]}), TokenFault::Malformed),
        (json!({"scope": "a\tb"}), TokenFault::Claim("scope")),
        (json!({"scope": "a", "scp": "b"}), TokenFault::Claim("scope")),
        (json!({"scope": {"admin": true}}), TokenFault::Malformed),
    ];
    for (changes, fault) in cases {
        assert_eq!(judge(changes.clone()), Err(fault), "{changes}");
    }
}

#[test]
fn the_leeway_is_small_and_counts_both_ways() {
    assert!(judge(json!({"exp": NOW - 29})).is_ok());
    assert!(judge(json!({"nbf": NOW + 30})).is_ok());
    assert!(judge(json!({"exp": NOW as f64 + 0.5})).is_ok());
    assert!(judge(json!({"exp": u64::MAX})).is_ok());
    assert!(judge(json!({"exp": 1e300})).is_ok());
}

#[test]
fn a_limit_to_nothing_stays_a_limit() {
    let limit_of = |changes| {
        let claims = judge(changes).unwrap();
        (claims.limit().map(|limit| limit.to_string()), claims.scope)
    };
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(limit_of(json!({})), (None, None));
    assert_eq!(limit_of(json!({"scope": ""})), (text(""), text("")));
    assert_eq!(limit_of(json!({"scope": "openid"})), (text(""), text("openid")));
    assert_eq!(
        limit_of(json!({"scp": ["openid", "project:read"]})),
        (text("project:read"), text("openid project:read"))
    );
}
