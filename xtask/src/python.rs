//! Programs from the Python package index, in an environment of their own.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::{Attempt, Result};
use crate::process::{output, run};

/// A virtual environment under the target directory.
pub(crate) struct Environment {
    directory: PathBuf,
}

impl Environment {
    /// Installs `packages`, each `NAME==VERSION`, into `directory`, once.
    pub(crate) fn install(directory: &Path, packages: &[&str]) -> Result<Self> {
        let environment = Self {
            directory: directory.to_path_buf(),
        };
        let stamp = directory.join("installed");
        let wanted = packages.join("\n");
        if std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
            return Ok(environment);
        }
        let _ = std::fs::remove_dir_all(directory);
        output(Command::new("python3").args(["-m", "venv"]).arg(directory))?;
        run(Command::new(environment.python())
            .args(["-m", "pip", "install", "--quiet"])
            .args(packages))?;
        std::fs::write(&stamp, wanted).attempt("note what was installed")?;
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
