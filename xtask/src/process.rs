//! Running other programs: what was run is shown, and a failure says which and how.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::failure::{Attempt, Failure, Result};
use crate::workspace;

/// The cargo that runs us, in the root of the tree.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(workspace::root());
    command
}

/// Runs to the end, showing its output, and fails when it does.
pub(crate) fn run(command: &mut Command) -> Result {
    eprintln!("$ {}", shown(command));
    let status = command.status().attempt(starting(command))?;
    if status.success() {
        return Ok(());
    }
    Err(Failure::new(format!("`{}` failed ({status})", shown(command))))
}

/// Runs to the end in silence and gives its standard output.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let result = command.stdin(Stdio::null()).output().attempt(starting(command))?;
    if result.status.success() {
        return Ok(String::from_utf8_lossy(&result.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&result.stderr);
    Err(Failure::new(format!(
        "`{}` failed ({}): {}",
        shown(command),
        result.status,
        said.trim()
    )))
}

/// Keeps the product's own variables from a program, so that the settings of whoever runs us do
/// not count.
pub(crate) fn without_settings(command: &mut Command) -> &mut Command {
    let ours = std::env::vars_os().map(|(name, _)| name);
    for name in ours.filter(|name| name.to_string_lossy().starts_with("AGENTYARD_")) {
        command.env_remove(name);
    }
    command
}

/// Where `program` is on the search path.
pub(crate) fn find_program(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|dir| dir.join(program))
        .find(|file| file.is_file())
}

/// Whether we run as root, which may install packages and which PostgreSQL refuses.
pub(crate) fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

fn starting(command: &Command) -> String {
    format!("start `{}`", command.get_program().to_string_lossy())
}

/// The command as a person would type it, with the program's folder left out.
fn shown(command: &Command) -> String {
    let program = PathBuf::from(command.get_program());
    let name = program
        .file_name()
        .unwrap_or(command.get_program())
        .to_string_lossy()
        .into_owned();
    let arguments = command.get_args().map(|word| word.to_string_lossy());
    std::iter::once(name.into())
        .chain(arguments)
        .collect::<Vec<_>>()
        .join(" ")
}
