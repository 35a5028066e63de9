//! conda, in whichever of its forms it is there.

use std::path::{Component, Path, PathBuf};

use crate::machine::Machine;

/// A program that makes and fills conda's environments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conda {
    /// The program, free of links.
    pub program: PathBuf,
    /// The directory that it needs: its own installation, or for a program that stands alone the one in which it is.
    pub directory: PathBuf,
    /// Whether it is micromamba, which stands alone.
    pub stands_alone: bool,
}

/// The quickest first.
const PROGRAMS: &[&str] = &["micromamba", "mamba", "conda"];

/// Where environments are that belong to a person.
const OWN_ENVIRONMENTS: &[&str] = &[
    "micromamba/envs",
    ".local/share/mamba/envs",
    ".conda/envs",
    "miniforge3/envs",
    "miniconda3/envs",
    "anaconda3/envs",
];

impl Machine {
    /// The first of micromamba, mamba and conda that is there.
    #[must_use]
    pub fn conda(&self) -> Option<Conda> {
        PROGRAMS.iter().find_map(|name| {
            let program = self.program(name)?.canonicalize().ok()?;
            let stands_alone = *name == "micromamba";
            let directory = if stands_alone {
                program.parent()?
            } else {
                // `<installation>/bin/conda`, or `<installation>/condabin/conda`.
                program.parent()?.parent()?
            };
            let directory = directory.to_owned();
            Some(Conda {
                program,
                directory,
                stands_alone,
            })
        })
    }

    /// Where the environment of this name is that the machine's conda knows.
    #[must_use]
    pub fn conda_environment(&self, name: &str) -> Option<PathBuf> {
        let mut components = Path::new(name).components();
        let (Some(Component::Normal(_)), None) = (components.next(), components.next()) else {
            return None;
        };
        let installed = self.conda().filter(|conda| !conda.stands_alone);
        let installed = installed.map(|conda| conda.directory.join("envs"));
        let own = self.context.home.iter();
        let own = own.flat_map(|home| OWN_ENVIRONMENTS.iter().map(move |below| home.join(below)));
        let mut candidates = installed
            .into_iter()
            .chain(own)
            .map(|directory| directory.join(name));
        candidates.find(|directory| directory.join("conda-meta").is_dir())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::machine::MachineContext;

    #[test]
    fn conda_and_its_environments_are_found() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        let installation = home.join("conda");
        fs::create_dir_all(installation.join("bin")).unwrap();
        fs::create_dir_all(installation.join("envs/science/conda-meta")).unwrap();
        fs::create_dir_all(home.join("micromamba/envs/web/conda-meta")).unwrap();
        fs::create_dir_all(home.join("micromamba/envs/broken")).unwrap();
        let program = installation.join("bin/conda");
        fs::write(&program, "").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let machine = Machine::new(MachineContext {
            search_path: installation.join("bin").into(),
            home: Some(home.clone()),
            runtime_directory: None,
            scratch: PathBuf::new(),
        });
        let conda = machine.conda().unwrap();
        assert_eq!(
            (conda.directory, conda.stands_alone),
            (installation.clone(), false)
        );
        assert_eq!(
            machine.conda_environment("science"),
            Some(installation.join("envs/science"))
        );
        assert_eq!(
            machine.conda_environment("web"),
            Some(home.join("micromamba/envs/web"))
        );
        for name in ["broken", "none", "", ".", "..", "a/b", "/", "../envs/web"] {
            assert_eq!(machine.conda_environment(name), None, "{name}");
        }
    }
}
