//! Which repositories there are.

use agentyard_model::{Caller, Cursor, Page, PageRequest, Permission, RepoName};

use super::{Found, RepoDetails, RepoSummary, Repos};
use crate::error::{Result, from_store};

impl Repos {
    /// The repositories of the caller's tenant, by name.
    ///
    /// # Errors
    /// When the caller may not see them, or the cursor is not one of this list's.
    pub async fn list(&self, caller: &Caller, page: PageRequest) -> Result<Page<RepoSummary>> {
        caller.require(Permission::ProjectRead)?;
        let after = page.cursor.as_ref().map(Cursor::place::<RepoName>).transpose()?;
        let stored = self
            .0
            .store
            .repos()
            .list(caller.tenant, &page)
            .await
            .map_err(|error| from_store("listing repositories", error))?;
        // Those of the configuration that fall among these.
        let last = stored
            .items
            .last()
            .filter(|_| stored.next.is_some())
            .map(|repo| repo.name.clone());
        let falls_here = |name: &RepoName| {
            after.as_ref().is_none_or(|after| name > after) && last.as_ref().is_none_or(|last| name < last)
        };
        let unregistered = self.unregistered(caller).await?.into_iter();
        let configured = unregistered
            .filter(|it| falls_here(&it.name))
            .map(RepoSummary::from);
        let mut repos: Vec<RepoSummary> = stored
            .items
            .into_iter()
            .map(RepoSummary::from)
            .chain(configured)
            .collect();
        repos.sort_by(|one, other| one.name.cmp(&other.name));
        let mut page = Page::from_overfull(repos, page.limit, |repo| Cursor::at(&repo.name));
        page.next = page.next.or(stored.next);
        Ok(page)
    }

    /// A repository, and what is there of it.
    ///
    /// # Errors
    /// When the caller may not see it, or its tenant has none such.
    pub async fn get(&self, caller: &Caller, repo: &str) -> Result<RepoDetails> {
        caller.require(Permission::ProjectRead)?;
        match self.look_up(caller, repo).await? {
            Found::Registered(repo) => Ok(RepoDetails {
                workspaces: self.workspaces_of(&repo).await?,
                repo: repo.into(),
            }),
            Found::Configured(configured) => Ok(RepoDetails {
                workspaces: Vec::new(),
                repo: configured.into(),
            }),
        }
    }
}
