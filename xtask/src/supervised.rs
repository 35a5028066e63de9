//! A server that is gone when we are, however we end.

use std::ffi::OsString;
use std::io::Read;
use std::net::TcpListener;
use std::os::unix::fs::{DirBuilderExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::failure::{Attempt, Failure, Result};
use crate::process::without_settings;

/// Starts its arguments and waits. When standard input closes, which the kernel sees to
/// even when we are killed, it stops the server and removes the folder. Doing this in a
/// shell needs neither a signal handler here nor a crate for one.
const SUPERVISOR: &str = r#"
directory=$1 signal=$2; shift 2
exec 3<&0
"$@" </dev/null 3<&- >"$directory/log" 2>&1 &
server=$!
(
    cat <&3 >/dev/null
    kill -s "$signal" "$server"
    sleep 10 3<&-
    kill -s KILL "$server"
) >/dev/null 2>&1 &
stopper=$!
wait "$server"
status=$?
kill "$stopper" 2>/dev/null
echo "$status" >"$directory/ended"
cat <&3 >/dev/null
rm -rf "$directory"
"#;

/// Whom a server runs as.
#[derive(Clone, Copy)]
pub(crate) struct User {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
}

/// A temporary folder, removed when the value is dropped.
pub(crate) struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// A new folder that only `owner`, or we ourselves, can read.
    pub(crate) fn new(what: &str, owner: Option<User>) -> Result<Self> {
        let path = std::env::temp_dir().join(format!("agentyard-{what}-{}", random_hex(6)?));
        let shown = path.display();
        std::fs::DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .attempt(format!("make the folder {shown}"))?;
        if let Some(user) = owner {
            chown(&path, Some(user.uid), Some(user.gid)).attempt(format!("hand over {shown}"))?;
        }
        Ok(Self { path })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // The supervisor may have been first.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// How a server is started and stopped.
pub(crate) struct Launch {
    /// The program and its arguments.
    pub(crate) command: Vec<OsString>,
    pub(crate) scratch: Scratch,
    /// What asks it to end, as `kill -s` names it.
    pub(crate) stop_signal: &'static str,
    pub(crate) user: Option<User>,
}

/// A running server with its folder and its log.
pub(crate) struct Supervised {
    supervisor: Child,
    scratch: Scratch,
}

impl Supervised {
    pub(crate) fn start(launch: Launch) -> Result<Self> {
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", SUPERVISOR, "supervisor"])
            .arg(launch.scratch.path())
            .arg(launch.stop_signal)
            .args(&launch.command)
            .current_dir(launch.scratch.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Its own group: Ctrl-C at the terminal must not reach it before it has cleaned up.
            .process_group(0);
        if let Some(user) = launch.user {
            command.uid(user.uid).gid(user.gid);
        }
        let supervisor = without_settings(&mut command).spawn().attempt("start a server")?;
        Ok(Self {
            supervisor,
            scratch: launch.scratch,
        })
    }

    /// Waits until `ready` says so, and fails with the log when the server ends first.
    pub(crate) fn wait_until(&mut self, what: &str, mut ready: impl FnMut() -> bool) -> Result {
        let patience = Duration::from_secs(60);
        let started = Instant::now();
        loop {
            if ready() {
                return Ok(());
            }
            if let Some(status) = self.ended() {
                return Err(Failure::new(format!(
                    "{what} ended at once, with status {status}:\n{}",
                    self.log()
                )));
            }
            if started.elapsed() > patience {
                return Err(Failure::new(format!(
                    "{what} was not ready after {} s:\n{}",
                    patience.as_secs(),
                    self.log()
                )));
            }
            std::thread::sleep(Duration::from_millis(25));
        }
    }

    /// The exit status, when the server has ended by itself.
    fn ended(&self) -> Option<String> {
        let status = std::fs::read_to_string(self.scratch.path().join("ended")).ok()?;
        Some(status.trim().to_owned())
    }

    /// The end of what the server wrote.
    pub(crate) fn log(&self) -> String {
        let log = std::fs::read(self.scratch.path().join("log")).unwrap_or_default();
        let from = log.len().saturating_sub(4_000);
        String::from_utf8_lossy(&log[from..]).into_owned()
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        drop(self.supervisor.stdin.take());
        let _ = self.supervisor.wait();
    }
}

/// A loopback port that was free a moment ago.
pub(crate) fn free_port() -> Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0").attempt("find a free port")?;
    Ok(listener.local_addr().attempt("find a free port")?.port())
}

pub(crate) fn random_hex(bytes: usize) -> Result<String> {
    let mut buffer = vec![0; bytes];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(&mut buffer))
        .attempt("read random bytes")?;
    Ok(buffer.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(script: &str) -> Supervised {
        let command = ["/bin/sh", "-c", script].map(OsString::from).to_vec();
        let scratch = Scratch::new("test", None).unwrap();
        Supervised::start(Launch {
            command,
            scratch,
            stop_signal: "TERM",
            user: None,
        })
        .unwrap()
    }

    #[test]
    fn a_server_and_its_folder_are_gone_when_it_is_dropped() {
        let mut server = start("echo $$ >pid; exec sleep 1000");
        let pid_file = server.scratch.path().join("pid");
        let mut pid = String::new();
        server
            .wait_until("the server", || {
                pid = std::fs::read_to_string(&pid_file).unwrap_or_default();
                pid.ends_with('\n')
            })
            .unwrap();
        let process = Path::new("/proc").join(pid.trim());
        assert!(process.exists());

        drop(server);
        assert!(!process.exists());
        assert!(!pid_file.parent().unwrap().exists());
    }

    #[test]
    fn a_server_that_ends_at_once_is_reported_with_its_log() {
        let mut server = start("echo cannot bind >&2; exit 3");
        let failure = server.wait_until("the server", || false).unwrap_err().to_string();
        assert!(
            failure.contains("status 3") && failure.contains("cannot bind"),
            "{failure}"
        );
    }
}
