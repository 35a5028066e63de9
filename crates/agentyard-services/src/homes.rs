//! Home directories of commands: what programs keep between one command and the next of a place, such as caches.

use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentyard_model::WorkspaceId;
use agentyard_sandbox::{Access, Mount};
use sha2::{Digest as _, Sha256};

/// Where a command sees its home directory.
pub const HOME: &str = "/home/agent";

/// Where Python environments are, below the data directory: those of a workspace in a directory of its name.
pub(crate) const ENVIRONMENTS: &str = "envs";

/// One home directory for each place, below the data directory.
#[derive(Debug, Clone)]
pub(crate) struct Homes(Arc<Path>);

impl Homes {
    pub(crate) fn new(data: &Path) -> Self {
        Self(data.join("homes").into())
    }

    /// That of a workspace.
    pub(crate) fn of_workspace(&self, workspace: WorkspaceId) -> PathBuf {
        self.0.join(workspace.to_string())
    }

    /// That of any other directory.
    pub(crate) fn of_directory(&self, directory: &Path) -> PathBuf {
        let path = directory.as_os_str().as_encoded_bytes();
        let hash = hex::encode(&Sha256::digest(path)[..16]);
        self.0.join(format!("directory-{hash}"))
    }

    /// Removes that of a workspace, if it has one, and its Python environments. It blocks.
    pub(crate) fn remove(&self, workspace: WorkspaceId) -> io::Result<()> {
        let environments = self.0.with_file_name(ENVIRONMENTS).join(workspace.to_string());
        for directory in [self.of_workspace(workspace), environments] {
            match std::fs::remove_dir_all(directory) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Makes a home directory that is not there yet, and opens it for a command. It blocks.
pub(crate) fn mount(path: PathBuf) -> io::Result<Mount> {
    DirBuilder::new().recursive(true).mode(0o700).create(&path)?;
    Ok(Mount {
        source: File::open(&path)?.into(),
        host_path: path,
        at: PathBuf::from(HOME),
        access: Access::ReadWrite,
    })
}
