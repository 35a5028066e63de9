//! Which commits are in the history of which.

use std::collections::HashSet;
use std::sync::atomic::AtomicBool;

use super::{History, Node};
use crate::Error;
use crate::error::check_cancelled;

/// Tells commits that have a certain one in their history, or are it, from those that do not.
///
/// What is found out for one commit serves for the next: however many are asked about, the history is walked
/// once.
pub(crate) struct Containing {
    target: Node,
    /// By node.
    known: Vec<Option<bool>>,
}

impl Containing {
    pub(crate) fn new(history: &mut History<'_>, target: gix::ObjectId) -> Result<Self, Error> {
        Ok(Self {
            target: history.load(target)?,
            known: Vec::new(),
        })
    }

    /// Whether the target is in the history of `tip`.
    pub(crate) fn is_in(
        &mut self,
        history: &mut History<'_>,
        tip: gix::ObjectId,
        cancel: &AtomicBool,
    ) -> Result<bool, Error> {
        let tip = history.load(tip)?;
        // Commits, and how many of their parents are known not to have it.
        let mut path = vec![(tip, 0)];
        while let Some((node, parents_done)) = path.last_mut() {
            check_cancelled(cancel)?;
            let (node, parent) = (*node, *parents_done);
            history.load_node(node)?;
            let outcome = match history.commit(node).parents.get(parent) {
                _ if node == self.target => Some(true),
                _ if self.is_too_old(history, node) => Some(false),
                None => Some(false),
                Some(&parent) => match self.known(parent) {
                    Some(false) => {
                        *parents_done += 1;
                        continue;
                    }
                    Some(true) => Some(true),
                    None => {
                        path.push((parent, 0));
                        continue;
                    }
                },
            };
            *self.entry(node) = outcome;
            path.pop();
        }
        Ok(self.known(tip) == Some(true))
    }

    fn is_too_old(&self, history: &History<'_>, node: Node) -> bool {
        history.commit(node).generation < history.commit(self.target).generation
    }

    fn known(&self, node: Node) -> Option<bool> {
        self.known.get(node.0).copied().flatten()
    }

    fn entry(&mut self, node: Node) -> &mut Option<bool> {
        if self.known.len() <= node.0 {
            self.known.resize(node.0 + 1, None);
        }
        &mut self.known[node.0]
    }
}

/// Those of `tips` that are in the history of `base`, or are it. Walks until all are found, or nothing is left.
pub(crate) fn merged_into(
    history: &mut History<'_>,
    base: gix::ObjectId,
    tips: &HashSet<gix::ObjectId>,
    cancel: &AtomicBool,
) -> Result<HashSet<gix::ObjectId>, Error> {
    let mut oldest = u32::MAX;
    for &tip in tips {
        let tip = history.load(tip)?;
        oldest = oldest.min(history.commit(tip).generation);
    }
    let mut found = HashSet::new();
    let start = history.load(base)?;
    let mut seen = HashSet::from([start]);
    let mut pending = vec![start];
    while let Some(node) = pending.pop() {
        check_cancelled(cancel)?;
        history.load_node(node)?;
        let commit = history.commit(node);
        if tips.contains(&commit.id) {
            found.insert(commit.id);
            if found.len() == tips.len() {
                break;
            }
        }
        if commit.generation < oldest {
            continue;
        }
        pending.extend(commit.parents.iter().filter(|&&parent| seen.insert(parent)));
    }
    Ok(found)
}
