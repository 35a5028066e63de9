//! `cargo xtask start-order`: which functions every start of the binary runs, for the linker to put next to each other.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::args::Args;
use crate::failure::{Attempt, Failure, Result};
use crate::process::{cargo, run, without_settings};
use crate::{setup, workspace};

/// Where the build script of the binary finds the list.
const LIST: &str = "crates/agentyard/start-order.txt";

/// What a client says until it has the list of tools, in both eras.
const OPENING: &str = concat!(
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"start-order","version":"1"}}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    "\n",
    r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","id":3,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"start-order","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}"#,
    "\n",
);

pub(crate) fn verb(args: Args) -> Result {
    args.finish()?;
    setup::ensure(setup::TO_ORDER)?;
    run(cargo()
        .args([
            "rustc",
            "--release",
            "--package",
            "agentyard",
            "--bin",
            "agentyard",
        ])
        .args(["--", "-C", "strip=none"]))?;
    let binary = workspace::release_binary()?;
    let place = workspace::target_dir()?.join("start-order");
    std::fs::create_dir_all(&place).attempt(format!("make {}", place.display()))?;

    let mut functions = BTreeSet::new();
    for (arguments, input) in [
        (&["mcp", "--root", "."][..], OPENING),
        // What leads a command, and what answers in a sandbox: both end at once when nobody speaks to them.
        (&["lead-command"], ""),
        (&["answer-in-sandbox"], ""),
    ] {
        functions.extend(functions_of(&binary, &place, arguments, input)?);
    }
    let list: String = functions.iter().map(|name| format!("{name}\n")).collect();
    let path = workspace::root().join(LIST);
    std::fs::write(&path, list).attempt(format!("write {}", path.display()))?;
    println!("{} functions in {LIST}", functions.len());
    Ok(())
}

/// The functions of ours and of the crates we use that a start runs, as patterns of their symbols.
fn functions_of(binary: &Path, place: &Path, arguments: &[&str], input: &str) -> Result<BTreeSet<String>> {
    let profile = place.join("profile");
    let mut command = Command::new("valgrind");
    command
        .args(["--quiet", "--tool=callgrind", "--demangle=no"])
        .arg(format!("--callgrind-out-file={}", profile.display()))
        .arg(binary)
        .args(arguments)
        .current_dir(place)
        .env("HOME", place)
        .stdin(Stdio::piped())
        .stdout(Stdio::null());
    let starting = format!("start {} under valgrind", arguments.join(" "));
    let mut child = without_settings(&mut command).spawn().attempt(starting)?;
    // It answers what it was asked before it ends with its input.
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input.as_bytes()).attempt("speak to the binary")?;
    }
    child.wait().attempt("wait for valgrind")?;
    let profile = std::fs::read_to_string(&profile).attempt("read what valgrind found")?;
    let functions: BTreeSet<String> = profile.lines().filter_map(function_in).collect();
    if functions.is_empty() {
        return Err(Failure::new(format!(
            "valgrind found no function of ours in {}",
            arguments.join(" ")
        )));
    }
    Ok(functions)
}

/// The pattern of the function that a line of a profile names, where it names one: `fn=(12) _ZN…E`.
fn function_in(line: &str) -> Option<String> {
    let named = line.strip_prefix("fn=(").or_else(|| line.strip_prefix("cfn=("))?;
    let (_, symbol) = named.split_once(") ")?;
    // Valgrind numbers the turns of a recursion.
    pattern_of(symbol.split('\'').next().unwrap_or(symbol))
}

/// A symbol without what differs from one build to the next.
fn pattern_of(symbol: &str) -> Option<String> {
    const HASH: usize = "17h0123456789abcdefE".len();
    let symbol = symbol.split(".llvm.").next()?;
    let is_of_rust = symbol.starts_with("_ZN") && symbol.len() > HASH && symbol.is_ascii();
    let (path, hash) = symbol.split_at(symbol.len().checked_sub(HASH).filter(|_| is_of_rust)?);
    hash.starts_with("17h").then(|| format!("{path}17h*"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_fits_the_next_build_too() {
        let line = "cfn=(7) _ZN9agentyard4main17h669001ec87671dd3E.llvm.123'2";
        assert_eq!(function_in(line).as_deref(), Some("_ZN9agentyard4main17h*"));
        for other in ["fn=(7)", "fn=(8) malloc", "calls=1 0", "fn=(9) _ZN3foo"] {
            assert_eq!(function_in(other), None, "{other}");
        }
    }
}
