//! The official clients of E2B, from their registries, for the tests that drive them against us.
//!
//! What is installed stands beside those tests, version by version and hash by hash. They look for it under the target
//! directory, so that `cargo nextest run` finds it too once it is there.

use std::path::{Path, PathBuf};

use crate::failure::{Failure, Result};
use crate::python::{self, Environment};
use crate::{npm, workspace};

/// Where the tests and the lists are, from the root of the tree.
const TESTS: &str = "crates/agentyard/tests/it/e2b";

/// Where a sandbox of the tests finds its Python: in the system, which every sandbox shows.
const SYSTEM_PYTHONS: &[&str] = &["/usr/bin/python3", "/usr/local/bin/python3"];

/// Installs the clients and what code in sandboxes draws with, unless they are there. The tests know these three names.
pub(crate) fn install() -> Result {
    let lists = workspace::root().join(TESTS);
    let directory = workspace::target_dir()?.join("e2b");
    Environment::install_listed(&directory.join("python"), &lists.join("sdk-requirements.txt"))?;
    npm::install_locked(&directory.join("npm"), &lists)?;
    python::install_beside(
        &system_python()?,
        &directory.join("sandbox-packages"),
        &lists.join("sandbox-requirements.txt"),
    )
}

fn system_python() -> Result<PathBuf> {
    let found = SYSTEM_PYTHONS.iter().map(Path::new).find(|path| path.is_file());
    found.map(Path::to_path_buf).ok_or_else(|| {
        Failure::new(format!("no Python of the system: {}", SYSTEM_PYTHONS.join(", ")))
            .next("sudo apt-get install --yes python3")
    })
}
