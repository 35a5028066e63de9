//! When the base of a repository's new workspaces was last made anew.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use agentyard_model::RepoId;

/// A base is a whole checkout. One that is a little behind costs each new workspace only the files that differ, so it
/// is not made anew for every commit.
const EVERY: Duration = Duration::from_secs(10 * 60);

/// When each was, by this process.
#[derive(Default)]
pub(super) struct Refreshed(Mutex<HashMap<RepoId, Instant>>);

impl Refreshed {
    /// Whether it is time again; if so, that is noted.
    pub(super) fn is_due(&self, repo: RepoId) -> bool {
        let mut refreshed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        refreshed.retain(|_, at| now.duration_since(*at) < EVERY);
        match refreshed.get(&repo) {
            Some(_) => false,
            None => refreshed.insert(repo, now).is_none(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_repository_has_its_own_time() {
        let refreshed = Refreshed::default();
        let (one, other) = (RepoId::new(), RepoId::new());
        assert!(refreshed.is_due(one));
        assert!(!refreshed.is_due(one));
        assert!(refreshed.is_due(other));
    }
}
