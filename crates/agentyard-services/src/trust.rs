//! Which repositories may run programs: what a person on this machine says, and nobody else.

use std::path::{Path, PathBuf};

use agentyard_git::{Repository, Trust};
use agentyard_model::{AuditEvent, Caller, Permission, Timestamp};
use agentyard_store::Store;

use crate::error::{Error, Result, from_store};

/// The repositories whose hooks, filters and drivers may run. No operation changes this list: an agent that
/// could would vouch for itself.
#[derive(Clone)]
pub struct TrustedRepositories {
    store: Store,
}

/// A repository that a person vouches for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedRepository {
    /// Its directory with objects and references.
    pub path: PathBuf,
    /// Since when.
    pub trusted_at: Timestamp,
}

impl TrustedRepositories {
    pub(crate) fn new(store: Store) -> Self {
        Self { store }
    }

    /// Whether a repository's programs may run. A repository that names none is not looked up.
    pub(crate) async fn of(&self, repository: &Repository) -> Result<Trust> {
        if repository.programs().is_empty() {
            return Ok(Trust::Untrusted);
        }
        let (device, inode) = identity(repository)?;
        let path = repository.common_dir().to_string_lossy();
        let found = self
            .store
            .trusted_repositories()
            .contains(&path, device, inode)
            .await
            .map_err(|error| from_store("looking up whether the repository is trusted", error))?;
        Ok(if found { Trust::Trusted } else { Trust::Untrusted })
    }

    /// All of them.
    ///
    /// # Errors
    /// When the caller may not see them, or they cannot be read.
    pub async fn list(&self, caller: &Caller) -> Result<Vec<TrustedRepository>> {
        caller.require(Permission::AdminConfig)?;
        let found = self
            .store
            .trusted_repositories()
            .list()
            .await
            .map_err(|error| from_store("listing trusted repositories", error))?;
        Ok(found
            .into_iter()
            .map(|repository| TrustedRepository {
                path: repository.path.into(),
                trusted_at: repository.trusted_at,
            })
            .collect())
    }

    /// Trusts a repository from now on, and tells by which directory it is known.
    ///
    /// # Errors
    /// When the caller may not say so, or it cannot be written.
    pub async fn add(&self, caller: &Caller, repository: &Repository) -> Result<PathBuf> {
        caller.require(Permission::AdminConfig)?;
        let path = repository.common_dir();
        let text = path.to_str().ok_or_else(|| {
            Error::invalid("the repository's path is not Unicode, so it cannot be kept in the list")
        })?;
        let (device, inode) = identity(repository)?;
        let event = AuditEvent::done(caller, "trust", text);
        self.store
            .trusted_repositories()
            .add(text, device, inode, &event)
            .await
            .map_err(|error| from_store("trusting the repository", error))?;
        Ok(path.to_owned())
    }

    /// Trusts a repository no longer, by the directory that [`TrustedRepositories::list`] shows; it need not
    /// exist any more. Tells whether it was trusted.
    ///
    /// # Errors
    /// When the caller may not say so, or it cannot be written.
    pub async fn revoke(&self, caller: &Caller, path: &Path) -> Result<bool> {
        caller.require(Permission::AdminConfig)?;
        let path = path.to_string_lossy();
        let event = AuditEvent::done(caller, "trust_revoke", &path);
        self.store
            .trusted_repositories()
            .remove(&path, &event)
            .await
            .map_err(|error| from_store("revoking the trust", error))
    }
}

/// Device and inode as the database has them: the bits are what counts, not the sign.
fn identity(repository: &Repository) -> Result<(i64, i64)> {
    let (device, inode) = repository
        .device_and_inode()
        .map_err(|error| Error::internal("looking at the repository", error))?;
    Ok((device.cast_signed(), inode.cast_signed()))
}
