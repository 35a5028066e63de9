//! Any command.

use std::path::PathBuf;
use std::time::Duration;

use agentyard_model::{Caller, SecretName};
use agentyard_sandbox::Network;

use super::{Plan, RunAnswer, Runs, Waiting};
use crate::error::{Error, ErrorKind, Result};
use crate::places::Place;
use crate::progress::Progress;

/// How many variables a caller may set, and how much may stand in a text of theirs.
const MAX_VARIABLES: usize = 100;
const MAX_TEXT_BYTES: usize = 128 * 1024 - 1;

/// How many words a command may have.
pub(crate) const MAX_WORDS: usize = 4096;

/// How much a command may be given to read.
const MAX_INPUT_BYTES: usize = 1024 * 1024;

/// A command to be run.
#[derive(Debug, Clone, Default)]
pub struct CommandRequest {
    /// In which tree.
    pub place: Place,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Where below the tree.
    pub directory: Option<PathBuf>,
    /// Variables beside those that every command has, or instead of them.
    pub environment: Vec<(String, String)>,
    /// What it reads on standard input.
    pub stdin: Option<String>,
    /// Whom it may talk to; nobody when left out.
    pub network: Option<Network>,
    /// Secrets that are to be in its environment.
    pub secrets: Vec<SecretName>,
    /// How long it may run.
    pub timeout: Option<Duration>,
}

impl Runs {
    /// Runs a command in a tree, or waits for one that runs.
    ///
    /// # Errors
    /// When the caller may not run commands, none are run here, or the command cannot be started.
    pub async fn run_command(
        &self,
        caller: &Caller,
        request: CommandRequest,
        waiting: Waiting,
        progress: &Progress,
    ) -> Result<RunAnswer> {
        self.attend(caller, waiting, || self.plan_command(request), progress)
            .await
    }

    fn plan_command(&self, request: CommandRequest) -> Result<Plan> {
        let mut words = request.command.into_iter();
        let program = words
            .next()
            .filter(|program| !program.is_empty())
            .ok_or_else(|| {
                Error::invalid("`command` is empty")
                    .hint("pass the program and its arguments as a list: [\"cargo\", \"test\"]")
            })?;
        let arguments: Vec<String> = words.collect();
        if arguments.is_empty() && program.contains(char::is_whitespace) {
            return Err(Error::invalid(format!(
                "`command`: there is no program called `{}`: no shell takes it apart",
                program.escape_debug()
            ))
            .hint("pass each word by itself: [\"cargo\", \"test\"]; or, if you want a shell, [\"sh\", \"-c\", \"…\"]"));
        }
        if arguments.len() >= MAX_WORDS {
            return Err(Error::invalid(format!(
                "`command` has more than {MAX_WORDS} words"
            )));
        }
        for word in std::iter::once(&program).chain(&arguments) {
            check_text("command", word)?;
        }
        check_variables(&request.environment)?;
        let input = input_of(request.stdin)?;
        Ok(Plan {
            operation: "run_command",
            place: request.place,
            program,
            arguments,
            directory: request.directory,
            environment: self.environment_with(request.environment),
            input,
            network: self.network(request.network)?,
            secrets: request.secrets,
            timeout: self.timeout(request.timeout)?,
        })
    }

    /// The environment of every command, with these in it. Whoever may run any program may also choose its whole
    /// environment, so no name is refused here.
    pub(crate) fn environment_with(&self, given: Vec<(String, String)>) -> Vec<(String, String)> {
        let mut environment = self.settings.environment.clone();
        environment.retain(|(name, _)| !given.iter().any(|(other, _)| other == name));
        environment.extend(given);
        environment
    }

    /// The network that a call asks for, if that is allowed.
    pub(crate) fn network(&self, asked: Option<Network>) -> Result<Network> {
        let (asked, most) = (asked.unwrap_or_default(), self.settings.network);
        if asked <= most {
            return Ok(asked);
        }
        Err(Error::new(
            ErrorKind::Forbidden,
            format!(
                "`network`: `{}` was asked for, and at most `{}` is allowed here",
                asked.as_str(),
                most.as_str()
            ),
        )
        .hint("whoever runs Agentyard sets the most that is allowed with `sandbox.network`"))
    }

    pub(super) fn timeout(&self, asked: Option<Duration>) -> Result<Duration> {
        timeout(asked, self.settings.timeout, "build.timeout_ms")
    }

    pub(crate) fn code_timeout(&self, asked: Option<Duration>) -> Result<Duration> {
        timeout(asked, self.settings.code_timeout, "exec.timeout_ms")
    }
}

fn timeout(asked: Option<Duration>, most: Duration, setting: &str) -> Result<Duration> {
    match asked {
        None => Ok(most),
        Some(asked) if asked.is_zero() || asked > most => {
            Err(
                Error::invalid(format!("`timeout_ms`: expected 1 to {}", most.as_millis())).hint(format!(
                    "whoever runs Agentyard sets the most that is allowed with `{setting}`"
                )),
            )
        }
        Some(asked) => Ok(asked),
    }
}

/// Whether these variables may be set.
pub(crate) fn check_variables(variables: &[(String, String)]) -> Result<()> {
    if variables.len() > MAX_VARIABLES {
        return Err(Error::invalid(format!(
            "`environment` has more than {MAX_VARIABLES} variables"
        )));
    }
    for (name, value) in variables {
        check_name("environment", name)?;
        check_text("environment", value)?;
    }
    Ok(())
}

/// What a command reads on standard input.
pub(crate) fn input_of(stdin: Option<String>) -> Result<Vec<u8>> {
    let input = stdin.unwrap_or_default().into_bytes();
    if input.len() > MAX_INPUT_BYTES {
        return Err(Error::invalid(format!(
            "`stdin` has {} bytes and {MAX_INPUT_BYTES} are allowed",
            input.len()
        ))
        .hint("write it to a file in the workspace and let the command read that"));
    }
    Ok(input)
}

/// Whether this is what a variable may be called.
pub(crate) fn check_name(argument: &str, name: &str) -> Result<()> {
    let mut bytes = name.bytes();
    let is_name = bytes
        .next()
        .is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && name.len() <= 100;
    if is_name {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "`{argument}`: `{}` is no name of a variable: letters, digits and `_`, not a digit first",
        name.chars().take(100).collect::<String>().escape_debug()
    )))
}

/// Whether the kernel would pass this on to a program.
pub(crate) fn check_text(argument: &str, text: &str) -> Result<()> {
    if text.contains('\0') {
        return Err(Error::invalid(format!("`{argument}` holds a zero character")));
    }
    if text.len() > MAX_TEXT_BYTES {
        return Err(Error::invalid(format!(
            "`{argument}` holds a text of {} bytes, and {MAX_TEXT_BYTES} are allowed",
            text.len()
        )));
    }
    Ok(())
}
