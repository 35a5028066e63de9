//! `agentyard serve`: the first start, its faces, its end.

use std::io::{Read, Write};
use std::net::TcpStream;

use agentyard_testkit::TestRepository;
use serde_json::{Value, json};

use crate::support::{PATIENCE, Place, Server, StdioClient, content, initialize, text};

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
    assert_eq!(content(&status)["branch"], "main", "{status}");
    assert!(client.close().0);

    let mut command = place.command(&["mcp", "--server", &server.url()]);
    let mut client = StdioClient::of(command.env("AGENTYARD_TOKEN", &token));
    let params = json!({ "name": "git_status", "arguments": {}, "_meta": crate::support::meta() });
    let status = client.request(1, "tools/call", params);
    assert_eq!(
        content(&status)["branch"],
        "main",
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

fn modern(method: &str, params: Value) -> (String, String) {
    let mut params = params;
    params["_meta"] = crate::support::meta();
    let name = params["name"]
        .as_str()
        .map(|name| format!("\r\nMcp-Name: {name}"))
        .unwrap_or_default();
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
    let headers = format!(
        "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
         Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}{name}"
    );
    (headers, body)
}

fn tools_at(server: &Server, address: &str, token: &str) -> Vec<String> {
    let (headers, body) = modern("tools/list", json!({}));
    let (status, answer) = http(
        server,
        &format!("POST {address} HTTP/1.1\r\nAuthorization: Bearer {token}\r\n{headers}"),
        &body,
    );
    assert_eq!(status, 200, "{answer}");
    let start = answer.find("{\"jsonrpc\"").unwrap();
    let list: Value = serde_json::Deserializer::from_str(&answer[start..])
        .into_iter()
        .next()
        .unwrap()
        .unwrap();
    let tools = list["result"]["tools"].as_array().unwrap();
    tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn the_tool_list_follows_from_address_and_caller() {
    let place = Place::new();
    let server = Server::start(&place, &[]);
    let administrator = token_of(&server);
    let made = place
        .command(&["token", "create", "dev", "--json", "--server", &server.url()])
        .env("AGENTYARD_TOKEN", &administrator)
        .output()
        .unwrap();
    let made: Value = serde_json::from_slice(&made.stdout).unwrap();
    let developer = made["secret"].as_str().unwrap();
    assert!(tools_at(&server, "/mcp", &administrator).contains(&"token_create".to_owned()));
    let developers = tools_at(&server, "/mcp", developer);
    assert!(
        !developers
            .iter()
            .any(|name| name.starts_with("token_") || name == "audit_search")
    );
    for name in ["git_status", "workspace_open", "read_file", "whoami"] {
        assert!(developers.contains(&name.to_owned()), "{name}");
    }
    assert!(
        tools_at(&server, "/mcp/git", developer)
            .iter()
            .all(|name| name.starts_with("git_"))
    );
    assert_eq!(tools_at(&server, "/mcp/core", developer), ["whoami"]);
    assert_eq!(
        tools_at(&server, "/mcp?toolsets=core,admin", developer),
        ["whoami"]
    );
    let (headers, body) = modern("tools/list", json!({}));
    let (status, answer) = http(
        &server,
        &format!("POST /mcp/nothing HTTP/1.1\r\nAuthorization: Bearer {developer}\r\n{headers}"),
        &body,
    );
    assert_eq!(status, 404, "{answer}");
    let (headers, body) = modern("tools/call", json!({ "name": "token_list", "arguments": {} }));
    let (_, answer) = http(
        &server,
        &format!("POST /mcp HTTP/1.1\r\nAuthorization: Bearer {developer}\r\n{headers}"),
        &body,
    );
    assert!(answer.contains("unknown tool"), "{answer}");
}

#[test]
fn a_server_that_stops_lets_calls_in_progress_finish() {
    let place = Place::new();
    let server = Server::start(&place, &["--auth", "none", "--conformance-fixtures"]);
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    // This fixture reports three steps before it answers; the first says that it has begun.
    let (headers, body) = modern(
        "tools/call",
        json!({ "name": "test_tool_with_progress", "arguments": {} }),
    );
    let body = body.replace("\"_meta\":{", "\"_meta\":{\"progressToken\":1,");
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{headers}\r\nContent-Length: {}\r\n\r\n{body}",
        server.address,
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut begun = [0; 16];
    stream.read_exact(&mut begun).unwrap();
    assert!(server.terminate(), "it stops cleanly");
    let mut rest = String::new();
    stream.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("\"result\""), "{rest}");
}

#[test]
fn a_signed_token_names_tenant_role_and_scope() {
    const SECRET: &str = "a-secret-of-at-least-thirty-two-bytes";
    let place = Place::new();
    let address = format!("127.0.0.1:{}", crate::support::free_port());
    let mut command = place.command(&[
        "serve",
        "--listen",
        &address,
        "--auth",
        "jwt",
        "--set",
        "auth.jwt.issuer=https://issuer.example",
        "--set",
        "auth.jwt.audience=agentyard",
    ]);
    let server = Server::of(
        command
            .env("MCP_AUTH_SECRET_KEY", SECRET)
            .stderr(std::process::Stdio::null()),
        &address,
    );
    let signed = |claims: Value| {
        let mut all = json!({ "iss": "https://issuer.example", "aud": "agentyard", "sub": "ann", "exp": 4_000_000_000_u64 });
        all.as_object_mut()
            .unwrap()
            .extend(claims.as_object().unwrap().clone());
        jsonwebtoken::encode(
            &Default::default(),
            &all,
            &jsonwebtoken::EncodingKey::from_secret(SECRET.as_bytes()),
        )
        .unwrap()
    };
    let whoami = |token: &str| {
        http(
            &server,
            &format!("GET /api/v1/whoami HTTP/1.1\r\nAuthorization: Bearer {token}"),
            "",
        )
    };
    let (status, answer) = whoami(&signed(
        json!({ "role": "ops", "scope": "openid project:read admin:users" }),
    ));
    assert_eq!(status, 200, "{answer}");
    assert!(
        answer.contains("\"permissions\":[\"project:read\"]") && answer.contains("\"role\":\"ops\""),
        "{answer}"
    );
    assert_eq!(
        whoami(&signed(json!({ "tid": "elsewhere" }))).0,
        403,
        "an unknown tenant"
    );
    assert_eq!(
        whoami(&signed(json!({ "role": "emperor" }))).0,
        403,
        "an unknown role"
    );
    assert_eq!(whoami(&signed(json!({ "aud": "others" }))).0, 401);
}

#[test]
fn who_connects_and_asks_for_nothing_is_shown_out() {
    let place = Place::new();
    let server = Server::start(&place, &["--set", "http.head_timeout_seconds=1"]);
    for said in ["", "PRI * HT", "GET / HT", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"] {
        let mut stream = TcpStream::connect(&server.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(said.as_bytes()).unwrap();
        // What the server says of itself may come first.
        let read = stream.read_to_end(&mut Vec::new());
        assert!(
            !read.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock),
            "{said:?}"
        );
    }
}
