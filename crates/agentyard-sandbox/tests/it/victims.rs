//! Servers that are killed: this program again, as one of its tests, which has nobody at its standard input otherwise.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// What a server was told, in the test that it is. Nothing, where that is run as a test.
pub(crate) fn told() -> String {
    let mut line = String::new();
    let _ = std::io::stdin().read_line(&mut line);
    line.trim().to_owned()
}

/// Says that everything stands, and which directory is left to whoever kills; and waits for that.
pub(crate) async fn wait_for_the_end(directory: &Path) {
    let mut said = std::io::stderr();
    writeln!(said, "ready {}", directory.display()).unwrap();
    std::future::pending::<()>().await;
}

/// A server that is killed, also when a test fails before it comes to that.
pub(crate) struct Victim(Child);

impl Victim {
    /// Starts the one that is this test, tells it something, and waits until everything stands.
    #[expect(clippy::disallowed_methods, reason = "a server of its own, to be killed")]
    pub(crate) fn begin(test: &str, told: &str) -> (Self, PathBuf) {
        let server = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--nocapture"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut server = Self(server);
        writeln!(server.0.stdin.take().unwrap(), "{told}").unwrap();
        let mut said = String::new();
        for line in BufReader::new(server.0.stderr.as_mut().unwrap()).lines() {
            let line = line.unwrap();
            if let Some(directory) = line.strip_prefix("ready ") {
                return (server, PathBuf::from(directory));
            }
            said += &line;
        }
        panic!("{said}");
    }

    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    /// As `kill -9` does: nobody says goodbye to anybody.
    pub(crate) fn kill(self) {
        drop(self);
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        // Whoever was killed already needs it no more.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// How many processes have a word on their command line.
pub(crate) fn with_word(word: &str) -> usize {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|entry| {
        let line = fs::read(entry.path().join("cmdline")).ok()?;
        Some(String::from_utf8_lossy(&line).into_owned())
    });
    lines.filter(|line| line.contains(word)).count()
}
