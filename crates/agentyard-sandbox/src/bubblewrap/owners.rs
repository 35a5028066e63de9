//! User namespaces in which somebody else's files are the sandbox's user's own.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep};

/// How often it is looked whether a namespace is ready.
const INTERVAL: Duration = Duration::from_millis(1);

/// How long that may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// A user and a group.
type Identity = (u32, u32);

/// Those that were made, each for one owner of files. They are made once and kept.
#[derive(Debug, Default)]
pub(crate) struct Owners {
    made: Mutex<HashMap<Identity, Arc<OwnedFd>>>,
}

impl Owners {
    /// A user namespace that shows an owner's files as somebody else's.
    pub(crate) async fn shown_as(
        &self,
        owner: Identity,
        shown: Identity,
        bwrap: &Path,
    ) -> io::Result<Arc<OwnedFd>> {
        let mut made = self.made.lock().await;
        if let Some(namespace) = made.get(&owner) {
            return Ok(Arc::clone(namespace));
        }
        let namespace = Arc::new(make(owner, shown, bwrap).await?);
        made.insert(owner, Arc::clone(&namespace));
        Ok(namespace)
    }
}

/// What bubblewrap tells of itself.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Status {
    child_pid: i32,
}

/// Has bubblewrap, as the one, enter a user namespace in which it is the other, and lets it go as soon as we hold that.
/// It waits for a word that never comes, and runs nothing.
#[expect(
    clippy::disallowed_methods,
    reason = "this crate is where commands are started"
)]
async fn make(owner: Identity, shown: Identity, bwrap: &Path) -> io::Result<OwnedFd> {
    let mut process = Command::new(bwrap)
        .args(["--unshare-user", "--uid", &owner.0.to_string()])
        .args(["--gid", &owner.1.to_string(), "--die-with-parent"])
        .args(["--block-fd", "0", "--json-status-fd", "1"])
        .args(["--", "/nothing"])
        .env_clear()
        .current_dir("/")
        .uid(shown.0)
        .gid(shown.1)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()?;
    let output = process.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line).await?;
    let refused = |_| io::Error::other("bubblewrap could not make a user namespace");
    let status: Status = serde_json::from_str(&line).map_err(refused)?;
    let namespace = namespace_of(status.child_pid).await;
    process.kill().await?;
    namespace
}

/// The user namespace of a process, as soon as it is settled who is who in it.
async fn namespace_of(pid: i32) -> io::Result<OwnedFd> {
    let deadline = Instant::now() + PATIENCE;
    while fs::read_to_string(format!("/proc/{pid}/gid_map"))?.is_empty() {
        if Instant::now() > deadline {
            return Err(io::ErrorKind::TimedOut.into());
        }
        sleep(INTERVAL).await;
    }
    Ok(File::open(format!("/proc/{pid}/ns/user"))?.into())
}
