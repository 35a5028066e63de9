//! Repositories that the configuration names. They are written to the store when they are first used, so that
//! starting costs nothing and the file stays the place where they are told.

use std::path::Path;

use agentyard_git::{BranchName, RemoteUrl, Roots};
use agentyard_model::{Caller, RepoName, TenantId};

use super::Repos;
use crate::error::{Result, from_store};
use crate::failures::from_git;

/// A repository of the configuration. It is the local tenant's, and may lie outside the roots: whoever writes the
/// configuration says where callers may go.
#[derive(Debug, Clone)]
pub struct ConfiguredRepo {
    /// What it is called.
    pub name: RepoName,
    /// Where it comes from.
    pub url: RemoteUrl,
    /// Its default branch, when it is not the remote's own choice.
    pub default_branch: Option<BranchName>,
}

impl Repos {
    /// The repository of this name in the configuration, as far as this caller has to do with it.
    pub(super) fn configured(&self, caller: &Caller, name: &RepoName) -> Option<&ConfiguredRepo> {
        let mut of_caller = self.all_configured(caller).iter();
        of_caller.find(|configured| configured.name == *name)
    }

    /// Those in the configuration that nobody has used yet.
    pub(super) async fn unregistered(&self, caller: &Caller) -> Result<Vec<&ConfiguredRepo>> {
        let unknown = |error| from_store("looking up repositories", error);
        let repos = self.0.store.repos();
        let mut unregistered = Vec::new();
        for configured in self.all_configured(caller) {
            let of_name = repos
                .get(caller.tenant, &configured.name)
                .await
                .map_err(unknown)?;
            let of_url = repos
                .by_url(caller.tenant, configured.url.as_str())
                .await
                .map_err(unknown)?;
            if of_name.is_none() && of_url.is_none() {
                unregistered.push(configured);
            }
        }
        Ok(unregistered)
    }

    /// The directories in which a source on this machine may lie.
    pub(super) fn roots_for(&self, tenant: TenantId, url: &RemoteUrl) -> Result<Roots> {
        let of_tenant = if tenant == TenantId::LOCAL {
            self.0.roots.clone()
        } else {
            Roots::new([]).map_err(from_git)?
        };
        let mut configured = self.0.configured.iter().filter(|_| tenant == TenantId::LOCAL);
        match url.local_path() {
            Some(path) if configured.any(|configured| configured.url == *url) => own_roots(path),
            _ => Ok(of_tenant),
        }
    }

    fn all_configured(&self, caller: &Caller) -> &[ConfiguredRepo] {
        if caller.tenant == TenantId::LOCAL {
            &self.0.configured
        } else {
            &[]
        }
    }
}

/// The directory itself, and where its repository is when that is elsewhere.
fn own_roots(path: &Path) -> Result<Roots> {
    let elsewhere = agentyard_git::repository_elsewhere(path);
    Roots::new([path.to_owned()].into_iter().chain(elsewhere)).map_err(from_git)
}
