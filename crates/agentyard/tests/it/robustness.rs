//! Bad input, bad clients, bad moments: a clear error or a correct answer, and the next
//! call works.

use std::collections::HashSet;

use agentyard_testkit::TestRepository;
use serde_json::json;

use crate::support::{Place, StdioClient, content, meta};

#[test]
fn what_is_no_message_is_answered_and_the_next_call_works() {
    let (place, repository) = (Place::new(), TestRepository::with_commit("a", "a"));
    let mut client = StdioClient::initialized(&place, repository.path(), &[]);
    client.send_line("{not json");
    assert_eq!(client.receive()["error"]["code"], -32700);
    client.send_line("[1,2");
    assert_eq!(client.receive()["error"]["code"], -32700);
    client.send_line(&"[".repeat(100_000));
    assert!(client.receive()["error"].is_object());
    let unknown = client.request(9, "yard/unknown", json!({}));
    assert_eq!(unknown["error"]["code"], -32601);
    assert_eq!(
        client.call(10, "git_status", json!({}))["result"]["isError"],
        false
    );
}

#[test]
fn an_argument_of_ten_megabytes_is_refused_in_few_words() {
    let (place, repository) = (Place::new(), TestRepository::with_commit("a", "a"));
    let mut client = StdioClient::initialized(&place, repository.path(), &[]);
    let answer = client.call(2, "git_log", json!({ "revision": "x".repeat(10_000_000) }));
    assert_eq!(answer["result"]["isError"], true);
    assert!(
        answer.to_string().len() < 4_000,
        "{} bytes",
        answer.to_string().len()
    );
    let answer = client.call(3, "git_log", json!({ "y".repeat(10_000_000): 1 }));
    assert!(
        answer.to_string().len() < 4_000,
        "{} bytes",
        answer.to_string().len()
    );
    assert_eq!(
        client.call(4, "git_status", json!({}))["result"]["isError"],
        false
    );
}

#[test]
fn a_line_past_all_bounds_is_refused_and_the_next_call_works() {
    let (place, repository) = (Place::new(), TestRepository::with_commit("a", "a"));
    let mut client = StdioClient::initialized(&place, repository.path(), &[]);
    client.send_line(&"x".repeat(20 * 1024 * 1024));
    assert!(client.receive()["error"].is_object());
    assert_eq!(
        client.call(2, "git_status", json!({}))["result"]["isError"],
        false
    );
}

#[test]
fn two_hundred_calls_at_once_are_all_answered() {
    let (place, repository) = (Place::new(), TestRepository::with_commit("a", "a"));
    let mut client = StdioClient::initialized(&place, repository.path(), &[]);
    for id in 100..300 {
        let params = json!({ "name": "git_status", "arguments": {} });
        client.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }));
    }
    let mut waiting: HashSet<u64> = (100..300).collect();
    while !waiting.is_empty() {
        let answer = client.receive();
        assert_eq!(answer["result"]["isError"], false, "{answer}");
        assert!(waiting.remove(&answer["id"].as_u64().unwrap()));
    }
}

#[test]
fn requests_that_were_piped_in_are_answered_before_the_end() {
    let (place, repository) = (Place::new(), TestRepository::with_commit("a", "a"));
    let mut client = StdioClient::start(&place, repository.path(), &[]);
    let params = json!({ "name": "git_status", "arguments": {}, "_meta": meta() });
    client.send(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }));
    client.end_input();
    let answer = client.receive();
    assert_eq!(answer["id"], 1);
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    assert!(client.close().0);
}

/// A client that is killed leaves nothing but closed pipes behind.
#[test]
fn the_server_ends_with_a_client_that_was_killed() {
    let (place, repository) = (Place::new(), TestRepository::with_commit("a", "a"));
    let mut client = StdioClient::initialized(&place, repository.path(), &[]);
    for id in 10..30 {
        let params = json!({ "name": "git_log", "arguments": {} });
        client.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }));
    }
    assert!(client.vanish(), "the server outlived its client");
}

#[test]
fn two_clients_on_one_data_directory_do_not_disturb_each_other() {
    let (place, repository) = (Place::new(), TestRepository::with_commit("a", "a"));
    let mut first = StdioClient::initialized(&place, repository.path(), &[]);
    let mut second = StdioClient::initialized(&place, repository.path(), &[]);
    for round in 0..10 {
        let name = format!("token-{round}");
        let (one, other) = (
            json!({ "name": format!("{name}-a") }),
            json!({ "name": format!("{name}-b") }),
        );
        first.send(&json!({ "jsonrpc": "2.0", "id": 100 + round, "method": "tools/call", "params": { "name": "token_create", "arguments": one } }));
        second.send(&json!({ "jsonrpc": "2.0", "id": 100 + round, "method": "tools/call", "params": { "name": "token_create", "arguments": other } }));
        for client in [&mut first, &mut second] {
            let answer = client.answer_to(100 + round);
            assert_eq!(answer["result"]["isError"], false, "{answer}");
        }
    }
    let list = first.call(500, "token_list", json!({ "limit": 100 }));
    assert_eq!(content(&list)["tokens"].as_array().unwrap().len(), 20);
    first.kill();
    drop(second);
    let verified = place.json(&["audit", "verify", "--json"]);
    assert_eq!(verified["records"], 20, "{verified}");
}

#[test]
fn the_call_after_one_that_was_called_off_is_answered() {
    let (place, repository) = (Place::new(), TestRepository::with_commit("a", "a"));
    let mut client = StdioClient::initialized(&place, repository.path(), &[]);
    client.send(&json!({ "jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": { "name": "git_log", "arguments": {} } }));
    client.send(
        &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 5 } }),
    );
    assert_eq!(
        client.call(6, "git_status", json!({}))["result"]["isError"],
        false
    );
}

/// A remote that takes a connection and then says nothing; and a server that is killed meanwhile.
#[test]
fn git_ends_with_a_server_that_is_killed() {
    let (place, repository) = (Place::new(), TestRepository::with_commit("a", "a"));
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    repository.git(&[
        "remote",
        "add",
        "origin",
        &format!("http://127.0.0.1:{port}/a.git"),
    ]);
    let flags = ["--set", "git.allowed_hosts=127.0.0.1"];
    let mut client = StdioClient::initialized(&place, repository.path(), &flags);
    client.send(&json!({
        "jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": { "name": "git_fetch", "arguments": {} },
    }));
    let (mut connection, _) = silent.accept().unwrap();
    let mut asked = [0; 1];
    std::io::Read::read_exact(&mut connection, &mut asked).unwrap();
    client.kill();
    // git, and what it had started to talk to the remote, let go of the connection when they end.
    let mut said = Vec::new();
    std::io::Read::read_to_end(&mut connection, &mut said).unwrap();
    assert!(String::from_utf8_lossy(&said).contains("info/refs"));
}
