//! The languages in which code can be run, and what runs them.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;

use tokio::process::Command;

use super::messages::message;

const PYTHON_BOOT: &str = include_str!("python/boot.py");
const PYTHON_KERNEL: &str = include_str!("python/kernel.py");
/// What the kernel loads when it needs it.
const PYTHON_PARTS: [&str; 6] = [
    "rich",
    include_str!("python/rich.py"),
    "charts",
    include_str!("python/charts.py"),
    "magics",
    include_str!("python/magics.py"),
];
const JAVASCRIPT_BOOT: &str = include_str!("javascript/boot.js");
const JAVASCRIPT_KERNEL: &str = include_str!("javascript/kernel.js");
const BASH_KERNEL: &str = include_str!("bash/kernel.sh");

/// A language in which code can be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    Python,
    Javascript,
    Typescript,
    Bash,
}

impl Language {
    pub(super) const ALL: [Self; 4] = [Self::Python, Self::Javascript, Self::Typescript, Self::Bash];

    /// The one with this name, in any case, or in short.
    pub(super) fn named(name: &str) -> Option<Self> {
        let name = name.trim().to_ascii_lowercase();
        match name.as_str() {
            "js" => Some(Self::Javascript),
            "ts" => Some(Self::Typescript),
            "py" | "python3" => Some(Self::Python),
            "sh" | "shell" => Some(Self::Bash),
            name => Self::ALL.into_iter().find(|language| language.name() == name),
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::Javascript => "javascript",
            Self::Typescript => "typescript",
            Self::Bash => "bash",
        }
    }

    /// The program that runs it. The sandbox may have none.
    pub(super) fn program(self) -> &'static str {
        match self {
            Self::Python => "python3",
            Self::Javascript | Self::Typescript => "node",
            Self::Bash => "bash",
        }
    }

    /// The command that starts a kernel, whose standard input is the socket over which it is talked to.
    pub(super) fn command(self) -> Command {
        match self {
            Self::Python => {
                let mut command = new_command(self.program());
                command.args(["-c", PYTHON_BOOT, &PYTHON_KERNEL.len().to_string()]);
                // Nobody looks at a screen: figures are drawn into memory.
                command.env("MPLBACKEND", "agg");
                // A system's own Python can be kept from being added to. Nobody but this sandbox has this one's additions.
                command.env("PIP_BREAK_SYSTEM_PACKAGES", "1");
                command
            }
            Self::Javascript | Self::Typescript => {
                // Node cannot move a descriptor away from what the programs that it starts inherit.
                let mut command = new_command("sh");
                command.args(["-c", "exec node -e \"$0\" -- \"$@\" 3<&0 </dev/null"]);
                command.args([JAVASCRIPT_BOOT, &JAVASCRIPT_KERNEL.len().to_string(), self.name()]);
                command
            }
            Self::Bash => {
                let mut command = new_command(self.program());
                command.args(["-c", BASH_KERNEL, self.program()]);
                command
            }
        }
    }

    /// What a kernel reads first.
    pub(super) fn introduction(self) -> Vec<u8> {
        match self {
            Self::Python => [PYTHON_KERNEL.as_bytes(), &message(&PYTHON_PARTS)].concat(),
            Self::Javascript | Self::Typescript => JAVASCRIPT_KERNEL.as_bytes().to_vec(),
            Self::Bash => Vec::new(),
        }
    }

    /// How a kernel is told to run this, with these variables.
    pub(super) fn request(self, code: &str, variables: &BTreeMap<String, String>) -> Vec<u8> {
        if self == Self::Bash {
            let mut request = String::new();
            for (name, value) in variables {
                request.push_str(&format!("{name}='{}' ", value.replace('\'', r"'\''")));
            }
            // The shell reads up to a zero byte, and knows none in code.
            return format!("{request}\0{}\0", code.replace('\0', "")).into_bytes();
        }
        let mut fields = vec![code];
        for (name, value) in variables {
            fields.extend([name.as_str(), value.as_str()]);
        }
        message(&fields)
    }

    /// Whether code in it can have a variable with this name.
    pub(super) fn can_name(self, variable: &str) -> bool {
        let is_word = |text: &str| {
            text.chars()
                .all(|each| each.is_ascii_alphanumeric() || each == '_')
        };
        self != Self::Bash || is_word(variable) && !variable.starts_with(|first: char| first.is_ascii_digit())
    }
}

/// The languages that this sandbox has programs for.
pub(super) async fn available(home: &Path, environment: &BTreeMap<String, String>) -> Vec<Language> {
    // Only a program that is started sees the path on which programs are looked for.
    let script = "for program; do command -v \"$program\" >/dev/null && echo \"$program\"; done";
    let mut command = new_command("sh");
    command.args(["-c", script, "sh"]);
    command.args(Language::ALL.map(Language::program));
    let output = command
        .envs(environment)
        .current_dir(home)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .await;
    let found = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let found = found.unwrap_or_default();
    let is_there = |language: &Language| found.lines().any(|line| line == language.program());
    Language::ALL.into_iter().filter(is_there).collect()
}

#[expect(
    clippy::disallowed_methods,
    reason = "the daemon starts what the sandbox's owner asks for, with the rights it has itself"
)]
fn new_command(program: &str) -> Command {
    Command::new(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_have_short_names_too() {
        assert_eq!(Language::named(" JS "), Some(Language::Javascript));
        assert_eq!(Language::named("TypeScript"), Some(Language::Typescript));
        assert_eq!(Language::named("python"), Some(Language::Python));
        assert_eq!(Language::named("cobol"), None);
    }

    #[test]
    fn values_for_bash_are_quoted() {
        let variables = BTreeMap::from([("A".to_owned(), "it's $(id)".to_owned())]);
        let request = Language::Bash.request("echo \0$A", &variables);
        assert_eq!(request, b"A='it'\\''s $(id)' \0echo $A\0");
    }

    #[test]
    fn bash_has_no_variables_that_are_no_words() {
        assert!(Language::Bash.can_name("_a1"));
        for name in ["1a", "a-b", "a;id", "a b"] {
            assert!(!Language::Bash.can_name(name));
            assert!(Language::Python.can_name(name));
        }
    }
}
