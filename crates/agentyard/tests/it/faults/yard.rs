//! A data directory, a remote, and a server on them that is killed again and again.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Place, Server, free_port, text};

/// How long after a restart something of the life before may still be there.
pub(super) const SETTLING: Duration = Duration::from_secs(10);

/// No call takes so long.
const CALL: Duration = Duration::from_secs(60);

/// What is left over when a server is killed is taken away with this value: processes first, then mounts, then files.
pub(super) struct Yard {
    place: Place,
    settings: Vec<String>,
}

/// What a server answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

/// The server was gone before its answer was whole, so nobody knows what came of the call.
#[derive(Debug)]
pub(crate) struct Lost;

impl Answer {
    /// The answer to a call that must not fail.
    pub(super) fn done(self, call: &str) -> Value {
        assert!(self.status < 300, "{call}: {self:?}");
        self.body
    }
}

impl Yard {
    /// A remote with one commit on `main`, and no server yet.
    pub(super) fn new(settings: &[&str]) -> Self {
        let committer = [
            "git.author_name=agent",
            "git.author_email=agent@example.com",
            "git.committer_name=agent",
            "git.committer_email=agent@example.com",
        ];
        let settings = settings.iter().chain(&committer);
        let yard = Self {
            place: Place::new(),
            settings: settings.map(|setting| (*setting).to_owned()).collect(),
        };
        let remote = yard.remote();
        let remote = remote.to_str().unwrap();
        git(
            yard.home(),
            &["init", "--quiet", "--bare", "--initial-branch=main", remote],
        );
        yard.commit_at_remote(0);
        yard
    }

    pub(super) fn home(&self) -> &Path {
        self.place.home()
    }

    pub(super) fn data(&self) -> PathBuf {
        self.home().join("data")
    }

    pub(super) fn remote(&self) -> PathBuf {
        self.home().join("project.git")
    }

    /// The one mirror that there is.
    pub(super) fn mirror(&self) -> PathBuf {
        let mut found = fs::read_dir(self.data().join("repos")).unwrap().flatten();
        let mirror = found.find(|entry| entry.path().extension().is_some_and(|name| name == "git"));
        mirror.unwrap().path()
    }

    /// Somebody else pushes a commit to `main` of the remote.
    pub(super) fn commit_at_remote(&self, number: usize) {
        let from = if number == 0 {
            ""
        } else {
            "from refs/heads/main^0\n"
        };
        let stream = format!(
            "commit refs/heads/main\ncommitter other <other@example.com> now\ndata 5\nother\n{from}\
             M 644 inline other/{number}.txt\ndata 6\nother\n\n"
        );
        let mut child = Command::new("git")
            .args(["fast-import", "--quiet", "--date-format=now"])
            .env("GIT_DIR", self.remote())
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(stream.as_bytes()).unwrap();
        assert!(child.wait().unwrap().success());
    }

    pub(super) fn start(&self) -> Server {
        // Calls use up ports as well, so one that was free need not be so any more.
        (0..5)
            .find_map(|_| self.try_start())
            .expect("a server on some port")
    }

    fn try_start(&self) -> Option<Server> {
        let address = format!("127.0.0.1:{}", free_port());
        let (data, home) = (self.data(), self.home().display().to_string());
        let mut arguments = vec!["serve", "--listen", &address, "--auth", "none", "--root", &home];
        arguments.extend(["--data-dir", data.to_str().unwrap()]);
        for setting in &self.settings {
            arguments.extend(["--set", setting]);
        }
        let log = fs::File::options()
            .create(true)
            .append(true)
            .open(self.home().join("log"));
        Server::try_of(self.place.command(&arguments).stderr(log.unwrap()), &address)
    }

    /// What the servers said so far.
    pub(super) fn log(&self) -> String {
        fs::read_to_string(self.home().join("log")).unwrap_or_default()
    }

    /// Registers the remote, so that it can be called `project`.
    pub(super) fn register(&self, address: &str) {
        let request = json!({ "url": self.remote(), "name": "project" });
        call(address, "POST", "/repos", &request)
            .unwrap()
            .done("repo_add");
    }

    /// Waits until nothing is half made or half removed, and nothing runs or is mounted that should not be.
    pub(super) fn wait_until_settled(&self, address: &str) {
        let started = Instant::now();
        loop {
            let listed = call(address, "GET", "/workspaces?limit=100", &Value::Null).unwrap();
            let rows = listed.done("workspace_list")["workspaces"]
                .as_array()
                .unwrap()
                .clone();
            let unfinished: Vec<&Value> = rows.iter().filter(|row| row["state"] != "open").collect();
            // A tree is called after its branch, and a hash of that.
            let open: BTreeSet<&str> = rows.iter().filter_map(|row| row["branch"].as_str()).collect();
            let is_open = |mount: &PathBuf| {
                let name = mount.file_name().unwrap().to_str().unwrap();
                open.contains(name.rsplit_once('-').map_or(name, |(branch, _)| branch))
            };
            let mut stray = self.mounts();
            stray.retain(|mount| !is_open(mount));
            if unfinished.is_empty() && stray.is_empty() {
                return;
            }
            assert!(
                started.elapsed() < SETTLING,
                "unfinished: {unfinished:?}, mounted: {stray:?}\n{}",
                self.log()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until no process works here.
    pub(super) fn wait_until_still(&self) {
        let started = Instant::now();
        while let Some(process) = self.processes().first() {
            assert!(started.elapsed() < SETTLING, "{process} is left over");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// What is mounted below the home directory.
    pub(super) fn mounts(&self) -> Vec<PathBuf> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        mounts
            .lines()
            .filter_map(|line| line.split(' ').nth(4).map(PathBuf::from))
            .filter(|path| path.starts_with(self.home()))
            .collect()
    }

    /// The processes that work below the home directory or were told of it, by number and name.
    fn processes(&self) -> Vec<String> {
        let home = self.home().to_str().unwrap().as_bytes();
        let own = std::process::id().to_string();
        let mut found = Vec::new();
        for process in fs::read_dir("/proc").unwrap().flatten() {
            let number = process.file_name().to_string_lossy().into_owned();
            if number == own || !number.bytes().all(|byte| byte.is_ascii_digit()) {
                continue;
            }
            let told = ["cmdline", "environ"].iter().any(|file| {
                let told = fs::read(process.path().join(file)).unwrap_or_default();
                told.windows(home.len()).any(|window| window == home)
            });
            let stands = fs::read_link(process.path().join("cwd"));
            if told || stands.is_ok_and(|directory| directory.starts_with(self.home())) {
                let name = fs::read_to_string(process.path().join("comm")).unwrap_or_default();
                found.push(format!("process {number} ({})", name.trim()));
            }
        }
        found
    }

    /// Lock files of git in the mirror and the remote.
    pub(super) fn lock_files(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut directories = vec![self.mirror(), self.remote()];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(directory).unwrap().flatten() {
                let path = entry.path();
                if entry.file_type().unwrap().is_dir() {
                    directories.push(path);
                } else if path.extension().is_some_and(|extension| extension == "lock") {
                    found.push(path);
                }
            }
        }
        found
    }

    /// Nothing in the repositories is broken or missing.
    pub(super) fn check_objects(&self) {
        for repository in [self.mirror(), self.remote()] {
            git(
                &repository,
                &["fsck", "--strict", "--no-dangling", "--no-progress"],
            );
        }
    }
}

impl Drop for Yard {
    fn drop(&mut self) {
        for mount in self.mounts().iter().rev() {
            let _ = Command::new("umount").arg("--lazy").arg(mount).status();
        }
    }
}

/// One call over REST.
pub(crate) fn call(address: &str, method: &str, path: &str, body: &Value) -> Result<Answer, Lost> {
    let body = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    let request = format!(
        "{method} /api/v1{path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut answer = Vec::new();
    let exchanged = TcpStream::connect(address).and_then(|mut stream| {
        stream.set_read_timeout(Some(CALL))?;
        stream.write_all(request.as_bytes())?;
        stream.read_to_end(&mut answer)
    });
    if let Err(error) = exchanged {
        let hangs = matches!(
            error.kind(),
            std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
        );
        assert!(!hangs, "{method} {path} {body} is not answered");
        return Err(Lost);
    }
    let answer = String::from_utf8(answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").ok_or(Lost)?;
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.trim().parse::<usize>().unwrap())
    });
    if length.is_some_and(|length| length != body.len()) {
        return Err(Lost);
    }
    Ok(Answer {
        status: head.split(' ').nth(1).unwrap().parse().unwrap(),
        body: serde_json::from_str(body).map_err(|_| Lost)?,
    })
}

/// What git says, in a directory, as a person would ask it.
pub(super) fn git(directory: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .arg("--no-optional-locks")
        .args(arguments)
        .current_dir(directory)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "git {arguments:?}: {}{}",
        text(&output.stdout),
        text(&output.stderr)
    );
    text(&output.stdout)
}
