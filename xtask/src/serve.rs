//! `cargo xtask serve`: from a fresh checkout to a running server.

use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::args::Args;
use crate::failure::{Failure, Result};
use crate::process::{cargo, run};
use crate::{setup, workspace};

pub(crate) fn verb(mut args: Args) -> Result {
    setup::ensure(setup::TO_RUN)?;
    run(cargo().args(["build", "--release", "--package", "agentyard"]))?;

    let binary = workspace::release_binary()?;
    // In our place, so that signals and the exit code are the server's own.
    let cause = Command::new(&binary).arg("serve").args(args.rest()).exec();
    Err(Failure::new(format!("start {}: {cause}", binary.display())))
}
