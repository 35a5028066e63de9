//! What web pages may do, and what everybody may read.

use agentyard_gateway::edge::AuthMode;
use http::header::{HOST, ORIGIN};
use http::{HeaderName, Method};
use serde_json::{Value, json};

use crate::edge_keys::{AUDIENCE, ISSUER};
use crate::edge_yard::{HOME, Yard, refusal, request};

#[tokio::test]
async fn the_guard_stands_before_every_path() {
    let yard = Yard::new(|_, _| {});
    for path in [
        "/whoami",
        "/health",
        "/nothing/here",
        "/.well-known/oauth-protected-resource",
    ] {
        for method in [Method::GET, Method::POST, Method::OPTIONS, Method::DELETE] {
            let request = request(method.clone(), path, HOME, &[(HOST, "evil.example.org")]);
            assert_eq!(
                yard.ask(request).await.refused(),
                refusal(403, "forbidden"),
                "{method} {path}"
            );
        }
    }
}

#[tokio::test]
async fn browsers_are_told_who_may_call() {
    let page = "https://tools.example.org";
    let yard = Yard::new(|http, _| http.allowed_origins = vec![page.to_owned()]);
    let method = HeaderName::from_static("access-control-request-method");
    let names = HeaderName::from_static("access-control-request-headers");
    let preflight = |origin: &str| {
        let headers = [
            (ORIGIN, origin),
            (method.clone(), "POST"),
            (names.clone(), "authorization"),
        ];
        request(Method::OPTIONS, "/whoami", HOME, &headers)
    };
    let answer = yard.ask(preflight(page)).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("access-control-allow-origin"), page);
    assert_eq!(answer.header("access-control-allow-credentials"), "");
    let allowed = answer.header("access-control-allow-headers");
    for name in [
        "authorization",
        "content-type",
        "mcp-session-id",
        "mcp-protocol-version",
        "mcp-method",
        "mcp-name",
        "last-event-id",
        "idempotency-key",
        "x-request-id",
    ] {
        assert!(
            allowed.split(',').any(|allowed| allowed == name),
            "{name} in {allowed}"
        );
    }
    assert_eq!(yard.ask(preflight("https://evil.example.org")).await.status, 403);
    assert_eq!(yard.ask(preflight("null")).await.status, 403);

    // An error can be read by the page too, and its own pages need no such header.
    let answer = yard.get("/whoami", &[(ORIGIN, page)]).await;
    assert_eq!(answer.refused(), refusal(401, "unauthenticated"));
    assert_eq!(answer.header("access-control-allow-origin"), page);
    assert!(
        answer
            .header("access-control-expose-headers")
            .contains("mcp-session-id")
    );
    let own = yard.get("/health", &[(ORIGIN, "http://localhost:7420")]).await;
    assert_eq!((own.status, own.header("access-control-allow-origin")), (200, ""));
}

#[tokio::test]
async fn metadata_is_public_and_names_us_as_we_were_reached() {
    let path = "/.well-known/oauth-protected-resource";
    let yard = Yard::new(|_, auth| {
        auth.mode = AuthMode::OAuth;
        auth.oauth.issuer = Some(ISSUER.to_owned());
        auth.oauth.audience = Some(AUDIENCE.to_owned());
    });
    let answer = yard.get(path, &[(HOST, "127.0.0.1:7420")]).await;
    let body: Value = serde_json::from_str(&answer.text).unwrap();
    assert_eq!(body["resource"], "http://127.0.0.1:7420");
    assert_eq!(body["authorization_servers"], json!([ISSUER]));
    let yard = Yard::new(|http, _| http.public_url = Some("https://yard.example.org".to_owned()));
    let answer = yard.get(path, &[(HOST, "yard.example.org")]).await;
    let body: Value = serde_json::from_str(&answer.text).unwrap();
    assert_eq!(body["resource"], "https://yard.example.org");
    assert_eq!(body.get("authorization_servers"), None);
}
