//! `cargo xtask bench`: the release build, measured beside bare git and other servers.

use std::path::Path;
use std::process::Command;

use crate::args::Args;
use crate::failure::Result;
use crate::process::{cargo, run};
use crate::python::Environment;
use crate::{npm, setup, workspace};

/// The two servers for git that people use most, pinned so that ratios can be compared.
const NPM_PEER: &str = "@cyanheads/git-mcp-server@2.15.3";
const PYTHON_PEER: &str = "mcp-server-git==2026.10.19";

pub(crate) fn verb(mut args: Args) -> Result {
    let install_peers = args.flag("--install-peers");
    setup::ensure(if install_peers {
        setup::TO_MEET_OTHERS
    } else {
        setup::TO_MEASURE
    })?;
    let target = workspace::target_dir()?;
    let peers = if install_peers {
        install(&target.join("peers"))?
    } else {
        Vec::new()
    };
    run(cargo().args(["build", "--release", "--package", "agentyard"]))?;

    let mut command = Command::new("python3");
    command
        // No compiled files beside the sources.
        .arg("-B")
        .arg(workspace::root().join("bench/run.py"))
        .arg("--binary")
        .arg(workspace::release_binary()?)
        .arg("--work")
        .arg(target.join("bench"));
    for peer in peers {
        command.args(["--peer", &peer]);
    }
    run(command.args(args.rest()))
}

/// Installs the peers, once, and gives the command that starts each, quoted as for a shell.
fn install(directory: &Path) -> Result<Vec<String>> {
    let npm_dir = directory.join("npm");
    npm::install(&npm_dir, &[npm::node_package()?, NPM_PEER])?;
    let script = npm_dir.join("node_modules/@cyanheads/git-mcp-server/dist/index.js");
    let python = Environment::install(&directory.join("python"), &[PYTHON_PEER])?;
    Ok(vec![
        format!("'{}' '{}'", npm::node(&npm_dir)?.display(), script.display()),
        format!("'{}'", python.program("mcp-server-git").display()),
    ])
}
