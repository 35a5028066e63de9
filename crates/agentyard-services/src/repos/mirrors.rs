//! Mirrors: made when a repository is first used, and fetched into.

use agentyard_git::{self as git, MirrorFetch, MirrorState, RefChange};
use agentyard_model::{AuditEvent, Caller, Outcome, Permission, Repo};

use super::{Repos, address};
use crate::error::{Error, Result, from_store};
use crate::progress::Progress;

/// What a fetch found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepoFetched {
    /// The repository, as it is known now.
    pub repo: Repo,
    /// The remote's branches and tags that are new, moved, or gone.
    pub changes: Vec<RefChange>,
    /// The mirror was made by this, so that all of it is new.
    pub created: bool,
}

/// What is done to a mirror, for those who wait.
const MIRROR: &str = "repo_fetch";

impl Repos {
    /// Fetches what is new on the remote of a repository.
    ///
    /// # Errors
    /// When the caller may not, its tenant has none such, or the remote cannot be reached.
    pub async fn fetch(&self, caller: &Caller, repo: &str, progress: &Progress) -> Result<RepoFetched> {
        caller.require(Permission::ProjectWrite)?;
        let repo = self.find(caller, repo).await?;
        let target = repo.name.clone();
        let result = self.refresh(repo, progress).await;
        let outcome = if result.is_ok() {
            Outcome::Done
        } else {
            Outcome::Failed
        };
        self.0
            .audit
            .record_soon(AuditEvent::with_outcome(caller, "repo_fetch", target, outcome))
            .await;
        result
    }

    /// Sees to it that a repository has a mirror, for somebody who may have to do with it. It is there whole or not at all, whatever happens meanwhile.
    ///
    /// # Errors
    /// When the remote cannot be reached.
    pub(crate) async fn prepare(&self, repo: Repo, progress: &Progress) -> Result<Repo> {
        if self.has_mirror(&repo) {
            return Ok(repo);
        }
        let mirror = self.0.trees.mirror_path(&Self::key(&repo));
        let _turn = self.0.turns.take(&mirror, MIRROR, progress).await;
        let repo = self.as_it_is_now(repo).await?;
        if self.has_mirror(&repo) {
            return Ok(repo);
        }
        self.create(repo, progress).await
    }

    /// Makes the mirror of a repository, or fetches what is new into it, for somebody who may have to do with it.
    ///
    /// # Errors
    /// When the remote cannot be reached.
    pub(crate) async fn refresh(&self, repo: Repo, progress: &Progress) -> Result<RepoFetched> {
        let mirror = self.0.trees.mirror_path(&Self::key(&repo));
        let _turn = self.0.turns.take(&mirror, MIRROR, progress).await;
        let repo = self.as_it_is_now(repo).await?;
        if !self.has_mirror(&repo) {
            let repo = self.create(repo, progress).await?;
            return Ok(RepoFetched {
                repo,
                changes: Vec::new(),
                created: true,
            });
        }
        let (before, fetched) = self.fetch_mirror(&repo, progress).await?;
        // The default branch follows the remote's, unless somebody chose another.
        let chosen = repo.default_branch.is_some() && repo.default_branch != before.default_branch;
        let repo = self.heard(repo, fetched.state, chosen).await?;
        Ok(RepoFetched {
            repo,
            changes: fetched.changes,
            created: false,
        })
    }

    fn has_mirror(&self, repo: &Repo) -> bool {
        repo.fetched_at.is_some() && self.0.trees.mirror_path(&Self::key(repo)).exists()
    }

    async fn create(&self, repo: Repo, progress: &Progress) -> Result<Repo> {
        progress.report(0, None, format!("preparing {}", repo.name));
        let (trees, git, key) = (self.0.trees.clone(), self.0.git.clone(), Self::key(&repo));
        let url = address(&repo)?;
        let roots = self.roots_for(repo.tenant, &url)?;
        let report = reporting(&repo, "preparing", progress);
        let state = self
            .0
            .connections
            .pass(move |cancel| trees.create_mirror(&git, &key, &url, &roots, cancel, &report))
            .await?;
        let chosen = repo.default_branch.is_some();
        self.heard(repo, state, chosen).await
    }

    async fn fetch_mirror(&self, repo: &Repo, progress: &Progress) -> Result<(MirrorState, MirrorFetch)> {
        let (trees, git, key) = (self.0.trees.clone(), self.0.git.clone(), Self::key(repo));
        let url = address(repo)?;
        let roots = self.roots_for(repo.tenant, &url)?;
        let report = reporting(repo, "fetching", progress);
        self.0
            .connections
            .pass(move |cancel| {
                // It is there, so this only tells what is known.
                let before = trees.create_mirror(&git, &key, &url, &roots, cancel, &report)?;
                let fetched = trees.fetch_mirror(&git, &key, &url, &roots, cancel, &report)?;
                Ok((before, fetched))
            })
            .await
    }

    /// Notes what the remote said.
    async fn heard(&self, repo: Repo, state: MirrorState, chosen: bool) -> Result<Repo> {
        let default_branch = state.default_branch.filter(|_| !chosen);
        self.0
            .store
            .repos()
            .fetched(repo.id, default_branch.as_deref())
            .await
            .map_err(|error| from_store("noting what a remote said", error))?;
        self.as_it_is_now(repo).await
    }

    /// A repository after a while in which somebody else may have changed or removed it.
    async fn as_it_is_now(&self, repo: Repo) -> Result<Repo> {
        let found = self.0.store.repos().by_id(repo.tenant, repo.id).await;
        found
            .map_err(|error| from_store("looking up a repository", error))?
            .ok_or_else(|| Error::not_found(format!("the repository `{}` was removed meanwhile", repo.name)))
    }
}

/// Where git's own progress goes, after what is done to which repository.
fn reporting(repo: &Repo, doing: &'static str, progress: &Progress) -> impl Fn(git::Progress) + Sync + use<> {
    let (name, progress) = (repo.name.clone(), progress.clone());
    move |step| progress.report(step.done, step.total, format!("{doing} {name}: {}", step.stage))
}
