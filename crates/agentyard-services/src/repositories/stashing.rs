//! Changes put aside.

use std::path::Path;

use agentyard_git::{
    Kept, RepositoryPath, Stash, StashContent, StashList, StashOptions, StashSelector, Unstashed,
};
use agentyard_model::{Caller, Permission};

use super::{In, Repositories, named};
use crate::error::Result;
use crate::progress::Progress;

/// What to do about stashes.
#[derive(Debug, Clone)]
pub enum StashRequest {
    /// List them, at most so many.
    List {
        /// How many at most.
        limit: usize,
    },
    /// Say what is in one.
    Show {
        /// Which one; the last when left out.
        stash: Option<String>,
    },
    /// Put changes aside.
    Push {
        /// What it is, in words.
        message: Option<String>,
        /// Files that git does not know, too.
        include_untracked: bool,
        /// Leave what is staged as it is.
        keep_index: bool,
        /// Only these files.
        paths: Vec<String>,
    },
    /// Take one back.
    Apply {
        /// Which one; the last when left out.
        stash: Option<String>,
        /// And take it off the list.
        drop: bool,
    },
    /// Throw one away.
    Drop {
        /// Which one; the last when left out.
        stash: Option<String>,
        /// It may be lost.
        confirm: bool,
    },
    /// Throw all away.
    Clear {
        /// They may be lost.
        confirm: bool,
    },
}

/// What came of it.
#[derive(Debug)]
pub enum Stashes {
    /// Those there are.
    Listed(StashList),
    /// What is in one.
    Shown(StashContent),
    /// The new one; none when there was nothing to put aside.
    Pushed(Option<Stash>),
    /// What was taken back.
    Applied(Unstashed),
    /// Where those are kept that are gone.
    Dropped(Vec<Kept>),
}

impl Repositories {
    /// Puts changes aside, takes them back, lists them, or throws them away.
    ///
    /// # Errors
    /// When the caller may not read, or for what changes something not write; there is no such stash; or one
    /// would be lost without a confirmation.
    pub async fn stash(
        &self,
        caller: &Caller,
        path: Option<&Path>,
        request: StashRequest,
        progress: &Progress,
    ) -> Result<In<Stashes>> {
        let selector = |stash: Option<String>| {
            stash
                .as_deref()
                .map_or_else(|| Ok(StashSelector::default()), StashSelector::new)
        };
        match request {
            StashRequest::List { limit } => {
                caller.require(Permission::ProjectRead)?;
                self.read(caller, path, move |repository, cancel| {
                    Ok(In {
                        repository: named(repository),
                        result: Stashes::Listed(repository.stashes(limit, cancel)?),
                    })
                })
                .await
            }
            StashRequest::Show { stash } => {
                self.ask(caller, path, move |work| {
                    Ok(Stashes::Shown(work.stash_show(selector(stash)?)?))
                })
                .await
            }
            StashRequest::Push {
                message,
                include_untracked,
                keep_index,
                paths,
            } => {
                self.change(caller, path, "git_stash push", progress, move |work| {
                    let options = StashOptions {
                        message,
                        include_untracked,
                        keep_index,
                        paths: RepositoryPath::list(&paths)?,
                    };
                    Ok(Stashes::Pushed(work.stash_push(&options)?))
                })
                .await
            }
            StashRequest::Apply { stash, drop } => {
                self.change(caller, path, "git_stash apply", progress, move |work| {
                    Ok(Stashes::Applied(work.stash_apply(selector(stash)?, drop)?))
                })
                .await
            }
            StashRequest::Drop { stash, confirm } => {
                self.change(caller, path, "git_stash drop", progress, move |work| {
                    let kept = work.stash_drop(selector(stash)?, confirm)?;
                    Ok(Stashes::Dropped(vec![kept]))
                })
                .await
            }
            StashRequest::Clear { confirm } => {
                self.change(caller, path, "git_stash clear", progress, move |work| {
                    Ok(Stashes::Dropped(work.stash_clear(confirm)?))
                })
                .await
            }
        }
    }
}
