//! Git in sandboxes: a real repository over HTTP, a real sandbox, and the binary between them.

use std::path::{Path, PathBuf};
use std::process::Command;

use agentyard_testkit::TestRepository;
use serde_json::{Value, json};

use crate::git_host::GitHost;
use crate::support::{Place, StdioClient, content, text};

const TOKEN: &str = "tok/5ec7e7+5ec7e75ec7e75ec7e7";

/// `me:` and the token, as Basic authorization has them.
const ENCODED: &str = "bWU6dG9rLzVlYzdlNys1ZWM3ZTc1ZWM3ZTc1ZWM3ZTc=";

struct Scene {
    place: Place,
    host: GitHost,
    address: String,
    repositories: tempfile::TempDir,
}

/// Somebody who calls tools, one after the other.
struct Agent {
    client: StdioClient,
    calls: u64,
}

impl Agent {
    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.calls += 1;
        self.client.call(10 + self.calls, tool, arguments)
    }

    fn done(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.call(tool, arguments);
        assert_ne!(answer["result"]["isError"], true, "{tool}: {answer}");
        content(&answer)
    }

    fn refused(&mut self, tool: &str, arguments: Value) -> String {
        let answer = self.call(tool, arguments);
        assert_eq!(answer["result"]["isError"], true, "{tool}: {answer}");
        answer["result"].to_string()
    }

    /// Runs a script where the repository is.
    fn script(&mut self, cloned: &Value, script: &str) {
        let (sandbox, path) = (&cloned["sandbox_id"], &cloned["path"]);
        let arguments = json!({ "sandbox": sandbox, "script": script, "directory": path });
        let ran = self.done("sandbox_run", arguments);
        assert_eq!(ran["exit_code"], 0, "{script}: {ran}");
    }
}

impl Scene {
    fn new() -> Self {
        let place = Place::new();
        let address = own_address();
        let repositories = tempfile::tempdir().unwrap();
        let seed = TestRepository::with_commit("file", "one\n");
        let target = repositories.path().join("a.git").display().to_string();
        seed.git(&["clone", "--quiet", "--bare", ".", &target]);
        let allowed = ["-C", &target, "config", "http.receivepack", "true"];
        assert!(Command::new("git").args(allowed).status().unwrap().success());
        let host = GitHost::start_at(
            &address,
            repositories.path(),
            format!("Basic {ENCODED}"),
            TOKEN.to_owned(),
        );
        Self {
            place,
            host,
            address,
            repositories,
        }
    }

    fn agent(&self) -> Agent {
        let (address, port) = (&self.address, self.host.port);
        let mut command = self.place.command(&["mcp"]);
        command
            .args([
                "--set",
                &format!("git.allowed_hosts={address}"),
                "--set",
                "sandbox.network=full",
            ])
            .args(["--set", &format!("sandbox.registries={address}:{port}")])
            .args(["--set", "git.sandbox_credentials=true"])
            .args(["--set", "log.filter=trace"])
            .env(
                "AGENTYARD_GIT_CREDENTIALS",
                format!("{address}:{port}=me:{TOKEN}"),
            );
        let mut client = StdioClient::of(&mut command);
        client.request(1, "initialize", crate::support::initialize("2025-11-25"));
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        Agent { client, calls: 0 }
    }

    fn clone(&self, agent: &mut Agent, task: &str) -> Value {
        let url = self.host.url("a.git");
        let arguments = json!({ "url": url, "agent": "claude", "task": task });
        agent.done("sandbox_clone", arguments)
    }

    fn bare(&self) -> PathBuf {
        self.repositories.path().join("a.git")
    }

    /// What git says about the repository on the host.
    fn there(&self, words: &[&str]) -> String {
        let output = Command::new("git")
            .arg("-C")
            .arg(self.bare())
            .args(words)
            .output()
            .unwrap();
        assert!(output.status.success(), "{words:?}: {}", text(&output.stderr));
        text(&output.stdout).trim().to_owned()
    }

    /// Somebody else commits to a branch on the host.
    fn somebody_else_commits(&self, branch: &str, file: &str, text: &str) {
        let clone = tempfile::tempdir().unwrap();
        let run = |words: &[&str]| {
            let mut command = Command::new("git");
            command.args(["-c", "user.name=B", "-c", "user.email=b@example.org"]);
            let status = command.args(words).current_dir(clone.path()).status().unwrap();
            assert!(status.success(), "{words:?}");
        };
        let bare = self.bare().display().to_string();
        run(&["clone", "--quiet", "--branch", branch, &bare, "."]);
        std::fs::write(clone.path().join(file), text).unwrap();
        run(&["add", "--all"]);
        run(&["commit", "--quiet", "-m", "theirs"]);
        run(&["push", "--quiet", "origin", &format!("HEAD:{branch}")]);
    }

    /// A hook of the host's repository.
    fn hook(&self, name: &str, script: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        let path = self.bare().join("hooks").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
}

/// An address of this machine at which sandboxes may reach it when they are allowed to: no sandbox reaches what is its
/// server's alone, such as 127.0.0.1.
fn own_address() -> String {
    let socket = std::net::UdpSocket::bind("0.0.0.0:0").unwrap();
    // Nothing is sent by this; it says which address would be used.
    socket
        .connect("198.51.100.1:9")
        .expect("a network that this machine is in");
    socket.local_addr().unwrap().ip().to_string()
}

fn every_file_below(directory: &Path, visit: &mut dyn FnMut(&Path, &[u8])) {
    for entry in std::fs::read_dir(directory).unwrap().flatten() {
        if entry.file_type().unwrap().is_dir() {
            every_file_below(&entry.path(), visit);
        } else if entry.file_type().unwrap().is_file() {
            visit(&entry.path(), &std::fs::read(entry.path()).unwrap_or_default());
        }
    }
}

#[test]
fn work_goes_from_the_remote_into_a_sandbox_and_back() {
    let scene = Scene::new();
    let mut agent = scene.agent();
    let cloned = scene.clone(&mut agent, "42");
    assert_eq!(cloned["agent_branch"], "agent-claude-42");
    assert_eq!(
        (&cloned["base"], &cloned["path"]),
        (&json!("main"), &json!("/workspace/repo"))
    );
    let sandbox = &cloned["sandbox_id"];

    agent.script(&cloned, "echo two >> file; echo new > 'a new file'");
    let status = agent.done("sandbox_status", json!({ "sandbox_id": sandbox }));
    assert_eq!(
        (&status["branch"], &status["clean"]),
        (&json!("agent-claude-42"), &json!(false))
    );
    let changes = status["changes"].as_array().unwrap();
    assert_eq!(changes.len(), 2, "{status}");
    assert_eq!(changes[0], json!({ "path": "file", "unstaged": "M" }));
    assert_eq!(changes[1], json!({ "path": "a new file", "unstaged": "?" }));
    let diff = agent.done("sandbox_diff", json!({ "sandbox_id": sandbox }));
    assert_eq!(
        (&diff["additions"], &diff["deletions"]),
        (&json!(1), &json!(0)),
        "{diff}"
    );
    assert!(diff["patch"].as_str().unwrap().contains("+two"), "{diff}");

    let message = json!({ "sandbox_id": sandbox, "message": "Work\n\nMore" });
    let pushed = agent.done("sandbox_push", message);
    assert_eq!(
        (&pushed["result"], &pushed["attempts"]),
        (&json!("pushed"), &json!(1)),
        "{pushed}"
    );
    assert_eq!(
        scene.there(&["rev-parse", "agent-claude-42"]),
        pushed["commit"].as_str().unwrap()
    );
    assert_eq!(
        scene.there(&["log", "-1", "--format=%an %s", "agent-claude-42"]),
        "claude Work"
    );

    // What is new on the remote goes under it, and the branch that was pushed is replaced.
    scene.somebody_else_commits("main", "theirs", "theirs\n");
    let pulled = agent.done("sandbox_pull", json!({ "sandbox_id": sandbox }));
    assert_eq!(pulled["result"], "rebased", "{pulled}");
    agent.script(&cloned, "test -f theirs && echo three >> file");
    let pushed = agent.done(
        "sandbox_push",
        json!({ "sandbox_id": sandbox, "message": "More", "files": ["file"] }),
    );
    assert_eq!(pushed["result"], "pushed", "{pushed}");
    assert_eq!(
        scene.there(&["rev-list", "--count", "main..agent-claude-42"]),
        "2"
    );

    // Another sandbox for the same task goes on where this one is.
    let again = scene.clone(&mut agent, "42");
    assert_eq!(
        (&again["resumed"], &again["head"]),
        (&json!(true), &pushed["commit"]),
        "{again}"
    );

    agent.done("sandbox_kill", json!({ "sandbox": sandbox }));
    let gone = agent.refused("sandbox_status", json!({ "sandbox_id": sandbox }));
    assert!(gone.contains("sandbox_clone"), "{gone}");
}

#[test]
fn files_in_conflict_are_named_and_nothing_half_done_stays() {
    let scene = Scene::new();
    let mut agent = scene.agent();
    let cloned = scene.clone(&mut agent, "conflict");
    let sandbox = &cloned["sandbox_id"];
    scene.somebody_else_commits("main", "file", "theirs\n");
    agent.script(&cloned, "echo ours > file");
    let uncommitted = agent.refused("sandbox_pull", json!({ "sandbox_id": sandbox }));
    assert!(uncommitted.contains("in no commit"), "{uncommitted}");
    let pushed = agent.done(
        "sandbox_push",
        json!({ "sandbox_id": sandbox, "message": "Ours" }),
    );
    assert_eq!(
        (&pushed["result"], &pushed["conflicts"]),
        (&json!("conflicts"), &json!(["file"])),
        "{pushed}"
    );
    assert_eq!(pushed["commit"], Value::Null);
    let pulled = agent.done("sandbox_pull", json!({ "sandbox_id": sandbox }));
    assert_eq!(
        (&pulled["result"], &pulled["conflicts"]),
        (&json!("conflicts"), &json!(["file"])),
        "{pulled}"
    );
    agent.script(&cloned, "test ! -d .git/rebase-merge && grep -q ours file");
    assert_eq!(scene.there(&["branch", "--list", "agent-claude-conflict"]), "");
}

#[test]
fn a_push_is_tried_again_when_the_remote_moves_and_not_for_ever() {
    let scene = Scene::new();
    let mut agent = scene.agent();
    let cloned = scene.clone(&mut agent, "busy");
    let sandbox = &cloned["sandbox_id"];
    agent.script(&cloned, "echo mine > mine");
    let pushed = agent.done(
        "sandbox_push",
        json!({ "sandbox_id": sandbox, "message": "Mine" }),
    );
    assert_eq!(pushed["attempts"], 1, "{pushed}");
    // Somebody else's work on the same branch stays.
    scene.somebody_else_commits("agent-claude-busy", "theirs", "theirs\n");
    // And the next push is refused once, as when somebody was faster.
    scene.hook(
        "pre-receive",
        "test -e refused || { touch refused; echo not now >&2; exit 1; }",
    );
    agent.script(&cloned, "echo more > mine");
    let pushed = agent.done(
        "sandbox_push",
        json!({ "sandbox_id": sandbox, "message": "More" }),
    );
    assert_eq!(
        (&pushed["result"], &pushed["attempts"]),
        (&json!("pushed"), &json!(2)),
        "{pushed}"
    );
    assert_eq!(scene.there(&["show", "agent-claude-busy:theirs"]), "theirs");
    assert_eq!(scene.there(&["show", "agent-claude-busy:mine"]), "more");

    scene.hook("pre-receive", "echo never >&2; exit 1");
    agent.script(&cloned, "echo last > mine");
    let refused = agent.refused(
        "sandbox_push",
        json!({ "sandbox_id": sandbox, "message": "Last" }),
    );
    assert!(
        refused.contains("tried 3 times") && refused.contains("never"),
        "{refused}"
    );
}

#[test]
fn the_token_reaches_its_host_and_is_told_to_nobody_else() {
    let scene = Scene::new();
    let mut agent = scene.agent();
    let cloned = scene.clone(&mut agent, "secret");
    // What is in the repository's settings is weaker than what a call brings along.
    let hostile = "git config credential.helper '!cat > /workspace/stolen; echo' && \
                   git config core.fsmonitor 'env > /workspace/stolen; false' && \
                   git config core.hooksPath /workspace/hooks && mkdir -p /workspace/hooks && \
                   printf '#!/bin/sh\\nenv > /workspace/stolen\\n' > /workspace/hooks/pre-push && \
                   chmod +x /workspace/hooks/pre-push && git config remote.origin.url ext::false && \
                   git config url.http://127.0.0.1:9/.insteadOf http:// && \
                   git config url.http://127.0.0.1:9/.pushInsteadOf http:// && \
                   ! grep -r 5ec7e7 .git && ! env | grep 5ec7e7 && echo work > work";
    agent.script(&cloned, hostile);
    let sandbox = &cloned["sandbox_id"];
    agent.done(
        "sandbox_push",
        json!({ "sandbox_id": sandbox, "message": "Work" }),
    );
    agent.done("sandbox_pull", json!({ "sandbox_id": sandbox }));
    agent.script(&cloned, "test ! -e /workspace/stolen");
    // A host that sends back what it was given.
    let denied = json!({ "url": scene.host.url("denied.git"), "agent": "a", "task": "b" });
    let told = agent.refused("sandbox_clone", denied);
    assert!(!told.contains(TOKEN) && !told.contains(ENCODED), "{told}");

    assert!(*scene.host.served.lock().unwrap() >= 3);
    let traces = scene.host.traces.lock().unwrap();
    let arguments: Vec<_> = traces
        .iter()
        .filter(|trace| trace.starts_with("arguments"))
        .collect();
    assert!(arguments.is_empty(), "{arguments:?}");
    drop(traces);
    let (_, log) = agent.client.close();
    assert!(!log.contains(TOKEN) && !log.contains(ENCODED), "the log");
    every_file_below(scene.place.home(), &mut |path, content| {
        let content = String::from_utf8_lossy(content);
        assert!(
            !content.contains(TOKEN) && !content.contains(ENCODED),
            "{}",
            path.display()
        );
    });
}

#[test]
fn addresses_and_names_that_lead_elsewhere_are_refused() {
    let scene = Scene::new();
    let mut agent = scene.agent();
    for url in [
        "file:///etc",
        "/etc",
        "ext::sh -c id",
        "ssh://git@127.0.0.1/a.git",
        "git@127.0.0.1:a.git",
        "--upload-pack=id",
        "http://169.254.169.254/a.git",
        "http://me:secret@127.0.0.1/a.git",
    ] {
        agent.refused("sandbox_clone", json!({ "url": url, "agent": "a", "task": "b" }));
    }
    let url = scene.host.url("a.git");
    for (name, value) in [
        ("agent", "a/../b"),
        ("task", "x y"),
        ("task", ""),
        ("base", "-x"),
        ("base", "a..b"),
    ] {
        let mut arguments = json!({ "url": url, "agent": "a", "task": "b" });
        arguments[name] = json!(value);
        agent.refused("sandbox_clone", arguments);
    }
    let none = agent.done("sandbox_list", json!({}));
    assert_eq!(none["sandboxes"].as_array().map_or(0, Vec::len), 0, "{none}");
}
