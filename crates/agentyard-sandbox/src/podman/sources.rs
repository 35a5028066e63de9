//! A command's directories, as podman is given them.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;

use rustix::fs::fstat;

use super::Podman;
use super::service::Service;
use super::specification::Identity;
use super::staging::Stage;
use crate::command::{Access, CommandError, Mount};

/// Where podman finds a directory.
pub(super) enum Source {
    Staged(Stage),
    Plain(PathBuf),
}

impl Source {
    pub(super) fn path(&self) -> PathBuf {
        match self {
            Self::Staged(stage) => stage.path().to_owned(),
            Self::Plain(path) => path.clone(),
        }
    }
}

impl Podman {
    /// Puts a command's directories where podman finds them, so that they belong to its user there. Without a place for
    /// that they are used where they are, and must belong to it.
    pub(super) async fn stage(
        &self,
        service: &Service,
        mounts: &[Mount],
        identity: Identity,
    ) -> Result<Vec<Source>, CommandError> {
        let mut sources = Vec::new();
        for mount in mounts {
            let source = match (&service.stages, identity) {
                (Some(stages), Identity::User(user, group)) => {
                    let owners = self.owners_of(mount, (user, group)).await?;
                    let owners = owners.as_ref().map(|owners| owners.as_fd());
                    let mut staged = stages.put(mount.source.as_fd(), owners);
                    if mount.access == Access::ReadOnly && staged.is_err() {
                        // Whose it is matters to those only who may change it.
                        staged = stages.put(mount.source.as_fd(), None);
                    }
                    Source::Staged(staged.map_err(|error| not_shown(mount, &error))?)
                }
                _ => {
                    may_write(mount, identity)?;
                    Source::Plain(mount.host_path.clone())
                }
            };
            sources.push(source);
        }
        Ok(sources)
    }

    /// A user namespace that shows somebody else's directory as the container's user's own.
    async fn owners_of(&self, mount: &Mount, user: (u32, u32)) -> Result<Option<Arc<OwnedFd>>, CommandError> {
        let found = fstat(&mount.source).map_err(|error| CommandError::Prepare(error.into()))?;
        if found.st_uid == user.0 {
            return Ok(None);
        }
        let Some(bwrap) = self.locate("bwrap") else {
            may_write(mount, Identity::User(user.0, user.1))?;
            return Ok(None);
        };
        let owner = (found.st_uid, found.st_gid);
        let shown = self.shared.owners.shown_as(owner, user, &bwrap).await;
        shown.map(Some).map_err(CommandError::Prepare)
    }

    fn locate(&self, program: &str) -> Option<PathBuf> {
        let (_, path) = self
            .settings
            .environment
            .iter()
            .find(|(name, _)| name == "PATH")?;
        let mut places = path.split(':').map(|place| PathBuf::from(place).join(program));
        places.find(|place| place.is_file())
    }
}

fn not_shown(mount: &Mount, error: &io::Error) -> CommandError {
    CommandError::Refused {
        reason: format!("{} cannot be shown to a container: {error}", mount.at.display()),
        remedy: "keep it on a file system that can show other owners (ext4, xfs, btrfs), or use another `sandbox.backend`"
            .to_owned(),
    }
}

/// When the server is root, commands run as a user of their own, to whom what they may change must belong.
fn may_write(mount: &Mount, identity: Identity) -> Result<(), CommandError> {
    let (Identity::User(user, _), Access::ReadWrite) = (identity, mount.access) else {
        return Ok(());
    };
    let found = fstat(&mount.source).map_err(|error| CommandError::Prepare(error.into()))?;
    if found.st_uid == user {
        return Ok(());
    }
    let (at, owner) = (mount.at.display(), found.st_uid);
    Err(CommandError::Refused {
        reason: format!("{at} belongs to user {owner}, and containers run as user {user}"),
        remedy: "install bubblewrap, which shows it as theirs, or use another `sandbox.backend`".to_owned(),
    })
}

/// What is looked at for how much a command has written.
pub(super) fn writable(mounts: &[Mount]) -> Result<Vec<OwnedFd>, CommandError> {
    let writable = mounts.iter().filter(|mount| mount.access == Access::ReadWrite);
    writable
        .map(|mount| mount.source.try_clone().map_err(CommandError::Prepare))
        .collect()
}
