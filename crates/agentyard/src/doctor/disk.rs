//! Room on the disk.

use std::path::Path;

use agentyard_sandbox::Finding;
use rustix::fs::statvfs;

/// Less than this is little: a working tree of a large repository takes a few hundred megabytes.
const LITTLE_BYTES: u64 = 2 * 1024 * 1024 * 1024;

/// Fewer free inodes than this are few: every file of every working tree takes one.
const FEW_INODES: u64 = 100_000;

/// Looks at the room where work would be done.
pub(crate) fn look(place: &Path) -> Finding {
    const WHAT: &str = "disk space";
    const REMEDY: &str = "free some room, or move the data directory to a larger disk";
    let shown = place.display();
    let found = match statvfs(place) {
        Ok(found) => found,
        Err(error) => return Finding::limited(WHAT, format!("{shown} could not be asked: {error}"), REMEDY),
    };
    let bytes = found.f_bavail.saturating_mul(found.f_frsize);
    let detail = format!("{:.1} GiB free in {shown}", gibibytes(bytes));
    // Some file systems have no inodes to count, and say that there are none at all.
    let few_inodes = found.f_files > 0 && found.f_favail < FEW_INODES;
    match (bytes < LITTLE_BYTES, few_inodes) {
        (false, false) => Finding::ok(WHAT, detail),
        (true, _) => Finding::limited(WHAT, detail, REMEDY),
        (false, true) => Finding::limited(
            WHAT,
            format!("{detail}, but only {} inodes", found.f_favail),
            REMEDY,
        ),
    }
}

#[expect(clippy::cast_precision_loss, reason = "it is shown with one digit")]
fn gibibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 30)
}
