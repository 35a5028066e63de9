//! Remotes: which there are, and what is exchanged with them.

use std::path::Path;

use agentyard_git::{
    self as git, BranchName, FetchOptions, Fetched, PullOptions, Pulled, PushOptions, Pushed, Remote,
    RemoteName, RemoteUrl, RemovedRemote, Work,
};
use agentyard_model::{Caller, Permission};

use super::{In, Repositories, named};
use crate::error::{Error, Result};
use crate::progress::Progress;

/// What to fetch.
#[derive(Debug, Clone, Default)]
pub struct FetchRequest {
    /// From which remote.
    pub remote: Option<String>,
    /// Only this branch.
    pub branch: Option<String>,
    /// Forgets branches that the remote has no more.
    pub prune: bool,
    /// All tags.
    pub tags: bool,
    /// So many commits of history.
    pub depth: Option<u32>,
    /// The rest of a history that was cut.
    pub unshallow: bool,
}

/// What to pull.
#[derive(Debug, Clone, Default)]
pub struct PullRequest {
    /// From which remote.
    pub remote: Option<String>,
    /// The branch there.
    pub branch: Option<String>,
    /// Whether own commits go on top; as the settings say when left out.
    pub rebase: Option<bool>,
    /// Only when there are no own commits.
    pub fast_forward_only: bool,
}

/// What to push.
#[derive(Debug, Clone, Default)]
pub struct PushRequest {
    /// To which remote.
    pub remote: Option<String>,
    /// The branch.
    pub branch: Option<String>,
    /// Its name there.
    pub remote_branch: Option<String>,
    /// Makes the branch follow that of the remote.
    pub set_upstream: bool,
    /// All tags too.
    pub tags: bool,
    /// Replaces what is there.
    pub force: bool,
    /// Replaces what is there, if it is what was last fetched.
    pub force_with_lease: bool,
    /// Deletes the branch there.
    pub delete: bool,
    /// Says what would be done.
    pub dry_run: bool,
    /// The caller knows what will be lost.
    pub confirm: bool,
    /// When the remote has moved: fetch, rebase, and try again.
    pub rebase_on_reject: bool,
}

/// What to do with remotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RemoteMode {
    /// Name them.
    #[default]
    List,
    /// Tell where one leads.
    GetUrl,
    /// A new one.
    Add,
    /// One leads elsewhere.
    SetUrl,
    /// One is called otherwise.
    Rename,
    /// One goes.
    Remove,
}

/// What to do with remotes, and which.
#[derive(Debug, Clone, Default)]
pub struct RemoteRequest {
    /// What to do.
    pub mode: RemoteMode,
    /// Which one.
    pub name: Option<String>,
    /// Where it leads.
    pub url: Option<String>,
    /// What it is to be called.
    pub new_name: Option<String>,
    /// Only where pushes go.
    pub push: bool,
    /// The caller knows what will be lost.
    pub confirm: bool,
}

/// The remotes that were asked for or changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Remotes {
    /// As they are now.
    pub remotes: Vec<Remote>,
    /// What is left of one that was removed.
    pub removed: Option<RemovedRemote>,
}

impl Repositories {
    /// Fetches from a remote.
    ///
    /// # Errors
    /// When the caller may not write, or the remote cannot be reached or used.
    pub async fn fetch(
        &self,
        caller: &Caller,
        path: Option<&Path>,
        request: FetchRequest,
        progress: &Progress,
    ) -> Result<In<Fetched>> {
        self.change_with_remote(caller, path, "git_fetch", progress, move |work| {
            work.fetch(&FetchOptions {
                remote: request.remote.map(RemoteName::new).transpose()?,
                branch: request.branch.map(BranchName::new).transpose()?,
                prune: request.prune,
                tags: request.tags,
                depth: request.depth,
                unshallow: request.unshallow,
            })
        })
        .await
    }

    /// Fetches a branch and joins it with what is checked out.
    ///
    /// # Errors
    /// As [`Repositories::fetch`], and when the two cannot be joined as asked.
    pub async fn pull(
        &self,
        caller: &Caller,
        path: Option<&Path>,
        request: PullRequest,
        progress: &Progress,
    ) -> Result<In<Pulled>> {
        self.change_with_remote(caller, path, "git_pull", progress, move |work| {
            work.pull(&PullOptions {
                remote: request.remote.map(RemoteName::new).transpose()?,
                branch: request.branch.map(BranchName::new).transpose()?,
                rebase: request.rebase,
                fast_forward_only: request.fast_forward_only,
            })
        })
        .await
    }

    /// Pushes a branch.
    ///
    /// # Errors
    /// When the caller may not write, something would be lost that it did not confirm or that is protected, or the
    /// remote cannot be reached or does not accept it.
    pub async fn push(
        &self,
        caller: &Caller,
        path: Option<&Path>,
        request: PushRequest,
        progress: &Progress,
    ) -> Result<In<Pushed>> {
        let pushing = self.change_with_remote(caller, path, "git_push", progress, move |work| {
            work.push(&PushOptions {
                remote: request.remote.map(RemoteName::new).transpose()?,
                branch: request.branch.map(BranchName::new).transpose()?,
                remote_branch: request.remote_branch.map(BranchName::new).transpose()?,
                set_upstream: request.set_upstream,
                tags: request.tags,
                force: request.force,
                force_with_lease: request.force_with_lease,
                delete: request.delete,
                dry_run: request.dry_run,
                confirm: request.confirm,
                rebase_on_reject: request.rebase_on_reject,
            })
        });
        let pushed = pushing.await?;
        let (retries, conflicts) = (pushed.result.retries, pushed.result.conflicts.len());
        self.places.count_push(caller, path, retries, conflicts).await;
        Ok(pushed)
    }

    /// Lists or changes remotes.
    ///
    /// # Errors
    /// When the caller may not read, or for changes may not write; or a name or address cannot be used.
    pub async fn remote(
        &self,
        caller: &Caller,
        path: Option<&Path>,
        request: RemoteRequest,
        progress: &Progress,
    ) -> Result<In<Remotes>> {
        caller.require(Permission::ProjectRead)?;
        let touched = match request.mode {
            RemoteMode::List => return self.remotes(caller, path, None).await,
            RemoteMode::GetUrl => required(request.name.clone(), "name")?,
            RemoteMode::Rename => required(request.new_name.clone(), "new_name")?,
            RemoteMode::Add | RemoteMode::SetUrl | RemoteMode::Remove => {
                required(request.name.clone(), "name")?
            }
        };
        if request.mode == RemoteMode::GetUrl {
            return self.remotes(caller, path, Some(touched)).await;
        }
        let changed = self
            .change(caller, path, "git_remote", progress, move |work| {
                change(work, request)
            })
            .await?;
        match changed.result {
            Some(removed) => Ok(In {
                repository: changed.repository,
                result: Remotes {
                    remotes: Vec::new(),
                    removed: Some(removed),
                },
            }),
            None => self.remotes(caller, path, Some(touched)).await,
        }
    }

    async fn remotes(
        &self,
        caller: &Caller,
        path: Option<&Path>,
        name: Option<String>,
    ) -> Result<In<Remotes>> {
        self.read(caller, path, move |repository, _| {
            let mut remotes = repository.remotes();
            if let Some(name) = name.map(RemoteName::new).transpose()? {
                remotes.retain(|remote| remote.name == name.as_str());
                if remotes.is_empty() {
                    return Err(git::Error::Missing {
                        what: format!("there is no remote {name}"),
                    });
                }
            }
            Ok(In {
                repository: named(repository),
                result: Remotes {
                    remotes,
                    removed: None,
                },
            })
        })
        .await
    }
}

fn change(work: &Work<'_>, request: RemoteRequest) -> Result<Option<RemovedRemote>, git::Error> {
    let name = RemoteName::new(request.name.unwrap_or_default())?;
    let url = || RemoteUrl::parse(request.url.as_deref().unwrap_or_default());
    match request.mode {
        RemoteMode::Add => work.add_remote(&name, &url()?)?,
        RemoteMode::SetUrl => work.set_remote_url(&name, &url()?, request.push)?,
        RemoteMode::Rename => {
            work.rename_remote(&name, &RemoteName::new(request.new_name.unwrap_or_default())?)?;
        }
        RemoteMode::Remove => return work.remove_remote(&name, request.confirm).map(Some),
        RemoteMode::List | RemoteMode::GetUrl => {}
    }
    Ok(None)
}

fn required(value: Option<String>, argument: &str) -> Result<String> {
    value.ok_or_else(|| Error::invalid(format!("`{argument}` is needed for this `mode`")))
}
