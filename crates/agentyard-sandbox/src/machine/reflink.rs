//! Reflinks: copies of files that share their blocks until one is written.

use std::fs::File;
use std::io::{self, Write};

use super::Machine;
use super::finding::Finding;
use super::scratch::Scratch;

impl Machine {
    /// Clones a file where work will be done.
    pub(crate) fn reflink(&self) -> Finding {
        const WHAT: &str = "reflink";
        let place = self.context.scratch.display();
        match self.clone_file() {
            Ok(()) => Finding::ok(WHAT, format!("a file was cloned in {place}")),
            Err(error) => Finding::missing(
                WHAT,
                format!("a file could not be cloned in {place}: {error}"),
                "put the data directory on btrfs or XFS; without reflinks, overlayfs or plain copies are used",
            ),
        }
    }

    fn clone_file(&self) -> io::Result<()> {
        let scratch = Scratch::new(&self.context.scratch)?;
        let original = scratch.join("original");
        File::create(&original)?.write_all(&[7; 4096])?;
        let copy = File::create(scratch.join("copy"))?;
        Ok(rustix::fs::ioctl_ficlone(&copy, &File::open(original)?)?)
    }
}
