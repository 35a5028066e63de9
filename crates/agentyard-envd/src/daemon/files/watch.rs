//! Who watches a directory: streams that tell of each change, and watchers who are asked now and then.

mod observation;
mod polled;

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::faults::{fault, refused};
use super::work::Work;
use crate::connect::{Code, Fault};
use crate::daemon::streams::{Feed, Gone};
use crate::filesystem::{Change, WatchEvent, WatchRequest};
use observation::{Depth, Detail, Observation};
pub(super) use polled::Polled;

/// How many may watch at once.
const MOST: usize = 64;

/// The numbers of file systems whose other users the kernel tells nothing of: NFS, CIFS, SMB (twice), FUSE.
const NETWORKED: [u32; 5] = [0x6969, 0xff53_4d42, 0x517b, 0xfe53_4d42, 0x6573_5546];

/// One of the places for those who watch. It is free again when this is dropped.
pub(super) type Place = OwnedSemaphorePermit;

/// All who watch.
#[derive(Debug)]
pub(super) struct Watches {
    places: Arc<Semaphore>,
    pub(super) polled: Polled,
}

impl Watches {
    pub(super) fn new() -> Self {
        Self {
            places: Arc::new(Semaphore::new(MOST)),
            polled: Polled::new(),
        }
    }

    /// Watches a directory from now on, as long as the place is kept.
    pub(super) async fn begin(
        &self,
        work: &Work,
        path: PathBuf,
        asked: &WatchRequest,
    ) -> Result<(Watch, Place), Fault> {
        let place = self.place()?;
        let depth = if asked.recursive {
            Depth::AllBelow
        } else {
            Depth::Itself
        };
        let detail = if asked.include_entry {
            Detail::Entry
        } else {
            Detail::Name
        };
        let may_be_networked = asked.allow_network_mounts;
        let shown = path.clone();
        let observation = work
            .run(move || {
                must_be_watchable(&path, may_be_networked)?;
                Observation::begin(path, depth, detail)
            })
            .await?;
        let ready = readiness(&observation).map_err(|error| fault("watch", &shown, &error))?;
        let watch = Watch {
            work: work.clone(),
            observation: Some(observation),
            is_all: true,
            ready,
        };
        Ok((watch, place))
    }

    /// A place among those who watch, be it that of one whom everybody has forgotten.
    fn place(&self) -> Result<Place, Fault> {
        let free = || Arc::clone(&self.places).try_acquire_owned();
        free()
            .or_else(|_| {
                self.polled.remove_forgotten();
                free()
            })
            .map_err(|_| {
                let message = format!("{MOST} directories are watched already: stop watching one of them");
                Fault::new(Code::ResourceExhausted, message)
            })
    }
}

#[expect(
    deprecated,
    reason = "what came after it is unsafe; what that wants is so here, where the descriptor stays the same and open"
)]
fn readiness(observation: &Observation) -> io::Result<AsyncFd<Arc<OwnedFd>>> {
    AsyncFd::with_interest(observation.readiness(), Interest::READABLE)
}

fn must_be_watchable(path: &Path, may_be_networked: bool) -> Result<(), Fault> {
    let failed = |error| fault("watch", path, &error);
    if !fs::metadata(path).map_err(failed)?.is_dir() {
        return Err(refused(
            "watch",
            path,
            "it is no directory: watch the one that it is in",
        ));
    }
    let kind = rustix::fs::statfs(path)
        .map_err(|error| failed(error.into()))?
        .f_type as u32;
    if NETWORKED.contains(&kind) && !may_be_networked {
        return Err(refused(
            "watch",
            path,
            "it is on a network's file system, where changes by others are not told; allow network mounts to watch it \
             nevertheless",
        ));
    }
    Ok(())
}

/// A directory that is watched, until this is dropped.
#[derive(Debug)]
pub(super) struct Watch {
    work: Work,
    /// Elsewhere while it is at work.
    observation: Option<Observation>,
    /// Whether all that had changed was taken.
    is_all: bool,
    ready: AsyncFd<Arc<OwnedFd>>,
}

impl Watch {
    /// Waits for changes. It must not be used again when this was dropped halfway.
    pub(super) async fn next(&mut self) -> Result<Vec<Change>, Fault> {
        loop {
            if self.is_all {
                // All is read after this, so that nothing that comes meanwhile goes unnoticed.
                let ready = self.ready.readable().await;
                ready
                    .map_err(|error| Fault::new(Code::Internal, format!("watching failed: {error}")))?
                    .clear_ready();
            }
            let mut observation = self
                .observation
                .take()
                .ok_or_else(|| Fault::new(Code::Internal, "the watcher was given up"))?;
            let work = self.work.clone();
            let ((changes, is_all), observation) = work
                .run(move || observation.take().map(|taken| (taken, observation)))
                .await?;
            self.observation = Some(observation);
            self.is_all = is_all;
            if !changes.is_empty() {
                return Ok(changes);
            }
        }
    }

    /// Tells a stream of each change until nobody reads it any more.
    pub(super) async fn tell(mut self, feed: Feed, place: Place) {
        let told = async {
            feed.send(&WatchEvent::Start {}).await?;
            loop {
                match self.next().await {
                    Ok(changes) => {
                        for change in changes {
                            feed.send(&WatchEvent::Filesystem(Box::new(change))).await?;
                        }
                    }
                    Err(fault) => {
                        feed.end(Some(fault));
                        return Err::<(), Gone>(Gone);
                    }
                }
            }
        };
        tokio::select! {
            _ = told => {}
            () = feed.gone() => {}
        }
        drop(place);
    }
}
