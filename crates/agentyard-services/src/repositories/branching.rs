//! Branches.

use std::path::Path;

use agentyard_git::{
    self as git, BranchChange, BranchCreation, BranchDeletion, BranchName, BranchPage, BranchQuery,
    BranchRename, BranchSort, Head, Revision, Work,
};
use agentyard_model::{Caller, Cursor, Permission};

use super::arguments::{needed, offset};
use super::{In, Repositories, named};
use crate::error::Result;
use crate::progress::Progress;

/// What to do with branches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BranchMode {
    /// List them.
    #[default]
    List,
    /// Tell which one is checked out.
    ShowCurrent,
    /// Make one, or move it.
    Create,
    /// Delete one.
    Delete,
    /// Rename one.
    Rename,
    /// Have one follow another.
    SetUpstream,
    /// Have one follow no other.
    UnsetUpstream,
}

/// What to do with which branches.
#[derive(Debug, Clone, Default)]
pub struct BranchRequest {
    /// What to do.
    pub mode: BranchMode,
    /// With which branch.
    pub name: Option<String>,
    /// Its new name.
    pub new_name: Option<String>,
    /// Where a new one begins; HEAD when left out.
    pub start_point: Option<String>,
    /// The branch to follow.
    pub upstream: Option<String>,
    /// Move, delete or replace a branch although something loses its name.
    pub force: bool,
    /// The caller knows what is thrown away.
    pub confirm: bool,
    /// Remote-tracking branches instead.
    pub remote: bool,
    /// Remote-tracking branches too.
    pub all: bool,
    /// Only those in the history of this commit.
    pub merged: Option<String>,
    /// Only those that are not.
    pub no_merged: Option<String>,
    /// Only those with this commit in their history.
    pub contains: Option<String>,
    /// Only those whose name contains this text.
    pub pattern: Option<String>,
    /// The newest first, instead of by name.
    pub newest_first: bool,
    /// How many at most.
    pub limit: usize,
    /// Where an earlier page ended.
    pub cursor: Option<Cursor>,
}

/// What came of it.
#[derive(Debug)]
pub enum BranchAnswer {
    /// What is checked out, and some branches.
    List {
        /// What is checked out.
        head: Head,
        /// The branches.
        page: BranchPage,
        /// How many came before these.
        offset: usize,
        /// How many came before the next page, when there is one.
        next: Option<usize>,
    },
    /// What is checked out.
    Current(Head),
    /// What became of a branch.
    Changed(BranchChange),
}

impl Repositories {
    /// Lists branches, or changes one.
    ///
    /// # Errors
    /// When the caller may not, or the branch or the repository is not in a state for it.
    pub async fn branch(
        &self,
        caller: &Caller,
        path: Option<&Path>,
        request: BranchRequest,
        progress: &Progress,
    ) -> Result<In<BranchAnswer>> {
        match request.mode {
            BranchMode::List => {
                caller.require(Permission::ProjectRead)?;
                let offset = offset(request.cursor.as_ref())?;
                self.read(caller, path, move |repository, cancel| {
                    let page = repository.branches(&query(&request, offset)?, cancel)?;
                    Ok(In {
                        repository: named(repository),
                        result: BranchAnswer::List {
                            head: repository.head()?,
                            next: page.more.then(|| offset + request.limit),
                            page,
                            offset,
                        },
                    })
                })
                .await
            }
            BranchMode::ShowCurrent => {
                caller.require(Permission::ProjectRead)?;
                self.read(caller, path, |repository, _| {
                    Ok(In {
                        repository: named(repository),
                        result: BranchAnswer::Current(repository.head()?),
                    })
                })
                .await
            }
            _ => {
                self.change(caller, path, "git_branch", progress, move |work| {
                    change(work, request).map(BranchAnswer::Changed)
                })
                .await
            }
        }
    }
}

fn query(request: &BranchRequest, skip: usize) -> Result<BranchQuery, git::Error> {
    let revision = |text: &Option<String>| text.as_ref().map(Revision::new).transpose();
    Ok(BranchQuery {
        local: !request.remote,
        remote: request.remote || request.all,
        merged: revision(&request.merged)?,
        no_merged: revision(&request.no_merged)?,
        contains: revision(&request.contains)?,
        pattern: request.pattern.clone(),
        sort: if request.newest_first {
            BranchSort::Newest
        } else {
            BranchSort::Name
        },
        distances: true,
        skip,
        limit: request.limit,
    })
}

fn change(work: &Work<'_>, request: BranchRequest) -> Result<BranchChange, git::Error> {
    let name = request.name.map(BranchName::new).transpose()?;
    let (force, confirm) = (request.force, request.confirm);
    match request.mode {
        BranchMode::Create => work.create_branch(&BranchCreation {
            name: needed(name, "branch_name", "create")?,
            start: request.start_point.map(Revision::new).transpose()?,
            force,
            confirm,
        }),
        BranchMode::Delete => work.delete_branch(&BranchDeletion {
            name: needed(name, "branch_name", "delete")?,
            remote: request.remote,
            force,
            confirm,
        }),
        BranchMode::Rename => work.rename_branch(&BranchRename {
            from: name,
            to: BranchName::new(needed(request.new_name, "new_branch_name", "rename")?)?,
            force,
            confirm,
        }),
        BranchMode::SetUpstream => {
            let upstream = BranchName::new(needed(request.upstream, "upstream", "set_upstream")?)?;
            work.set_upstream(name.as_ref(), &upstream)
        }
        BranchMode::UnsetUpstream | BranchMode::List | BranchMode::ShowCurrent => {
            work.unset_upstream(name.as_ref())
        }
    }
}
