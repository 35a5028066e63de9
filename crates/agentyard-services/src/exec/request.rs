//! What callers may ask for, and what is made of it.

use std::path::PathBuf;
use std::time::Duration;

use agentyard_model::SecretName;
use agentyard_sandbox::Network;

use super::Exec;
use crate::code_files::code_path;
use crate::error::{Error, Result};
use crate::places::Place;
use crate::runs::{MAX_WORDS, check_text, check_variables, input_of};

/// How much code a call may bring with it. What is longer goes into a file.
const MAX_CODE_BYTES: usize = 1024 * 1024;

/// The longest name of a context.
const MAX_NAME_BYTES: usize = 64;

/// Code to be run.
#[derive(Debug, Clone, Default)]
pub struct CodeRequest {
    /// In which tree.
    pub place: Place,
    /// The code.
    pub code: String,
    /// The file of the tree in which it is to be kept, if it is.
    pub filename: Option<String>,
    /// How.
    pub options: ExecOptions,
}

/// A file to be run.
#[derive(Debug, Clone, Default)]
pub struct CodeFileRequest {
    /// In which tree.
    pub place: Place,
    /// The file.
    pub path: String,
    /// How.
    pub options: ExecOptions,
}

/// How code is run.
#[derive(Debug, Clone, Default)]
pub struct ExecOptions {
    /// The context that it runs in: it finds what earlier code has left there.
    pub context: Option<String>,
    /// What it finds in `sys.argv`.
    pub arguments: Vec<String>,
    /// What it reads on standard input.
    pub stdin: Option<String>,
    /// Where below the tree it starts.
    pub directory: Option<PathBuf>,
    /// How long it may run.
    pub timeout: Option<Duration>,
    /// Whom it may talk to; nobody when left out.
    pub network: Option<Network>,
    /// Whether a package that is missing is to be installed, and the code run once more.
    pub auto_install: bool,
    /// Secrets that it is granted, each as a variable of that name.
    pub secrets: Vec<SecretName>,
    /// Variables beside those that all code has, or instead of them.
    pub environment: Vec<(String, String)>,
}

/// Code as it will be run, once everything that a caller said was found right.
pub(super) struct Plan {
    pub(super) operation: &'static str,
    pub(super) place: Place,
    pub(super) code: Planned,
    pub(super) context: Option<String>,
    pub(super) arguments: Vec<String>,
    pub(super) input: Vec<u8>,
    pub(super) directory: Option<PathBuf>,
    pub(super) timeout: Duration,
    pub(super) network: Network,
    pub(super) auto_install: bool,
    pub(super) secrets: Vec<SecretName>,
    pub(super) environment: Vec<(String, String)>,
}

/// Where the code is.
#[derive(Debug, Clone)]
pub(super) enum Planned {
    /// Here.
    Text(String),
    /// In a file of the tree.
    File(String),
    /// Here, and to be put into a file of the tree first.
    Kept(String, String),
}

impl Exec {
    pub(super) fn plan_code(&self, request: CodeRequest) -> Result<Plan> {
        let length = request.code.len();
        if length > MAX_CODE_BYTES {
            return Err(Error::invalid(format!(
                "`code` has {length} bytes and {MAX_CODE_BYTES} are allowed"
            ))
            .hint("write it to a file with initialize_code_file and append_to_code_file, and run that with execute_code_file"));
        }
        if request.code.contains('\0') {
            return Err(Error::invalid(
                "`code` holds a zero character, which Python does not take",
            ));
        }
        let code = match request.filename {
            None => Planned::Text(request.code),
            Some(name) => Planned::Kept(code_path(&name), request.code),
        };
        self.plan("execute_code", request.place, code, request.options)
    }

    pub(super) fn plan_file(&self, request: CodeFileRequest) -> Result<Plan> {
        let code = Planned::File(code_path(&request.path));
        self.plan("execute_code_file", request.place, code, request.options)
    }

    fn plan(
        &self,
        operation: &'static str,
        place: Place,
        code: Planned,
        options: ExecOptions,
    ) -> Result<Plan> {
        let runs = &self.0.runs;
        if let Some(name) = &options.context {
            check_context(name)?;
        }
        if options.arguments.len() > MAX_WORDS {
            return Err(Error::invalid(format!(
                "`arguments` has more than {MAX_WORDS} words"
            )));
        }
        for word in &options.arguments {
            check_text("arguments", word)?;
        }
        check_variables(&options.environment)?;
        Ok(Plan {
            operation,
            place,
            code,
            context: options.context,
            arguments: options.arguments,
            input: input_of(options.stdin)?,
            directory: options.directory,
            timeout: runs.code_timeout(options.timeout)?,
            network: runs.network(options.network)?,
            auto_install: options.auto_install,
            secrets: options.secrets,
            environment: options.environment,
        })
    }
}

fn check_context(name: &str) -> Result<()> {
    let is_right = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    if !name.is_empty() && name.len() <= MAX_NAME_BYTES && name.bytes().all(is_right) {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "`context`: a name has 1 to {MAX_NAME_BYTES} letters, digits, `.`, `_` or `-`"
    )))
}
