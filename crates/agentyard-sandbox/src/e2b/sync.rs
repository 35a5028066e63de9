//! Copies of directories in a sandbox of somebody else's, and what became of them there.
//!
//! What is known of a copy is a [`Manifest`]: of every file, how it looked here and how it looked there when both were
//! the same. What looks different here is sent; what looks different there is fetched; what is gone on one side and was
//! known is removed on the other. Nothing depends on clocks that agree.
//!
//! Sending reads by descriptor and follows no link. What comes back is written by whoever runs code there, so it is taken
//! only for what was asked for, beneath the directory and through no link, and in bounds (see [`unpack`]).

mod listing;
mod pack;
mod unpack;
mod walk;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::paths;
use crate::command::{Access, Command};
pub(super) use listing::{FORMAT as LISTING_FORMAT, InvalidListing, Listed, listings};
pub(super) use pack::pack;
pub(super) use unpack::{Bounds, remove, unpack};
pub(super) use walk::walk;

/// How many files a directory may have that is copied.
pub(super) const MAX_FILES: usize = 200_000;

/// What is known of a copy.
#[derive(Debug, Default, Clone)]
pub(super) struct Manifest(pub(super) BTreeMap<PathBuf, Known>);

/// What is known of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Known {
    /// How it looked here.
    pub(super) here: Stamp,
    /// How it looked there, once that was asked.
    pub(super) there: Option<String>,
}

/// How a file looks: another one for each change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stamp {
    File {
        size: u64,
        mode: u32,
        modified: (i64, i64),
        changed: (i64, i64),
    },
    Directory {
        mode: u32,
    },
    Link(OsString),
}

/// A directory that is copied.
#[derive(Debug)]
pub(super) struct Copied {
    pub(super) source: Arc<OwnedFd>,
    /// Where the copy is.
    pub(super) inside: PathBuf,
    /// What of it is left alone, on both sides.
    pub(super) hidden: BTreeSet<PathBuf>,
    /// Whether what changes there comes back.
    pub(super) comes_back: bool,
}

/// What is to be done so that a copy is as its directory.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Outgoing {
    pub(super) sent: Vec<PathBuf>,
    pub(super) removed: Vec<PathBuf>,
}

/// What is to be done so that a directory is as its copy.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Incoming {
    pub(super) fetched: BTreeMap<PathBuf, Listed>,
    pub(super) removed: Vec<PathBuf>,
}

impl Copied {
    /// The directories of a command that are copied.
    pub(super) fn all(command: &Command) -> io::Result<Vec<Self>> {
        let mounts = &command.mounts;
        // One that is part of another is copied with it.
        let is_part = |index: usize| {
            mounts.iter().enumerate().any(|(other, outer)| {
                let below = mounts[index].at.strip_prefix(&outer.at);
                other != index
                    && below.is_ok_and(|below| {
                        !below.as_os_str().is_empty()
                            && outer.host_path.join(below) == mounts[index].host_path
                    })
            })
        };
        let copied = (0..mounts.len()).filter(|index| !is_part(*index));
        let copied: Vec<usize> = copied.collect();
        let one = |index: usize| {
            let mount = &mounts[index];
            let within = copied.iter().map(|other| &mounts[*other].at);
            let others = within.filter(|at| **at != mount.at);
            let hidden = command.hidden.iter().chain(others);
            let hidden = hidden.filter_map(|path| path.strip_prefix(&mount.at).ok());
            Ok(Self {
                source: Arc::new(mount.source.try_clone()?),
                inside: paths::inside(&mount.at),
                hidden: hidden
                    .filter(|path| !path.as_os_str().is_empty())
                    .map(Path::to_owned)
                    .collect(),
                comes_back: mount.access == Access::ReadWrite,
            })
        };
        copied.iter().map(|index| one(*index)).collect()
    }

    /// Whether a path is left alone.
    pub(super) fn hides(&self, path: &Path) -> bool {
        is_hidden(&self.hidden, path)
    }
}

impl Manifest {
    /// What changed here.
    pub(super) fn outgoing(&self, now: &BTreeMap<PathBuf, Stamp>) -> Outgoing {
        let is_new =
            |(path, stamp): &(&PathBuf, &Stamp)| self.0.get(*path).is_none_or(|known| known.here != **stamp);
        Outgoing {
            sent: now.iter().filter(is_new).map(|(path, _)| path.clone()).collect(),
            removed: self
                .0
                .keys()
                .filter(|path| !now.contains_key(*path))
                .cloned()
                .collect(),
        }
    }

    /// What changed there. Where not all could be listed, nothing is known to be gone.
    pub(super) fn incoming(&self, there: &BTreeMap<PathBuf, Listed>, is_complete: bool) -> Incoming {
        let is_new = |(path, listed): &(&PathBuf, &Listed)| {
            let known = self.0.get(*path).and_then(|known| known.there.as_ref());
            known.is_none_or(|known| *known != listed.stamp)
        };
        let fetched = there.iter().filter(is_new);
        let removed = self
            .0
            .keys()
            .filter(|path| is_complete && !there.contains_key(*path));
        Incoming {
            fetched: fetched
                .map(|(path, listed)| (path.clone(), listed.clone()))
                .collect(),
            removed: removed.cloned().collect(),
        }
    }

    /// Notes how everything looks here, now that it was sent.
    pub(super) fn note_here(&mut self, now: BTreeMap<PathBuf, Stamp>) {
        let old = std::mem::take(&mut self.0);
        let there = |path: &PathBuf, stamp: &Stamp| {
            let known = old.get(path).filter(|known| known.here == *stamp)?;
            known.there.clone()
        };
        self.0 = now
            .into_iter()
            .map(|(path, here)| {
                let there = there(&path, &here);
                (path, Known { here, there })
            })
            .collect();
    }

    /// Notes how everything looks there.
    pub(super) fn note_there(&mut self, there: &BTreeMap<PathBuf, Listed>) {
        for (path, known) in &mut self.0 {
            known.there = there.get(path).map(|listed| listed.stamp.clone());
        }
    }
}

fn is_hidden(hidden: &BTreeSet<PathBuf>, path: &Path) -> bool {
    path.ancestors().any(|above| hidden.contains(above))
}

/// Whether a path stays below the directory that it is meant to be in, as far as it can be told from the path.
fn stays_below(path: &Path) -> bool {
    let length = path.as_os_str().len();
    (1..=4096).contains(&length)
        && path
            .components()
            .all(|part| matches!(part, Component::Normal(name) if name.len() <= 255))
        // Components leave out what a path may have beside names.
        && path.components().collect::<PathBuf>().as_os_str().len() == length
}

#[cfg(test)]
mod tests;
