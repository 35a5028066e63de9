//! Sending what changed here, and fetching what changed there.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, BufWriter, Read, Write};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use agentyard_envd::client::{self, CallError, Ran};
use agentyard_envd::process::{Config, StartRequest};
use agentyard_envd::{Body, Exchange, full};
use agentyard_model::RunId;
use bytes::{Buf as _, Bytes};
use futures::stream;
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use super::sync::{
    Bounds, Copied, InvalidListing, Known, LISTING_FORMAT, Listed, Manifest, Stamp, listings, pack, remove,
    unpack, walk,
};

/// How long unpacking, listing or packing may take there.
const PATIENCE: Duration = Duration::from_secs(600);

/// How long nothing may come of an archive.
const SILENCE: Duration = Duration::from_secs(30);

/// How long a list of files may be.
const MAX_LISTING_BYTES: usize = 64 * 1024 * 1024;

/// How much is sent at once.
const PIECE: usize = 256 * 1024;

/// Removes what is gone here, and unpacks what is new: `directory archive removed`.
const UNPACK: &str = r#"set -e
mkdir -p "$1"
cd "$1"
[ -z "$3" ] || xargs -0 rm -rf -- < "$3"
tar -x -p --no-same-owner -f "$2"
rm -f "$2" "$3""#;

/// Ends whatever a command has started and left behind, and lists directories: `marker format directory…`.
const LIST: &str = r#"marker=$1 format=$2 left=50 found=1
shift 2
while [ -n "$marker" ] && [ -n "$found" ] && [ "$left" -gt 0 ]; do
  found= left=$((left - 1))
  for process in /proc/[0-9]*; do
    if grep -qsz "^AGENTYARD_RUN=$marker\$" "$process/environ"; then
      found=1
      kill -9 "${process#/proc/}" 2>/dev/null
    fi
  done
  [ -z "$found" ] || sleep 0.02
done
index=0 failed=0
for directory; do
  find "$directory" -mindepth 1 -printf "$index$format" || failed=1
  index=$((index + 1))
done
exit "$failed""#;

/// Packs what is wanted: `directory names archive`. One that changes meanwhile is packed as it is.
const PACK: &str = r#"cd "$1" || exit 2
tar -c --null --no-recursion --hard-dereference --format=gnu -f "$3" -T "$2"
status=$?
rm -f "$2"
[ "$status" -le 1 ]"#;

/// The variable by which whatever a command has started is known.
pub(super) const MARKER: &str = "AGENTYARD_RUN";

/// Why files could not be copied.
#[derive(Debug, thiserror::Error)]
pub(super) enum TransferError {
    #[error("the files of this machine cannot be read or written: {0}")]
    Here(#[from] io::Error),
    #[error(transparent)]
    Call(#[from] CallError),
    #[error("{what} failed in the sandbox: {said}")]
    There { what: &'static str, said: String },
    #[error(transparent)]
    Listing(#[from] InvalidListing),
}

/// What came of fetching.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fetched {
    All,
    /// It would have been more than there may be, so that nothing was.
    TooMuch,
}

/// Makes the copies as their directories are.
pub(super) async fn send(
    sandbox: &dyn Exchange,
    copied: &[Copied],
    copies: &mut HashMap<PathBuf, Manifest>,
) -> Result<(), TransferError> {
    let mut is_changed = false;
    for copy in copied {
        let (source, hidden) = (Arc::clone(&copy.source), copy.hidden.clone());
        let now = blocking(move || walk(source.as_fd(), &hidden)).await?;
        let is_first = !copies.contains_key(&copy.inside);
        let outgoing = copies.entry(copy.inside.clone()).or_default().outgoing(&now);
        if is_first || !outgoing.sent.is_empty() || !outgoing.removed.is_empty() {
            let (archive, gone) = (temporary("tar"), temporary("gone"));
            let body = archive_of(Arc::clone(&copy.source), outgoing.sent);
            client::write_file(sandbox, &archive, body).await?;
            let gone = if outgoing.removed.is_empty() {
                String::new()
            } else {
                client::write_file(sandbox, &gone, full(names(outgoing.removed.iter()))).await?;
                gone
            };
            let directory = copy.inside.display().to_string();
            let arguments = [directory.as_str(), &archive, &gone];
            shell(sandbox, "unpacking", UNPACK, &arguments, 0).await?;
            is_changed = true;
        }
        let manifest = copies.entry(copy.inside.clone()).or_default();
        manifest.note_here(now);
    }
    let back: Vec<&Copied> = copied.iter().filter(|copy| copy.comes_back).collect();
    if is_changed && !back.is_empty() {
        let (lists, _) = list(sandbox, &back, "").await?;
        for (copy, list) in back.iter().zip(&lists) {
            if let Some(manifest) = copies.get_mut(&copy.inside) {
                manifest.note_there(list);
            }
        }
    }
    Ok(())
}

/// Ends what a command left behind, and makes the directories as their copies are.
pub(super) async fn fetch(
    sandbox: &dyn Exchange,
    copied: &[Copied],
    copies: &mut HashMap<PathBuf, Manifest>,
    marker: &str,
    bounds: Bounds,
) -> Result<Fetched, TransferError> {
    let back: Vec<&Copied> = copied.iter().filter(|copy| copy.comes_back).collect();
    let (lists, is_complete) = list(sandbox, &back, marker).await?;
    let mut left = bounds.bytes;
    let mut all = Vec::new();
    for (copy, list) in back.iter().zip(lists) {
        let manifest = copies.entry(copy.inside.clone()).or_default();
        let incoming = manifest.incoming(&list, is_complete);
        for listed in incoming.fetched.values() {
            match left.checked_sub(listed.size) {
                Some(rest) if listed.size <= bounds.file_bytes => left = rest,
                _ => return Ok(Fetched::TooMuch),
            }
        }
        all.push((*copy, incoming));
    }
    for (copy, incoming) in all {
        let (source, removed) = (Arc::clone(&copy.source), incoming.removed.clone());
        blocking(move || remove(source.as_fd(), &removed)).await?;
        let manifest = copies.entry(copy.inside.clone()).or_default();
        for path in &incoming.removed {
            manifest.0.remove(path);
        }
        if incoming.fetched.is_empty() {
            continue;
        }
        let placed = fetch_files(sandbox, copy, &incoming.fetched, bounds).await?;
        for (path, here) in placed {
            let there = incoming.fetched.get(&path).map(|listed| listed.stamp.clone());
            manifest.0.insert(path, Known { here, there });
        }
    }
    Ok(Fetched::All)
}

/// Ends whatever a command has started.
pub(super) async fn sweep(sandbox: &dyn Exchange, marker: &str) {
    // Where this fails, the sandbox is gone, or is given up.
    let _ = shell(sandbox, "ending a command", LIST, &[marker, ""], 0).await;
}

async fn list(
    sandbox: &dyn Exchange,
    copied: &[&Copied],
    marker: &str,
) -> Result<(Vec<BTreeMap<PathBuf, Listed>>, bool), TransferError> {
    let directories: Vec<String> = copied
        .iter()
        .map(|copy| copy.inside.display().to_string())
        .collect();
    let mut arguments = vec![marker, LISTING_FORMAT];
    arguments.extend(directories.iter().map(String::as_str));
    let ran = run(sandbox, LIST, &arguments, MAX_LISTING_BYTES).await?;
    if ran.stdout.len() >= MAX_LISTING_BYTES {
        return Err(InvalidListing::TooMany.into());
    }
    let mut lists = listings(&ran.stdout, copied.len())?;
    for (copy, list) in copied.iter().zip(&mut lists) {
        list.retain(|path, _| !copy.hides(path));
    }
    Ok((lists, ran.end.exit_code == 0))
}

async fn fetch_files(
    sandbox: &dyn Exchange,
    copy: &Copied,
    wanted: &BTreeMap<PathBuf, Listed>,
    bounds: Bounds,
) -> Result<BTreeMap<PathBuf, Stamp>, TransferError> {
    let (list, archive) = (temporary("names"), temporary("tar"));
    client::write_file(sandbox, &list, full(names(wanted.keys()))).await?;
    let directory = copy.inside.display().to_string();
    let arguments = [directory.as_str(), &list, &archive];
    shell(sandbox, "packing", PACK, &arguments, 0).await?;
    let mut body = client::read_file(sandbox, &archive).await?;
    let (pieces, received) = mpsc::channel(4);
    // Headers and long names are beside what files hold.
    let most = bounds
        .bytes
        .saturating_add(16 * 1024 * (wanted.len() as u64 + 64));
    let (source, wanted) = (Arc::clone(&copy.source), wanted.clone());
    let unpacking = blocking(move || {
        let reader = Pieces {
            received,
            piece: Bytes::new(),
            left: most,
        };
        unpack(source.as_fd(), reader, &wanted, bounds)
    });
    let feeding = async {
        let until = Instant::now() + PATIENCE;
        loop {
            let next = until.min(Instant::now() + SILENCE);
            let Ok(frame) = timeout_at(next, body.frame()).await else {
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "what was to come back does not come",
                ));
            };
            let Some(frame) = frame else { break };
            let frame = frame.map_err(|error| io::Error::other(error.to_string()))?;
            if let Ok(piece) = frame.into_data()
                && pieces.send(piece).await.is_err()
            {
                // Whoever unpacks has enough, or has failed and says why.
                break;
            }
        }
        drop(pieces);
        Ok(())
    };
    let (fed, placed) = futures::future::join(feeding, unpacking).await;
    // In its place is the next one, if this fails.
    let _ = shell(sandbox, "tidying up", "rm -f \"$1\"", &[&archive], 0).await;
    let placed = placed?;
    fed?;
    Ok(placed)
}

/// Runs a script of ours, which must come to a good end.
async fn shell(
    sandbox: &dyn Exchange,
    what: &'static str,
    script: &str,
    arguments: &[&str],
    most: usize,
) -> Result<Ran, TransferError> {
    let ran = run(sandbox, script, arguments, most.max(2000)).await?;
    if ran.end.exit_code == 0 {
        return Ok(ran);
    }
    let said = String::from_utf8_lossy(&ran.stderr);
    let said = said.lines().last().unwrap_or_default();
    Err(TransferError::There {
        what,
        said: said.chars().filter(|c| !c.is_control()).take(300).collect(),
    })
}

async fn run(
    sandbox: &dyn Exchange,
    script: &str,
    arguments: &[&str],
    most: usize,
) -> Result<Ran, CallError> {
    let ours = ["-c", script, "sh"];
    let words = ours.iter().chain(arguments);
    let request = StartRequest {
        process: Config {
            cmd: "/bin/sh".to_owned(),
            args: words.map(|&word| word.to_owned()).collect(),
            envs: BTreeMap::from([("LC_ALL".to_owned(), "C".to_owned())]),
            cwd: Some("/".to_owned()),
        },
        stdin: Some(false),
        ..StartRequest::default()
    };
    client::run(sandbox, &request, PATIENCE, most).await
}

/// A file of ours in the sandbox.
fn temporary(kind: &str) -> String {
    format!("/tmp/agentyard-{}.{kind}", RunId::new())
}

/// Paths as programs read them, none of which looks like an option.
fn names<'a>(paths: impl Iterator<Item = &'a PathBuf>) -> Vec<u8> {
    let mut names = Vec::new();
    for path in paths {
        names.extend_from_slice(Path::new(".").join(path).as_os_str().as_bytes());
        names.push(0);
    }
    names
}

/// An archive that is made while it is sent.
fn archive_of(source: Arc<OwnedFd>, paths: Vec<PathBuf>) -> Body {
    let (pieces, received) = mpsc::channel(4);
    tokio::task::spawn_blocking(move || {
        let writer = BufWriter::with_capacity(PIECE, Sent(pieces.clone()));
        if let Err(error) = pack(source.as_fd(), &paths, writer) {
            // Who receives may be gone, which is why it failed.
            let _ = pieces.blocking_send(Err(error));
        }
    });
    let frames = stream::unfold(
        received,
        async |mut received: mpsc::Receiver<io::Result<Bytes>>| {
            let piece = received.recv().await?;
            Some((piece.map(Frame::data).map_err(Into::into), received))
        },
    );
    StreamBody::new(frames).boxed_unsync()
}

/// Writes to whoever sends it on.
struct Sent(mpsc::Sender<io::Result<Bytes>>);

impl Write for Sent {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let piece = Bytes::copy_from_slice(bytes);
        self.0
            .blocking_send(Ok(piece))
            .map_err(|_| io::ErrorKind::BrokenPipe)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads what somebody else receives, and no more than there may be.
struct Pieces {
    received: mpsc::Receiver<Bytes>,
    piece: Bytes,
    left: u64,
}

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() {
            match self.received.blocking_recv() {
                Some(piece) => self.piece = piece,
                None => return Ok(0),
            }
        }
        let count = buffer.len().min(self.piece.len());
        self.left = self
            .left
            .checked_sub(count as u64)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "more came back than there may be"))?;
        self.piece.copy_to_slice(&mut buffer[..count]);
        Ok(count)
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|error| Err(io::Error::other(error)))
}
