//! To what an environment belongs, and where it is.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use agentyard_git::Confined;
use agentyard_model::{Caller, TenantId};
use agentyard_sandbox::{Access, Mount};
use sha2::{Digest as _, Sha256};

use super::Environments;
use super::kind::EnvironmentKind;
use crate::error::{Error, Result};
use crate::failures::from_git;
use crate::places::{Place, WORKSPACE};
use crate::progress::Progress;

/// Where commands see an environment of ours.
const INSIDE: &str = "/env";

/// To what environments belong: a workspace, or a directory.
#[derive(Clone)]
pub(crate) struct Owner {
    pub(super) tenant: TenantId,
    /// The name under which its environments are kept.
    pub(super) place: String,
    /// The tree, in which an environment may be as well.
    pub(super) tree: Option<Confined>,
}

/// One environment.
#[derive(Clone)]
pub(super) struct Target {
    pub(super) kind: EnvironmentKind,
    /// Its name: a path below the directory of environments.
    pub(super) key: String,
    /// Where what is known of it is kept.
    pub(super) state: PathBuf,
    pub(super) location: Location,
    /// Where commands see it.
    pub(super) inside: PathBuf,
    pub(super) conda_name: Option<String>,
    /// Whose packages it is filled from: what one tenant has downloaded, no other one uses.
    pub(super) cache: String,
}

/// Where an environment is.
#[derive(Clone)]
pub(super) enum Location {
    /// In the data directory: it can be made anew whenever something is wrong with it.
    Ours,
    /// Where the operator's settings say.
    Machine(PathBuf),
    /// In the tree of its place.
    Tree(Confined, PathBuf),
}

impl Environments {
    /// To what the environments of a place belong.
    pub(crate) async fn owner(&self, caller: &Caller, place: &Place, progress: &Progress) -> Result<Owner> {
        let located = self.0.places.find(caller, place, progress).await?;
        let tenant = caller.tenant;
        let found = self.0.places.turnstile().pass(move |_| {
            let tree = located.tree()?;
            let place = match &located.workspace {
                Some(entered) => entered.id().to_string(),
                None => format!(
                    "{tenant}.dir-{}",
                    digest(tree.path().as_os_str().as_encoded_bytes())
                ),
            };
            Ok(Owner {
                tenant,
                place,
                tree: Some(tree),
            })
        });
        found.await
    }
}

impl Owner {
    /// The environment of a kind in the data directory.
    pub(super) fn ours(&self, directory: &Path, kind: EnvironmentKind, conda_name: Option<&str>) -> Target {
        let name = match conda_name {
            Some(name) => format!("{kind}-{name}"),
            None => kind.to_string(),
        };
        let key = format!("{}/{name}", self.place);
        Target {
            kind,
            state: directory.join(&key),
            key,
            location: Location::Ours,
            inside: PathBuf::from(INSIDE),
            conda_name: conda_name.map(ToOwned::to_owned),
            cache: self.tenant.to_string(),
        }
    }

    /// The environment in this directory of the machine. It is the same one for every place.
    pub(super) fn on_machine(&self, directory: &Path, kind: EnvironmentKind, path: &Path) -> Target {
        let key = format!(
            "{}.machine/{}",
            self.tenant,
            digest(path.as_os_str().as_encoded_bytes())
        );
        Target {
            kind,
            state: directory.join(&key),
            key,
            location: Location::Machine(path.to_owned()),
            inside: path.to_owned(),
            conda_name: None,
            cache: self.tenant.to_string(),
        }
    }

    /// The environment in this directory of the tree.
    pub(super) fn in_tree(&self, directory: &Path, kind: EnvironmentKind, below: &Path) -> Result<Target> {
        let tree = self
            .tree
            .clone()
            .ok_or_else(|| Error::invalid("there is no tree here"))?;
        let name = format!("{kind}-in-tree-{}", digest(below.as_os_str().as_encoded_bytes()));
        let key = format!("{}/{name}", self.place);
        Ok(Target {
            kind,
            state: directory.join(&key),
            key,
            inside: Path::new(WORKSPACE).join(below),
            location: Location::Tree(tree, below.to_owned()),
            conda_name: None,
            cache: self.tenant.to_string(),
        })
    }
}

impl Target {
    /// Where it is on this machine.
    pub(super) fn host_path(&self) -> PathBuf {
        match &self.location {
            Location::Ours => self.state.join("env"),
            Location::Machine(path) => path.clone(),
            Location::Tree(tree, below) => tree.path().join(below),
        }
    }

    /// Its directory. One in a tree is looked up from there each time: who works in the tree may put a link in its place.
    pub(super) fn open(&self) -> Result<OwnedFd> {
        let opened = match &self.location {
            Location::Ours | Location::Machine(_) => File::open(self.host_path()).map(Into::into),
            Location::Tree(tree, below) => {
                let found = tree.beneath(below).map_err(from_git)?;
                found.directory().try_clone_to_owned()
            }
        };
        opened.map_err(|error| {
            Error::not_found(format!(
                "the Python environment in `{}` cannot be opened: {error}",
                self.host_path().display()
            ))
        })
    }

    /// As a command sees it.
    pub(super) fn mount(&self, access: Access) -> Result<Mount> {
        Ok(Mount {
            source: self.open()?,
            host_path: self.host_path(),
            at: self.inside.clone(),
            access,
        })
    }
}

/// A directory of this machine, where a command sees it under its own path or another.
pub(super) fn mount(host_path: &Path, at: &Path, access: Access) -> Result<Mount> {
    let source = File::open(host_path).map_err(|error| {
        Error::internal(format!("opening the directory `{}`", host_path.display()), error)
    })?;
    Ok(Mount {
        source: source.into(),
        host_path: host_path.to_owned(),
        at: at.to_owned(),
        access,
    })
}

/// A short name for something long.
pub(super) fn digest(bytes: &[u8]) -> String {
    hex::encode(&Sha256::digest(bytes)[..12])
}
