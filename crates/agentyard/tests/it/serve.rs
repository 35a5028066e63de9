//! `agentyard serve`: the first start, its faces, its end.

use std::io::{Read, Write};
use std::net::TcpStream;

use agentyard_testkit::TestRepository;
use serde_json::{Value, json};

use crate::support::{PATIENCE, Place, Server, StdioClient, initialize, text};

/// One HTTP request, by hand: no client stands between the test and the bytes.
fn http(server: &Server, head: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let length = if body.is_empty() {
        String::new()
    } else {
        format!("Content-Length: {}\r\n", body.len())
    };
    let request = format!(
        "{head}\r\nHost: {}\r\nConnection: close\r\n{length}\r\n{body}",
        server.address
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    (status, answer)
}

fn token_of(server: &Server) -> String {
    let line = server
        .greeting
        .lines()
        .find(|line| line.trim().starts_with("ay_"))
        .expect("a token");
    line.trim().to_owned()
}

#[test]
fn the_first_start_prints_a_token_once_and_it_works() {
    let (place, repository) = (Place::new(), TestRepository::with_commit("a", "a"));
    let root = repository.path().display().to_string();
    let server = Server::start(&place, &["--root", &root]);
    let token = token_of(&server);
    let (status, _) = http(&server, "GET /api/v1/whoami HTTP/1.1", "");
    assert_eq!(status, 401);
    let (status, answer) = http(
        &server,
        &format!("GET /api/v1/whoami HTTP/1.1\r\nAuthorization: Bearer {token}"),
        "",
    );
    assert_eq!(status, 200, "{answer}");
    assert!(answer.contains("\"role\":\"admin\""), "{answer}");
    let (status, answer) = http(
        &server,
        &format!("GET /api/v1/git/status?path={root} HTTP/1.1\r\nAuthorization: Bearer {token}"),
        "",
    );
    assert_eq!(status, 200, "{answer}");
    assert!(server.terminate(), "it stops cleanly");
    let again = Server::start(&place, &[]);
    assert!(!again.greeting.contains("ay_"), "{}", again.greeting);
    let (status, _) = http(
        &again,
        &format!("GET /api/v1/whoami HTTP/1.1\r\nAuthorization: Bearer {token}"),
        "",
    );
    assert_eq!(status, 200, "the token outlives the process");
}

#[test]
fn what_watches_the_server_gets_its_answers() {
    let place = Place::new();
    let server = Server::start(&place, &["--auth", "none"]);
    for path in [
        "/healthz",
        "/readyz",
        "/api",
        "/api/openapi.json",
        "/.well-known/oauth-protected-resource",
        "/metrics",
    ] {
        let (status, answer) = http(&server, &format!("GET {path} HTTP/1.1"), "");
        assert_eq!(status, 200, "{path}: {answer}");
    }
    let (_, _) = http(&server, "GET /api/v1/whoami HTTP/1.1", "");
    let (_, metrics) = http(&server, "GET /metrics HTTP/1.1", "");
    assert!(
        metrics.contains("agentyard_operation_calls_total{") && metrics.contains("operation=\"whoami\""),
        "{metrics}"
    );
}

#[test]
fn commands_and_the_bridge_reach_a_server() {
    let (place, repository) = (Place::new(), TestRepository::with_commit("a", "a"));
    let root = repository.path().display().to_string();
    let server = Server::start(&place, &["--root", &root]);
    let token = token_of(&server);
    let output = place
        .command(&["whoami", "--json", "--server", &server.url()])
        .env("AGENTYARD_TOKEN", &token)
        .output()
        .unwrap();
    let identity: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(identity["role"], "admin");
    let refused = place.run(&["whoami", "--server", &server.url()]);
    assert_eq!(refused.status.code(), Some(3), "{}", text(&refused.stderr));

    let mut command = place.command(&["mcp", "--server", &server.url()]);
    let mut client = StdioClient::of(command.env("AGENTYARD_TOKEN", &token));
    let answer = client.request(1, "initialize", initialize("2025-06-18"));
    assert_eq!(answer["result"]["serverInfo"]["name"], "agentyard", "{answer}");
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    let set = client.call(2, "git_set_working_dir", json!({ "path": root }));
    assert_eq!(set["result"]["isError"], false, "{set}");
    let status = client.call(3, "git_status", json!({}));
    assert_eq!(
        status["result"]["structuredContent"]["branch"], "main",
        "{status}"
    );
    assert!(client.close().0);

    let mut command = place.command(&["mcp", "--server", &server.url()]);
    let mut client = StdioClient::of(command.env("AGENTYARD_TOKEN", &token));
    let params = json!({ "name": "git_status", "arguments": {}, "_meta": crate::support::meta() });
    let status = client.request(1, "tools/call", params);
    assert_eq!(
        status["result"]["structuredContent"]["branch"], "main",
        "the newer era, and the same caller: {status}"
    );
}

#[test]
fn foreign_pages_and_hosts_are_sent_away() {
    let place = Place::new();
    let server = Server::start(&place, &["--auth", "none"]);
    let body =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize("2025-11-25") })
            .to_string();
    let post =
        "POST /mcp HTTP/1.1\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream";
    for origin in [
        "https://evil.example",
        "null",
        "http://localhost.evil.example",
        "http://127.0.0.1.nip.io",
    ] {
        let (status, _) = http(&server, &format!("{post}\r\nOrigin: {origin}"), &body);
        assert_eq!(status, 403, "{origin}");
    }
    let (status, answer) = http(&server, post, &body);
    assert_eq!(status, 200, "{answer}");
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream
        .write_all(b"GET /api/v1/whoami HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n")
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
}

#[test]
fn it_refuses_to_be_open_to_all() {
    let place = Place::new();
    let output = place.run(&["serve", "--listen", "0.0.0.0:0", "--auth", "none"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output.stderr).contains("loopback"),
        "{}",
        text(&output.stderr)
    );
}
