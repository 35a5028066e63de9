//! `agentyard mcp`: one agent, one machine, both eras.

use agentyard_testkit::TestRepository;
use serde_json::{Value, json};

use crate::runs::{ON_HOST, WAIT_FOR_GO};
use crate::support::{Place, StdioClient, content, initialize, meta};

#[test]
fn the_older_era_opens_with_initialize() {
    let (place, repository) = (Place::new(), TestRepository::with_commit("a.txt", "a"));
    for revision in ["2025-06-18", "2025-11-25"] {
        let mut client = StdioClient::start(&place, repository.path(), &[]);
        let answer = client.request(1, "initialize", initialize(revision));
        let result = &answer["result"];
        assert_eq!(result["protocolVersion"], revision);
        assert_eq!(result["serverInfo"]["name"], "agentyard");
        assert_eq!(result["serverInfo"]["version"], env!("CARGO_PKG_VERSION"));
        let instructions = result["instructions"].as_str().unwrap();
        assert!(
            instructions.len() < 2_000 && instructions.contains("git_set_working_dir"),
            "{instructions}"
        );
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        assert_eq!(client.request(2, "ping", json!({}))["result"], json!({}));
        assert!(client.close().0);
    }
}

#[test]
fn an_unknown_revision_is_answered_with_one_that_is_known() {
    let (place, repository) = (Place::new(), TestRepository::empty());
    let mut client = StdioClient::start(&place, repository.path(), &[]);
    let answer = client.request(1, "initialize", initialize("2024-11-05"));
    let agreed = answer["result"]["protocolVersion"].as_str().unwrap();
    assert!(["2025-06-18", "2025-11-25"].contains(&agreed), "{answer}");
}

#[test]
fn the_newer_era_opens_with_discover() {
    let (place, repository) = (Place::new(), TestRepository::with_commit("a.txt", "a"));
    let mut client = StdioClient::start(&place, repository.path(), &[]);
    let answer = client.request(1, "server/discover", json!({ "_meta": meta() }));
    let versions = answer["result"]["supportedVersions"].as_array().unwrap();
    assert_eq!(versions, &["2025-06-18", "2025-11-25", "2026-07-28"], "{answer}");
    let tools = client.request(2, "tools/list", json!({ "_meta": meta() }));
    assert!(tools["result"]["ttlMs"].is_number(), "{tools}");
    let params = json!({ "name": "git_status", "arguments": {}, "_meta": meta() });
    let status = client.request(3, "tools/call", params);
    assert_eq!(content(&status)["branch"], "main", "{status}");
}

#[test]
fn an_answer_is_one_object_sent_once() {
    let (place, repository) = (Place::new(), TestRepository::with_commit("a.txt", "a"));
    repository.write("new.txt", "n");
    let mut client = StdioClient::initialized(&place, repository.path(), &[]);
    let answer = client.call(2, "git_status", json!({}));
    let result = &answer["result"];
    assert!(result.get("structuredContent").is_none(), "{result}");
    let same = content(&answer);
    assert_eq!(same["untracked"], json!(["new.txt"]));
    assert_eq!(
        same["repository"],
        repository.path().canonicalize().unwrap().display().to_string()
    );
}

#[test]
fn a_wrong_argument_is_a_tool_error_that_names_it() {
    let (place, repository) = (Place::new(), TestRepository::with_commit("a.txt", "a"));
    let mut client = StdioClient::initialized(&place, repository.path(), &[]);
    let unknown = client.call(2, "git_log", json!({ "max_cuont": 3 }));
    assert_eq!(unknown["result"]["isError"], true, "{unknown}");
    let error = &content(&unknown)["error"];
    assert_eq!(error["message"], "unknown argument `max_cuont`");
    assert_eq!(error["hints"][0], "did you mean `max_count`?");
    let mistyped = client.call(3, "git_log", json!({ "max_count": "many" }));
    let message = content(&mistyped)["error"]["message"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        message.starts_with("argument `max_count`: invalid type"),
        "{message}"
    );
    let tool = client.call(4, "git_statsu", json!({}));
    assert_eq!(tool["error"]["code"], -32602);
    assert!(
        tool["error"]["message"]
            .as_str()
            .unwrap()
            .contains("did you mean `git_status`?"),
        "{tool}"
    );
}

#[test]
fn the_working_directory_is_the_processs_own() {
    let place = Place::new();
    let (first, second) = (
        TestRepository::with_commit("a", "a"),
        TestRepository::with_commit("b", "b"),
    );
    let roots: Vec<String> = [&first, &second]
        .map(|repository| repository.path().display().to_string())
        .into();
    let mut client =
        StdioClient::initialized(&place, first.path(), &["--root", &roots[0], "--root", &roots[1]]);
    let repository_of = |answer: &Value| content(answer)["repository"].clone();
    let canonical =
        |repository: &TestRepository| json!(repository.path().canonicalize().unwrap().display().to_string());
    assert_eq!(
        repository_of(&client.call(2, "git_status", json!({}))),
        canonical(&first)
    );
    let snapshot = client.call(3, "git_set_working_dir", json!({ "path": roots[1] }));
    assert_eq!(repository_of(&snapshot), canonical(&second), "{snapshot}");
    assert_eq!(content(&snapshot)["recent_commits"][0]["subject"], "Begin");
    assert_eq!(
        repository_of(&client.call(4, "git_status", json!({}))),
        canonical(&second)
    );
    let resource = client.request(5, "resources/read", json!({ "uri": "git://working-directory" }));
    let read: Value =
        serde_json::from_str(resource["result"]["contents"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(read["path"], canonical(&second));
    client.call(6, "git_clear_working_dir", json!({}));
    let lost = client.call(7, "git_status", json!({}));
    let error = &content(&lost)["error"];
    assert_eq!(error["message"], "`path` is `.`, and no working directory is set");
    assert!(
        error["hints"][0]
            .as_str()
            .unwrap()
            .contains("git_set_working_dir")
    );
}

#[test]
fn nothing_outside_the_roots_is_seen() {
    let place = Place::new();
    let (inside, outside) = (
        TestRepository::with_commit("a", "a"),
        TestRepository::with_commit("b", "b"),
    );
    let mut client = StdioClient::initialized(&place, inside.path(), &[]);
    for path in [
        outside.path().display().to_string(),
        "/".to_owned(),
        format!("{}/..", inside.path().display()),
    ] {
        let answer = client.call(2, "git_status", json!({ "path": path }));
        assert_eq!(content(&answer)["error"]["kind"], "forbidden", "{path}: {answer}");
    }
    let relative = client.call(3, "git_status", json!({ "path": "../x" }));
    assert_eq!(content(&relative)["error"]["kind"], "invalid_input", "{relative}");
}

#[test]
fn flags_choose_what_is_offered_and_what_is_not_offered_does_not_answer() {
    let (place, repository) = (Place::new(), TestRepository::empty());
    let names = |arguments: &[&str]| -> Vec<String> {
        let mut client = StdioClient::initialized(&place, repository.path(), arguments);
        let list = client.request(2, "tools/list", json!({}));
        let tools = list["result"]["tools"].as_array().unwrap().clone();
        tools
            .iter()
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let reading = names(&["--toolsets", "git", "--read-only"]);
    for (name, is_listed) in [
        ("git_status", true),
        ("git_diff", true),
        ("git_add", false),
        ("whoami", false),
    ] {
        assert_eq!(reading.contains(&name.to_owned()), is_listed, "{name}");
    }
    assert_eq!(names(&["--tools", "whoami"]), ["whoami"]);
    assert!(!names(&["--exclude-tools", "token_create"]).contains(&"token_create".to_owned()));
    let mut client = StdioClient::initialized(&place, repository.path(), &["--toolsets", "admin"]);
    for method in ["prompts/list", "prompts/get"] {
        let answer = client.request(3, method, json!({ "name": "git_catch_up" }));
        assert_eq!(answer["error"]["code"], -32601, "{method}: {answer}");
    }
    assert_eq!(client.call(4, "git_status", json!({}))["error"]["code"], -32602);
}

#[test]
fn annotations_follow_from_effects() {
    let (place, repository) = (Place::new(), TestRepository::empty());
    let mut client = StdioClient::initialized(&place, repository.path(), &[]);
    let list = client.request(2, "tools/list", json!({}));
    let hints = |name: &str| {
        let tools = list["result"]["tools"].as_array().unwrap();
        tools.iter().find(|tool| tool["name"] == name).unwrap()["annotations"].clone()
    };
    assert_eq!(
        hints("git_status"),
        json!({ "readOnlyHint": true, "openWorldHint": false })
    );
    // What MCP takes for granted is not said again: a tool that changes things, destroys, and not idempotently.
    assert_eq!(hints("token_revoke"), json!({ "openWorldHint": false }));
    assert_eq!(hints("git_push"), json!({ "openWorldHint": true }));
    assert_eq!(hints("token_create")["destructiveHint"], false);
    assert_eq!(hints("git_set_working_dir")["idempotentHint"], true);
}

#[test]
fn prompts_completion_and_log_level_work() {
    let (place, repository) = (Place::new(), TestRepository::with_commit("a", "a"));
    let mut client = StdioClient::initialized(&place, repository.path(), &[]);
    let prompts = client.request(2, "prompts/list", json!({}));
    assert_eq!(prompts["result"]["prompts"][0]["name"], "git_catch_up");
    let prompt = client.request(
        3,
        "prompts/get",
        json!({ "name": "git_catch_up", "arguments": { "since": "1 day ago" } }),
    );
    assert!(
        prompt["result"]["messages"][0]["content"]["text"]
            .as_str()
            .unwrap()
            .contains("1 day ago")
    );
    let prompt = client.request(
        3,
        "prompts/get",
        json!({ "name": "git_wrapup", "arguments": { "changelogPath": "NEWS.md", "create_tag": "true" } }),
    );
    let text = prompt["result"]["messages"][0]["content"]["text"]
        .as_str()
        .unwrap();
    for part in ["git_wrapup_instructions", "NEWS.md", "create_tag true", "git_tag"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let argument = json!({ "name": "name", "value": "git_set" });
    let reference = json!({ "type": "ref/resource", "uri": "agentyard://tools/{name}" });
    let completion = client.request(
        4,
        "completion/complete",
        json!({ "ref": reference, "argument": argument }),
    );
    assert_eq!(
        completion["result"]["completion"]["values"],
        json!(["git_set_working_dir"])
    );
    let tool = client.request(5, "resources/read", json!({ "uri": "agentyard://tools/git_log" }));
    assert!(
        tool["result"]["contents"][0]["text"]
            .as_str()
            .unwrap()
            .contains("output_schema")
    );
    assert!(client.request(6, "logging/setLevel", json!({ "level": "debug" }))["error"].is_null());
    client
        .send(&json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": { "name": "whoami" } }));
    let logged = client.receive();
    assert_eq!(logged["method"], "notifications/message", "{logged}");
    assert_eq!(logged["params"]["data"]["tool"], "whoami");
}

#[test]
fn a_client_that_asks_for_progress_hears_of_it() {
    let (place, repository) = (Place::new(), TestRepository::with_commit("a", "a"));
    let mut client = StdioClient::initialized(&place, repository.path(), &ON_HOST);
    // It ends when the client has heard of it: a call that is done at once has nothing to tell before its answer.
    let command = json!(["sh", "-c", WAIT_FOR_GO]);
    let params = json!({
        "name": "run_command",
        "arguments": { "command": command },
        "_meta": { "progressToken": "p-1" },
    });
    client.send(&json!({ "jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": params }));
    let progress = client.receive();
    assert_eq!(progress["method"], "notifications/progress", "{progress}");
    let params = &progress["params"];
    assert_eq!(params["progressToken"], "p-1", "{progress}");
    assert!(
        params["progress"].is_number() && params["message"].is_string(),
        "{progress}"
    );
    repository.write("go", "");
    assert_eq!(client.answer_to(5)["result"]["isError"], false);
}

/// Every schema as a client sees it: a change of surface is a visible change of this file.
#[test]
fn the_tool_list_is_small_and_inline() {
    let (place, repository) = (Place::new(), TestRepository::empty());
    let mut client = StdioClient::initialized(&place, repository.path(), &[]);
    let list = client.request(2, "tools/list", json!({}))["result"]["tools"].clone();
    let written = list.to_string();
    assert!(
        !written.contains("$ref") && !written.contains("\"null\"]"),
        "{written}"
    );
    let git: Vec<Value> = list
        .as_array()
        .unwrap()
        .iter()
        .filter(|tool| tool["name"].as_str().unwrap().starts_with("git_"))
        .cloned()
        .collect();
    assert_eq!(git.len(), 28);
    let size = Value::Array(git).to_string().len();
    assert!(size <= 24_000, "{size} bytes are paid for at every start");
    expect_test::expect_file!["./tools.json"]
        .assert_eq(&(serde_json::to_string_pretty(&list).unwrap() + "\n"));
}
