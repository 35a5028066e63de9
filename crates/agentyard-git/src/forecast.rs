//! Which branches would conflict if they were merged, found out before anybody merges them.
//!
//! A merge is not carried out. What each side changed since the commit that both come from is worked out once
//! ([`Side`]), two such lists are held against each other ([`judge`]), and only files that both changed are
//! merged, line by line, in memory. Nothing is written, and no merge driver is run.
//!
//! The answer is the one that `git merge-tree` gives, with these exceptions:
//!
//! - A submodule that both sides moved to different commits is a conflict, although git looks into it, where it
//!   is checked out, to see whether one of the commits follows the other.
//! - Drivers that the configuration defines are programs and do not run; their files are merged as text.
//!   `merge.renormalize` is not looked at.
//! - Where two branches have several merge bases, these are merged by gix, which takes one side of what is in
//!   conflict between them. git leaves the conflict in the base.
//! - Files of more than [`MAX_MERGED_FILE`] bytes that both changed are a conflict.

mod bases;
mod contents;
mod directories;
mod drivers;
mod forecasts;
mod judge;
mod overlap;
mod side;
mod workers;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::{Error, ObjectId, Repository, WorkingTree};
pub(crate) use contents::MAX_MERGED_FILE;
pub use forecasts::Forecasts;
use workers::{Match, Workers};

/// A branch with the work on it.
#[derive(Clone, Debug)]
pub struct Contender {
    /// What messages call it.
    pub name: String,
    pub head: ObjectId,
    /// The files as they are, work that is not committed included. None when they are those of the head.
    pub work: Option<Arc<WorkingTree>>,
    /// The commit with which it is to be merged in the end, if there is one.
    pub target: Option<ObjectId>,
}

/// Who would conflict with whom.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Forecast {
    /// Conflicts with the target, by contender.
    pub against_target: Vec<Collision>,
    /// Conflicts of contenders with each other, by the first, then the second of them.
    pub pairs: Vec<Collision>,
    /// How many merges were foreseen, those with the target included.
    pub compared: usize,
    /// How many of them cannot be foreseen, because one side changed too many files.
    pub uncompared: usize,
    /// Contenders that were left out: what should be their head, tree or target is none, or is damaged.
    pub unreadable: Vec<usize>,
}

/// Two branches that would conflict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collision {
    /// The number of the contender.
    pub ours: usize,
    /// The number of the other one; none for the target.
    pub theirs: Option<usize>,
    /// By path, at most [`MAX_COLLIDING_FILES`].
    pub files: Arc<[CollidingFile]>,
    /// How many files there are in all.
    pub total: usize,
}

/// A file that would be left in conflict.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CollidingFile {
    pub path: String,
    pub kind: CollisionKind,
}

/// Why two branches cannot agree about a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CollisionKind {
    /// Both changed the same lines.
    Content,
    /// Both added it, with different content.
    BothAdded,
    /// One deleted what the other changed.
    DeletedAndChanged,
    /// One renamed what the other deleted or renamed to something else, or to where the other has a file.
    Renamed,
    /// One renamed the directory in which the other added it.
    DirectoryRenamed,
    /// It is a file to one, and a directory to the other.
    DirectoryAndFile,
    /// Both changed a file that cannot be merged by lines, or is too large for that.
    Binary,
    /// Both made it something else: a file, a link, a submodule, an executable.
    Mode,
    /// Both moved a submodule.
    Submodule,
}

/// How many files are listed of a collision.
pub const MAX_COLLIDING_FILES: usize = 100;

impl Repository {
    /// Foresees the merge of every two contenders, and of each with its target. With a `focus`, only what that one
    /// takes part in.
    pub fn forecast(
        &self,
        forecasts: &Forecasts,
        contenders: &[Contender],
        focus: Option<usize>,
        cancel: &AtomicBool,
    ) -> Result<Forecast, Error> {
        let workers = Workers::new(self, forecasts, contenders, cancel);
        let (tips, unreadable) = workers.tips()?;
        let mut forecast = Forecast {
            unreadable,
            ..Forecast::default()
        };
        let is_wanted = |number| focus.is_none_or(|focus| focus == number);
        let mut matches = Vec::new();
        for (at, ours) in tips.iter().enumerate() {
            // Work is merged into the target, which is therefore the side whose attributes hold.
            let target = ours.target.filter(|_| is_wanted(ours.number));
            matches.extend(target.map(|target| Match {
                names: (ours.number, None),
                tips: [target, ours.tip],
            }));
            let others = tips[at + 1..].iter();
            let others = others.filter(|theirs| is_wanted(ours.number) || is_wanted(theirs.number));
            matches.extend(others.map(|theirs| Match {
                names: (ours.number, Some(theirs.number)),
                tips: [ours.tip, theirs.tip],
            }));
        }
        forecast.compared = matches.len();
        for (found, verdict) in workers.run(&matches)? {
            let Some(verdict) = verdict else {
                forecast.uncompared += 1;
                forecast.compared -= 1;
                continue;
            };
            if verdict.total == 0 {
                continue;
            }
            let (ours, theirs) = found.names;
            let collision = Collision {
                ours,
                theirs,
                files: verdict.files,
                total: verdict.total,
            };
            match theirs {
                None => forecast.against_target.push(collision),
                Some(_) => forecast.pairs.push(collision),
            }
        }
        Ok(forecast)
    }
}
