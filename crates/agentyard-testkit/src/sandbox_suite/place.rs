//! Places in which commands and sandboxes that stay are tried.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use agentyard_sandbox::{
    Access, Command, CommandError, Event, Exit, Grounds, Limits, Mount, Network, Reach, Running,
    SANDBOX_USER, Sandbox, Site, Stream,
};
use tempfile::TempDir;

/// How long anything may take before a test fails.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// Where programs are on every machine.
const SEARCH_PATH: &str = "/usr/bin:/bin";

/// A directory in which commands work.
#[derive(Debug)]
pub struct Place {
    directory: TempDir,
}

impl Default for Place {
    fn default() -> Self {
        Self::new()
    }
}

impl Place {
    /// An empty one.
    #[must_use]
    pub fn new() -> Self {
        Self {
            directory: tempfile::tempdir().expect("a directory"),
        }
    }

    /// Where it is on this machine.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The place as a command sees it.
    #[must_use]
    pub fn mount(&self, at: &str, access: Access) -> Mount {
        Mount {
            source: File::open(self.path()).expect("the directory").into(),
            host_path: self.path().to_owned(),
            at: PathBuf::from(at),
            access,
        }
    }

    /// A command that works here.
    #[must_use]
    pub fn command(&self, words: &[&str]) -> Command {
        Command {
            program: words[0].to_owned(),
            arguments: words[1..].iter().map(|word| (*word).to_owned()).collect(),
            mounts: vec![self.mount("/workspace", Access::ReadWrite)],
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
}

/// A shell script that is run in a place.
#[must_use]
pub fn shell(place: &Place, script: &str) -> Command {
    place.command(&["sh", "-c", script])
}

/// All that a command did.
#[derive(Debug)]
pub struct Ended {
    /// What it said on standard output.
    pub stdout: String,
    /// What it said on standard error.
    pub stderr: String,
    /// How it ended.
    pub exit: Exit,
}

/// Waits for the end of a command.
///
/// # Errors
/// When it could not be started, or was lost.
pub async fn finish(running: &mut Running) -> Result<Ended, CommandError> {
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    loop {
        match running.next().await? {
            Event::Output(Stream::Stdout, bytes) => stdout.extend(bytes),
            Event::Output(Stream::Stderr, bytes) => stderr.extend(bytes),
            Event::Ended(exit) => {
                return Ok(Ended {
                    stdout: text(stdout),
                    stderr: text(stderr),
                    exit,
                });
            }
        }
    }
}

/// Runs a command to its end.
pub(super) async fn run(sandbox: &dyn Sandbox, command: Command) -> Ended {
    let mut running = sandbox.start(command).await.expect("it was started");
    finish(&mut running).await.expect("it has ended")
}

/// Grounds on which sandboxes of this machine stand, which go with the test.
#[derive(Debug)]
pub struct Plot {
    directory: TempDir,
    grounds: Grounds,
}

impl Default for Plot {
    fn default() -> Self {
        Self::new()
    }
}

impl Plot {
    /// Empty ones, for the user of sandboxes.
    #[must_use]
    pub fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let is_root =
            fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0);
        let owner = is_root.then_some((SANDBOX_USER, SANDBOX_USER));
        let grounds = Grounds::open(directory.path().to_owned(), owner).expect("grounds");
        Self { directory, grounds }
    }

    /// The grounds themselves.
    #[must_use]
    pub fn grounds(&self) -> &Grounds {
        &self.grounds
    }

    /// Where they are on this machine.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// A sandbox that is not there yet.
    pub async fn site(&self) -> Site {
        let number = self.grounds.list().await.expect("a list").len();
        self.site_of(&format!("sandbox-{number}"), None).await
    }

    /// A sandbox of this name, new or as it was, or made from a snapshot.
    pub async fn site_of(&self, id: &str, from: Option<&str>) -> Site {
        Site {
            mounts: self.grounds.prepare(id, from).await.expect("directories"),
            ..remote_site()
        }
    }
}

/// A sandbox whose directories are its keeper's.
#[must_use]
pub fn remote_site() -> Site {
    Site {
        image: None,
        mounts: Vec::new(),
        environment: vec![("PATH".to_owned(), SEARCH_PATH.to_owned())],
        reach: Reach::default(),
        limits: Limits::default(),
        lifetime: Duration::from_secs(300),
    }
}

/// A word that no other process has on its command line.
pub(super) fn unique() -> String {
    let place = tempfile::tempdir().expect("a directory");
    let name = place
        .path()
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    format!("marked{}", name.unwrap_or_default())
}

/// Whether a process with this word on its command line lives on this machine.
pub(super) fn lives(word: &str) -> bool {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut lines = processes.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.any(|line| {
        let mut words = line.split(|byte| *byte == 0);
        words.any(|found| found == word.as_bytes())
    })
}

/// Waits for something to come true.
pub(super) async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < PATIENCE, "it never came: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
