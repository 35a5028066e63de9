//! Where the source tree and the build products are.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde_json::Value;

use crate::failure::{Attempt, Failure, Result};
use crate::process::{cargo, output};

/// The root of the source tree, which is the folder above this crate's.
pub(crate) fn root() -> &'static Path {
    static ROOT: OnceLock<PathBuf> = OnceLock::new();
    ROOT.get_or_init(|| {
        // Cargo sets the variable at run time too, and then it is right even for a tree that was moved.
        let manifest_dir = std::env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        match manifest_dir.parent() {
            Some(root) => root.to_path_buf(),
            None => manifest_dir,
        }
    })
}

/// What `cargo metadata` says of our own crates only; needs no network.
pub(crate) fn metadata_of_members() -> Result<Value> {
    metadata(&["--no-deps"])
}

/// What `cargo metadata` says of every crate in the lock file.
pub(crate) fn metadata_of_all() -> Result<Value> {
    metadata(&["--locked"])
}

/// Where build products go; `CARGO_TARGET_DIR` is honoured, since cargo is asked.
pub(crate) fn target_dir() -> Result<PathBuf> {
    match metadata_of_members()?["target_directory"].as_str() {
        Some(dir) => Ok(PathBuf::from(dir)),
        None => Err(Failure::new("`cargo metadata` names no target directory")),
    }
}

/// `agentyard` as built with the dev profile.
pub(crate) fn debug_binary() -> Result<PathBuf> {
    Ok(target_dir()?.join("debug").join("agentyard"))
}

/// `agentyard` as built with the release profile.
pub(crate) fn release_binary() -> Result<PathBuf> {
    Ok(target_dir()?.join("release").join("agentyard"))
}

fn metadata(arguments: &[&str]) -> Result<Value> {
    let text = output(
        cargo()
            .args(["metadata", "--format-version", "1"])
            .args(arguments),
    )?;
    serde_json::from_str(&text).attempt("read what `cargo metadata` printed")
}
