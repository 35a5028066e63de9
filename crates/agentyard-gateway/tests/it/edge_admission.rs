//! Who is let in, and what the others are told.

use std::net::SocketAddr;
use std::sync::Arc;

use agentyard_gateway::edge::{AuthMode, AuthSettings, Edge, HttpSettings, JwtAlgorithm, JwtSettings};
use agentyard_model::{Clock, RequestId, Secret};
use axum::extract::ConnectInfo;
use http::header::{AUTHORIZATION, HOST, ORIGIN};
use http::{HeaderName, Method};
use serde_json::{Value, json};

use crate::edge_keys::{AUDIENCE, ISSUER, TestKey};
use crate::edge_yard::{BAD_TOKEN, ELSEWHERE, HOME, Known, TOKEN, Yard, bearer, refusal, request};

#[tokio::test]
async fn a_stranger_is_told_where_to_get_a_token() {
    let yard = Yard::new(|_, _| {});
    let answer = yard.get("/whoami", &[]).await;
    assert_eq!(answer.refused(), refusal(401, "unauthenticated"));
    assert_eq!(
        answer.header("www-authenticate"),
        "Bearer realm=\"agentyard\", \
         resource_metadata=\"http://localhost:7420/.well-known/oauth-protected-resource\""
    );
    let (name, value) = bearer(BAD_TOKEN);
    let answer = yard.get("/whoami", &[(name, &value)]).await;
    assert_eq!(answer.refused(), refusal(401, "unauthenticated"));
    assert!(
        answer
            .header("www-authenticate")
            .ends_with(", error=\"invalid_token\"")
    );
    let twice = [(AUTHORIZATION, "Bearer a"), (AUTHORIZATION, "Bearer b")];
    assert_eq!(
        yard.get("/whoami", &twice).await.refused(),
        refusal(400, "invalid_input")
    );
    assert_eq!(
        yard.get("/whoami", &[(AUTHORIZATION, "Basic YTpi")]).await.status,
        401
    );
    assert_eq!(yard.get("/health", &[]).await.status, 200);
}

#[tokio::test]
async fn a_caller_is_settled_once_and_carries_the_request_id() {
    let yard = Yard::new(|_, _| {});
    let (name, value) = bearer(TOKEN);
    let id = HeaderName::from_static("x-request-id");
    let answer = yard
        .get("/whoami", &[(name.clone(), &value), (id.clone(), "req-7")])
        .await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("x-request-id"), "req-7");
    let body: Value = serde_json::from_str(&answer.text).unwrap();
    assert_eq!(
        body,
        json!({"subject": "external \"token\" of \"here\"", "request_id": "req-7"})
    );

    for bad in ["a b", "", &"x".repeat(65), "<script>"] {
        let answer = yard
            .get("/whoami", &[(name.clone(), &value), (id.clone(), bad)])
            .await;
        assert_ne!(answer.header("x-request-id"), bad);
        assert!(RequestId::from_client(answer.header("x-request-id")).is_some());
    }
    let twice = [(id.clone(), "req-1"), (id, "req-2")];
    let answer = yard.get("/health", &twice).await;
    assert!(!answer.header("x-request-id").starts_with("req-"));
}

#[tokio::test]
async fn without_authorization_only_this_machine_is_let_in() {
    let yard = Yard::new(|_, auth| auth.mode = AuthMode::None);
    let answer = yard.get("/whoami", &[]).await;
    assert!(answer.text.contains("user local"), "{}", answer.text);
    let far = request(Method::GET, "/whoami", ELSEWHERE, &[]);
    assert_eq!(yard.ask(far).await.refused(), refusal(403, "forbidden"));
    // A server that does not tell the address is not trusted to be at home.
    let mut unknown = request(Method::GET, "/whoami", HOME, &[]);
    unknown.extensions_mut().remove::<ConnectInfo<SocketAddr>>();
    assert_eq!(yard.ask(unknown).await.refused(), refusal(403, "forbidden"));
    // Nor does an open door help a page that was rebound to us, or one from elsewhere.
    let rebound = yard.get("/whoami", &[(HOST, "evil.example.org:7420")]).await;
    assert_eq!(rebound.refused(), refusal(403, "forbidden"));
    let foreign = yard.get("/whoami", &[(ORIGIN, "https://evil.example.org")]).await;
    assert_eq!(foreign.refused(), refusal(403, "forbidden"));
}

#[tokio::test]
async fn a_jwt_becomes_a_caller() {
    let key = TestKey::ed25519();
    let yard = Yard::new(|_, auth| {
        auth.mode = AuthMode::Jwt;
        auth.jwt = JwtSettings {
            algorithm: JwtAlgorithm::EdDsa,
            public_key: Some(key.public_pem.clone()),
            issuer: Some(ISSUER.to_owned()),
            audience: Some(AUDIENCE.to_owned()),
            ..JwtSettings::default()
        };
    });
    let ask = async |token: Secret| {
        let (name, value) = bearer(token.expose());
        yard.get("/whoami", &[(name, &value)]).await
    };
    let answer = ask(key.token_with_header(&json!({}))).await;
    assert!(answer.text.contains("ada"), "{}", answer.text);
    let stranger = ask(key.token_with_claims(&json!({"tid": "nobody"}))).await;
    assert_eq!(stranger.refused(), refusal(401, "unauthenticated"));
    let expired = ask(key.token_with_claims(&json!({"exp": 1}))).await;
    assert_eq!(expired.refused(), refusal(401, "unauthenticated"));
    assert!(
        expired.text.contains("expired; get a new one"),
        "{}",
        expired.text
    );
    let long = ask(Secret::new("a".repeat(8 * 1024 + 1))).await;
    assert_eq!(long.refused(), refusal(401, "unauthenticated"));
}

#[tokio::test]
async fn a_panic_ends_one_request_without_its_details() {
    let yard = Yard::new(|_, _| {});
    let (name, value) = bearer(TOKEN);
    let answer = yard.get("/panic", &[(name, &value)]).await;
    assert_eq!(answer.refused(), refusal(500, "internal"));
    assert!(!answer.text.contains("secret detail"));
}

#[test]
fn an_edge_is_not_built_on_settings_that_leave_the_door_open() {
    let build = |http: &HttpSettings, auth: &AuthSettings| {
        let edge = Edge::new(http, auth, Arc::new(Known::default()), Clock::System);
        edge.err().map(|error| error.setting())
    };
    let open = HttpSettings {
        listen: "0.0.0.0:7420".parse().unwrap(),
        ..HttpSettings::default()
    };
    let unauthorized = AuthSettings {
        mode: AuthMode::None,
        ..AuthSettings::default()
    };
    assert_eq!(build(&open, &AuthSettings::default()), None);
    assert_eq!(build(&open, &unauthorized), Some("auth.mode"));
    let any_page = HttpSettings {
        allowed_origins: vec!["*".to_owned()],
        ..HttpSettings::default()
    };
    assert_eq!(build(&any_page, &unauthorized), Some("http.allowed_origins"));
}
