//! The files of a new base are given to those who will change them in views.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use rustix::fs::OFlags;

use super::TreeOwner;
use super::index_stats::{directories, noted, read_index, renew_stats, write_index};
use super::layout::failed;
use crate::descriptor::{as_path, open_entry};
use crate::{Confined, Error, ObjectId};

/// The name of an index until it takes the place of the other.
const NEW_INDEX: &str = "index.new";

/// Gives away all that an index lists, and the directories on the way, and notes in the index what the kernel then says
/// about the files: git would hash those again of which it says anything else.
pub(super) fn give_base(
    base: &Confined,
    tree: &Confined,
    commit: &ObjectId,
    owner: TreeOwner,
    cancel: &AtomicBool,
) -> Result<(), Error> {
    let given = |path: &Path| failed("given to the user of sandboxes", &tree.path().join(path));
    let give = |path: &Path| -> Result<OwnedFd, Error> {
        let entry = open_entry(tree.directory(), path, OFlags::PATH).map_err(given(path))?;
        owner.take(&entry).map_err(given(path))?;
        Ok(entry)
    };
    let path = base.path().join("index");
    let mut index = read_index(&path, commit)?;
    for directory in directories(&index) {
        give(as_path(directory))?;
    }
    renew_stats(&mut index, cancel, |path, _| {
        let stat = rustix::fs::fstat(give(path)?).map_err(given(path))?;
        Ok(noted(&stat))
    })?;
    write_index(&index, base, NEW_INDEX)?;
    let directory = base.directory();
    rustix::fs::renameat(directory, NEW_INDEX, directory, "index").map_err(failed("made", &path))
}
