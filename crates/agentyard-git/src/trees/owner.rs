//! To whom the files of working trees belong, where the server is root and what runs in them is not.
//!
//! Overlays cannot be mounted with other owners than their files really have, so the files of bases are given away when
//! a base is made, and what root writes into a view before somebody else works there (see [`super::hand_over`]).

use std::os::fd::AsFd;

use rustix::fs::{AtFlags, Gid, Mode, Stat, Uid};
use rustix::io::Errno;

use super::{Trees, Way};
use crate::descriptor::magic_path;

/// The rights of the top of a view that is worked in by somebody else than root. It is not sticky, which would keep `.git`
/// from being removed, too: many machines forbid even root to write to others' files in sticky directories.
const SHARED_TOP: Mode = Mode::from_raw_mode(0o775);

/// A user and a group of this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeOwner {
    /// The user's number.
    pub uid: u32,
    /// The group's number.
    pub gid: u32,
}

impl TreeOwner {
    /// Whether something belongs to this user and group.
    pub(super) fn has(self, stat: &Stat) -> bool {
        (stat.st_uid, stat.st_gid) == (self.uid, self.gid)
    }

    /// Gives them what is open, be it only as a place (`O_PATH`): a link itself, not what it leads to.
    pub(super) fn take(self, entry: impl AsFd) -> Result<(), Errno> {
        let (uid, gid) = (Uid::from_raw(self.uid), Gid::from_raw(self.gid));
        rustix::fs::chownat(entry, "", Some(uid), Some(gid), AtFlags::EMPTY_PATH)
    }

    /// Lets them make files at the top of a view. It stays root's own, as its `.git` does: git refuses to work for root
    /// in a tree of somebody else, who might have put that there.
    pub(super) fn share_top(self, top: impl AsFd) -> Result<(), Errno> {
        let top = top.as_fd();
        let stat = rustix::fs::fstat(top)?;
        if stat.st_gid != self.gid {
            rustix::fs::chownat(top, "", None, Some(Gid::from_raw(self.gid)), AtFlags::EMPTY_PATH)?;
        }
        if stat.st_mode & 0o7777 != SHARED_TOP.as_raw_mode() {
            rustix::fs::chmod(magic_path(top), SHARED_TOP)?;
        }
        Ok(())
    }
}

impl Trees {
    /// Whose the files of new bases are, and those in views over them. Copies and checkouts stay root's.
    pub(super) fn owner(&self) -> Option<TreeOwner> {
        self.settings
            .owner
            .filter(|_| self.way().is_ok_and(|way| way == Way::Overlay))
    }
}
