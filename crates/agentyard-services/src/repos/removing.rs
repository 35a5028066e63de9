//! Forgetting repositories.

use std::sync::atomic::AtomicBool;

use agentyard_model::{AuditEvent, Caller, Permission, RepoName};

use super::{Found, Repos};
use crate::error::{Error, ErrorKind, Result, from_store};
use crate::progress::Progress;

/// What is done to a mirror, for those who wait.
const REMOVING: &str = "repo_remove";

impl Repos {
    /// Forgets a repository with its mirror, and answers with its name.
    ///
    /// # Errors
    /// When the caller may not or did not confirm, its tenant has none such, or a workspace of it is not closed.
    pub async fn remove(
        &self,
        caller: &Caller,
        repo: &str,
        confirm: bool,
        progress: &Progress,
    ) -> Result<RepoName> {
        caller.require(Permission::ProjectDelete)?;
        let repo = match self.look_up(caller, repo).await? {
            Found::Registered(repo) => repo,
            Found::Configured(configured) => {
                return Err(Error::invalid(format!(
                    "`{}` is named in the configuration, and nothing of it is here yet",
                    configured.name
                ))
                .hint("whoever runs the server takes it out of the configuration"));
            }
        };
        if !confirm {
            return Err(Error::invalid(format!(
                "`{}` was not removed: its mirror goes with it, and with that every branch, checkpoint and kept \
                 reference that was not pushed",
                repo.name
            ))
            .hint("push what is needed, and pass `confirm: true`"));
        }
        let mirror = self.0.trees.mirror_path(&Self::key(&repo));
        let _turn = self.0.turns.take(&mirror, REMOVING, progress).await;
        let event = AuditEvent::done(caller, "repo_remove", format!("{} {}", repo.name, repo.url));
        // The row goes first: from then on nobody opens a workspace, and of a mirror without a row nothing is asked.
        let removed = self
            .0
            .store
            .repos()
            .remove(caller.tenant, repo.id, &event)
            .await
            .map_err(|error| from_store("removing a repository", error))?;
        if !removed {
            let open = self.workspaces_of(&repo).await?;
            let branches: Vec<&str> = open.iter().map(|workspace| workspace.branch.as_str()).collect();
            return Err(Error::new(
                ErrorKind::Conflict,
                format!("`{}` has workspaces on {}", repo.name, branches.join(", ")),
            )
            .hint("close them first with workspace_close"));
        }
        self.remove_mirror(Self::key(&repo)).await?;
        Ok(repo.name)
    }

    /// Finishes removals that died with their process: to be called once at a start.
    ///
    /// # Errors
    /// When the data directory cannot be read or written.
    pub async fn recover(&self) -> Result<()> {
        let trees = self.0.trees.clone();
        self.0
            .connections
            .pass(move |cancel| trees.finish_removals(cancel))
            .await
    }

    /// What has no row any more is removed to the end, also when nobody waits for it.
    async fn remove_mirror(&self, key: String) -> Result<()> {
        let trees = self.0.trees.clone();
        self.0
            .connections
            .pass(move |_| trees.remove_mirror(&key, &AtomicBool::new(false)))
            .await
    }
}
