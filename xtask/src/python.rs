//! Programs from the Python package index, in an environment of their own.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::{Attempt, Failure, Result};
use crate::installed;
use crate::process::{output, run};

/// A virtual environment under the target directory.
pub(crate) struct Environment {
    directory: PathBuf,
}

impl Environment {
    /// Installs `packages`, each `NAME==VERSION`, into `directory`, once.
    pub(crate) fn install(directory: &Path, packages: &[&str]) -> Result<Self> {
        Self::make(directory, &packages.join("\n"), |pip| pip.args(packages))
    }

    /// Installs what a list names, each version with the hashes of its files, into `directory`, once.
    pub(crate) fn install_listed(directory: &Path, list: &Path) -> Result<Self> {
        let wanted = read_list(list)?;
        Self::make(directory, &wanted, |pip| from_list(pip, list))
    }

    fn make(
        directory: &Path,
        wanted: &str,
        packages: impl FnOnce(&mut Command) -> &mut Command,
    ) -> Result<Self> {
        let environment = Self {
            directory: directory.to_path_buf(),
        };
        if installed::is_there(directory, wanted) {
            return Ok(environment);
        }
        let _ = std::fs::remove_dir_all(directory);
        output(Command::new("python3").args(["-m", "venv"]).arg(directory))?;
        let mut pip = Command::new(environment.python());
        install(packages(pip.args(["-m", "pip", "install", "--quiet"])))?;
        installed::note(directory, wanted)?;
        Ok(environment)
    }

    pub(crate) fn python(&self) -> PathBuf {
        self.program("python")
    }

    /// A program that one of the packages brought.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.directory.join("bin").join(name)
    }
}

/// Installs what a list names into a directory from which another Python can import, once. That Python needs neither
/// pip nor an environment of its own.
pub(crate) fn install_beside(python: &Path, directory: &Path, list: &Path) -> Result {
    let wanted = read_list(list)?;
    if installed::is_there(directory, &wanted) {
        return Ok(());
    }
    let _ = std::fs::remove_dir_all(directory);
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "--python"]).arg(python).args([
        "install",
        "--quiet",
        "--root-user-action",
        "ignore",
    ]);
    install(from_list(pip.arg("--target").arg(directory), list))?;
    installed::note(directory, &wanted)
}

fn from_list<'a>(pip: &'a mut Command, list: &Path) -> &'a mut Command {
    // Nothing is built: a package's own build could fetch what no list names.
    pip.args(["--require-hashes", "--only-binary", ":all:", "--requirement"])
        .arg(list)
}

fn install(pip: &mut Command) -> Result {
    run(pip).map_err(|failure| {
        Failure::new(failure.to_string())
            .next("the Python package index must be reachable, or name a mirror of it in PIP_INDEX_URL; see above what pip said")
    })
}

fn read_list(list: &Path) -> Result<String> {
    std::fs::read_to_string(list).attempt(format!("read {}", list.display()))
}
