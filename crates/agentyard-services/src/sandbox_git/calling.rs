//! Calling git in a sandbox.

use std::collections::BTreeMap;
use std::time::Duration;

use agentyard_envd::Exchange;
use agentyard_envd::client::{self, CallError};
use agentyard_envd::process::{Config, StartRequest};

use super::credentials::Credentials;
use crate::error::{Error, ErrorKind, Result};
use crate::masking::Mask;

/// How much of an answer is read.
const MAX_ANSWER_BYTES: usize = 4 * 1024 * 1024;

/// Settings that every call has, stronger than those of the repository: nothing of it is run but what a merge needs, and
/// nothing happens beside what was asked for.
const SETTINGS: &[&str] = &[
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.askPass=",
    "credential.helper=",
    "commit.gpgSign=false",
    "rebase.autoSquash=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "fetch.recurseSubmodules=false",
    "push.recurseSubmodules=no",
    "submodule.recurse=false",
    "http.sslVerify=true",
    "http.extraHeader=",
    "protocol.file.allow=never",
    "protocol.ext.allow=never",
    "color.ui=false",
    "core.quotePath=false",
    "advice.detachedHead=false",
];

/// Git in one sandbox.
pub(super) struct Inside<'a> {
    pub(super) sandbox: &'a dyn Exchange,
    pub(super) directory: &'a str,
    pub(super) time: Duration,
    /// Who makes commits: name and address.
    pub(super) identity: (&'a str, &'a str),
    pub(super) mask: &'a Mask,
}

/// What git answered.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) code: i32,
    pub(super) stdout: Vec<u8>,
    pub(super) is_cut: bool,
    /// What it said about it, without secrets and control characters.
    pub(super) said: String,
}

impl Inside<'_> {
    /// Calls git, which must succeed.
    pub(super) async fn git(&self, attempted: &str, words: &[&str]) -> Result<Answer> {
        self.attempt(words, None).await?.succeeded(attempted)
    }

    /// Calls git, whatever comes of it. With credentials, it may talk to their host.
    pub(super) async fn attempt(&self, words: &[&str], credentials: Option<&Credentials>) -> Result<Answer> {
        self.bounded(words, credentials, MAX_ANSWER_BYTES).await
    }

    /// The same with another bound.
    pub(super) async fn bounded(
        &self,
        words: &[&str],
        credentials: Option<&Credentials>,
        most: usize,
    ) -> Result<Answer> {
        let mut settings: Vec<String> = SETTINGS.iter().map(|&setting| setting.to_owned()).collect();
        let mut environment = self.environment();
        if let Some(credentials) = credentials {
            settings.extend(credentials.settings());
            environment.extend(credentials.environment());
        }
        let settings = settings
            .into_iter()
            .flat_map(|setting| ["-c".to_owned(), setting]);
        let words = words.iter().map(|&word| word.to_owned());
        let request = StartRequest {
            process: Config {
                cmd: "git".to_owned(),
                args: settings.chain(words).collect(),
                envs: environment,
                cwd: Some(self.directory.to_owned()),
            },
            stdin: Some(false),
            ..StartRequest::default()
        };
        let ran = client::run(self.sandbox, &request, self.time, most).await;
        let ran = ran.map_err(|error| self.failed(&error))?;
        let said = self.mask.text(&String::from_utf8_lossy(&ran.stderr));
        Ok(Answer {
            code: ran.end.exit_code,
            is_cut: ran.stdout.len() >= most,
            stdout: ran.stdout,
            said: gist(&said),
        })
    }

    fn environment(&self) -> BTreeMap<String, String> {
        let (name, address) = self.identity;
        [
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_LITERAL_PATHSPECS", "1"),
            ("GIT_ALLOW_PROTOCOL", "http:https"),
            ("GIT_EDITOR", "true"),
            ("GIT_SEQUENCE_EDITOR", "true"),
            ("GIT_AUTHOR_NAME", name),
            ("GIT_AUTHOR_EMAIL", address),
            ("GIT_COMMITTER_NAME", name),
            ("GIT_COMMITTER_EMAIL", address),
            ("LC_ALL", "C.UTF-8"),
        ]
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
    }

    fn failed(&self, error: &CallError) -> Error {
        let shown = self.mask.text(&error.to_string());
        match error {
            CallError::Refused(fault) if fault.code == agentyard_envd::connect::Code::NotFound => Error::new(
                ErrorKind::Unavailable,
                "there is no git in this sandbox, or no such directory",
            )
            .hint("use a template that has git; or clone again with `sandbox_clone`"),
            _ => Error::new(ErrorKind::Unavailable, gist(&shown))
                .hint("if the sandbox is gone, clone again with `sandbox_clone`"),
        }
    }
}

impl Answer {
    /// The answer, if it is one.
    pub(super) fn succeeded(self, attempted: &str) -> Result<Self> {
        if self.code == 0 {
            return Ok(self);
        }
        Err(self.failure(attempted))
    }

    pub(super) fn failure(&self, attempted: &str) -> Error {
        let said = if self.said.is_empty() {
            format!("git ended with {}", self.code)
        } else {
            self.said.clone()
        };
        Error::new(ErrorKind::Conflict, format!("{attempted} failed: {said}"))
    }

    /// The answer as one line of text.
    pub(super) fn line(&self) -> String {
        let text = String::from_utf8_lossy(&self.stdout);
        let line = text.lines().next().unwrap_or_default();
        // Fields may be apart by a tab.
        let plain = line.chars().map(|c| if c.is_control() { ' ' } else { c });
        plain.take(1000).collect()
    }
}

/// The last lines of what somebody said, in one.
pub(super) fn gist(said: &str) -> String {
    let lines: Vec<&str> = said
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with("hint:"))
        .collect();
    let last = lines.iter().rev().take(5).rev().copied().collect::<Vec<_>>();
    let gist = last.join("; ");
    gist.chars().filter(|c| !c.is_control()).take(600).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_says_is_short_and_plain() {
        let said = "Cloning\nhint: try\n\nremote: a\nerror: \x1b[31mb\nfatal: c\n";
        assert_eq!(gist(said), "Cloning; remote: a; error: [31mb; fatal: c");
        assert!(gist(&"x".repeat(9000)).len() <= 600);
    }

    #[test]
    fn fields_of_a_line_stay_apart() {
        let answer = Answer {
            code: 0,
            stdout: b"0123\trefs/heads/a\nmore\n".to_vec(),
            is_cut: false,
            said: String::new(),
        };
        assert_eq!(answer.line(), "0123 refs/heads/a");
    }

    #[test]
    fn the_settings_of_a_call_are_stronger_than_the_repositorys() {
        // An empty helper forgets those before it, which are the repository's.
        assert!(SETTINGS.contains(&"credential.helper=") && SETTINGS.contains(&"core.hooksPath=/dev/null"));
        assert!(SETTINGS.iter().all(|setting| setting.contains('=')));
    }
}
