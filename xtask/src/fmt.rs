//! `cargo xtask fmt`: one way to lay out code.

use crate::args::Args;
use crate::failure::{Failure, Result};
use crate::process::{cargo, run};

pub(crate) fn verb(mut args: Args) -> Result {
    let fix = args.flag("--fix");
    args.finish()?;
    if fix {
        run(cargo().args(["fmt", "--all"]))
    } else {
        check()
    }
}

pub(crate) fn check() -> Result {
    run(cargo().args(["fmt", "--all", "--check"]))
        .map_err(|_| Failure::new("some code is not formatted").next("cargo xtask fmt --fix"))
}
