//! The official clients of E2B, from their registries and unmodified, against `agentyard serve`.
//!
//! What they do and expect is in the scripts beside this file: each theme in Python, which is run with the blocking and
//! with the asynchronous client, and in JavaScript. All of them use one server at the same time.

mod clients;
mod leftovers;
mod scene;

use std::io::Write;

use serde_json::{Value, json};

use clients::Client;
use scene::Scene;

/// Drives one theme with every client, and sees that nothing is left of it.
fn drive(theme: &str) {
    let scene = Scene::new();
    scene.drive(theme, &Client::ALL);
    scene.end();
}

#[test]
fn sandboxes_live_and_end() {
    drive("lifecycle");
}

#[test]
fn commands_run() {
    drive("commands");
}

#[test]
fn terminals_are_typed_into() {
    drive("terminals");
}

#[test]
fn files_are_written_read_and_watched() {
    drive("files");
}

#[test]
fn signed_addresses_are_for_everybody() {
    drive("urls");
}

#[test]
fn a_pause_keeps_processes_and_files() {
    drive("pausing");
}

#[test]
fn copies_share_what_neither_changed() {
    drive("copies");
}

#[test]
fn networks_hold() {
    drive("network");
}

#[test]
fn code_runs_with_rich_results() {
    drive("code");
}

#[test]
fn failures_are_told_as_the_clients_expect() {
    drive("errors");
}

#[test]
fn tenants_are_apart() {
    let scene = Scene::new();
    let keys = [
        ("ADMINISTRATOR_API_KEY", scene.administrator()),
        ("OTHER_TENANT_API_KEY", scene.administrator_of_another_tenant()),
    ];
    scene.run(Client::BlockingPython, "tenants", &keys);
    scene.run(Client::AsyncPython, "tenants", &keys);
    // What the other tenant made is in its own log. What happened last may come to be written down a moment later.
    let search = [
        "audit",
        "search",
        "--json",
        "--limit",
        "1000",
        "--action",
        "sandbox_create",
    ];
    let started = std::time::Instant::now();
    let (made, found) = loop {
        let found = scene.json(&search);
        let made = found["records"].as_array().map_or(0, Vec::len);
        if made >= 4 || started.elapsed() > crate::support::PATIENCE {
            break (made, found);
        }
    };
    assert_eq!(made, 4, "{found}");
    scene.end();
}

#[test]
fn git_works_inside() {
    let scene = Scene::new();
    scene.drive("git", &Client::ALL);
    for branch in ["from-sync-python", "from-async-python", "from-javascript"] {
        assert_eq!(
            scene.git(&["log", "-1", "--format=%s", branch]),
            "Change two files\n",
            "{branch}"
        );
    }
    scene.end();
}

#[test]
fn a_restart_keeps_the_paused_and_ends_the_others() {
    let mut scene = Scene::new();
    let note = scene.home().join("note.json");
    let variables = [("NOTE", note.display().to_string())];
    scene.run(Client::BlockingPython, "restart", &variables);
    scene.restart();
    scene.run(Client::BlockingPython, "restart", &variables);
    scene.end();
}

/// The program of whoever used the hosted service until now: three variables are all that changes.
#[test]
fn a_program_written_for_the_hosted_service_runs() {
    let scene = Scene::new();
    let mut tools = scene.start_git_tools();
    let mut input = tools.stdin.take().unwrap();
    let mut answers = std::io::BufRead::lines(std::io::BufReader::new(tools.stdout.take().unwrap()));
    let mut call = |tool: &str, arguments: Value| -> Value {
        writeln!(input, "{}", json!({ "tool": tool, "arguments": arguments })).unwrap();
        let line = answers.next().expect("the program goes on").unwrap();
        assert!(!line.contains(scene::PASSWORD), "the token is told: {line}");
        serde_json::from_str(&line).unwrap()
    };
    let mut clone = |task: &str| -> (Value, String) {
        let arguments = json!({ "repo_url": scene.git_url(), "agent_id": "ann", "task_id": task });
        let cloned = call("git_clone", arguments);
        let branch = cloned["agent_branch"]
            .as_str()
            .unwrap_or_else(|| panic!("{cloned}"));
        (cloned["sandbox_id"].clone(), branch.to_owned())
    };
    let (first, branch) = clone("1");
    assert_eq!(branch, "agent-ann-1");
    let (second, _) = clone("2");
    let missing =
        json!({ "repo_url": scene.git_url().replace("a.git", "b.git"), "agent_id": "ann", "task_id": "3" });
    assert!(call("git_clone", missing)["error"].is_string());

    let one = |id: &Value| json!({ "sandbox_id": id });
    assert_eq!(
        call("git_status", one(&first)),
        json!({ "branch": "agent-ann-1", "files": [], "is_clean": true })
    );
    call(
        "run",
        json!({ "sandbox_id": first, "command": "echo changed > README.md; echo new > new.txt" }),
    );
    let status = call("git_status", one(&first));
    assert_eq!(
        status["files"],
        json!([{ "status": "M", "path": "README.md" }, { "status": "??", "path": "new.txt" }])
    );
    let diff = call("git_diff", one(&first))["diff"].as_str().unwrap().to_owned();
    assert!(diff.contains("-one\n+changed\n"), "{diff}");

    // Somebody else changes the same branch of the host meanwhile, so the work is put on top of theirs.
    scene.commit_on_main("other.txt", "of somebody else\n");
    let pushed = call("git_push", json!({ "sandbox_id": first, "message": "Change it" }));
    assert_eq!(pushed["branch"], "agent-ann-1", "{pushed}");
    assert_eq!(
        scene.git(&["rev-parse", "agent-ann-1"]).trim(),
        pushed["commit"],
        "{pushed}"
    );
    assert_eq!(
        scene.git(&["log", "--format=%an: %s", "-2", "agent-ann-1"]),
        "Agent ann: Change it\nsomebody: Change other.txt\n"
    );
    assert_eq!(call("git_pull", one(&first)), json!({ "conflicts": [] }));

    scene.commit_on_main("README.md", "otherwise\n");
    call(
        "run",
        json!({ "sandbox_id": second, "command": "echo differently > README.md" }),
    );
    let pushed = call(
        "git_push",
        json!({ "sandbox_id": second, "message": "Change it, too" }),
    );
    assert_eq!(pushed, json!({ "conflicts": ["README.md"] }));
    for id in [&first, &second] {
        assert_eq!(call("cleanup", one(id)), json!({ "killed": true }));
    }
    drop(input);
    // How it ends says nothing: now and then the client's own threads abort Python while it takes itself apart.
    tools.wait().unwrap();
    scene.end();
}

#[test]
fn every_step_is_in_the_audit_log_and_beside_the_workspaces() {
    let scene = Scene::new();
    scene.run(Client::BlockingPython, "audited", &[]);
    let listed = scene.json(&["sandbox", "list", "--json"]);
    let sandbox = &listed["sandboxes"][0];
    let id = sandbox["id"].as_str().unwrap_or_else(|| panic!("{listed}"));
    let shown = scene.say(&["sandbox", "list"]);
    assert!(shown.contains(id) && shown.contains("running"), "{shown}");
    assert_eq!(
        scene.say(&["sandbox", "run", id, "--script", "echo said"]),
        "said\n"
    );
    let found = scene.json(&["audit", "search", "--json", "--limit", "100"]);
    let rows = found["records"].as_array().unwrap_or_else(|| panic!("{found}"));
    let actions: Vec<&str> = rows.iter().filter_map(|row| row["action"].as_str()).collect();
    for action in [
        "sandbox_create",
        "sandbox_pause",
        "sandbox_connect",
        "sandbox_kill",
        "sandbox_process_start",
        "sandbox_file_change",
        "sandbox_run_code",
    ] {
        assert!(actions.contains(&action), "{action} is not among {actions:?}");
    }
    let targets: Vec<&str> = rows.iter().filter_map(|row| row["target"].as_str()).collect();
    for what in [
        "echo started",
        "write note",
        "make directory below",
        "python: 1 + 1",
    ] {
        let target = format!("{id}: {what}");
        assert!(targets.contains(&&*target), "{target} is not among {targets:?}");
    }
    assert!(scene.say(&["audit", "verify"]).contains("whole"));
    scene.say(&["sandbox", "kill", id]);
    scene.end();
}
