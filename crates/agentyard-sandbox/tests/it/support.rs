//! Commands in a temporary directory, and a look at what is left of them.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use agentyard_sandbox::{
    Access, Bubblewrap, BubblewrapSettings, Command, CommandError, DaemonProgram, Event, Exit, Host,
    LeaderProgram, Limits, Mount, Network, Running, SANDBOX_USER, Sandbox, Stream,
};
use tempfile::TempDir;

/// How long anything here may take before the test fails.
const PATIENCE: Duration = Duration::from_secs(30);

/// Where programs are on every machine.
const SEARCH_PATH: &str = "/usr/bin:/bin";

pub(crate) struct Place {
    directory: TempDir,
}

/// All that a command did.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    pub(crate) exit: Option<Exit>,
}

impl Outcome {
    pub(crate) fn exit(&self) -> Exit {
        self.exit.expect("it has ended")
    }

    pub(crate) fn stdout(&self) -> &str {
        std::str::from_utf8(&self.stdout).unwrap()
    }
}

impl Place {
    pub(crate) fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        Command {
            program: words[0].to_owned(),
            arguments: words[1..].iter().map(|word| (*word).to_owned()).collect(),
            mounts: vec![Mount {
                source: File::open(self.directory.path()).unwrap().into(),
                host_path: self.directory.path().to_owned(),
                at: PathBuf::from("/workspace"),
                access: Access::ReadWrite,
            }],
            directory: PathBuf::from("/workspace"),
            hidden: Vec::new(),
            environment: vec![("PATH".to_owned(), SEARCH_PATH.to_owned())],
            input: Vec::new(),
            network: Network::None,
            limits: Limits {
                duration: PATIENCE,
                output_bytes: 1 << 30,
                ..Limits::default()
            },
        }
    }

    pub(crate) fn shell(&self, script: &str) -> Command {
        self.command(&["sh", "-c", script])
    }

    /// Waits until a script has written a process's number here.
    pub(crate) fn number(&self, file: &str) -> u32 {
        let path = self.path().join(file);
        until(|| fs::read_to_string(&path).ok()?.trim().parse().ok())
    }
}

pub(crate) fn leader() -> LeaderProgram {
    LeaderProgram {
        program: std::env::current_exe().unwrap(),
        arguments: ["--exact", "leader", "--nocapture"].map(Into::into).to_vec(),
    }
}

pub(crate) fn host() -> Host {
    Host::new(leader())
}

/// A sandbox as most machines have it, without tools of anybody's own.
pub(crate) fn bubblewrap() -> Bubblewrap {
    Bubblewrap::new(settings())
}

/// This program, as what answers inside sandboxes that stay.
pub(crate) fn daemon() -> DaemonProgram {
    DaemonProgram {
        program: std::env::current_exe().unwrap(),
        arguments: ["--exact", "daemon", "--nocapture"].map(Into::into).to_vec(),
    }
}

pub(crate) fn settings() -> BubblewrapSettings {
    BubblewrapSettings {
        leader: leader(),
        daemon: daemon(),
        search_path: SEARCH_PATH.into(),
        home: None,
        user: (SANDBOX_USER, SANDBOX_USER),
        read_only: Vec::new(),
        egress: None,
        allow_weaker: false,
    }
}

pub(crate) async fn run(command: Command) -> Result<Outcome, CommandError> {
    run_in(&host(), command).await
}

pub(crate) async fn run_in(sandbox: &impl Sandbox, command: Command) -> Result<Outcome, CommandError> {
    let mut running = sandbox.start(command).await?;
    finish(&mut running).await
}

pub(crate) async fn finish(running: &mut Running) -> Result<Outcome, CommandError> {
    let mut outcome = Outcome::default();
    loop {
        match running.next().await? {
            Event::Output(Stream::Stdout, bytes) => outcome.stdout.extend(bytes),
            Event::Output(Stream::Stderr, bytes) => outcome.stderr.extend(bytes),
            Event::Ended(exit) => {
                outcome.exit = Some(exit);
                return Ok(outcome);
            }
        }
    }
}

/// Waits for something to come true.
pub(crate) fn until<T>(mut found: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(started.elapsed() < PATIENCE, "it never came");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether a process lives. One that nobody has buried yet does not.
pub(crate) fn lives(number: u32) -> bool {
    let stat = fs::read_to_string(PathBuf::from(format!("/proc/{number}/stat")));
    stat.is_ok_and(|stat| {
        stat.rsplit(')')
            .next()
            .is_some_and(|rest| !rest.trim_start().starts_with(['Z', 'X']))
    })
}

/// Somebody without any rights.
const SOMEBODY: u32 = 61999;

/// Runs one test of this program as that user.
pub(crate) fn as_somebody(test: &str) {
    as_somebody_through(&[], test);
}

/// The same in a namespace of that user's own, where it may mount.
pub(crate) fn as_somebody_who_mounts(test: &str) {
    let way = [
        "unshare",
        "--user",
        "--map-current-user",
        "--mount",
        "--keep-caps",
    ];
    as_somebody_through(&way, test);
}

#[expect(
    clippy::disallowed_methods,
    reason = "a test that runs itself as somebody else"
)]
fn as_somebody_through(way: &[&str], test: &str) {
    let place = tempfile::tempdir().unwrap();
    fs::set_permissions(place.path(), PermissionsExt::from_mode(0o777)).unwrap();
    // The test binary may be where that user cannot go.
    let program = place.path().join("it");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let program = program.to_str().unwrap();
    let words: Vec<&str> = way
        .iter()
        .copied()
        .chain([program, "--exact", test, "--nocapture"])
        .collect();
    let output = std::process::Command::new(words[0])
        .args(&words[1..])
        .env_clear()
        .env("TMPDIR", place.path())
        .current_dir("/")
        .uid(SOMEBODY)
        .gid(SOMEBODY)
        .output()
        .unwrap();
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("1 passed"), "{said}");
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
