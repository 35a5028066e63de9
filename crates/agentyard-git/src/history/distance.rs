//! How far two commits are apart.

use std::collections::BinaryHeap;
use std::sync::atomic::AtomicBool;

use super::walk::SLOP;
use super::{History, Node};
use crate::error::check_cancelled;
use crate::{Distance, Error};

/// Counts the commits that only one of two has in its history.
///
/// Both histories are walked together, newest commit first, only as far as they differ: a list of branches asks for
/// this hundreds of times.
pub(crate) fn distance(
    history: &mut History<'_>,
    ours: gix::ObjectId,
    theirs: gix::ObjectId,
    cancel: &AtomicBool,
) -> Result<Distance, Error> {
    if ours == theirs {
        return Ok(Distance { ahead: 0, behind: 0 });
    }
    let mut painting = Painting::default();
    for (id, side) in [(ours, OURS), (theirs, THEIRS)] {
        let node = history.load(id)?;
        painting.paint(history, node, side);
    }
    let mut oldest = i64::MAX;
    let mut slop = SLOP;
    while let Some((time, node, sides)) = painting.pop() {
        check_cancelled(cancel)?;
        if sides != BOTH {
            oldest = oldest.min(time);
        }
        for at in 0..history.commit(node).parents.len() {
            let parent = history.commit(node).parents[at];
            history.load_node(parent)?;
            painting.paint(history, parent, sides);
        }
        // What is left belongs to both. It may yet lead to a commit that was taken for one side's, if clocks were
        // wrong.
        let is_done = painting.one_sided == 0 && painting.queue.peek().is_none_or(|&(next, _)| next < oldest);
        slop = if is_done { slop - 1 } else { SLOP };
        if slop == 0 {
            break;
        }
    }
    let count = |side| painting.marks.iter().filter(|&&mark| mark & BOTH == side).count();
    Ok(Distance {
        ahead: count(OURS),
        behind: count(THEIRS),
    })
}

const OURS: u8 = 1;
const THEIRS: u8 = 2;
const BOTH: u8 = OURS | THEIRS;
const IN_QUEUE: u8 = 4;

/// Which commits belong to which side, as far as is known.
#[derive(Default)]
struct Painting {
    /// By node.
    marks: Vec<u8>,
    /// Time and node.
    queue: BinaryHeap<(i64, usize)>,
    /// How many commits in the queue do not belong to both sides.
    one_sided: usize,
}

impl Painting {
    /// Notes that a commit belongs to a side too, and that this has to be passed on.
    fn paint(&mut self, history: &History<'_>, node: Node, sides: u8) {
        if self.marks.len() <= node.0 {
            self.marks.resize(node.0 + 1, 0);
        }
        let old = self.marks[node.0];
        let new = old | sides;
        if new == old {
            return;
        }
        self.marks[node.0] = new | IN_QUEUE;
        let is_queued = old & IN_QUEUE != 0;
        if !is_queued {
            self.queue.push((history.commit(node).time, node.0));
        }
        self.one_sided -= usize::from(is_queued && old & BOTH != BOTH);
        self.one_sided += usize::from(new & BOTH != BOTH);
    }

    /// The newest commit that has something to pass on.
    fn pop(&mut self) -> Option<(i64, Node, u8)> {
        let (time, node) = self.queue.pop()?;
        let sides = self.marks[node] & BOTH;
        self.marks[node] = sides;
        self.one_sided -= usize::from(sides != BOTH);
        Some((time, Node(node), sides))
    }
}
