//! The graph of commits, read as far as needed.

mod distance;
mod reach;
mod topology;
mod walk;

use std::collections::HashMap;

use crate::Error;
use crate::raw_commit::RawCommit;

pub(crate) use distance::distance;
pub(crate) use reach::{Containing, merged_into};
pub(crate) use walk::{CommitRange, Keep, Parent, Simplify, Walk};

/// Commits read so far. They come from the commit-graph file where there is one.
pub(crate) struct History<'repo> {
    objects: &'repo gix::Repository,
    graph: Option<gix::commitgraph::Graph>,
    shallow: Option<gix::shallow::Commits>,
    known: HashMap<gix::ObjectId, Node>,
    commits: Vec<Commit>,
    /// Commits read last, for those who want more of them than a walk does: most are wanted right after.
    recent: HashMap<gix::ObjectId, Vec<u8>>,
}

/// How many commits are kept as they were read.
const RECENT: usize = 128;

/// A commit of a [`History`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Node(usize);

/// What a walk has to know of a commit. Before it is loaded that is its id, and nothing else.
pub(crate) struct Commit {
    pub(crate) id: gix::ObjectId,
    pub(crate) tree: gix::ObjectId,
    pub(crate) parents: Vec<Node>,
    /// When it was committed, in seconds since 1970.
    pub(crate) time: i64,
    /// Greater than that of any commit behind this one, if the commit-graph file knows both; the greatest number
    /// where it does not know this one.
    generation: u32,
    is_loaded: bool,
}

/// A commit as it is stored.
struct Stored {
    tree: gix::ObjectId,
    parents: Vec<gix::ObjectId>,
    time: i64,
    generation: u32,
}

impl<'repo> History<'repo> {
    pub(crate) fn new(objects: &'repo gix::Repository) -> Result<Self, Error> {
        let shallow = objects
            .shallow_commits()
            .map_err(Error::read("the shallow file"))?;
        // The file knows nothing of grafts. One that cannot be read is no loss: it holds nothing of its own.
        let graph = if shallow.is_some() {
            None
        } else {
            objects.commit_graph_if_enabled().ok().flatten()
        };
        Ok(Self {
            objects,
            graph,
            shallow,
            known: HashMap::new(),
            commits: Vec::new(),
            recent: HashMap::new(),
        })
    }

    /// Reads a commit, unless that was done before.
    pub(crate) fn load(&mut self, id: gix::ObjectId) -> Result<Node, Error> {
        let node = self.node(id);
        self.load_node(node)?;
        Ok(node)
    }

    pub(crate) fn commit(&self, node: Node) -> &Commit {
        &self.commits[node.0]
    }

    /// The object behind a commit.
    pub(crate) fn object(&mut self, node: Node) -> Result<Vec<u8>, Error> {
        let id = self.commit(node).id;
        match self.recent.remove(&id) {
            Some(data) => Ok(data),
            None => self.read(id),
        }
    }

    fn load_node(&mut self, node: Node) -> Result<(), Error> {
        if self.commits[node.0].is_loaded {
            return Ok(());
        }
        let id = self.commits[node.0].id;
        let stored = match self.graph_commit(id) {
            Some(stored) => stored,
            None => self.object_commit(id)?,
        };
        let is_cut = self
            .shallow
            .as_ref()
            .is_some_and(|shallow| shallow.binary_search(&id).is_ok());
        let parents = if is_cut { Vec::new() } else { stored.parents };
        let parents = parents.into_iter().map(|parent| self.node(parent)).collect();
        self.commits[node.0] = Commit {
            id,
            tree: stored.tree,
            parents,
            time: stored.time,
            generation: stored.generation,
            is_loaded: true,
        };
        Ok(())
    }

    fn node(&mut self, id: gix::ObjectId) -> Node {
        let next = Node(self.commits.len());
        let node = *self.known.entry(id).or_insert(next);
        if node == next {
            self.commits.push(Commit {
                id,
                tree: id.kind().null(),
                parents: Vec::new(),
                time: 0,
                generation: u32::MAX,
                is_loaded: false,
            });
        }
        node
    }

    fn graph_commit(&self, id: gix::ObjectId) -> Option<Stored> {
        let graph = self.graph.as_ref()?;
        let commit = graph.commit_by_id(id)?;
        let parents = commit
            .iter_parents()
            .map(|parent| parent.ok().map(|position| graph.id_at(position).to_owned()))
            .collect::<Option<_>>()?;
        Some(Stored {
            tree: commit.root_tree_id().to_owned(),
            parents,
            time: i64::try_from(commit.committer_timestamp()).unwrap_or(i64::MAX),
            generation: commit.generation(),
        })
    }

    fn object_commit(&mut self, id: gix::ObjectId) -> Result<Stored, Error> {
        let data = self.read(id)?;
        let commit = RawCommit::parse(&data).ok_or(Error::NotACommit { id: id.into() })?;
        let (tree, time) = (commit.tree, commit.time());
        let parents = commit.parents;
        if self.recent.len() == RECENT {
            self.recent.clear();
        }
        self.recent.insert(id, data);
        Ok(Stored {
            tree,
            parents,
            time,
            generation: u32::MAX,
        })
    }

    fn read(&self, id: gix::ObjectId) -> Result<Vec<u8>, Error> {
        let object = self.objects.find_object(id);
        let object = object.map_err(Error::read(format!("commit {id}")))?;
        if object.kind != gix::objs::Kind::Commit {
            return Err(Error::NotACommit { id: id.into() });
        }
        Ok(object.detach().data)
    }
}
