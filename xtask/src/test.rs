//! `cargo xtask test`: the whole gate, which is also all that CI runs.

use std::time::{Duration, Instant};

use crate::args::Args;
use crate::conformance::{self, Binary};
use crate::failure::{Failure, Result};
use crate::postgres::{self, Postgres};
use crate::process::run;
use crate::{deny, e2b, fmt, lint, nextest, setup, tidy};

/// One part of the gate.
struct Step {
    name: &'static str,
    title: &'static str,
    run: fn(&mut Gate) -> Result,
}

/// In order: what fails soonest comes first, and what is built last is used last.
const STEPS: &[Step] = &[
    Step {
        name: "setup",
        title: "what the machine needs",
        run: |_| setup::ensure_for_tests(),
    },
    Step {
        name: "fmt",
        title: "formatting",
        run: |_| fmt::check(),
    },
    Step {
        name: "tidy",
        title: "tidiness",
        run: |_| tidy::check(),
    },
    Step {
        name: "lint",
        title: "clippy",
        run: |_| lint::check(),
    },
    Step {
        name: "tests",
        title: "tests, on SQLite and PostgreSQL; generated files",
        run: tests,
    },
    Step {
        name: "deny",
        title: "licences, bans, sources, yanked crates, advisories",
        run: dependencies,
    },
    Step {
        name: "conformance",
        title: "MCP conformance",
        run: protocol,
    },
];

/// What steps leave for one another and for the summary.
#[derive(Default)]
struct Gate {
    /// Arguments for the test runner.
    extra: Vec<String>,
    /// Whether the tests have just built the debug binary.
    built: bool,
    /// What the summary must not hide.
    notes: Vec<String>,
}

enum Outcome {
    Passed,
    Failed(Failure),
    NotRun,
}

/// What properties are tried with is the same in every gate: who changed nothing is not told of a fault that was there
/// before. `cargo nextest run` tries something else each time.
const SEED_VARIABLE: &str = "PROPTEST_RNG_SEED";
const SEED: &str = "20261115";

pub(crate) fn verb(mut args: Args) -> Result {
    let only = args.value("--only")?;
    let mut gate = Gate {
        extra: args.after_dashes(),
        ..Gate::default()
    };
    args.finish()?;
    let steps = chosen(only.as_deref())?;

    let mut results = Vec::new();
    let mut may_go_on = true;
    for step in steps {
        let started = Instant::now();
        let outcome = if may_go_on {
            println!("\n==> {}: {}", step.name, step.title);
            (step.run)(&mut gate).map_or_else(Outcome::Failed, |()| Outcome::Passed)
        } else {
            Outcome::NotRun
        };
        if let Outcome::Failed(failure) = &outcome {
            eprintln!("error: {failure}");
            // Without its tools every later step would fail too, and hide this reason.
            may_go_on = step.name != "setup";
        }
        results.push((step, outcome, started.elapsed()));
    }
    summarise(&results, &gate.notes)
}

fn chosen(only: Option<&str>) -> Result<Vec<&'static Step>> {
    let Some(names) = only else {
        return Ok(STEPS.iter().collect());
    };
    let names: Vec<&str> = names.split(',').collect();
    if let Some(unknown) = names
        .iter()
        .find(|name| STEPS.iter().all(|step| step.name != **name))
    {
        let known: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
        return Err(Failure::new(format!("there is no step `{unknown}`"))
            .next(format!("choose from {}", known.join(", "))));
    }
    Ok(STEPS.iter().filter(|step| names.contains(&step.name)).collect())
}

fn tests(gate: &mut Gate) -> Result {
    e2b::install()?;
    let postgres = Postgres::start()?;
    run(nextest::command(&gate.extra)
        .env(postgres::URL_VARIABLE, postgres.url())
        .env(SEED_VARIABLE, SEED))?;
    gate.built = true;
    nextest::check_documentation()
}

fn dependencies(gate: &mut Gate) -> Result {
    gate.notes.extend(deny::check()?);
    Ok(())
}

fn protocol(gate: &mut Gate) -> Result {
    let binary = if gate.built {
        Binary::BuiltByTests
    } else {
        Binary::Build
    };
    conformance::check(binary, conformance::REVISIONS)
}

fn summarise(results: &[(&Step, Outcome, Duration)], notes: &[String]) -> Result {
    println!("\n==> summary");
    for (step, outcome, time) in results {
        let word = match outcome {
            Outcome::Passed => "passed",
            Outcome::Failed(_) => "FAILED",
            Outcome::NotRun => "not run",
        };
        println!("  {:<12} {word:<8} {:>7.1} s", step.name, time.as_secs_f64());
    }
    for note in notes {
        println!("  ! {note}");
    }
    let total: Duration = results.iter().map(|(_, _, time)| *time).sum();
    let passed = results
        .iter()
        .filter(|(_, outcome, _)| matches!(outcome, Outcome::Passed))
        .count();
    println!("  {:<12} {:<8} {:>7.1} s", "all", "", total.as_secs_f64());
    println!("steps: {passed} passed, {} failed", results.len() - passed);

    let failed: Vec<&str> = results
        .iter()
        .filter(|(_, outcome, _)| matches!(outcome, Outcome::Failed(_)))
        .map(|(step, _, _)| step.name)
        .collect();
    if failed.is_empty() {
        return Ok(());
    }
    let names = failed.join(",");
    Err(Failure::new(format!("failed: {names}")).next(format!("cargo xtask test --only {names}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_chosen_by_name_and_keep_their_order() {
        let names = |only| -> Vec<&str> { chosen(only).unwrap().iter().map(|step| step.name).collect() };
        assert_eq!(names(Some("tests,fmt")), ["fmt", "tests"]);
        assert_eq!(names(None).len(), STEPS.len());
        assert!(chosen(Some("fmt,nothing")).is_err());
    }
}
