//! `cargo xtask test-real`: what is tested against servers that take minutes to build, and so not in every gate.

use std::ffi::OsString;
use std::net::TcpStream;
use std::path::PathBuf;

use crate::args::Args;
use crate::failure::Result;
use crate::process::{cargo, run};
use crate::supervised::{Launch, Scratch, Supervised, free_port, random_hex};
use crate::workspace;

pub(crate) fn verb(args: Args) -> Result {
    args.finish()?;
    surrealdb()
}

/// The execution log against a SurrealDB in memory.
fn surrealdb() -> Result {
    let program = build_surrealdb()?;
    let example = ["--package", "agentyard-testkit", "--example", "real_surrealdb"];
    run(cargo().arg("build").args(example))?;

    let port = free_port()?;
    let password = random_hex(16)?;
    let mut command: Vec<OsString> = vec![program.into(), "start".into()];
    command.extend(["--user", "root", "--pass", &password].map(Into::into));
    command.extend(["--bind".into(), format!("127.0.0.1:{port}").into()]);
    command.extend(["--no-banner", "memory"].map(Into::into));
    let mut server = Supervised::start(Launch {
        command,
        scratch: Scratch::new("surrealdb", None)?,
        stop_signal: "TERM",
        user: None,
    })?;
    server.wait_until("SurrealDB", || TcpStream::connect(("127.0.0.1", port)).is_ok())?;
    let url = format!("http://127.0.0.1:{port}");
    run(cargo()
        .arg("run")
        .arg("--quiet")
        .args(example)
        .args(["--", &url, &password]))
}

/// The server, from a workspace of its own: nothing that is shipped depends on any of it.
fn build_surrealdb() -> Result<PathBuf> {
    let target = workspace::target_dir()?.join("real");
    let manifest = workspace::root().join("real/surrealdb/Cargo.toml");
    run(cargo()
        .args(["build", "--locked", "--manifest-path"])
        .arg(manifest)
        .arg("--target-dir")
        .arg(&target))?;
    Ok(target.join("debug/real-surrealdb"))
}
