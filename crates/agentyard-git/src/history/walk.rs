//! Walking the graph, newest commit first, in the order of `git log`.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};

use super::{History, Node, topology};
use crate::Error;

/// Which commits to visit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CommitRange {
    /// Start here.
    pub(crate) include: Vec<gix::ObjectId>,
    /// Leave these out, with everything they descend from.
    pub(crate) exclude: Vec<gix::ObjectId>,
    /// Go no further back than this second.
    pub(crate) since: Option<i64>,
    /// Of what is included, follow the first parent of merges only.
    pub(crate) first_parent: bool,
    /// Keep lines of history together. The whole range has to be known before the first commit is.
    pub(crate) topological: bool,
}

/// Decides where a walk goes on, to follow the history of something smaller than the whole tree.
pub(crate) trait Simplify {
    /// `any_relevant` tells of more than the parents that are followed: as in git, of the second one, too, where only
    /// the first is.
    fn keep(
        &mut self,
        history: &History<'_>,
        commit: Node,
        parents: &[Parent],
        any_relevant: bool,
    ) -> Result<Keep, Error>;
}

/// A parent, as seen from the commit that the walk is at.
#[derive(Clone, Copy)]
pub(crate) struct Parent {
    pub(crate) node: Node,
    /// It is in the range, or at its edge. What lies beyond has no say in what is simplified.
    pub(crate) relevant: bool,
}

/// What becomes of a commit, and of the walk behind it.
pub(crate) enum Keep {
    /// Visit it, and go on with all parents.
    Commit,
    /// Pass over it, and go on with all parents.
    Parents,
    /// Pass over it, and go on with this parent only: the others brought nothing.
    Parent(usize),
}

/// A walk over a [`CommitRange`]. Yields one commit after another.
pub(crate) struct Walk<'walk, 'repo> {
    history: &'walk mut History<'repo>,
    simplify: Option<&'walk mut dyn Simplify>,
    cancel: &'walk AtomicBool,
    since: i64,
    first_parent: bool,
    topological: bool,
    queue: BinaryHeap<Queued>,
    enqueued: usize,
    /// How many commits in the queue are not excluded.
    wanted_in_queue: usize,
    /// By node.
    marks: Vec<Mark>,
    /// All that there is to visit, where that has to be known before the first can be.
    limited: Option<VecDeque<Node>>,
}

/// Newest first; among equals, first come, first served.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Queued {
    time: i64,
    order: Reverse<usize>,
    node: usize,
}

#[derive(Clone, Copy, Default)]
struct Mark {
    seen: bool,
    excluded: bool,
    /// Excluded by name, not only as an ancestor.
    edge: bool,
    in_queue: bool,
    /// It is of the range, but not to be visited.
    passed_over: bool,
    /// The only parent that matters, once the others are simplified away.
    only_parent: Option<Node>,
}

/// How many excluded commits are looked at after the last interesting one, in case clocks were wrong. git's
/// number.
pub(super) const SLOP: usize = 5;

impl<'walk, 'repo> Walk<'walk, 'repo> {
    pub(crate) fn new(
        history: &'walk mut History<'repo>,
        range: &CommitRange,
        simplify: Option<&'walk mut dyn Simplify>,
        cancel: &'walk AtomicBool,
    ) -> Result<Self, Error> {
        let mut walk = Self {
            history,
            simplify,
            cancel,
            since: range.since.unwrap_or(i64::MIN),
            first_parent: range.first_parent,
            topological: range.topological,
            queue: BinaryHeap::new(),
            enqueued: 0,
            wanted_in_queue: 0,
            marks: Vec::new(),
            limited: None,
        };
        for &id in &range.exclude {
            let node = walk.history.load(id)?;
            walk.exclude(node);
            walk.mark(node).edge = true;
            walk.enqueue(node);
            walk.exclude_ancestors(node);
        }
        for &id in &range.include {
            let node = walk.history.load(id)?;
            walk.enqueue(node);
        }
        if !range.exclude.is_empty() || range.topological {
            walk.limited = Some(walk.limit()?);
        }
        Ok(walk)
    }

    /// The next commit.
    pub(crate) fn next(&mut self) -> Result<Option<Node>, Error> {
        if let Some(limited) = &mut self.limited {
            return Ok(limited.pop_front());
        }
        while let Some(node) = self.dequeue()? {
            if self.history.commit(node).time >= self.since && self.expand(node)? {
                return Ok(Some(node));
            }
        }
        Ok(None)
    }

    pub(crate) fn history(&mut self) -> &mut History<'repo> {
        self.history
    }

    /// Walks until nothing is left but what is excluded. A commit that is found early may turn out excluded
    /// late, so the whole range has to be known.
    fn limit(&mut self) -> Result<VecDeque<Node>, Error> {
        let mut found = VecDeque::new();
        let mut oldest = i64::MAX;
        let mut slop = SLOP;
        while let Some(node) = self.dequeue()? {
            let time = self.history.commit(node).time;
            if time < self.since {
                self.exclude(node);
            }
            if !self.mark(node).excluded {
                oldest = time;
                if self.expand(node)? {
                    found.push_back(node);
                } else if self.topological {
                    // Not to be visited, but it links those that are.
                    self.mark(node).passed_over = true;
                    found.push_back(node);
                }
                continue;
            }
            for parent in self.parents(node)? {
                self.exclude(parent);
                self.exclude_ancestors(parent);
                self.enqueue(parent);
            }
            self.exclude_ancestors(node);
            let unfinished = match self.queue.peek() {
                None => break,
                Some(next) => oldest <= next.time || self.wanted_in_queue > 0,
            };
            slop = if unfinished { SLOP } else { slop - 1 };
            if slop == 0 {
                break;
            }
        }
        found.retain(|&node| !self.mark(node).excluded);
        if self.topological {
            found = topology::sort(&found, |node| self.followed(node));
            found.retain(|&node| !self.mark(node).passed_over);
        }
        Ok(found)
    }

    /// Queues the parents of a commit. True when the commit itself is to be visited.
    fn expand(&mut self, node: Node) -> Result<bool, Error> {
        let parents = if self.first_parent {
            self.first_parent(node)?
        } else {
            self.parents(node)?
        };
        let seen_from_here: Vec<Parent> = parents.iter().map(|&parent| self.parent(parent)).collect();
        let second = self.history.commit(node).parents.get(1).copied();
        let any_relevant = seen_from_here.iter().any(|parent| parent.relevant)
            || second.is_some_and(|second| self.parent(second).relevant);
        let keep = match &mut self.simplify {
            Some(simplify) => simplify.keep(self.history, node, &seen_from_here, any_relevant)?,
            None => Keep::Commit,
        };
        match keep {
            Keep::Parent(only) => {
                self.mark(node).only_parent = Some(parents[only]);
                self.enqueue(parents[only]);
            }
            Keep::Commit | Keep::Parents => parents.into_iter().for_each(|parent| self.enqueue(parent)),
        }
        Ok(matches!(keep, Keep::Commit))
    }

    fn parent(&mut self, node: Node) -> Parent {
        let mark = self.mark(node);
        Parent {
            node,
            relevant: !mark.excluded || mark.edge,
        }
    }

    /// The first parent of a commit, loaded.
    fn first_parent(&mut self, node: Node) -> Result<Vec<Node>, Error> {
        let first = self.history.commit(node).parents.first().copied();
        if let Some(parent) = first {
            self.history.load_node(parent)?;
        }
        Ok(first.into_iter().collect())
    }

    /// The parents of a commit, loaded.
    fn parents(&mut self, node: Node) -> Result<Vec<Node>, Error> {
        let parents = self.history.commit(node).parents.clone();
        for &parent in &parents {
            self.history.load_node(parent)?;
        }
        Ok(parents)
    }

    fn exclude(&mut self, node: Node) {
        let mark = self.mark(node);
        if !mark.excluded {
            mark.excluded = true;
            let was_wanted = mark.in_queue;
            self.wanted_in_queue -= usize::from(was_wanted);
        }
    }

    /// Excludes what is known to be behind a commit, as far as it was loaded, and one step further.
    fn exclude_ancestors(&mut self, node: Node) {
        let mut stack = self.followed(node);
        while let Some(node) = stack.pop() {
            if !self.mark(node).excluded {
                self.exclude(node);
                stack.extend(self.followed(node));
            }
        }
    }

    fn followed(&mut self, node: Node) -> Vec<Node> {
        match self.mark(node).only_parent {
            Some(only) => vec![only],
            None => self.history.commit(node).parents.clone(),
        }
    }

    fn enqueue(&mut self, node: Node) {
        let mark = self.mark(node);
        if mark.seen {
            return;
        }
        mark.seen = true;
        mark.in_queue = true;
        let wanted = !mark.excluded;
        self.wanted_in_queue += usize::from(wanted);
        self.enqueued += 1;
        self.queue.push(Queued {
            time: self.history.commit(node).time,
            order: Reverse(self.enqueued),
            node: node.0,
        });
    }

    fn dequeue(&mut self) -> Result<Option<Node>, Error> {
        if self.cancel.load(Ordering::Relaxed) {
            return Err(Error::Cancelled);
        }
        let Some(Queued { node, .. }) = self.queue.pop() else {
            return Ok(None);
        };
        let node = Node(node);
        let mark = self.mark(node);
        mark.in_queue = false;
        let wanted = !mark.excluded;
        self.wanted_in_queue -= usize::from(wanted);
        Ok(Some(node))
    }

    fn mark(&mut self, node: Node) -> &mut Mark {
        if self.marks.len() <= node.0 {
            self.marks.resize(node.0 + 1, Mark::default());
        }
        &mut self.marks[node.0]
    }
}
