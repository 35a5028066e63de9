//! `cargo xtask conformance`: the official MCP suite against a server of ours.

mod report;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::args::Args;
use crate::failure::{Attempt, Failure, Result};
use crate::process::{cargo, run};
use crate::served::Served;
use crate::{npm, setup, workspace};
use report::Report;

const SUITE: &str = "@modelcontextprotocol/conformance@0.2.0-alpha.12";

/// A revision of the specification and the number of scenarios that it requires of a server.
/// The number is written here so that a suite that runs fewer does not pass for a success.
#[derive(Clone, Copy)]
pub(crate) struct Revision {
    name: &'static str,
    scenarios: usize,
}

pub(crate) const REVISIONS: &[Revision] = &[
    Revision {
        name: "2025-11-25",
        scenarios: 30,
    },
    Revision {
        name: "2026-07-28",
        scenarios: 37,
    },
];

/// Where the server under test comes from.
#[derive(Clone, Copy)]
pub(crate) enum Binary {
    /// The tests of this run have just built it.
    BuiltByTests,
    Build,
}

pub(crate) fn verb(mut args: Args) -> Result {
    let wanted = args.value("--requirements")?;
    args.finish()?;
    setup::ensure(setup::TO_MEET_OTHERS)?;
    match wanted {
        None => check(Binary::Build, REVISIONS),
        Some(name) => check(Binary::Build, &[revision(&name)?]),
    }
}

pub(crate) fn check(binary: Binary, revisions: &[Revision]) -> Result {
    let suite = Suite::install()?;
    let binary = debug_binary(binary)?;
    let options = ["--auth", "none", "--conformance-fixtures"].map(OsString::from);
    let server = Served::start(&binary, &options)?;

    let mut failed = Vec::new();
    for revision in revisions {
        let report = suite.run(&server.url("/mcp"), *revision)?;
        println!(
            "{}: {} of {} scenarios passed",
            revision.name,
            report.passed(),
            revision.scenarios
        );
        if !report.is_complete(revision.scenarios) {
            failed.push((revision.name, report));
        }
    }
    let Some((first, _)) = failed.first() else {
        return Ok(());
    };
    println!("--- the server's log ends with:\n{}", server.log());
    for (name, report) in &failed {
        println!("--- {name}:\n{}", report.failures());
    }
    Err(Failure::new(format!(
        "the server does not conform to {} of the revisions",
        failed.len()
    ))
    .next(format!("cargo xtask conformance --requirements {first}")))
}

fn revision(name: &str) -> Result<Revision> {
    REVISIONS
        .iter()
        .find(|revision| revision.name == name)
        .copied()
        .ok_or_else(|| {
            let known: Vec<&str> = REVISIONS.iter().map(|revision| revision.name).collect();
            Failure::new(format!("no requirements are known for `{name}`"))
                .next(format!("choose from {}", known.join(", ")))
        })
}

fn debug_binary(binary: Binary) -> Result<PathBuf> {
    let path = workspace::debug_binary()?;
    let needs_build = match binary {
        Binary::Build => true,
        Binary::BuiltByTests => !path.is_file(),
    };
    if needs_build {
        run(cargo().args(["build", "--package", "agentyard"]))?;
    }
    Ok(path)
}

/// The suite as installed under the target directory.
struct Suite {
    node: PathBuf,
    program: PathBuf,
    results: PathBuf,
}

impl Suite {
    fn install() -> Result<Self> {
        let directory = workspace::target_dir()?.join("conformance");
        let programs = directory.join("programs");
        npm::install(&programs, &[npm::node_package()?, SUITE])?;
        Ok(Self {
            node: npm::node(&programs)?,
            program: programs.join("node_modules/@modelcontextprotocol/conformance/dist/index.js"),
            results: directory.join("results"),
        })
    }

    fn run(&self, url: &str, revision: Revision) -> Result<Report> {
        let results = self.fresh_results_dir(revision)?;
        // It exits with 1 when a scenario fails; the report says which.
        let said = Command::new(&self.node)
            .arg(&self.program)
            .args([
                "server",
                "--url",
                url,
                "--requirements",
                revision.name,
                "--output-dir",
            ])
            .arg(&results)
            .output()
            .attempt("start the conformance suite")?;
        let text = String::from_utf8_lossy(&said.stdout);
        Report::read(&text, &results).ok_or_else(|| {
            let errors = String::from_utf8_lossy(&said.stderr);
            Failure::new(format!(
                "the conformance suite printed no summary:\n{text}{errors}"
            ))
        })
    }

    fn fresh_results_dir(&self, revision: Revision) -> Result<PathBuf> {
        let results: &Path = &self.results.join(revision.name);
        let _ = std::fs::remove_dir_all(results);
        std::fs::create_dir_all(results).attempt("make the folder for results")?;
        Ok(results.to_path_buf())
    }
}
