//! A server that is killed takes its sandboxes with it, whatever state they are in.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::sandbox_suite::Plot;
use crate::sandbox_suite::standing::{started, stood};
use crate::support::{bubblewrap, until};

/// The server that is killed in these tests. Run as a test, it has nobody at its standard input, and ends.
#[tokio::test]
async fn victim() {
    let mut word = String::new();
    let _ = std::io::stdin().read_line(&mut word);
    let Some((word, state)) = word.trim().split_once(' ') else {
        return;
    };
    let plot = Plot::new();
    let sandbox = bubblewrap();
    let first = stood(&sandbox, plot.site_of("first", None).await).await;
    first.freeze().await.unwrap();
    plot.grounds().snapshot("first", "snap-1").await.unwrap();
    let second = stood(&sandbox, plot.site_of("second", Some("snap-1")).await).await;
    let (_, _events) = started(
        &second,
        &format!("trap '' TERM; exec setsid bash -c 'while :; do sleep 100; done' {word}"),
    )
    .await;
    if state == "frozen" {
        second.freeze().await.unwrap();
    }
    let mut said = std::io::stderr();
    writeln!(said, "ready {}", plot.path().display()).unwrap();
    std::future::pending::<()>().await;
}

/// A server that is killed, also when a test fails before it comes to that.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // Whoever was killed already needs it no more.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[expect(clippy::disallowed_methods, reason = "a server of its own, to be killed")]
fn begin(word: &str, state: &str) -> (Server, PathBuf) {
    let server = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "standing::server::victim", "--nocapture"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut server = Server(server);
    writeln!(server.0.stdin.take().unwrap(), "{word} {state}").unwrap();
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

/// Processes that have a word on their command line.
fn with_word(word: &str) -> usize {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|entry| {
        let mut line = Vec::new();
        let mut file = fs::File::open(entry.path().join("cmdline")).ok()?;
        file.read_to_end(&mut line).ok()?;
        Some(String::from_utf8_lossy(&line).into_owned())
    });
    lines.filter(|line| line.contains(word)).count()
}

fn groups_of(server: u32) -> usize {
    let controllers = fs::read_dir("/sys/fs/cgroup").unwrap().flatten();
    let mut all = vec![PathBuf::from("/sys/fs/cgroup")];
    all.extend(controllers.map(|entry| entry.path()));
    let groups = all
        .iter()
        .filter_map(|path| fs::read_dir(path).ok())
        .flatten()
        .flatten();
    let ours = format!("agentyard-{server}-");
    groups
        .filter(|group| group.file_name().to_string_lossy().starts_with(&ours))
        .count()
}

fn dies(state: &str) {
    let word = format!("victim-{state}-{}", std::process::id());
    let (server, directory) = begin(&word, state);
    // While a program takes another's place, it has no command line.
    until(|| (with_word(&word) > 0).then_some(()));
    let number = server.0.id();
    drop(server);
    until(|| (with_word(&word) == 0).then_some(()));
    until(|| (groups_of(number) == 0).then_some(()));
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!mounts.contains(directory.to_str().unwrap()), "{mounts}");
    fs::remove_dir_all(directory).unwrap();
}

#[test]
fn a_server_that_is_killed_leaves_nothing_of_sandboxes_that_run() {
    dies("running");
}

#[test]
fn a_server_that_is_killed_leaves_nothing_of_sandboxes_that_are_frozen() {
    dies("frozen");
}
