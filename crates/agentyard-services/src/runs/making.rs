//! `make`, with nothing that would make it something else.

use std::path::PathBuf;
use std::time::Duration;

use agentyard_model::{Caller, SecretName};
use agentyard_sandbox::Network;

use super::commands::{check_name, check_text};
use super::{Plan, RunAnswer, Runs, Waiting};
use crate::error::{Error, Result};
use crate::places::Place;
use crate::progress::Progress;

/// How many targets or variables a call may name.
const MAX_WORDS: usize = 200;

/// How many recipes may run at once.
const MAX_JOBS: u32 = 256;

/// Variables that say how `make` itself or a shell works, rather than what is built.
const STEERING: &[&str] = &[
    "SHELL",
    "MAKE",
    "MAKEFLAGS",
    "MFLAGS",
    "GNUMAKEFLAGS",
    "MAKEFILES",
    "MAKEFILE_LIST",
    "MAKEOVERRIDES",
    "MAKE_COMMAND",
    "MAKECMDGOALS",
    "MAKELEVEL",
    "MAKESHELL",
    "VPATH",
    "CURDIR",
    "PATH",
    "IFS",
    "ENV",
    "BASH_ENV",
    "SHELLOPTS",
    "BASHOPTS",
    "PS4",
];

/// What a call to `make` may ask for.
#[derive(Debug, Clone, Default)]
pub struct MakeRequest {
    /// In which tree.
    pub place: Place,
    /// What to make; without any, the first target of the makefile.
    pub targets: Vec<String>,
    /// Variables of the makefile.
    pub variables: Vec<(String, String)>,
    /// How many recipes may run at once.
    pub jobs: Option<u32>,
    /// Whether to make what can be made although something failed.
    pub keep_going: bool,
    /// Whether to show only what would be run.
    pub dry_run: bool,
    /// Where below the tree.
    pub directory: Option<PathBuf>,
    /// Whom it may talk to; nobody when left out.
    pub network: Option<Network>,
    /// Secrets that are to be in its environment.
    pub secrets: Vec<SecretName>,
    /// How long it may run.
    pub timeout: Option<Duration>,
}

impl Runs {
    /// Runs `make` in a tree, or waits for one that runs.
    ///
    /// # Errors
    /// When the caller may not run commands, none are run here, or the request holds more than targets and variables.
    pub async fn make(
        &self,
        caller: &Caller,
        request: MakeRequest,
        waiting: Waiting,
        progress: &Progress,
    ) -> Result<RunAnswer> {
        self.attend(caller, waiting, || self.plan_make(request), progress)
            .await
    }

    fn plan_make(&self, request: MakeRequest) -> Result<Plan> {
        Ok(Plan {
            operation: "make",
            arguments: arguments(&request)?,
            place: request.place,
            program: "make".to_owned(),
            directory: request.directory,
            environment: self.environment_with(Vec::new()),
            input: Vec::new(),
            network: self.network(request.network)?,
            secrets: request.secrets,
            timeout: self.timeout(request.timeout)?,
        })
    }
}

/// The arguments: options that are ours, variables, and targets, which cannot be taken for either.
fn arguments(request: &MakeRequest) -> Result<Vec<String>> {
    if request.targets.len() > MAX_WORDS || request.variables.len() > MAX_WORDS {
        return Err(Error::invalid(format!(
            "more than {MAX_WORDS} targets or variables"
        )));
    }
    let mut arguments = Vec::new();
    if let Some(jobs) = request.jobs {
        if !(1..=MAX_JOBS).contains(&jobs) {
            return Err(Error::invalid(format!("`jobs`: expected 1 to {MAX_JOBS}")));
        }
        arguments.push(format!("--jobs={jobs}"));
    }
    if request.keep_going {
        arguments.push("--keep-going".to_owned());
    }
    if request.dry_run {
        arguments.push("--dry-run".to_owned());
    }
    for (name, value) in &request.variables {
        check_variable(name, value)?;
        arguments.push(format!("{name}={value}"));
    }
    arguments.push("--".to_owned());
    for target in &request.targets {
        check_target(target)?;
        arguments.push(target.clone());
    }
    Ok(arguments)
}

fn check_target(target: &str) -> Result<()> {
    check_text("targets", target)?;
    let shown = target.escape_debug();
    let wrong = if target.is_empty() {
        "it is empty"
    } else if target.starts_with('-') {
        "options are not taken; `jobs`, `keep_going`, `dry_run` and `directory` are arguments of their own"
    } else if target.contains('=') {
        "variables go into `variables`"
    } else if target.contains(char::is_control) {
        "it holds control characters"
    } else {
        return Ok(());
    };
    Err(Error::invalid(format!(
        "`targets`: `{shown}` is no target: {wrong}"
    )))
}

fn check_variable(name: &str, value: &str) -> Result<()> {
    check_name("variables", name)?;
    check_text("variables", value)?;
    if STEERING.contains(&name) || name.starts_with("LD_") {
        return Err(Error::invalid(format!(
            "`variables`: `{name}` says how commands are run, not what is built"
        ))
        .hint("use `run_command` for what the makefile does not do by itself"));
    }
    // make expands values, and `$(shell …)` is a command.
    if value.contains('$') || value.contains(char::is_control) {
        return Err(Error::invalid(format!(
            "`variables`: the value of `{name}` holds `$` or control characters, which make would take for more than \
             text"
        ))
        .hint("write out what the value is to be"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_targets(targets: &[&str]) -> Result<Vec<String>> {
        arguments(&MakeRequest {
            targets: targets.iter().map(|target| (*target).to_owned()).collect(),
            ..MakeRequest::default()
        })
    }

    fn with_variable(name: &str, value: &str) -> Result<Vec<String>> {
        arguments(&MakeRequest {
            variables: vec![(name.to_owned(), value.to_owned())],
            ..MakeRequest::default()
        })
    }

    #[test]
    fn options_come_first_and_targets_last() {
        let request = MakeRequest {
            targets: vec!["all".to_owned(), "build/x.o".to_owned()],
            variables: vec![("CFLAGS".to_owned(), "-O2 -g".to_owned())],
            jobs: Some(4),
            keep_going: true,
            dry_run: true,
            ..MakeRequest::default()
        };
        assert_eq!(
            arguments(&request).unwrap(),
            [
                "--jobs=4",
                "--keep-going",
                "--dry-run",
                "CFLAGS=-O2 -g",
                "--",
                "all",
                "build/x.o"
            ]
        );
    }

    #[test]
    fn nothing_passes_for_a_target_that_is_none() {
        for target in [
            "",
            "-f",
            "-fevil.mk",
            "-C/",
            "--eval=x",
            "--file=x",
            "SHELL=/bin/sh",
            "a=b",
            "a\nb",
            "x\0y",
            "\u{1b}[m",
        ] {
            assert!(with_targets(&[target]).is_err(), "{target:?}");
        }
        assert!(with_targets(&["a.b/c-d", "%.o", "ä"]).is_ok());
    }

    #[test]
    fn variables_cannot_steer_make() {
        for name in [
            "SHELL",
            "MAKEFLAGS",
            "MAKEFILES",
            "GNUMAKEFLAGS",
            "MAKE",
            "VPATH",
            "LD_PRELOAD",
            "BASH_ENV",
            ".SHELLFLAGS",
            ".RECIPEPREFIX",
            "-f",
            "A B",
            "A:",
            "A+",
            "",
            "1A",
            "ä",
        ] {
            assert!(with_variable(name, "x").is_err(), "{name}");
        }
        for value in ["$(shell id)", "${X}", "$$", "$x", "a\nb", "a\0", "a\tb"] {
            assert!(with_variable("A", value).is_err(), "{value:?}");
        }
        assert!(with_variable("A_1", "a 'b' \"c\" `d` = #").is_ok());
    }

    #[test]
    fn there_are_bounds() {
        assert!(with_targets(&["x"; MAX_WORDS + 1]).is_err());
        for jobs in [0, MAX_JOBS + 1] {
            let request = MakeRequest {
                jobs: Some(jobs),
                ..MakeRequest::default()
            };
            assert!(arguments(&request).is_err());
        }
    }
}
