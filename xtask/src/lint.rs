//! `cargo xtask lint`: clippy over everything, where a warning is an error.

use crate::args::Args;
use crate::failure::Result;
use crate::process::{cargo, run};

pub(crate) fn verb(args: Args) -> Result {
    args.finish()?;
    check()
}

pub(crate) fn check() -> Result {
    // After `--`, so that only our own crates are held to it and dependencies are not built anew.
    run(cargo().args(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))
}
