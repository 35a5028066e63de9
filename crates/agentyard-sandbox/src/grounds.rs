//! The grounds on which sandboxes stand: what each of them keeps on disk.
//!
//! A sandbox has three directories that it may write to. One that is made from a snapshot shares the snapshot's bytes
//! until it changes them: by a view that is mounted over the snapshot's layers (overlayfs), and where that cannot be had,
//! by copies that share their blocks, or by plain copies. A snapshot holds what a sandbox has changed itself, as a layer
//! over those that it stood on.
//!
//! Nothing half-made is ever seen: everything is made aside and then renamed. A layer is removed when neither a sandbox
//! nor a snapshot names it any more in its record, which is all the counting there is.
//!
//! What lies in these directories was made by programs that nobody trusts: it is walked by descriptor, and no link in it
//! is ever followed.

mod copying;
mod layers;
mod layout;
mod making;
mod record;
mod removal;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;

use crate::command::Mount;
use layout::Layout;
use making::Inner;

/// The directories of a sandbox, each with the place where it is seen and its mode.
const DIRECTORIES: &[(&str, &str, u32)] = &[
    ("home", crate::standing::STANDING_HOME, 0o755),
    ("workspace", "/workspace", 0o755),
    ("tmp", "/tmp", 0o1777),
];

/// How a sandbox comes by what is in the snapshot that it is made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CopyWay {
    /// It sees the snapshot's own files until it changes them (overlayfs).
    Layered,
    /// It has files of its own that share their blocks with the snapshot's (reflinks).
    Reflinked,
    /// It has a copy.
    Copied,
}

impl CopyWay {
    /// Its name in answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Layered => "layered",
            Self::Reflinked => "reflinked",
            Self::Copied => "copied",
        }
    }
}

/// How much a sandbox holds on disk, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GroundsSize {
    /// What is its own.
    pub own: u64,
    /// What lies below that: it is shared with snapshots and other sandboxes.
    pub shared: u64,
}

impl GroundsSize {
    /// All of it.
    #[must_use]
    pub fn total(self) -> u64 {
        self.own.saturating_add(self.shared)
    }
}

/// Why something on the grounds could not be done.
#[derive(Debug, thiserror::Error)]
pub enum GroundsError {
    /// There is no such thing.
    #[error("there is no {what} `{id}`")]
    Unknown {
        /// A sandbox or a snapshot.
        what: &'static str,
        /// Its name.
        id: String,
    },
    /// There is one already.
    #[error("there is a {what} `{id}` already")]
    Exists {
        /// A sandbox or a snapshot.
        what: &'static str,
        /// Its name.
        id: String,
    },
    /// It cannot be called so.
    #[error("`{0}` is no name: 1 to 64 small letters, digits and `-`")]
    Name(String),
    /// The file system says no.
    #[error("{doing} failed: {source}")]
    Files {
        /// What was attempted, and on what.
        doing: String,
        /// Why it failed.
        source: io::Error,
    },
}

/// What sandboxes keep on disk. Copies are the same.
#[derive(Debug, Clone)]
pub struct Grounds(Arc<Inner>);

impl Grounds {
    /// The grounds in a directory, which is made when it is not there. What was half-made or half-removed there is
    /// removed. Directories are given to this user and group, which only root can do.
    ///
    /// # Errors
    /// When the directory cannot be used.
    pub fn open(directory: PathBuf, owner: Option<(u32, u32)>) -> Result<Self, GroundsError> {
        let layout = Layout::open(directory, owner)?;
        let way = layout.best_way()?;
        Self::with_way(layout, way)
    }

    fn with_way(layout: Layout, way: CopyWay) -> Result<Self, GroundsError> {
        let inner = Inner::new(layout, way);
        inner.remove_unused_layers()?;
        Ok(Self(Arc::new(inner)))
    }

    /// How sandboxes come by what is in a snapshot here.
    #[must_use]
    pub fn way(&self) -> CopyWay {
        self.0.way
    }

    /// The directories of a sandbox, to be shown inside: its own where it has some, else made now, empty or as they are
    /// in a snapshot.
    ///
    /// # Errors
    /// When there is no such snapshot, or the file system says no.
    pub async fn prepare(&self, id: &str, from: Option<&str>) -> Result<Vec<Mount>, GroundsError> {
        let (id, from) = (id.to_owned(), from.map(str::to_owned));
        self.work(move |inner| inner.prepare(&id, from.as_deref())).await
    }

    /// Keeps a sandbox's directories as they are now, under another name. Nobody may change them meanwhile: it is frozen,
    /// or does not run.
    ///
    /// # Errors
    /// When there is no such sandbox, the name is taken, or the file system says no.
    pub async fn snapshot(&self, id: &str, snapshot: &str) -> Result<(), GroundsError> {
        let (id, snapshot) = (id.to_owned(), snapshot.to_owned());
        self.work(move |inner| inner.snapshot(&id, &snapshot)).await
    }

    /// Removes the directories of a sandbox that does not run any more. One that is not there need not be removed.
    ///
    /// # Errors
    /// When the file system says no.
    pub async fn remove(&self, id: &str) -> Result<(), GroundsError> {
        let id = id.to_owned();
        self.work(move |inner| {
            inner.layout.unmount_views(&id)?;
            inner.layout.discard(layout::SANDBOXES, &id)?;
            inner.remove_unused_layers()
        })
        .await
    }

    /// Removes a snapshot. Sandboxes that were made from it stay as they are, and its bytes until the last of them is gone.
    ///
    /// # Errors
    /// When the file system says no.
    pub async fn remove_snapshot(&self, id: &str) -> Result<(), GroundsError> {
        let id = id.to_owned();
        self.work(move |inner| {
            inner.layout.discard(layout::SNAPSHOTS, &id)?;
            inner.remove_unused_layers()
        })
        .await
    }

    /// The sandboxes that have directories here.
    ///
    /// # Errors
    /// When the file system says no.
    pub async fn list(&self) -> Result<Vec<String>, GroundsError> {
        self.work(|inner| inner.layout.names(layout::SANDBOXES)).await
    }

    /// The snapshots that are here.
    ///
    /// # Errors
    /// When the file system says no.
    pub async fn snapshots(&self) -> Result<Vec<String>, GroundsError> {
        self.work(|inner| inner.layout.names(layout::SNAPSHOTS)).await
    }

    /// How much a sandbox holds on disk.
    ///
    /// # Errors
    /// When there is no such sandbox.
    pub async fn size(&self, id: &str) -> Result<GroundsSize, GroundsError> {
        let id = id.to_owned();
        self.work(move |inner| inner.layout.size(&id)).await
    }

    /// Does something that waits for disks, where nobody else has to wait for it.
    async fn work<T: Send + 'static>(
        &self,
        act: impl FnOnce(&Inner) -> Result<T, GroundsError> + Send + 'static,
    ) -> Result<T, GroundsError> {
        let inner = Arc::clone(&self.0);
        tokio::task::spawn_blocking(move || act(&inner))
            .await
            .unwrap_or_else(|error| Err(files("a task about files")(io::Error::other(error))))
    }
}

fn unknown(what: &'static str, id: &str) -> GroundsError {
    GroundsError::Unknown {
        what,
        id: id.to_owned(),
    }
}

fn exists(what: &'static str, id: &str) -> GroundsError {
    GroundsError::Exists {
        what,
        id: id.to_owned(),
    }
}

/// What went wrong with files, while what was done to them.
fn files<E: Into<io::Error>>(doing: impl Into<String>) -> impl FnOnce(E) -> GroundsError {
    let doing = doing.into();
    move |source| GroundsError::Files {
        doing,
        source: source.into(),
    }
}

/// The same, about one path.
fn at<E: Into<io::Error>>(doing: &'static str, path: &Path) -> impl FnOnce(E) -> GroundsError {
    files(format!("{doing} {}", path.display()))
}

#[cfg(test)]
mod tests;
