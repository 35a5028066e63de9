//! How the binary is linked: such that little of it is read at a start, and little of it stays in memory.

#![expect(
    clippy::disallowed_methods,
    reason = "cargo tells a build script everything by variables, and only a program knows the version of the C library"
)]

use std::error::Error;
use std::path::Path;
use std::process::Command;

/// Patterns of the functions that every start runs; `cargo xtask start-order` writes them.
const START_ORDER: &str = "start-order.txt";

/// The first glibc whose loader reads packed relocations.
const READS_PACKED: (u32, u32) = (2, 36);

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={START_ORDER}");
    // Two megabytes of relocations become a few kilobytes. The loader reads them all at every start, and a sandbox is two
    // starts of this binary.
    if glibc().is_some_and(|version| version >= READS_PACKED) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
    // The kernel maps 64 kB around each place that is read. What a start runs is a small part of the binary, scattered
    // all over it; next to each other it is mapped without the rest.
    if is("PROFILE", "release") && links_with_lld() {
        let directory = std::env::var("OUT_DIR")?;
        let script = Path::new(&directory).join("start-order.ld");
        let functions = std::fs::read_to_string(START_ORDER)?;
        std::fs::write(&script, linker_script(&functions))?;
        println!("cargo::rustc-link-arg-bins=-T{}", script.display());
    }
    Ok(())
}

/// Adds to the linker's own layout.
fn linker_script(functions: &str) -> String {
    let sections: String = functions
        .lines()
        .map(|function| format!("    *(.text.{function})\n"))
        .collect();
    format!("SECTIONS {{\n  .text.start : {{\n{sections}  }}\n}}\nINSERT BEFORE .text;\n")
}

/// Whether nobody chose another linker than the one that comes with Rust for this platform.
fn links_with_lld() -> bool {
    let flags = std::env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    is("TARGET", "x86_64-unknown-linux-gnu")
        && is("HOST", "x86_64-unknown-linux-gnu")
        && std::env::var_os("RUSTC_LINKER").is_none()
        && !flags.contains("link")
}

/// The version of the glibc that is linked with, where that is known: when the binary is made for the machine that makes
/// it.
fn glibc() -> Option<(u32, u32)> {
    let is_for_here = std::env::var("TARGET").ok()? == std::env::var("HOST").ok()?;
    if !is_for_here || !is("CARGO_CFG_TARGET_ENV", "gnu") || !is("CARGO_CFG_TARGET_OS", "linux") {
        return None;
    }
    let said = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let said = String::from_utf8(said.stdout).ok()?;
    let (major, minor) = said.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.split('.').next()?.parse().ok()?))
}

fn is(variable: &str, value: &str) -> bool {
    std::env::var(variable).is_ok_and(|is| is == value)
}
