//! The ways in which a working tree comes to its files, and which of them this machine offers.

use std::fmt;
use std::fs::File;
use std::path::Path;
use std::str::FromStr;
use std::sync::atomic::AtomicBool;

use super::Trees;
use super::layout::{make_directory, make_root};
use super::{mount, overlay};
use crate::Error;
use crate::remove_tree::remove_tree;

/// How a working tree comes to its files, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Way {
    /// It is mounted over a base that many share; only what differs is its own.
    Overlay,
    /// Its files are copies of a base's whose blocks are shared until they are changed.
    Reflink,
    /// git writes its files.
    Checkout,
}

impl Way {
    /// From the best to the one that always works.
    pub const ALL: [Self; 3] = [Self::Overlay, Self::Reflink, Self::Checkout];

    /// As in the configuration: `overlay`, `reflink`, `checkout`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Overlay => "overlay",
            Self::Reflink => "reflink",
            Self::Checkout => "checkout",
        }
    }
}

impl fmt::Display for Way {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for Way {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let found = Self::ALL.into_iter().find(|way| way.as_str() == text);
        found.ok_or_else(|| {
            let shown: String = crate::text::one_line(text).chars().take(40).collect();
            Error::invalid(
                format!("the way {shown:?} of making working trees"),
                "it is one of: overlay, reflink, checkout",
            )
        })
    }
}

impl Trees {
    /// Which ways work in the data directory, best first, and why the others do not. Tried out when first asked.
    pub fn ways(&self) -> &[(Way, Result<(), String>)] {
        self.ways.get_or_init(|| {
            Way::ALL
                .into_iter()
                .map(|way| (way, self.probe(way).map_err(|error| error.to_string())))
                .collect()
        })
    }

    /// The way in which views are made: the one that is set, or else the best that works.
    pub(super) fn way(&self) -> Result<Way, Error> {
        let Some(way) = self.settings.way else {
            let mut working = self.ways().iter().filter(|(_, outcome)| outcome.is_ok());
            return Ok(working.next().map_or(Way::Checkout, |(way, _)| *way));
        };
        match self.ways().iter().find(|(known, _)| *known == way) {
            Some((_, Err(reason))) => Err(Error::state(
                format!("working trees are set to be made by `{way}`, which does not work here: {reason}"),
                "leave that setting out, so that the best way is taken that works",
            )),
            _ => Ok(way),
        }
    }

    /// Fails where it is known that this process may not mount.
    pub(super) fn may_mount(&self) -> Result<(), Error> {
        match &self.settings.obstacle {
            None => Ok(()),
            Some(reason) => Err(Error::state(
                format!("views cannot be mounted by this process: {reason}"),
                "`agentyard doctor` says what can be done about it, in the row `workspaces`",
            )),
        }
    }

    fn probe(&self, way: Way) -> Result<(), Error> {
        match way {
            Way::Overlay => self.may_mount()?,
            Way::Reflink => {}
            Way::Checkout => return Ok(()),
        }
        let go_on = AtomicBool::new(false);
        let name = format!(".probe-{way}");
        let _lock = self.lock(&name[1..], &go_on)?;
        let trees = make_root(&self.all_trees_path())?;
        let place = trees.path().join(&name);
        // A process that was killed while it tried left its mount.
        mount::unmount_all_below(&place)?;
        remove_tree(&trees, name.as_ref(), &go_on)?;
        make_directory(&place)?;
        let outcome = match way {
            Way::Overlay => overlay::probe(&place),
            Way::Reflink => probe_reflink(&place),
            Way::Checkout => Ok(()),
        };
        mount::unmount_all_below(&place)?;
        remove_tree(&trees, name.as_ref(), &go_on)?;
        outcome
    }
}

fn probe_reflink(place: &Path) -> Result<(), Error> {
    let refused = |error: std::io::Error| {
        Error::state(
            format!("the data directory's file system does not share blocks between files: {error}"),
            "keep the data directory on XFS or Btrfs",
        )
    };
    let (one, other) = (place.join("one"), place.join("other"));
    std::fs::write(&one, [b'x'; 8192]).map_err(refused)?;
    let other = File::create(other).map_err(refused)?;
    let one = File::open(one).map_err(refused)?;
    rustix::fs::ioctl_ficlone(&other, &one).map_err(|errno| refused(errno.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_are_read_as_they_are_written() {
        for way in Way::ALL {
            assert_eq!(way.as_str().parse::<Way>().unwrap(), way);
        }
        assert!("hardlink".parse::<Way>().is_err());
    }
}
