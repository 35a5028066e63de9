use super::*;

fn source(issuer: &str) -> KeySource {
    let issuer = Some(issuer.to_owned());
    KeySource::new(&OAuthSettings {
        issuer,
        ..OAuthSettings::default()
    })
    .unwrap()
}

#[test]
fn metadata_is_looked_for_where_it_may_lie() {
    let places = |issuer: &str| -> Vec<String> {
        let url = parse_url(issuer).unwrap();
        metadata_urls(&url).into_iter().map(String::from).collect()
    };
    assert_eq!(
        places("https://id.example/"),
        [
            "https://id.example/.well-known/oauth-authorization-server",
            "https://id.example/.well-known/openid-configuration",
        ]
    );
    assert_eq!(
        places("https://id.example/realms/a"),
        [
            "https://id.example/.well-known/oauth-authorization-server/realms/a",
            "https://id.example/realms/a/.well-known/openid-configuration",
            "https://id.example/realms/a/.well-known/oauth-authorization-server",
        ]
    );
}

#[test]
fn metadata_cannot_send_us_to_an_unsafe_address() {
    let far = source("https://id.example");
    let near = source("http://127.0.0.1:9");
    let safe = |source: &KeySource, address: &str| source.is_safe(&Url::parse(address).unwrap());
    assert!(safe(&far, "https://keys.example/jwks"));
    assert!(!safe(&far, "http://id.example/jwks"));
    assert!(!safe(&far, "http://127.0.0.1/jwks"));
    assert!(!safe(&far, "file:///etc/passwd"));
    assert!(safe(&near, "http://127.0.0.1:9/jwks"));
    assert!(safe(&near, "http://[::1]:9/jwks"));
    assert!(!safe(&near, "http://169.254.169.254/jwks"));
}

#[test]
fn metadata_of_another_issuer_is_refused() {
    let source = source("https://id.example");
    let judge = |json: &str| source.keys_address(source.issuer_url.clone(), json.as_bytes());
    let keys = r#""jwks_uri":"https://id.example/keys""#;
    assert!(judge(&format!(r#"{{"issuer":"https://id.example",{keys}}}"#)).is_ok());
    for other in [
        "https://id.example/",
        "https://ID.example",
        "https://id.example.evil.example",
    ] {
        let answer = judge(&format!(r#"{{"issuer":"{other}",{keys}}}"#));
        assert!(matches!(answer, Err(FetchError::OtherIssuer { .. })), "{other}");
    }
    let elsewhere = judge(r#"{"issuer":"https://id.example","jwks_uri":"http://id.example/keys"}"#);
    assert!(matches!(elsewhere, Err(FetchError::UnsafeAddress { .. })));
}
