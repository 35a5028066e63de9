//! No secret is ever printed: a known token goes through every way in which a call can
//! fail, and is then looked for in everything that was said.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Stdio;

use serde_json::json;

use crate::support::{PATIENCE, Place, Server, free_port, text};

const KNOWN: &str = "ay_5ec7e75ec7e75ec7e75ec7e75ec7e75ec7e75ec7e75ec7e75ec7e75ec7e75ec7";

fn exchange(address: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    text(&answer)
}

#[test]
fn a_token_is_in_no_answer_and_in_no_log() {
    let place = Place::new();
    let address = format!("127.0.0.1:{}", free_port());
    let log = std::fs::File::create(place.home().join("log")).unwrap();
    let mut command = place.command(&[
        "serve",
        "--listen",
        &address,
        "--set",
        "log.filter=trace,rmcp=trace,hyper=trace",
    ]);
    let server = Server::of(command.stderr(Stdio::from(log)), &address);
    let good = server
        .greeting
        .lines()
        .find(|line| line.trim().starts_with("ay_"))
        .unwrap()
        .trim()
        .to_owned();
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "git_status", "arguments": { "path": KNOWN, "token": KNOWN } } }).to_string();
    let mut said = String::new();
    for token in [KNOWN, &good] {
        for head in [
            format!("GET /api/v1/whoami HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}"),
            format!("GET /api/v1/whoami HTTP/1.1\r\nHost: {address}\r\nAuthorization: bearer  {token}"),
            format!("GET /api/v1/whoami HTTP/1.1\r\nHost: {address}\r\nAuthorization: Basic {token}"),
            format!(
                "GET /api/v1/whoami HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nAuthorization: Bearer {token}"
            ),
            format!(
                "GET /api/v1/whoami HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}{token}\u{7f}"
            ),
            format!("GET /api/v1/nothing HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}"),
            format!(
                "DELETE /api/v1/tokens/tok_1 HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}"
            ),
            format!(
                "GET /api/v1/tokens?limit=x HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}"
            ),
            format!("GET /api/v1/whoami HTTP/1.1\r\nHost: evil.example\r\nAuthorization: Bearer {token}"),
            format!("BREW /api/v1/whoami HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}"),
        ] {
            said += &exchange(&address, &format!("{head}\r\nConnection: close\r\n\r\n"));
        }
        let bodies = ["{", "[]", &call];
        for body in bodies {
            for path in ["/mcp", "/mcp/git", "/mcp/none", "/api/v1/tokens"] {
                let head = format!(
                    "POST {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
                     Accept: application/json, text/event-stream\r\nConnection: close\r\nContent-Length: {}",
                    body.len()
                );
                let answer = exchange(&address, &format!("{head}\r\n\r\n{body}"));
                // What the caller itself put into an argument may be quoted back to it.
                said += if body == call { "" } else { &answer };
            }
        }
    }
    let cli = place
        .command(&[
            "token",
            "list",
            "--server",
            &format!("http://{address}"),
            "--json",
        ])
        .env("AGENTYARD_TOKEN", KNOWN)
        .output()
        .unwrap();
    said += &text(&cli.stdout);
    said += &text(&cli.stderr);
    assert!(server.terminate());
    let log = std::fs::read_to_string(place.home().join("log")).unwrap();
    assert!(log.len() > 1000, "the log was read");
    for secret in [KNOWN, &good] {
        assert!(!said.contains(secret), "in an answer: {said}");
        let line = log.lines().find(|line| line.contains(secret));
        // Trace logs of the transport, asked for by name, show bodies; the token was put into
        // one as an argument, and nowhere else may it stand.
        assert!(
            line.is_none_or(|line| line.contains("git_status") && secret == KNOWN),
            "in the log: {line:?}"
        );
    }
}
