//! Views are closed.

use std::sync::atomic::AtomicBool;

use super::layout::{check_name, open_root};
use super::{Trees, mount};
use crate::Error;
use crate::remove_tree::remove_tree;

impl Trees {
    /// Removes a view: its mount, its files, what the mirror knows of it. Its branch stays.
    ///
    /// However far an earlier call came, this one finishes it; a view that is not there is no failure.
    pub fn close_view(&self, key: &str, name: &str, cancel: &AtomicBool) -> Result<(), Error> {
        check_name("repository", key)?;
        check_name("workspace", name)?;
        let path = self.view_path(key, name);
        mount::unmount_all_below(&path)?;
        for parent in [self.trees_path(key), self.views_path(key)] {
            if parent.join(name).symlink_metadata().is_ok() {
                remove_tree(&open_root(&parent)?, name.as_ref(), cancel)?;
            }
        }
        self.unregister(key, name, cancel)
    }
}
