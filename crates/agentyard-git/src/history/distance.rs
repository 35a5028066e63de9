//! How far two commits are apart.

use std::sync::atomic::AtomicBool;

use super::{CommitRange, History, Walk};
use crate::{Distance, Error};

/// Counts the commits that only one of two has in its history.
pub(crate) fn distance(
    history: &mut History<'_>,
    ours: gix::ObjectId,
    theirs: gix::ObjectId,
    cancel: &AtomicBool,
) -> Result<Distance, Error> {
    if ours == theirs {
        return Ok(Distance { ahead: 0, behind: 0 });
    }
    let mut count = |include, exclude| {
        let range = CommitRange {
            include: vec![include],
            exclude: vec![exclude],
            ..CommitRange::default()
        };
        let mut walk = Walk::new(history, &range, None, cancel)?;
        let mut commits = 0;
        while walk.next()?.is_some() {
            commits += 1;
        }
        Ok(commits)
    };
    Ok(Distance {
        ahead: count(ours, theirs)?,
        behind: count(theirs, ours)?,
    })
}
