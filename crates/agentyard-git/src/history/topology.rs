//! Commits in an order that keeps lines of history together.

use std::collections::{HashMap, VecDeque};

use super::Node;

/// Sorts commits such that none comes before all its children have, and lines of history do not mix: after a merge
/// comes what it brought in, and then what it was merged into. `git log --topo-order`.
pub(super) fn sort(nodes: &VecDeque<Node>, mut parents: impl FnMut(Node) -> Vec<Node>) -> VecDeque<Node> {
    let mut children: HashMap<Node, usize> = nodes.iter().map(|&node| (node, 0)).collect();
    for &node in nodes {
        for parent in parents(node) {
            if let Some(count) = children.get_mut(&parent) {
                *count += 1;
            }
        }
    }
    let mut ready: Vec<Node> = nodes
        .iter()
        .rev()
        .copied()
        .filter(|node| children[node] == 0)
        .collect();
    let mut sorted = VecDeque::with_capacity(nodes.len());
    while let Some(node) = ready.pop() {
        sorted.push_back(node);
        for parent in parents(node) {
            if let Some(count) = children.get_mut(&parent) {
                *count -= 1;
                if *count == 0 {
                    ready.push(parent);
                }
            }
        }
    }
    sorted
}
