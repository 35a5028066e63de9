//! Room for environments: they may take so much together, and what was not used for longest goes first.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::Environments;
use super::files_on_disk::{remove, size_of};
use super::record::Record;
use super::target::Target;
use crate::error::{Error, ErrorKind, Result};

/// Of the room for environments, what was downloaded may take this part.
const CACHE_PART: u64 = 4;

/// An environment in the data directory.
struct Kept {
    key: String,
    state: PathBuf,
    used: Option<SystemTime>,
    size: u64,
}

impl Environments {
    /// Sees that there is room for an environment to be made or filled.
    pub(super) fn make_room(&self, target: &Target) -> Result<()> {
        let most = self.0.settings.max_bytes;
        self.empty_full_caches(most / CACHE_PART);
        let mut kept = self.kept();
        let mut taken: u64 = kept.iter().map(|kept| kept.size).sum();
        kept.sort_by_key(|kept| kept.used);
        for other in kept.iter().filter(|other| other.key != target.key) {
            if taken <= most {
                break;
            }
            if let Some(_change) = self.0.turns.to_change_if_free(&other.key, "making room") {
                match Record::remove(&other.state).and_then(|()| remove(&other.state)) {
                    Ok(()) => {
                        tracing::info!(
                            environment = other.key,
                            bytes = other.size,
                            "an environment was removed to make room"
                        );
                        taken = taken.saturating_sub(other.size);
                    }
                    Err(error) => {
                        tracing::warn!(%error, environment = other.key, "an environment could not be removed")
                    }
                }
            }
        }
        if taken <= most {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::LimitExceeded,
            format!(
                "there is no room for Python environments: they take {} MB of {} MB",
                taken >> 20,
                most >> 20
            ),
        )
        .hint("close workspaces that are not needed, or raise `exec.max_environments_mb`"))
    }

    /// The environments in the data directory.
    fn kept(&self) -> Vec<Kept> {
        let top = self.directory();
        let places = directories(&top).into_iter();
        let states = places.flat_map(|place| directories(&place));
        states
            .map(|state| Kept {
                key: state.strip_prefix(&top).unwrap_or(&state).display().to_string(),
                used: Record::used(&state),
                size: size_of(&state),
                state,
            })
            .collect()
    }

    fn empty_full_caches(&self, most: u64) {
        for cache in directories(&self.0.settings.directory.join("cache")) {
            let packages = cache.join("packages");
            if size_of(&packages) > most
                && let Err(error) = remove(&packages)
            {
                tracing::warn!(%error, "downloaded packages could not be removed");
            }
        }
    }
}

fn directories(path: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .collect()
}
