//! What listens in the sandbox: requests for it are handed on.

mod websocket;

use std::net::Ipv4Addr;

use http::header::{AUTHORIZATION, HOST};
use http::{HeaderValue, Request, Response, StatusCode, Uri, Version};
use http_body_util::BodyExt as _;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde::Serialize;
use tokio::net::TcpStream;

use super::{calls, user};
use crate::connect::{Code, Fault};
use crate::exchange::{Body, fits};
use crate::headers::{PORT_HEADER, SANDBOX_HEADER, TOKEN_HEADERS, drop_hop_by_hop};

/// Hands a request to who listens at this port, and the answer back, both as they come.
pub(super) async fn forward(port: u16, request: Request<Body>) -> Response<Body> {
    let sandbox = named(&request);
    let Ok(stream) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await else {
        return not_open(sandbox, port);
    };
    // Without it things only take longer.
    let _ = stream.set_nodelay(true);
    let answer = if websocket::is_asked_for(&request) {
        websocket::exchange(stream, port, request).await
    } else {
        exchange(stream, port, request).await
    };
    let answer = answer.and_then(|answer| match fits(answer.headers(), &Uri::default()) {
        true => Ok(answer),
        false => Err("the head of its answer is too long".into()),
    });
    answer.unwrap_or_else(|error| {
        let message = format!("what listens at port {port} of the sandbox did not answer: {error}");
        let mut response = calls::refused(&Fault::new(Code::Unavailable, message));
        *response.status_mut() = StatusCode::BAD_GATEWAY;
        response
    })
}

/// Why nothing came of a request.
type Trouble = Box<dyn std::error::Error + Send + Sync>;

async fn exchange(stream: TcpStream, port: u16, request: Request<Body>) -> Result<Response<Body>, Trouble> {
    let (mut sender, driver) = http1::handshake(TokioIo::new(stream)).await?;
    // It ends with the answer, or when nobody wants that any more.
    tokio::spawn(driver);
    let mut answer = sender.send_request(for_listener(port, request)?).await?;
    drop_hop_by_hop(answer.headers_mut());
    *answer.version_mut() = Version::HTTP_2;
    Ok(answer.map(|body| body.map_err(Into::into).boxed_unsync()))
}

/// The request as whoever listens is to see it.
fn for_listener(port: u16, mut request: Request<Body>) -> Result<Request<Body>, http::Error> {
    let host = request
        .uri()
        .authority()
        .and_then(|authority| HeaderValue::from_str(authority.as_str()).ok());
    let path = request.uri().path_and_query().cloned();
    let mut parts = http::uri::Parts::default();
    parts.path_and_query = Some(path.unwrap_or_else(|| http::uri::PathAndQuery::from_static("/")));
    *request.uri_mut() = Uri::from_parts(parts)?;
    *request.version_mut() = Version::HTTP_11;
    let headers = request.headers_mut();
    if user::named(headers).is_some() {
        headers.remove(AUTHORIZATION);
    }
    for name in TOKEN_HEADERS.into_iter().chain([SANDBOX_HEADER, PORT_HEADER]) {
        headers.remove(name);
    }
    drop_hop_by_hop(headers);
    if !headers.contains_key(HOST) {
        let itself = HeaderValue::from_str(&format!("localhost:{port}"))?;
        // The name under which the gateway knows the sandbox means nothing to what listens there.
        headers.insert(HOST, host.filter(|host| host != "sandbox").unwrap_or(itself));
    }
    Ok(request)
}

/// What is told where nobody listens. Clients look for these words.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct NotOpen {
    sandbox_id: String,
    message: &'static str,
    port: u16,
    code: u16,
}

fn not_open(sandbox_id: String, port: u16) -> Response<Body> {
    let told = NotOpen {
        sandbox_id,
        message: "The sandbox is running but port is not open",
        port,
        code: StatusCode::BAD_GATEWAY.as_u16(),
    };
    let mut response = calls::json(&told).unwrap_or_else(|fault| calls::refused(&fault));
    *response.status_mut() = StatusCode::BAD_GATEWAY;
    response
}

/// The sandbox, as the caller names it.
fn named(request: &Request<Body>) -> String {
    let name = request.headers().get(SANDBOX_HEADER);
    let name = name.and_then(|name| name.to_str().ok()).unwrap_or_default();
    name.chars().take(64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::empty;

    #[test]
    fn whoever_listens_sees_neither_keys_nor_what_is_about_a_connection() {
        let request = Request::get("http://sandbox/page?a=1")
            .header("x-access-token", "secret")
            .header("E2b-Traffic-Access-Token", "secret")
            .header("E2b-Sandbox-Port", "8000")
            .header("connection", "x-hop, keep-alive")
            .header("x-hop", "1")
            .header("keep-alive", "timeout=5")
            .header("authorization", "Basic dXNlcjo=")
            .header("cookie", "theirs")
            .body(empty())
            .unwrap();
        let seen = for_listener(8000, request).unwrap();
        assert_eq!(seen.uri(), "/page?a=1");
        let mut headers: Vec<_> = seen.headers().iter().map(|(name, _)| name.as_str()).collect();
        headers.sort_unstable();
        assert_eq!(headers, ["cookie", "host"]);
        assert_eq!(seen.headers()["host"], "localhost:8000");
    }

    #[test]
    fn what_a_caller_tells_who_listens_is_kept() {
        let request = Request::get("/")
            .header("authorization", "Bearer theirs")
            .header("host", "8000-abc.example.com")
            .body(empty())
            .unwrap();
        let seen = for_listener(8000, request).unwrap();
        assert_eq!(seen.headers()["authorization"], "Bearer theirs");
        assert_eq!(seen.headers()["host"], "8000-abc.example.com");
    }
}
