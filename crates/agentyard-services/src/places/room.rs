//! What a command sees of the place where it works: the tree, without what it must not see there, and a home directory.

use std::path::{Path, PathBuf};

use agentyard_sandbox::{Access, Backend, Mount};

use super::Held;
use crate::error::{Error, Result};
use crate::homes;

/// Where a command sees the tree it works in.
pub(crate) const WORKSPACE: &str = "/workspace";

/// What a command sees of a place.
#[derive(Debug)]
pub(crate) struct Room {
    /// The tree comes first.
    pub(crate) mounts: Vec<Mount>,
    /// What of them is not shown.
    pub(crate) hidden: Vec<PathBuf>,
}

impl Held {
    /// Prepares the place for a command: its files belong to whom the command runs as, and its home directory is there.
    pub(crate) async fn room(&self, backend: Backend) -> Result<Room> {
        if let Some(entered) = self.workspace.clone() {
            let workspaces = self.places.0.workspaces.clone();
            let turnstile = &self.places.0.turnstile;
            turnstile
                .pass(move |cancel| workspaces.hand_over(&entered, cancel))
                .await?;
        }
        let homes = &self.places.0.homes;
        // On the host itself a command has the home directory of whoever runs it.
        let home = match &self.workspace {
            _ if backend == Backend::Host => None,
            Some(entered) => Some(homes.of_workspace(entered.id())),
            None => Some(homes.of_directory(self.tree.path())),
        };
        let unopened = |error| Error::internal("opening the directories to run in", error);
        let tree = Mount {
            source: self.tree.directory().try_clone_to_owned().map_err(unopened)?,
            host_path: self.tree.path().to_owned(),
            at: PathBuf::from(WORKSPACE),
            access: Access::ReadWrite,
        };
        let (data, top) = (self.places.0.data.clone(), self.tree.path().to_owned());
        let prepared = tokio::task::spawn_blocking(move || {
            let home = home.map(homes::mount).transpose()?;
            Ok((home, data_within(&data, &top)))
        });
        let (home, data) = prepared
            .await
            .map_err(|error| Error::internal("preparing the directories to run in", error))?
            .map_err(unopened)?;
        let mut hidden = vec![tree.at.join(".git")];
        hidden.extend(data.map(|below| tree.at.join(below)));
        Ok(Room {
            mounts: [tree].into_iter().chain(home).collect(),
            hidden,
        })
    }
}

/// Where in a tree the data directory is, if it is in there: it holds what is others'.
fn data_within(data: &Path, tree: &Path) -> Option<PathBuf> {
    let data = data.canonicalize().ok()?;
    let below = data.strip_prefix(tree).ok()?;
    // The tree itself would be in the data directory if nothing were left.
    (!below.as_os_str().is_empty()).then(|| below.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_directory_is_found_where_a_tree_holds_it() {
        let top = tempfile::tempdir().unwrap();
        let tree = top.path().canonicalize().unwrap();
        let data = tree.join("home/.data");
        std::fs::create_dir_all(&data).unwrap();
        std::os::unix::fs::symlink(&data, tree.join("link")).unwrap();
        let expected = Some(PathBuf::from("home/.data"));
        assert_eq!(data_within(&data, &tree), expected);
        assert_eq!(data_within(&tree.join("link"), &tree), expected);
        assert_eq!(data_within(&data, &data.join("scratch")), None);
        assert_eq!(data_within(&tree.join("absent"), &tree), None);
    }
}
