//! What is left of mirrors whose removal was interrupted.

use std::sync::atomic::AtomicBool;

use super::Trees;
use super::layout::{check_name, entries, make_root};
use crate::Error;
use crate::remove_tree::remove_tree;

/// How the name of a mirror begins that is being removed.
pub(super) const GONE: &str = ".gone-";

impl Trees {
    /// Removes what is left of mirrors that somebody began to remove. A mirror that nobody began to remove stays,
    /// whether or not the database knows it: it may hold the only copy of somebody's work.
    pub fn finish_removals(&self, cancel: &AtomicBool) -> Result<(), Error> {
        let names = entries(&self.repos_path())?;
        let keys = names.iter().filter_map(|name| name.strip_prefix(GONE));
        for key in keys.filter(|key| check_name("repository", key).is_ok()) {
            let _lock = self.lock_mirror(key, cancel)?;
            let repos = make_root(&self.repos_path())?;
            remove_tree(&repos, format!("{GONE}{key}").as_ref(), cancel)?;
        }
        Ok(())
    }
}
