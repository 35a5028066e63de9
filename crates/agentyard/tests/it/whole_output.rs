//! All that a command said, where an answer holds only the beginning and the end of it.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use agentyard_testkit::TestRepository;
use serde_json::{Value, json};

use crate::support::{PATIENCE, Place, Server, StdioClient, content};

/// Says 1,500,000 bytes, in numbered lines.
const MUCH: &str = "seq -f 'line %09.0f' 1 100000";
const MUCH_BYTES: usize = 1_500_000;

/// The body of an answer, put together when it came in chunks.
fn get(server: &Server, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    // The older version of HTTP knows no chunks.
    let request = format!("GET {path} HTTP/1.0\r\nHost: {}\r\n\r\n", server.address);
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    (status, body.to_owned())
}

#[test]
fn what_was_left_out_of_an_answer_is_a_resource() {
    let (place, repository) = (Place::new(), TestRepository::with_commit("a.txt", "a"));
    let mut client = StdioClient::initialized(&place, repository.path(), &[]);
    let answer = client.call(2, "run_command", json!({ "command": ["sh", "-c", MUCH] }));
    let said = content(&answer);
    assert!(
        said["stdout"].as_str().unwrap().contains("bytes left out"),
        "{said}"
    );
    let link = &answer["result"]["content"][1];
    assert_eq!(link["type"], "resource_link", "{answer}");
    // It comes in pieces, each of which names the next.
    let (mut uri, mut whole, mut id) = (link["uri"].as_str().unwrap().to_owned(), String::new(), 2);
    loop {
        id += 1;
        let read = client.request(id, "resources/read", json!({ "uri": uri }));
        let text = read["result"]["contents"][0]["text"].as_str();
        let text = text.unwrap_or_else(|| panic!("{read}"));
        match text.split_once("\n[more: read ") {
            Some((piece, next)) => {
                whole.push_str(piece);
                uri = next.trim_end().trim_end_matches(']').to_owned();
            }
            None => {
                whole.push_str(text);
                break;
            }
        }
    }
    assert_eq!(whole.len(), MUCH_BYTES);
    assert!(whole.ends_with("line 000100000\n"));
    // Nobody else's, and none that never was.
    for uri in [
        "agentyard://runs/run_0/stdout".to_owned(),
        link["uri"].as_str().unwrap().replace("stdout", "stdin"),
    ] {
        let read = client.request(99, "resources/read", json!({ "uri": uri }));
        assert!(read["error"]["message"].is_string(), "{read}");
    }
    let templates = client.request(100, "resources/templates/list", json!({}));
    let templates: Vec<Value> = templates["result"]["resourceTemplates"]
        .as_array()
        .unwrap()
        .clone();
    assert!(
        templates
            .iter()
            .any(|template| template["uriTemplate"] == "agentyard://runs/{run}/{stream}")
    );
    assert!(client.close().0);
}

#[test]
fn what_was_left_out_of_an_answer_is_an_address() {
    let (place, repository) = (Place::new(), TestRepository::with_commit("a.txt", "a"));
    let root = repository.path().display().to_string();
    let server = Server::start(&place, &["--auth", "none", "--root", &root]);
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let body = json!({ "workspace": root, "command": ["sh", "-c", MUCH] }).to_string();
    let request = format!(
        "POST /api/v1/build/run_command HTTP/1.0\r\nHost: {}\r\nContent-Length: {}\r\n\r\n{body}",
        server.address,
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    let said: Value = serde_json::from_str(body).unwrap_or_else(|_| panic!("{answer}"));
    let href = said["attachments"][0]["href"].as_str().unwrap();
    let (status, whole) = get(&server, href);
    assert_eq!((status, whole.len()), (200, MUCH_BYTES));
    let (_, end) = get(&server, &format!("{href}?offset={}", MUCH_BYTES - 15));
    assert_eq!(end, "line 000100000\n");
    let (status, _) = get(&server, "/api/v1/runs/run_0/stdout");
    assert_eq!(status, 400);
}
