//! Which view a directory belongs to.

use std::path::{Component, Path, PathBuf};

use super::Trees;
use super::layout::check_name;

impl Trees {
    /// Whether a directory is where trees are kept, by its name.
    pub fn hold(&self, directory: &Path) -> bool {
        self.below_trees(directory).is_some()
    }

    /// The repository and the name of the view of which a directory is a part, by its name.
    pub fn view_of(&self, directory: &Path) -> Option<(String, String)> {
        let rest = self.below_trees(directory)?;
        let mut parts = rest.components().map(|part| match part {
            Component::Normal(part) => part.to_str(),
            _ => None,
        });
        let key = parts.next()??.to_owned();
        let name = parts.next()??.to_owned();
        let plain = check_name("repository", &key).is_ok() && check_name("workspace", &name).is_ok();
        plain.then_some((key, name))
    }

    /// The part of a path that lies below the directory of trees, which may be written through links.
    fn below_trees(&self, directory: &Path) -> Option<PathBuf> {
        let trees = self.all_trees_path();
        if let Ok(rest) = directory.strip_prefix(&trees) {
            return Some(rest.to_owned());
        }
        let rest = directory.strip_prefix(trees.canonicalize().ok()?).ok()?;
        Some(rest.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TreeSettings;

    #[test]
    fn a_directory_belongs_to_the_view_that_its_name_says() {
        let trees = Trees::new(TreeSettings {
            directory: "/data".into(),
            way: None,
            obstacle: None,
            owner: None,
        });
        let view = |path: &str| trees.view_of(Path::new(path));
        let found = Some(("rep_1".to_owned(), "main-1a2b".to_owned()));
        assert_eq!(view("/data/trees/rep_1/main-1a2b"), found);
        assert_eq!(view("/data/trees/rep_1/main-1a2b/src/lib"), found);
        for other in [
            "/data/trees/rep_1",
            "/data/trees/rep_1/bases/x",
            "/data/trees/rep_1/../x",
            "/data/repos/x.git",
            "/elsewhere",
        ] {
            assert_eq!(view(other), None, "{other}");
        }
        assert!(trees.hold(Path::new("/data/trees/rep_1/bases/x")));
        assert!(!trees.hold(Path::new("/data/repos")));
    }
}
