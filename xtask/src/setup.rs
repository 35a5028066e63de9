//! `cargo xtask setup`: what the other verbs need from the machine, found or installed.

use std::path::Path;
use std::process::Command;

use crate::args::Args;
use crate::failure::{Failure, Result};
use crate::process::{find_program, is_root, output, run};
use crate::{e2b, nextest, postgres};

/// Something that must be on the machine.
pub(crate) struct Need {
    name: &'static str,
    /// Debian's packages that bring it.
    packages: &'static [&'static str],
    find: fn() -> Found,
}

/// What was found, or why that will not do.
type Found = std::result::Result<String, String>;

const GIT: Need = Need {
    name: "git",
    packages: &["git"],
    find: find_git,
};
const C_COMPILER: Need = Need {
    name: "C compiler",
    packages: &["gcc", "libc6-dev"],
    find: find_c_compiler,
};
const PYTHON: Need = Need {
    name: "python3 with venv and pip",
    packages: &["python3", "python3-venv", "python3-pip"],
    find: find_python,
};
const NPM: Need = Need {
    name: "node and npm",
    packages: &["nodejs", "npm", "ca-certificates"],
    find: find_npm,
};
const BUBBLEWRAP: Need = Need {
    name: "bubblewrap",
    packages: &["bubblewrap"],
    find: find_bubblewrap,
};
const PODMAN: Need = Need {
    name: "podman with runc",
    // Debian takes crun by default, which wants cgroups of one version; the other two let users without root have
    // containers.
    packages: &["podman", "runc", "uidmap", "fuse-overlayfs"],
    find: find_podman,
};
const POSTGRES: Need = Need {
    name: "PostgreSQL",
    packages: &["postgresql"],
    find: find_postgres,
};
const VALGRIND: Need = Need {
    name: "valgrind",
    packages: &["valgrind"],
    find: find_valgrind,
};

/// What it takes to build and run the product.
pub(crate) const TO_RUN: &[Need] = &[GIT, C_COMPILER, BUBBLEWRAP];
/// What it takes to measure the product.
pub(crate) const TO_MEASURE: &[Need] = &[GIT, C_COMPILER, BUBBLEWRAP, PYTHON];
/// What it takes to try the product with other people's programs.
pub(crate) const TO_MEET_OTHERS: &[Need] = &[GIT, C_COMPILER, BUBBLEWRAP, PYTHON, NPM];
/// What it takes to find out what a start of the product runs.
pub(crate) const TO_ORDER: &[Need] = &[GIT, C_COMPILER, VALGRIND];
/// What it takes to pass the whole gate.
const TO_TEST: &[Need] = &[GIT, C_COMPILER, BUBBLEWRAP, PODMAN, PYTHON, NPM, POSTGRES];

/// The oldest git that the product is tested with; Debian 12 has it.
const OLDEST_GIT: (u32, u32) = (2, 39);

pub(crate) fn verb(args: Args) -> Result {
    args.finish()?;
    ensure_for_tests()?;
    e2b::install()
}

/// What the gate needs, and word of the one thing that it can do without.
pub(crate) fn ensure_for_tests() -> Result {
    ensure(TO_TEST)?;
    // Building nextest takes minutes, and `cargo test` runs the same tests.
    match nextest::version() {
        Some(version) => println!("  found    cargo-nextest ({version})"),
        None => println!(
            "  absent   cargo-nextest: tests run with `cargo test`\n           \
             (`cargo install cargo-nextest --locked` adds a time limit for each test)"
        ),
    }
    Ok(())
}

/// Checks each need and installs what is missing, or says how to.
pub(crate) fn ensure(needs: &[Need]) -> Result {
    let missing = missing_of(needs);
    if missing.is_empty() {
        return Ok(());
    }
    let packages: Vec<&str> = missing.iter().flat_map(|need| need.packages).copied().collect();
    install(&packages)?;

    let still: Vec<&str> = missing_of(needs).iter().map(|need| need.name).collect();
    if still.is_empty() {
        return Ok(());
    }
    Err(Failure::new(format!(
        "installed {}, but still missing: {}",
        packages.join(" "),
        still.join(", ")
    ))
    .next("see what apt-get printed above, and install by hand what it could not"))
}

fn missing_of(needs: &[Need]) -> Vec<&Need> {
    needs
        .iter()
        .filter(|need| match (need.find)() {
            Ok(found) => {
                println!("  found    {} ({found})", need.name);
                false
            }
            Err(why) => {
                println!("  missing  {}: {why}", need.name);
                true
            }
        })
        .collect()
}

fn install(packages: &[&str]) -> Result {
    if !is_root() || find_program("apt-get").is_none() {
        let packages = packages.join(" ");
        return Err(
            Failure::new(format!("these Debian packages are missing: {packages}")).next(format!(
                "sudo apt-get update && sudo apt-get install --yes {packages}"
            )),
        );
    }
    run(apt_get().arg("update"))?;
    run(apt_get()
        .args(["install", "--yes", "--no-install-recommends"])
        .args(packages))
}

fn apt_get() -> Command {
    let mut command = Command::new("apt-get");
    command
        .args(["--quiet=2", "--option=Dpkg::Use-Pty=0"])
        .env("DEBIAN_FRONTEND", "noninteractive");
    command
}

fn find_git() -> Found {
    let said = first_line("git", &["--version"])?;
    match version_in(&said) {
        Some(version) if version >= OLDEST_GIT => Ok(said),
        _ => Err(format!("{said} is older than {}.{}", OLDEST_GIT.0, OLDEST_GIT.1)),
    }
}

fn find_c_compiler() -> Found {
    first_line("cc", &["--version"])
}

fn find_python() -> Found {
    // Debian packs `ensurepip`, which makes pip appear in a new environment, apart from Python.
    first_line(
        "python3",
        &[
            "-c",
            "import ensurepip, pip, sys, venv; print(sys.version.split()[0])",
        ],
    )
}

fn find_bubblewrap() -> Found {
    first_line("bwrap", &["--version"])
}

fn find_podman() -> Found {
    let podman = first_line("podman", &["--version"])?;
    for (program, package) in [("runc", "runc"), ("newuidmap", "uidmap")] {
        // Programs for the administrator need not be on a user's search path.
        let is_there = find_program(program).is_some() || Path::new("/usr/sbin").join(program).exists();
        if !is_there {
            return Err(format!("`{program}` of the package {package} is missing"));
        }
    }
    Ok(podman)
}

fn find_valgrind() -> Found {
    first_line("valgrind", &["--version"])
}

fn find_npm() -> Found {
    let node = first_line("node", &["--version"])?;
    match find_program("npm") {
        Some(_) => Ok(node),
        None => Err("npm is not on the search path".to_owned()),
    }
}

fn find_postgres() -> Found {
    let programs = postgres::programs_dir().ok_or("no initdb and postgres were found")?;
    first_line(&programs.join("postgres").to_string_lossy(), &["--version"])
}

fn first_line(program: &str, arguments: &[&str]) -> Found {
    let said = output(Command::new(program).args(arguments)).map_err(|failure| failure.to_string())?;
    Ok(said.lines().next().unwrap_or_default().to_owned())
}

/// The first `MAJOR.MINOR` in a line such as `git version 2.47.3`.
fn version_in(line: &str) -> Option<(u32, u32)> {
    line.split_whitespace().find_map(|word| {
        let mut numbers = word.split('.');
        Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_versions() {
        assert_eq!(version_in("git version 2.47.3"), Some((2, 47)));
        assert_eq!(version_in("git version 2.39.5 (Apple Git-154)"), Some((2, 39)));
        assert_eq!(version_in("git version unknown"), None);
    }
}
