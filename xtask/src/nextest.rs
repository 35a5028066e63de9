//! The test runner: cargo-nextest where it is installed, `cargo test` otherwise.

use std::process::{Command, Stdio};

use crate::failure::{Attempt, Failure, Result};
use crate::process::{cargo, output};

/// The version of cargo-nextest, when it is installed.
pub(crate) fn version() -> Option<String> {
    let said = output(cargo().args(["nextest", "--version"])).ok()?;
    let version = said.split_whitespace().nth(1)?;
    Some(version.to_owned())
}

/// Runs every test of the workspace, to the end even when some fail.
pub(crate) fn command(extra: &[String]) -> Command {
    let mut command = cargo();
    if version().is_some() {
        command
            .args(["nextest", "run", "--workspace", "--profile", "ci"])
            .args(extra);
    } else {
        command
            .args(["test", "--workspace", "--no-fail-fast", "--"])
            .args(extra);
    }
    command
}

/// Runs the examples in documentation, which nextest leaves out. Each crate prints a result, mostly
/// of no example at all, so only their sum is shown.
pub(crate) fn check_documentation() -> Result {
    if version().is_none() {
        return Ok(());
    }
    let mut command = cargo();
    command.args(["test", "--workspace", "--doc", "--quiet"]);
    let said = command
        .stderr(Stdio::inherit())
        .output()
        .attempt("start `cargo test --doc`")?;
    let text = String::from_utf8_lossy(&said.stdout);
    if !said.status.success() {
        println!("{text}");
        return Err(Failure::new("an example in documentation fails").next("cargo test --workspace --doc"));
    }
    println!("examples in documentation: {} passed", passed_in(&text));
    Ok(())
}

/// The sum over lines such as `test result: ok. 2 passed; 0 failed; …`.
fn passed_in(text: &str) -> u32 {
    let results = text
        .lines()
        .filter_map(|line| line.strip_prefix("test result: ok. "));
    results
        .filter_map(|result| result.split(' ').next()?.parse::<u32>().ok())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_the_results_of_all_crates() {
        let text = "running 2 tests\n..\ntest result: ok. 2 passed; 0 failed; 0 ignored\n\n\
                    test result: ok. 3 passed; 0 failed; 0 ignored\n";
        assert_eq!(passed_in(text), 5);
    }
}
