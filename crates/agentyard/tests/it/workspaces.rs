//! Workspaces as their users meet them: over MCP, over REST, at a terminal.

use std::io::{Read, Write};
use std::net::TcpStream;

use agentyard_testkit::TestRepository;
use serde_json::{Value, json};

use crate::support::{PATIENCE, Place, Server, StdioClient, content, text};

fn repository() -> TestRepository {
    TestRepository::with_commit("Makefile", "all:\n\t@echo made\n")
}

/// A request, and what is answered to it: the status, and the body with whatever lies between its chunks.
fn send(server: &Server, target: &str, headers: &str, body: &Value) -> (u16, String) {
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let body = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    let request = format!(
        "{target} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{headers}Content-Length: {}\r\n\r\n{body}",
        server.address,
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    (status, body.to_owned())
}

fn rest(server: &Server, target: &str, body: &Value) -> Value {
    let (status, answer) = send(server, target, "", body);
    assert!((200..300).contains(&status), "{target}: {status} {answer}");
    let object = &answer[answer.find('{').unwrap()..=answer.rfind('}').unwrap()];
    serde_json::from_str(object).unwrap()
}

#[test]
fn an_agent_works_in_a_workspace_over_stdio() {
    let (place, repository) = (Place::new(), repository());
    let mut client =
        StdioClient::initialized(&place, repository.path(), &["--toolsets", "git,workspace,build"]);
    let mut called = 1;
    let mut call = |tool: &str, arguments: Value| {
        called += 1;
        let answer = client.call(called, tool, arguments);
        assert_ne!(answer["result"]["isError"], true, "{tool}: {answer}");
        content(&answer)
    };
    let opened = call("workspace_open", json!({ "agent": "claude", "task": "42" }));
    assert_eq!(opened["branch"], "agent-claude-42");
    assert_eq!(
        (&opened["new_branch"], &opened["reused"]),
        (&json!(true), &Value::Null)
    );
    let workspace = &opened["workspace"];
    call(
        "write_file",
        json!({ "workspace": workspace, "path": "new", "content": "new\n" }),
    );
    let status = call("git_status", json!({ "workspace": workspace }));
    assert_eq!(status["branch"], "agent-claude-42");
    assert_eq!(status["untracked"], json!(["new"]));
    call("workspace_undo", json!({ "workspace": workspace }));
    let status = call("git_status", json!({ "path": workspace }));
    assert_eq!(status["untracked"], Value::Null, "{status}");
    let made = call("workspace_checkpoints", json!({ "workspace": workspace }));
    assert_eq!(made["checkpoints"].as_array().unwrap().len(), 3, "{made}");
    let synced = call("workspace_sync", json!({ "workspace": workspace }));
    assert_eq!(synced["result"], "up_to_date", "{synced}");
    let closed = call("workspace_close", json!({ "workspace": workspace }));
    assert_eq!(closed["kept"], Value::Null, "{closed}");
    assert_eq!(call("workspace_list", json!({}))["workspaces"], json!([]));
}

#[test]
fn a_branch_has_its_addresses_over_rest() {
    let (place, repository) = (Place::new(), repository());
    let root = repository.path().display().to_string();
    let options = ["--auth", "none", "--root", &root];
    let server = Server::start(&place, &options);
    let added = rest(
        &server,
        "POST /api/v1/repos",
        &json!({ "url": root, "name": "web" }),
    );
    assert_eq!(added["name"], "web", "{added}");
    let nothing = Value::Null;
    let branch = "/api/v1/repos/web/branches/feature%2Ffoo";

    // What works on a branch opens it.
    let listed = rest(&server, &format!("GET {branch}/ls"), &nothing);
    assert!(listed.to_string().contains("Makefile"), "{listed}");
    let environment = rest(&server, &format!("GET {branch}/env"), &nothing);
    assert!(environment.to_string().contains("git"), "{environment}");
    let (status, events) = send(
        &server,
        &format!("POST {branch}/make"),
        "Accept: text/event-stream\r\nContent-Type: application/json\r\n",
        &json!({}),
    );
    assert_eq!(status, 200, "{events}");
    for expected in ["event: stdout", "made", "event: complete", "\"exit_code\":0"] {
        assert!(events.contains(expected), "{expected}: {events}");
    }
    let branches = rest(&server, "GET /api/v1/repos/web/branches", &nothing);
    let workspace = branches["branches"][0]["workspace"].clone();
    assert_eq!(branches["branches"][0]["name"], "feature/foo", "{branches}");
    assert!(!workspace.is_null(), "{branches}");

    let found = rest(&server, "GET /api/v1/workspaces", &nothing);
    let id = found["workspaces"][0]["workspace"].as_str().unwrap().to_owned();
    let got = rest(&server, &format!("GET /api/v1/workspaces/{id}"), &nothing);
    assert_eq!(got["branch"], "feature/foo", "{got}");
    let again = rest(
        &server,
        "POST /api/v1/workspaces",
        &json!({ "repo": "web", "branch": "feature/foo" }),
    );
    assert_eq!(
        (&again["workspace"], &again["reused"]),
        (&json!(id), &json!(true))
    );

    let closed = rest(&server, &format!("DELETE {branch}"), &nothing);
    assert_eq!(closed["workspace"], json!(id), "{closed}");
    let (status, _) = send(&server, &format!("DELETE {branch}"), "", &nothing);
    assert_eq!(status, 404);
}

#[test]
fn a_person_works_with_workspaces_at_a_terminal() {
    let (place, repository) = (Place::new(), repository());
    let run = |arguments: &[&str]| {
        let output = place
            .command(arguments)
            .current_dir(repository.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
        text(&output.stdout)
    };
    let opened = run(&["workspace", "open", "--branch", "feature/foo", "--json"]);
    let opened: Value = serde_json::from_str(&opened).unwrap();
    let (id, path) = (
        opened["workspace"].as_str().unwrap(),
        opened["path"].as_str().unwrap(),
    );
    std::fs::write(format!("{path}/new"), "").unwrap();

    let status = run(&["git", "status", "--workspace", id]);
    assert!(
        status.contains("branch: feature/foo") && status.contains("new"),
        "{status}"
    );
    let got = run(&["workspace", "get", id]);
    assert!(got.contains("branch: feature/foo"), "{got}");
    let listed = run(&["workspace", "list"]);
    let lines: Vec<&str> = listed.lines().collect();
    assert_eq!(lines.len(), 3, "{listed}");
    assert!(
        lines[0].contains("branch") && lines[1].contains("feature/foo"),
        "{listed}"
    );
    assert!(
        lines[1].contains("user local") && !lines[1].contains("usr_"),
        "{listed}"
    );
    assert!(lines[2].starts_with("totals: "), "{listed}");

    let closed = run(&["workspace", "close", id]);
    assert!(closed.contains("kept: refs/agentyard/kept/"), "{closed}");
    assert!(!std::path::Path::new(path).exists());
    let listed = run(&["workspace", "list", "--closed", "--json"]);
    let listed: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(listed["workspaces"][0]["state"], "closed");
}
