//! `cargo xtask generate`: writes the files that are made from the code.

use crate::args::Args;
use crate::failure::Result;
use crate::process::{cargo, run};

/// The reference, the OpenAPI document and the README's tool table come from the binary,
/// which knows them; a test fails when the committed ones are out of date.
pub(crate) fn verb(args: Args) -> Result {
    args.finish()?;
    run(cargo().args(["run", "--package", "agentyard", "--", "generate"]))
}
