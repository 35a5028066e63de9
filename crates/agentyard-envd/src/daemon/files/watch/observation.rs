//! What the kernel tells of a directory, in the protocol's words.
//!
//! The kernel's own interface is used as it is, with the recursion that it lacks: its events are just those which E2B's
//! daemon passes on, where a library for several systems would first put them into words of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;

use super::super::draft::Purpose;
use super::super::entries::entry;
use super::super::faults::fault;
use super::super::names::Names;
use super::super::paths::shown;
use crate::connect::{Code, Fault};
use crate::filesystem::{Change, ChangeKind};

/// How many directories are watched at once for one who watches.
const MOST_DIRECTORIES: usize = 8192;

/// How many changes are told of at once. More are known together only when a big directory appears.
const MOST_CHANGES: usize = 20_000;

/// How many of the kernel's events are read at once.
const BATCH: usize = 1024;

/// How much room they have there. One has at most some 300 bytes.
const BUFFER: usize = 16 * 1024;

/// What is wanted to be known.
const EVENTS: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::MODIFY)
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::ONLYDIR);

/// A directory that is watched, perhaps with those below it.
#[derive(Debug)]
pub(super) struct Observation {
    inotify: Arc<OwnedFd>,
    root: PathBuf,
    depth: Depth,
    detail: Detail,
    /// Where each of the kernel's watches is, below the root.
    directories: BTreeMap<i32, PathBuf>,
    /// What was found in a new directory, of whose making the kernel may tell as well.
    found: BTreeSet<PathBuf>,
    /// A draft on its way to its place, by the number with which the kernel ties both ends together.
    arriving: Option<(u32, Purpose)>,
}

/// How deep a directory is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    Itself,
    AllBelow,
}

/// How much is told of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    Name,
    Entry,
}

/// Some changes, and whether they are all so far.
pub(super) type Taken = (Vec<Change>, bool);

/// One of the kernel's events.
#[derive(Debug)]
struct Event {
    watch: i32,
    flags: ReadFlags,
    cookie: u32,
    name: Option<OsString>,
}

/// Whether what is in a new directory is new as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Contents {
    New,
    Old,
}

impl Observation {
    /// Watches from now on.
    pub(super) fn begin(root: PathBuf, depth: Depth, detail: Detail) -> Result<Self, Fault> {
        let inotify = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)
            .map_err(|error| failed(&root, error))?;
        let mut observation = Self {
            inotify: Arc::new(inotify),
            root,
            depth,
            detail,
            directories: BTreeMap::new(),
            found: BTreeSet::new(),
            arriving: None,
        };
        let root = observation.root.clone();
        let watch =
            inotify::add_watch(&*observation.inotify, &root, EVENTS).map_err(|error| failed(&root, error))?;
        observation.directories.insert(watch, PathBuf::new());
        if depth == Depth::AllBelow {
            observation.watch_below(PathBuf::new(), Contents::Old, &mut Vec::new())?;
        }
        Ok(observation)
    }

    /// What is readable when something has changed.
    pub(super) fn readiness(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.inotify)
    }

    /// What has changed, without waiting for anything.
    pub(super) fn take(&mut self) -> Result<Taken, Fault> {
        let (events, is_all) = self.read()?;
        let mut changes = Vec::new();
        for event in events {
            self.understand(event, &mut changes)?;
        }
        if is_all {
            // Whatever the kernel had to say of things found so far, it has said.
            self.found.clear();
        }
        let names = match self.detail {
            Detail::Name => None,
            Detail::Entry => Some(Names::read()),
        };
        let tell = |(path, kind): (PathBuf, ChangeKind)| Change {
            entry: names
                .as_ref()
                .and_then(|names| entry(&self.root.join(&path), names).ok()),
            name: if path.as_os_str().is_empty() {
                ".".to_owned()
            } else {
                path.to_string_lossy().into_owned()
            },
            kind,
        };
        Ok((changes.into_iter().map(tell).collect(), is_all))
    }

    fn read(&self) -> Result<(Vec<Event>, bool), Fault> {
        let mut buffer = vec![MaybeUninit::uninit(); BUFFER];
        let mut reader = inotify::Reader::new(self.inotify.as_fd(), &mut buffer);
        let mut events = Vec::new();
        while events.len() < BATCH || !reader.is_buffer_empty() {
            match reader.next() {
                Ok(event) => events.push(Event {
                    watch: event.wd(),
                    flags: event.events(),
                    cookie: event.cookie(),
                    name: event
                        .file_name()
                        .map(|name| OsStr::from_bytes(name.to_bytes()).to_owned()),
                }),
                Err(Errno::WOULDBLOCK) => return Ok((events, true)),
                Err(Errno::INTR) => {}
                Err(error) => return Err(failed(&self.root, error)),
            }
        }
        Ok((events, false))
    }

    fn understand(&mut self, event: Event, changes: &mut Vec<(PathBuf, ChangeKind)>) -> Result<(), Fault> {
        let flags = event.flags;
        if flags.intersects(ReadFlags::QUEUE_OVERFLOW | ReadFlags::UNMOUNT) {
            return Err(lost(&self.root));
        }
        if flags.contains(ReadFlags::IGNORED) {
            self.directories.remove(&event.watch);
            return Ok(());
        }
        let Some(directory) = self.directories.get(&event.watch) else {
            return Ok(());
        };
        let Some(name) = event.name else {
            // What happens to a directory below is told by the one that it is in.
            if directory.as_os_str().is_empty() {
                changes.extend(of_itself(flags).map(|kind| (PathBuf::new(), kind)));
            }
            return Ok(());
        };
        let path = directory.join(&name);
        if let Some(purpose) = Purpose::of(&name) {
            if flags.contains(ReadFlags::MOVED_FROM) {
                self.arriving = Some((event.cookie, purpose));
            }
            return Ok(());
        }
        let is_below = flags.contains(ReadFlags::ISDIR) && self.depth == Depth::AllBelow;
        let mut tell = |kind| changes.push((path.clone(), kind));
        if flags.contains(ReadFlags::CREATE) {
            if self.found.remove(&path) {
                return Ok(());
            }
            tell(ChangeKind::Create);
            if is_below {
                return self.watch_below(path, Contents::New, changes);
            }
        } else if flags.contains(ReadFlags::MOVED_TO) {
            let arrived = self.arriving.take().filter(|(cookie, _)| *cookie == event.cookie);
            for kind in arrival(arrived.map(|(_, purpose)| purpose)) {
                tell(*kind);
            }
            if is_below {
                return self.watch_below(path, Contents::Old, changes);
            }
        } else if flags.contains(ReadFlags::MOVED_FROM) {
            tell(ChangeKind::Rename);
            if is_below {
                self.forget(&path);
            }
        } else if flags.contains(ReadFlags::DELETE) {
            tell(ChangeKind::Remove);
            self.found.remove(&path);
        } else if flags.contains(ReadFlags::MODIFY) {
            tell(ChangeKind::Write);
        } else if flags.contains(ReadFlags::ATTRIB) {
            tell(ChangeKind::Chmod);
        }
        Ok(())
    }

    /// Watches all directories from this one on, and tells what is in them if that is new: it was made before anybody
    /// could watch.
    fn watch_below(
        &mut self,
        directory: PathBuf,
        contents: Contents,
        changes: &mut Vec<(PathBuf, ChangeKind)>,
    ) -> Result<(), Fault> {
        let mut waiting = vec![directory];
        while let Some(directory) = waiting.pop() {
            let path = self.root.join(&directory);
            if !directory.as_os_str().is_empty() && !self.watch(&path, &directory)? {
                continue;
            }
            // What may not be read, or is gone by now, has nothing in it for who watches.
            let Ok(children) = fs::read_dir(&path) else {
                continue;
            };
            for child in children.flatten() {
                let (Ok(kind), name) = (child.file_type(), child.file_name()) else {
                    continue;
                };
                if Purpose::of(&name).is_some() {
                    continue;
                }
                let below = directory.join(name);
                if contents == Contents::New {
                    changes.push((below.clone(), ChangeKind::Create));
                    if kind.is_file() && child.metadata().is_ok_and(|metadata| metadata.len() > 0) {
                        changes.push((below.clone(), ChangeKind::Write));
                    }
                    if changes.len() > MOST_CHANGES {
                        return Err(lost(&self.root));
                    }
                    self.found.insert(below.clone());
                }
                if kind.is_dir() {
                    waiting.push(below);
                }
            }
        }
        Ok(())
    }

    /// Watches one directory, if it is still there and may be watched.
    fn watch(&mut self, path: &Path, directory: &Path) -> Result<bool, Fault> {
        if self.directories.len() >= MOST_DIRECTORIES {
            return Err(Fault::new(
                Code::ResourceExhausted,
                format!(
                    "there are more than {MOST_DIRECTORIES} directories below {}, too many to be watched: watch one \
                     further down, or this one alone",
                    shown(&self.root)
                ),
            ));
        }
        match inotify::add_watch(&*self.inotify, path, EVENTS | WatchFlags::DONT_FOLLOW) {
            Ok(watch) => {
                self.directories.insert(watch, directory.to_owned());
                Ok(true)
            }
            Err(error @ (Errno::NOSPC | Errno::NOMEM)) => Err(failed(path, error)),
            Err(_) => Ok(false),
        }
    }

    /// A directory went elsewhere, with all that is in it.
    fn forget(&mut self, path: &Path) {
        let inotify = &self.inotify;
        self.directories.retain(|watch, directory| {
            let stays = !directory.starts_with(path);
            if !stays {
                // One that is gone already is what is wanted.
                let _ = inotify::remove_watch(&**inotify, *watch);
            }
            stays
        });
    }
}

/// What happened to the directory itself.
fn of_itself(flags: ReadFlags) -> Option<ChangeKind> {
    if flags.contains(ReadFlags::DELETE_SELF) {
        Some(ChangeKind::Remove)
    } else if flags.contains(ReadFlags::MOVE_SELF) {
        Some(ChangeKind::Rename)
    } else if flags.contains(ReadFlags::ATTRIB) {
        Some(ChangeKind::Chmod)
    } else {
        None
    }
}

/// What it is when something comes into its place: a draft was written there, as far as anybody is to know.
fn arrival(purpose: Option<Purpose>) -> &'static [ChangeKind] {
    match purpose {
        Some(Purpose::New) => &[ChangeKind::Create, ChangeKind::Write],
        Some(Purpose::Over) => &[ChangeKind::Write],
        Some(Purpose::Moved) | None => &[ChangeKind::Create],
    }
}

fn failed(path: &Path, error: Errno) -> Fault {
    match error {
        // Not the disk's space: the kernel's own bounds, which all users of a machine share.
        Errno::NOSPC | Errno::MFILE => Fault::new(
            Code::ResourceExhausted,
            format!(
                "could not watch {}: the machine watches as much as it may already; stop watching something, or ask \
                 whoever runs it to raise fs.inotify.max_user_watches and max_user_instances",
                shown(path)
            ),
        ),
        error => fault("watch", path, &error.into()),
    }
}

fn lost(root: &Path) -> Fault {
    Fault::new(
        Code::ResourceExhausted,
        format!(
            "more changed below {} than could be told, so this watcher has ended: list the directory and watch it anew",
            shown(root)
        ),
    )
}

#[cfg(test)]
mod tests;
