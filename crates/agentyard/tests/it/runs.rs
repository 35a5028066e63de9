//! Commands: at a terminal, over REST with its streams, over MCP; and that nothing of them stays.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use agentyard_testkit::TestRepository;
use serde_json::{Value, json};

use crate::support::{PATIENCE, Place, Server, StdioClient, content, text};

/// Runs commands on the host, where their process numbers are those that a test sees.
pub(crate) const ON_HOST: [&str; 4] = [
    "--set",
    "sandbox.backend=host",
    "--set",
    "sandbox.allow_host=true",
];

/// Waits for a file called `go`.
pub(crate) const WAIT_FOR_GO: &str = "until test -e go; do sleep 0.01; done";

/// Leaves a daemon behind, and waits.
const FOR_EVER: &str = "setsid sh -c 'echo $$ > daemon; exec sleep 1000' & echo $$ > shell; exec sleep 1000";

struct Yard {
    place: Place,
    repository: TestRepository,
}

impl Yard {
    fn new() -> Self {
        let makefile = "all:\n\t@echo made $(WHAT)\nfail:\n\t@echo oh >&2; exit 3\n";
        Self {
            place: Place::new(),
            repository: TestRepository::with_commit("Makefile", makefile),
        }
    }

    fn root(&self) -> String {
        self.repository.path().display().to_string()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.repository.path().join(name)
    }

    /// The command line, in the repository.
    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = self.place.command(&[&ON_HOST, arguments].concat());
        command.current_dir(self.repository.path()).output().unwrap()
    }

    fn serve(&self, settings: &[&str]) -> Server {
        let root = self.root();
        let options = ["--auth", "none", "--root", root.as_str()];
        Server::start(&self.place, &[&options, &ON_HOST[..], settings].concat())
    }

    /// Asks for a script to be run, and for its events.
    fn stream(&self, server: &Server, script: &str) -> EventStream {
        let body = json!({ "workspace": self.root(), "command": ["sh", "-c", script] }).to_string();
        EventStream::open(server, "POST /api/v1/build/run_command", "", &body)
    }

    fn number(&self, name: &str) -> u32 {
        let path = self.file(name);
        until(|| fs::read_to_string(&path).ok()?.trim().parse().ok())
    }

    /// What [`FOR_EVER`] has started.
    fn started(&self) -> [u32; 2] {
        [self.number("daemon"), self.number("shell")]
    }
}

/// Server-sent events, read by hand.
struct EventStream {
    status: u16,
    lines: BufReader<TcpStream>,
}

#[derive(Debug)]
struct Event {
    id: Option<u64>,
    name: String,
    data: Value,
}

impl EventStream {
    fn open(server: &Server, target: &str, headers: &str, body: &str) -> Self {
        let mut stream = TcpStream::connect(&server.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let request = format!(
            "{target} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nAccept: text/event-stream\r\n{headers}\
             Content-Length: {}\r\n\r\n{body}",
            server.address,
            body.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut lines = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(lines.read_line(&mut head).unwrap() > 0, "{head}");
        }
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Self { status, lines }
    }

    fn follow(server: &Server, run: &str, last_event: u64) -> Self {
        let target = format!("GET /api/v1/runs/{run}/events");
        Self::open(server, &target, &format!("Last-Event-ID: {last_event}\r\n"), "")
    }

    /// The next event, or nothing at the end. Lengths of chunks stand between the lines and mean nothing here.
    fn next(&mut self) -> Option<Event> {
        let (mut id, mut name, mut line) = (None, String::new(), String::new());
        loop {
            line.clear();
            if self.lines.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            let trimmed = line.trim_end();
            if let Some(number) = trimmed.strip_prefix("id: ") {
                id = number.parse().ok();
            } else if let Some(event) = trimmed.strip_prefix("event: ") {
                event.clone_into(&mut name);
            } else if let Some(data) = trimmed.strip_prefix("data: ") {
                let data = serde_json::from_str(data).unwrap();
                return Some(Event { id, name, data });
            }
        }
    }

    fn until(&mut self, name: &str) -> Event {
        loop {
            let event = self.next().unwrap_or_else(|| panic!("no {name}"));
            if event.name == name {
                return event;
            }
        }
    }

    /// What was said on a stream, and the last event.
    fn rest(&mut self, name: &str) -> (String, Event) {
        let (mut said, mut last) = (String::new(), None);
        while let Some(event) = self.next() {
            if event.name == name {
                said.push_str(event.data["text"].as_str().unwrap());
            }
            last = Some(event);
        }
        (said, last.unwrap())
    }
}

fn until<T>(mut found: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(started.elapsed() < PATIENCE, "it never came");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn all_end(numbers: &[u32]) {
    until(|| numbers.iter().all(|number| !lives(*number)).then_some(()));
}

fn lives(number: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{number}/stat"));
    stat.is_ok_and(|stat| {
        !stat
            .rsplit(')')
            .next()
            .unwrap()
            .trim_start()
            .starts_with(['Z', 'X'])
    })
}

#[test]
fn commands_are_refused_on_a_host_that_is_not_allowed() {
    let yard = Yard::new();
    let mut command = yard.place.command(&["--set", "sandbox.backend=host", "make"]);
    let output = command.current_dir(yard.repository.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(
        text(&output.stderr).contains("sandbox.allow_host"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn commands_run_in_a_sandbox_when_nobody_says_otherwise() {
    let yard = Yard::new();
    let script = "pwd; echo $HOME; ls -A; echo made > new; id -u; echo kept > $HOME/cache";
    let run = |script: &str| {
        let mut command = yard.place.command(&["run", "command", "--", "sh", "-c", script]);
        command.current_dir(yard.repository.path()).output().unwrap()
    };
    let output = run(script);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines[..2], ["/workspace", "/home/agent"], "{said}");
    assert!(lines.contains(&"Makefile"), "{said}");
    assert_ne!(lines.last(), Some(&"0"), "nothing inside is root");
    // What it wrote belongs to whom the tree belongs.
    let owner = |name: &str| fs::metadata(yard.file(name)).unwrap().uid();
    assert_eq!(fs::read_to_string(yard.file("new")).unwrap(), "made\n");
    assert_eq!(owner("new"), owner("Makefile"));
    // The git directory and the host are not there; the home directory stays.
    let output = run("cat $HOME/cache; cat .git/HEAD; cat /etc/shadow; test -w /usr && echo open; true");
    assert_eq!(text(&output.stdout), "kept\n", "{}", text(&output.stderr));
}

#[test]
fn a_command_line_shows_output_and_ends_as_the_command_does() {
    let yard = Yard::new();
    let output = yard.run(&["make", "all", "--variables", "WHAT=it"]);
    assert_eq!(text(&output.stdout), "made it\n", "{}", text(&output.stderr));
    assert_eq!(output.status.code(), Some(0));
    let output = yard.run(&[
        "run",
        "command",
        "--",
        "sh",
        "-c",
        "echo out; echo err >&2; exit 5",
    ]);
    assert_eq!(text(&output.stdout), "out\n");
    assert_eq!(text(&output.stderr), "err\n");
    assert_eq!(output.status.code(), Some(5));
    let output = yard.run(&["run", "command", "--", "sh", "-c", "kill -9 $$"]);
    assert_eq!(output.status.code(), Some(137));
    let output = yard.run(&["run", "command", "--json", "--", "sh", "-c", "echo out; exit 5"]);
    let lines: Vec<Value> = text(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(
        lines
            .iter()
            .any(|line| line["event"] == "stdout" && line["text"] == "out\n")
    );
    assert_eq!(lines.last().unwrap()["event"], "complete");
    assert_eq!(lines.last().unwrap()["exit_code"], 5);
    assert_eq!(output.status.code(), Some(5));
}

#[test]
fn a_command_line_shows_what_a_server_runs() {
    let yard = Yard::new();
    let server = yard.serve(&[]);
    let (root, url) = (yard.root(), server.url());
    let output = yard.run(&["make", "fail", "--workspace", &root, "--server", &url]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(
        text(&output.stderr).starts_with("oh\n"),
        "{}",
        text(&output.stderr)
    );
    let refused = yard.run(&["make", "--workspace", "/nowhere", "--server", &url]);
    assert_eq!(refused.status.code(), Some(3), "{}", text(&refused.stderr));
}

#[test]
fn events_come_as_they_happen_and_can_be_resumed() {
    let yard = Yard::new();
    let server = yard.serve(&["--set", "build.linger_ms=60000"]);
    let mut first = yard.stream(&server, &format!("echo one; {WAIT_FOR_GO}; echo two; exit 4"));
    assert_eq!(first.status, 200);
    let prepared = first.until("progress");
    let run = until(|| match prepared.data["run"].as_str() {
        Some(run) => Some(run.to_owned()),
        None => first.until("progress").data["run"]
            .as_str()
            .map(ToOwned::to_owned),
    });
    let said = first.until("stdout");
    assert_eq!(said.data["text"], "one\n");
    let mut second = EventStream::follow(&server, &run, 0);
    assert_eq!(second.until("stdout").data["text"], "one\n");
    // One is cut off, and comes back for the rest.
    drop(first);
    let mut back = EventStream::follow(&server, &run, said.id.unwrap());
    fs::write(yard.file("go"), "").unwrap();
    for stream in [&mut second, &mut back] {
        let (rest, last) = stream.rest("stdout");
        assert_eq!(rest, "two\n");
        assert_eq!(
            (last.name.as_str(), &last.data["exit_code"]),
            ("complete", &json!(4))
        );
    }
    // Who has seen all is told not to come back.
    let (_, last) = EventStream::follow(&server, &run, 0).rest("stdout");
    assert_eq!(EventStream::follow(&server, &run, last.id.unwrap()).status, 204);
    assert_eq!(EventStream::follow(&server, "run_0", 0).status, 400);
    assert_eq!(
        EventStream::follow(&server, "run_00000000000000000000000000000000", 0).status,
        404
    );
    assert!(server.terminate());
}

#[test]
fn any_change_can_be_watched() {
    let yard = Yard::new();
    let server = yard.serve(&[]);
    let body = json!({ "path": yard.root(), "mode": "create", "branch_name": "topic" }).to_string();
    let (_, last) = EventStream::open(&server, "POST /api/v1/git/branch", "", &body).rest("-");
    assert_eq!(last.name, "complete", "{last:?}");
    let body = json!({ "path": yard.root(), "mode": "delete", "branch_name": "absent", "confirm": true })
        .to_string();
    let (_, last) = EventStream::open(&server, "POST /api/v1/git/branch", "", &body).rest("-");
    assert_eq!(last.name, "error", "{last:?}");
    assert!(last.data["error"]["message"].is_string(), "{last:?}");
}

#[test]
fn a_client_that_leaves_stops_the_work() {
    let yard = Yard::new();
    let server = yard.serve(&["--set", "build.linger_ms=0"]);
    let stream = yard.stream(&server, FOR_EVER);
    let started = yard.started();
    drop(stream);
    all_end(&started);
}

#[test]
fn a_stopping_server_ends_its_runs() {
    let yard = Yard::new();
    let server = yard.serve(&["--set", "http.drain_seconds=0"]);
    let _stream = yard.stream(&server, FOR_EVER);
    let started = yard.started();
    assert!(server.terminate());
    assert!(started.iter().all(|number| !lives(*number)));
}

#[test]
fn nothing_outlives_a_server_that_is_killed() {
    let yard = Yard::new();
    let server = yard.serve(&[]);
    let _stream = yard.stream(&server, FOR_EVER);
    let started = yard.started();
    // Dropping it kills it outright.
    drop(server);
    all_end(&started);
}

#[test]
fn a_killed_command_line_takes_its_command_along() {
    let yard = Yard::new();
    let mut command = yard
        .place
        .command(&[&["run", "command"], &ON_HOST[..], &["--", "sh", "-c", FOR_EVER]].concat());
    command.current_dir(yard.repository.path());
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let started = yard.started();
    child.kill().unwrap();
    child.wait().unwrap();
    all_end(&started);
}

#[test]
fn mcp_shows_lines_waits_on_and_cancels() {
    let yard = Yard::new();
    let mut client = StdioClient::initialized(&yard.place, yard.repository.path(), &ON_HOST);
    let script = format!("echo one; echo 'a line'; {WAIT_FOR_GO}; echo two");
    let arguments = json!({ "command": ["sh", "-c", script], "wait_ms": 0 });
    let begun = content(&client.call(2, "run_command", arguments));
    assert_eq!(begun["running"], true, "{begun}");
    let run = &begun["run"];
    // Goes on while the client waits again, with the newest line shown.
    let params = json!({
        "name": "run_command",
        "arguments": { "run": run, "after": begun["after"] },
        "_meta": { "progressToken": 7 },
    });
    client.send(&json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": params }));
    loop {
        let message = client.receive();
        assert!(message["id"].is_null(), "{message}");
        if message["params"]["message"] == "a line" {
            break;
        }
    }
    fs::write(yard.file("go"), "").unwrap();
    let ended = content(&client.answer_to(3));
    assert_eq!(ended["exit_code"], 0, "{ended}");
    assert!(ended["stdout"].as_str().unwrap().ends_with("two\n"), "{ended}");
    // A call that is cancelled takes its run along.
    let params = json!({ "name": "run_command", "arguments": { "command": ["sh", "-c", FOR_EVER] } });
    client.send(&json!({ "jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": params }));
    let started = yard.started();
    client.send(
        &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 4 } }),
    );
    all_end(&started);
    assert!(client.close().0);
}
