//! The state that two branches come from.

use gix::diff::Rewrites;
use gix::filter::plumbing::Pipeline;
use gix::glob::pattern::Case;
use gix::merge::plumbing;
use gix::revision::plumbing::merge_base::Flags;
use gix::revwalk::Graph;
use gix::revwalk::graph::Commit;
use gix::worktree::Stack;
use gix::worktree::stack::State;
use gix::worktree::stack::state::Attributes;
use gix::worktree::stack::state::attributes::Source;

use super::contents::MAX_MERGED_FILE;
use crate::Error;

/// Finds merge bases, for one thread.
pub(super) struct Bases<'repo, 'cache> {
    /// Whose objects are written to memory.
    local: &'repo gix::Repository,
    graph: Graph<'repo, 'cache, Commit<Flags>>,
}

/// How many deleted and added files are held against each other where several bases are merged, at most.
const RENAME_LIMIT: usize = 100;

/// More bases are not merged: nobody makes such a history by working.
const MAX_BASES: usize = 16;

impl<'repo, 'cache> Bases<'repo, 'cache> {
    pub(super) fn new(
        local: &'repo gix::Repository,
        commit_graph: Option<&'cache gix::commitgraph::Graph>,
    ) -> Self {
        Self {
            local,
            graph: local.revision_graph(commit_graph),
        }
    }

    /// The tree that both commits come from, and whether it is that of a commit. It is empty when they have nothing
    /// in common, and made up, in memory, when they have several bases.
    pub(super) fn of(&mut self, one: gix::ObjectId, other: gix::ObjectId) -> Result<gix::ObjectId, Error> {
        let read_error = || Error::read(format!("the history of {one} and {other}"));
        let bases = self
            .local
            .merge_bases_many_with_graph(one, &[other], &mut self.graph)
            .map_err(read_error())?;
        let mut bases: Vec<gix::ObjectId> = bases.into_iter().map(gix::Id::detach).take(MAX_BASES).collect();
        let Some(first) = bases.pop() else {
            return Ok(gix::ObjectId::empty_tree(self.local.object_hash()));
        };
        let Some(second) = bases.pop() else {
            return tree_of(self.local, first);
        };
        let merged = plumbing::commit::virtual_merge_base(
            first,
            second,
            bases,
            &mut self.graph,
            &mut diff_platform(self.local),
            &mut merge_platform(self.local),
            self.local,
            &mut |id| id.to_string(),
            plumbing::tree::Options {
                rewrites: Some(Rewrites {
                    limit: RENAME_LIMIT,
                    ..Rewrites::default()
                }),
                ..plumbing::tree::Options::default()
            },
        );
        Ok(merged.map_err(read_error())?.tree_id)
    }
}

/// The files of a commit.
pub(super) fn tree_of(local: &gix::Repository, commit: gix::ObjectId) -> Result<gix::ObjectId, Error> {
    let read_error = || Error::read(format!("commit {commit}"));
    let object = local.find_commit(commit).map_err(read_error())?;
    let tree = object.tree_id().map_err(read_error())?;
    Ok(tree.detach())
}

fn diff_platform(local: &gix::Repository) -> gix::diff::blob::Platform {
    let pipeline = gix::diff::blob::Pipeline::new(
        gix::diff::blob::pipeline::WorktreeRoots::default(),
        no_filters(local),
        Vec::new(),
        gix::diff::blob::pipeline::Options {
            large_file_threshold_bytes: MAX_MERGED_FILE,
            ..Default::default()
        },
    );
    gix::diff::blob::Platform::new(
        gix::diff::blob::platform::Options::default(),
        pipeline,
        gix::diff::blob::pipeline::Mode::ToGit,
        no_attributes(),
    )
}

fn merge_platform(local: &gix::Repository) -> plumbing::blob::Platform {
    let pipeline = plumbing::blob::Pipeline::new(
        plumbing::blob::pipeline::WorktreeRoots::default(),
        no_filters(local),
        plumbing::blob::pipeline::Options {
            large_file_threshold_bytes: MAX_MERGED_FILE,
        },
    );
    plumbing::blob::Platform::new(
        pipeline,
        plumbing::blob::pipeline::Mode::ToGit,
        no_attributes(),
        Vec::new(),
        plumbing::blob::platform::Options::default(),
    )
}

fn no_filters(local: &gix::Repository) -> Pipeline {
    Pipeline::new(Default::default(), local.object_hash(), Default::default())
}

fn no_attributes() -> Stack {
    let attributes = Attributes::new(Default::default(), None, Source::IdMapping, Default::default());
    Stack::new(
        "",
        State::AttributesStack(attributes),
        Case::Sensitive,
        Vec::new(),
        Vec::new(),
    )
}
