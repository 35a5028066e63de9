//! Repositories of our own and working trees on them, in the data directory.
//!
//! ```text
//! repos/<key>.git              a bare mirror; its `refs/heads/` are the workspaces' own branches
//! trees/<key>/bases/<commit>/  a checked-out tree that never changes (`tree`), and its index (`index`); a base whose
//!                              files belong to somebody else than this process has their numbers in its name, too
//! trees/<key>/views/<name>/    what one view over a base has of its own (`upper`, `work`), and which base (`base`)
//! trees/<key>/<name>/          the working tree: a mount point, or a real directory
//! locks/                       files whose locks serialise what several processes do
//! ```
//!
//! Each step leaves something that the next call can finish or remove: nothing here needs to be undone when the
//! process is killed. What is on disk is found again by its name alone.

mod base;
mod base_name;
mod base_owner;
mod branch_settings;
mod checkout;
mod close;
mod disk_use;
mod hand_over;
mod index_stats;
mod layout;
mod lock;
mod mirror;
mod mirror_fetch;
mod mount;
mod open;
mod overlay;
mod owner;
mod reflink;
mod registration;
mod removals;
mod rights;
mod stale_locks;
#[cfg(test)]
mod tests;
mod way;
mod whose;

use std::path::PathBuf;
use std::sync::OnceLock;

pub use mirror::MirrorState;
pub use mirror_fetch::MirrorFetch;
pub use open::{NewView, View};
pub use owner::TreeOwner;
pub use way::Way;

/// Mirrors, bases and views in one data directory.
#[derive(Debug)]
pub struct Trees {
    settings: TreeSettings,
    ways: OnceLock<Vec<(Way, Result<(), String>)>>,
}

/// Where trees are kept, and how they are made.
#[derive(Debug, Clone)]
pub struct TreeSettings {
    /// The data directory: absolute, and nobody else's.
    pub directory: PathBuf,
    /// The way in which views are made, in place of the best that this machine offers.
    pub way: Option<Way>,
    /// Why this process may not mount views, where that is known beforehand.
    pub obstacle: Option<String>,
    /// To whom files in mounted views are given, where commands run there as somebody else than this process, which is
    /// then root.
    pub owner: Option<TreeOwner>,
}

impl Trees {
    /// Trees in a data directory. Nothing is touched there yet.
    pub fn new(settings: TreeSettings) -> Self {
        Self {
            settings,
            ways: OnceLock::new(),
        }
    }
}
