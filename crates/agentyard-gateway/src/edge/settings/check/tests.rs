use agentyard_model::Secret;

use super::*;

const LOOPBACK: &str = "127.0.0.1:7420";
const LONG_SECRET: &str = "0123456789abcdef0123456789abcdef";

fn auth(mode: AuthMode) -> AuthSettings {
    AuthSettings {
        mode,
        jwt: JwtSettings {
            secret: Some(Secret::new(LONG_SECRET)),
            issuer: Some("issuer".to_owned()),
            audience: Some("yard".to_owned()),
            ..JwtSettings::default()
        },
        oauth: OAuthSettings {
            issuer: Some("https://id.example.org".to_owned()),
            audience: Some("https://yard.example.org".to_owned()),
            ..OAuthSettings::default()
        },
        ..AuthSettings::default()
    }
}

/// The setting that is complained about, if one is.
fn complaint(mode: AuthMode, change: impl FnOnce(&mut AuthSettings)) -> Option<&'static str> {
    let mut settings = auth(mode);
    change(&mut settings);
    let error = settings.check(LOOPBACK.parse().unwrap()).err()?;
    assert!(!error.to_string().contains("0123456789"), "{error}");
    Some(error.setting())
}

#[test]
fn the_defaults_stand() {
    assert_eq!(
        AuthSettings::default().check(HttpSettings::default().listen),
        Ok(())
    );
    assert_eq!(HttpSettings::default().check(), Ok(()));
    for mode in [AuthMode::Token, AuthMode::Jwt, AuthMode::OAuth, AuthMode::None] {
        assert_eq!(complaint(mode, |_| {}), None, "{mode:?}");
    }
}

#[test]
fn no_authorization_is_for_loopback_only() {
    let check = |listen: &str| auth(AuthMode::None).check(listen.parse().unwrap());
    for loopback in [
        "127.0.0.1:7420",
        "127.9.9.9:1",
        "[::1]:7420",
        "[::ffff:127.0.0.1]:7420",
    ] {
        assert_eq!(check(loopback), Ok(()), "{loopback}");
    }
    for open in [
        "0.0.0.0:7420",
        "[::]:7420",
        "192.168.1.5:7420",
        "[2001:db8::1]:7420",
        "128.0.0.1:1",
    ] {
        let error = check(open).unwrap_err();
        assert_eq!(error.setting(), "auth.mode", "{open}");
    }
    assert_eq!(
        check("0.0.0.0:7420").unwrap_err().to_string(),
        "`auth.mode` (AGENTYARD_AUTH_MODE): `none` lets everybody in and 0.0.0.0:7420 is not a loopback address; \
         set it to `token`, or `http.listen` to `127.0.0.1:7420`"
    );
}

#[test]
fn a_jwt_needs_exactly_the_key_of_its_algorithm() {
    let jwt = |change: fn(&mut JwtSettings)| complaint(AuthMode::Jwt, |auth| change(&mut auth.jwt));
    let secret = Some("auth.jwt.secret");
    let public_key = Some("auth.jwt.public_key");
    assert_eq!(jwt(|jwt| jwt.secret = None), secret);
    assert_eq!(
        jwt(|jwt| jwt.secret = Some(Secret::new(&LONG_SECRET[1..]))),
        secret
    );
    assert_eq!(jwt(|jwt| jwt.public_key = Some("key".to_owned())), public_key);
    assert_eq!(jwt(|jwt| jwt.algorithm = JwtAlgorithm::Rs256), secret);
    assert_eq!(
        jwt(|jwt| {
            jwt.algorithm = JwtAlgorithm::Es256;
            jwt.secret = None;
        }),
        public_key
    );
    assert_eq!(
        jwt(|jwt| {
            jwt.algorithm = JwtAlgorithm::EdDsa;
            jwt.secret = None;
            jwt.public_key = Some("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----".to_owned());
        }),
        public_key
    );
    assert_eq!(jwt(|jwt| jwt.issuer = None), Some("auth.jwt.issuer"));
    assert_eq!(
        jwt(|jwt| jwt.audience = Some(String::new())),
        Some("auth.jwt.audience")
    );
    assert_eq!(
        jwt(|jwt| jwt.leeway_seconds = 301),
        Some("auth.jwt.leeway_seconds")
    );
}

#[test]
fn an_issuer_is_reached_safely() {
    let oauth =
        |change: &dyn Fn(&mut OAuthSettings)| complaint(AuthMode::OAuth, |auth| change(&mut auth.oauth));
    let issuer = Some("auth.oauth.issuer");
    assert_eq!(oauth(&|oauth| oauth.issuer = None), issuer);
    for bad in [
        "http://id.example.org",
        "http://localhost.evil.com",
        "http://127.0.0.1.evil.com",
        "http://127.0.0.1@evil.com",
        "https://user@id.example.org",
        "https://id.example.org?x",
        "https://id.example.org#x",
        "id.example.org",
        "file:///etc/passwd",
    ] {
        assert_eq!(
            oauth(&|oauth| oauth.issuer = Some(bad.to_owned())),
            issuer,
            "{bad}"
        );
    }
    for good in [
        "http://localhost:9",
        "http://127.0.0.1:9",
        "http://[::1]:9/realm",
        "https://id.example.org/",
    ] {
        assert_eq!(
            oauth(&|oauth| oauth.issuer = Some(good.to_owned())),
            None,
            "{good}"
        );
    }
    assert_eq!(oauth(&|oauth| oauth.audience = None), Some("auth.oauth.audience"));
    let jwks_uri = Some("http://id.example.org/keys".to_owned());
    assert_eq!(
        oauth(&|oauth| oauth.jwks_uri = jwks_uri.clone()),
        Some("auth.oauth.jwks_uri")
    );
    assert_eq!(
        oauth(&|oauth| oauth.refresh_seconds = 1),
        Some("auth.oauth.refresh_seconds")
    );
    assert_eq!(
        oauth(&|oauth| oauth.stale_seconds = 599),
        Some("auth.oauth.stale_seconds")
    );
}

#[test]
fn limits_of_zero_would_serve_nobody() {
    let complaint = |change: fn(&mut HttpSettings)| {
        let mut settings = HttpSettings::default();
        change(&mut settings);
        settings.check().err().map(|error| error.variable())
    };
    let variable = |name: &str| Some(name.to_owned());
    assert_eq!(
        complaint(|http| http.max_body_bytes = 0),
        variable("AGENTYARD_HTTP_MAX_BODY_BYTES")
    );
    assert_eq!(
        complaint(|http| http.request_burst = 0),
        variable("AGENTYARD_HTTP_REQUEST_BURST")
    );
    assert_eq!(
        complaint(|http| http.max_concurrent_requests = 0),
        variable("AGENTYARD_HTTP_MAX_CONCURRENT_REQUESTS")
    );
    assert_eq!(
        complaint(|http| http.allowed_origins = vec!["*".to_owned()]),
        variable("AGENTYARD_HTTP_ALLOWED_ORIGINS")
    );
    assert_eq!(complaint(|http| http.requests_per_second = 0), None);
}

#[test]
fn settings_are_read_strictly_and_shown_without_secrets() {
    let settings: AuthSettings = serde_json::from_value(serde_json::json!({
        "mode": "oauth",
        "default_role": "ops",
        "jwt": {"algorithm": "EdDSA", "secret": LONG_SECRET},
    }))
    .unwrap();
    assert_eq!(settings.mode, AuthMode::OAuth);
    assert_eq!(settings.jwt.algorithm, JwtAlgorithm::EdDsa);
    assert_eq!(settings.oauth.refresh_seconds, 600);
    let shown = format!("{settings:?} {}", serde_json::to_string(&settings).unwrap());
    assert!(!shown.contains(LONG_SECRET), "{shown}");
    for unknown in [
        r#"{"modes":"none"}"#,
        r#"{"jwt":{"alg":"none"}}"#,
        r#"{"mode":"None"}"#,
    ] {
        assert!(
            serde_json::from_str::<AuthSettings>(unknown).is_err(),
            "{unknown}"
        );
    }
}
