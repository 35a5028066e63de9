//! The binary under test, in an environment of its own.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

/// How long anything here may take before a test gives up on it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A place for the binary to run in: an empty home, an empty data directory.
pub(crate) struct Place {
    home: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self {
            home: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    /// The binary, with nothing of this machine's environment but the search path.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_agentyard"));
        command
            .args(arguments)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home())
            .current_dir(self.home())
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// What a command answers in JSON.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

impl Drop for Place {
    /// Trees of workspaces stay mounted when their server ends.
    fn drop(&mut self) {
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let inside = mounts
            .lines()
            .filter_map(|line| line.split(' ').nth(4))
            .filter(|path| Path::new(path).starts_with(self.home()));
        for path in inside {
            let _ = Command::new("umount").args(["--lazy", path]).status();
        }
    }
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The object in a tool's answer.
pub(crate) fn content(answer: &Value) -> Value {
    let text = answer["result"]["content"][0]["text"].as_str();
    serde_json::from_str(text.unwrap_or_else(|| panic!("no text: {answer}"))).unwrap()
}

/// An MCP client over stdio. The server is killed with it.
pub(crate) struct StdioClient {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl StdioClient {
    pub(crate) fn start(place: &Place, directory: &Path, arguments: &[&str]) -> Self {
        let mut command = place.command(&[&["mcp"], arguments].concat());
        Self::of(command.current_dir(directory))
    }

    pub(crate) fn of(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, input, output }
    }

    /// One that has shaken hands in the older era.
    pub(crate) fn initialized(place: &Place, directory: &Path, arguments: &[&str]) -> Self {
        let mut client = Self::start(place, directory, arguments);
        let answer = client.request(1, "initialize", initialize("2025-11-25"));
        assert_eq!(answer["result"]["protocolVersion"], "2025-11-25", "{answer}");
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.send_line(&message.to_string());
    }

    pub(crate) fn send_line(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(line.as_bytes()).unwrap();
        input.write_all(b"\n").unwrap();
        input.flush().unwrap();
    }

    pub(crate) fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        assert!(!line.is_empty(), "the server closed its side");
        serde_json::from_str(&line).unwrap()
    }

    /// Sends a request and waits for its answer, passing over notifications.
    pub(crate) fn request(&mut self, id: u64, method: &str, params: Value) -> Value {
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        self.answer_to(id)
    }

    pub(crate) fn answer_to(&mut self, id: u64) -> Value {
        loop {
            let message = self.receive();
            if message["id"] == id {
                return message;
            }
        }
    }

    pub(crate) fn call(&mut self, id: u64, tool: &str, arguments: Value) -> Value {
        self.request(id, "tools/call", json!({ "name": tool, "arguments": arguments }))
    }

    /// Calls a tool that runs something, and what it answers once that has ended: on a busy machine after some calls.
    pub(crate) fn run_to_its_end(&mut self, id: u64, tool: &str, arguments: Value) -> Value {
        let mut ran = content(&self.call(id, tool, arguments));
        while ran["running"] == true {
            ran = content(&self.call(id, tool, json!({ "run": ran["run"] })));
        }
        ran
    }

    /// Closes its side, and goes on reading.
    pub(crate) fn end_input(&mut self) {
        drop(self.input.take());
    }

    /// Closes its side, and waits for the server to end by itself.
    pub(crate) fn close(mut self) -> (bool, String) {
        drop(self.input.take());
        let started = Instant::now();
        while started.elapsed() < PATIENCE {
            if let Some(status) = self.child.try_wait().unwrap() {
                let mut log = String::new();
                if let Some(mut stderr) = self.child.stderr.take() {
                    std::io::Read::read_to_string(&mut stderr, &mut log).unwrap();
                }
                return (status.success(), log);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("the server did not end when its client left");
    }

    /// Closes both pipes at once, as the kernel does for a client that was killed, and says
    /// whether the server ended then.
    pub(crate) fn vanish(self) -> bool {
        let mut this = std::mem::ManuallyDrop::new(self);
        drop(this.input.take());
        let (reader, writer) = std::io::pipe().unwrap();
        drop(writer);
        drop(std::mem::replace(
            &mut this.output,
            BufReader::new(ChildStdout::from(std::os::fd::OwnedFd::from(reader))),
        ));
        let started = Instant::now();
        while started.elapsed() < PATIENCE {
            if this.child.try_wait().unwrap().is_some() {
                return true;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = this.child.kill();
        false
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for StdioClient {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn initialize(revision: &str) -> Value {
    json!({
        "protocolVersion": revision,
        "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" },
    })
}

/// What every request of the newer era carries.
pub(crate) fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

/// A server. It is stopped with its value.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: String,
    /// What it said when it started.
    pub(crate) greeting: String,
}

impl Server {
    pub(crate) fn start(place: &Place, arguments: &[&str]) -> Self {
        let port = free_port();
        let address = format!("127.0.0.1:{port}");
        let mut command = place.command(&[&["serve", "--listen", &address], arguments].concat());
        Self::of(command.stderr(Stdio::null()), &address)
    }

    pub(crate) fn of(command: &mut Command, address: &str) -> Self {
        Self::try_of(command, address).expect("the server goes on")
    }

    /// None when it ends at once, as it does when somebody else was given its port meanwhile.
    pub(crate) fn try_of(command: &mut Command, address: &str) -> Option<Self> {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut greeting = String::new();
        let started = Instant::now();
        while std::net::TcpStream::connect(address).is_err() {
            assert!(started.elapsed() < PATIENCE, "the server did not start");
            if child.try_wait().unwrap().is_some() {
                return None;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        // The last line of its greeting says where it listens.
        while !greeting.contains("listens on") {
            if output.read_line(&mut greeting).unwrap() == 0 {
                child.wait().unwrap();
                return None;
            }
        }
        Some(Self {
            child,
            address: address.to_owned(),
            greeting,
        })
    }

    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Asks it to stop, and waits until it has.
    pub(crate) fn terminate(mut self) -> bool {
        let killed = Command::new("kill")
            .arg(self.child.id().to_string())
            .status()
            .unwrap();
        assert!(killed.success());
        let started = Instant::now();
        while started.elapsed() < PATIENCE {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.success();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        false
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port()
}
