//! One call of git, built from words of our own and typed values.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::confinement::Reachable;
use super::hardening::{self, Reach, Setting};
use super::process::{self, Feed, Finished, Stopped};
use super::{Git, Trust};
use crate::descriptor::magic_path;
use crate::network::Redactions;
use crate::work::Progress;
use crate::{Confined, Error, ObjectId, Repository, RepositoryPath, Work, text};

/// What is kept of an answer that is read whole. Calls that may say more set their own limit.
const OUTPUT_LIMIT: usize = 64 << 20;

/// How long a remote may take to say anything at all.
const SILENCE: std::time::Duration = std::time::Duration::from_secs(40);

/// Where programs are looked for on nobody's behalf.
const SEARCH_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A call of git.
///
/// There is no way to pass a caller's text as a word that git could take for an option: options are constants,
/// values are joined to theirs, revisions are object ids, and paths follow `--` or come on standard input.
#[derive(Clone)]
pub(crate) struct Invocation<'a> {
    work: Option<&'a Work<'a>>,
    git: &'a Git,
    cancel: &'a std::sync::atomic::AtomicBool,
    directory: &'a Confined,
    git_dir: Option<PathBuf>,
    bare: bool,
    verb: &'static str,
    arguments: Vec<OsString>,
    settings: Vec<Setting>,
    environment: Vec<(&'static str, OsString)>,
    input: Vec<u8>,
    output_limit: usize,
    reach: Reach,
    trust: Trust,
    access: Reachable<'a>,
    report: Option<&'a (dyn Fn(Progress) + Sync)>,
    redactions: Option<&'a Redactions>,
    allowed_protocols: &'static str,
}

impl<'a> Invocation<'a> {
    /// `git <verb>` in a repository.
    pub(crate) fn new(work: &'a Work<'a>, verb: &'static str) -> Self {
        let repository = work.repository();
        let top = repository
            .confined_worktree()
            .unwrap_or_else(|| repository.confined_git_dir());
        let mut writable = vec![
            repository.confined_git_dir().directory(),
            repository.confined_common_dir().directory(),
        ];
        writable.extend(repository.confined_worktree().map(Confined::directory));
        Self {
            work: Some(work),
            git_dir: Some(repository.git_dir().to_owned()),
            bare: repository.worktree().is_none(),
            trust: work.trust(),
            access: Reachable {
                writable,
                ..Reachable::default()
            },
            ..Self::outside(work.git(), work.cancel(), top, verb)
        }
    }

    /// `git <verb>` where there is no repository yet: git may write in the directory, and below it.
    pub(crate) fn outside(
        git: &'a Git,
        cancel: &'a std::sync::atomic::AtomicBool,
        directory: &'a Confined,
        verb: &'static str,
    ) -> Self {
        Self {
            work: None,
            git,
            cancel,
            directory,
            git_dir: None,
            bare: false,
            verb,
            arguments: Vec::new(),
            settings: Vec::new(),
            environment: Vec::new(),
            input: Vec::new(),
            output_limit: OUTPUT_LIMIT,
            reach: Reach::Repository,
            trust: Trust::Untrusted,
            access: Reachable {
                writable: vec![directory.directory()],
                ..Reachable::default()
            },
            report: None,
            redactions: None,
            allowed_protocols: "",
        }
    }

    /// A word of git's own: an option, a subcommand.
    pub(crate) fn word(mut self, word: &'static str) -> Self {
        self.arguments.push(word.into());
        self
    }

    /// Several of them.
    pub(crate) fn words(mut self, words: &[&'static str]) -> Self {
        self.arguments.extend(words.iter().map(Into::into));
        self
    }

    /// A word of git's own, under a condition.
    pub(crate) fn word_if(self, condition: bool, word: &'static str) -> Self {
        if condition { self.word(word) } else { self }
    }

    /// A long option (`--message`) joined to its value, which may be any text.
    pub(crate) fn option(mut self, option: &'static str, value: impl AsRef<OsStr>) -> Self {
        let mut word = OsString::from(option);
        word.push("=");
        word.push(value);
        self.arguments.push(word);
        self
    }

    /// A short option (`-m`) that takes the next word as its value, whatever that is.
    pub(crate) fn value(mut self, option: &'static str, value: impl AsRef<OsStr>) -> Self {
        self.arguments.push(option.into());
        self.arguments.push(value.as_ref().to_owned());
        self
    }

    /// An object.
    pub(crate) fn object(mut self, id: &ObjectId) -> Self {
        self.arguments.push(id.to_string().into());
        self
    }

    /// A value that was checked such that git cannot take it for an option (a [`crate::BranchName`] and the like);
    /// to be used after [`Invocation::end_of_options`].
    pub(crate) fn operand(mut self, value: impl AsRef<OsStr>) -> Self {
        self.arguments.push(value.as_ref().to_owned());
        self
    }

    /// Nothing after this is an option.
    pub(crate) fn end_of_options(self) -> Self {
        self.word("--end-of-options")
    }

    /// Nothing after this is anything but a path.
    pub(crate) fn paths(mut self, paths: &[RepositoryPath]) -> Self {
        self.arguments.push("--".into());
        self.arguments
            .extend(paths.iter().map(|path| path.as_path().as_os_str().to_owned()));
        self
    }

    /// Paths on standard input, for calls that may have more of them than an argument list holds.
    pub(crate) fn paths_on_input(mut self, paths: &[RepositoryPath]) -> Self {
        for path in paths {
            self.input
                .extend_from_slice(path.as_path().as_os_str().as_bytes());
            self.input.push(0);
        }
        self.words(&["--pathspec-from-file=-", "--pathspec-file-nul"])
    }

    /// What git reads on standard input.
    pub(crate) fn input(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.input = input.into();
        self
    }

    /// A setting for this call, stronger than all others.
    pub(crate) fn setting(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.settings.push((key.into(), value.into()));
        self
    }

    /// A variable for this call.
    pub(crate) fn variable(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.environment.push((name, value.into()));
        self
    }

    /// The most that is read of the answer. When git says more it is stopped, and the answer is marked.
    pub(crate) fn output_limit(mut self, bytes: usize) -> Self {
        self.output_limit = bytes;
        self
    }

    /// What it is about to do, when that is more than working on its repository.
    pub(crate) fn reach(mut self, reach: Reach) -> Self {
        self.reach = reach;
        self
    }

    /// Another directory in which git may write.
    pub(crate) fn may_write(mut self, directory: &'a Confined) -> Self {
        self.access.writable.push(directory.directory());
        self
    }

    /// Tells the caller what git says about its progress.
    pub(crate) fn reporting(mut self) -> Self {
        self.report = self.work.map(Work::reporter);
        self
    }

    /// As [`Invocation::reporting`], for calls outside a repository.
    pub(crate) fn reporting_to(mut self, report: &'a (dyn Fn(Progress) + Sync)) -> Self {
        self.report = Some(report);
        self
    }

    /// Takes secrets out of whatever git says.
    pub(crate) fn redacting(mut self, redactions: &'a Redactions) -> Self {
        self.redactions = Some(redactions);
        self
    }

    /// Talks to another repository on this machine, whose side git starts by a shell. The call stays confined.
    pub(crate) fn local_peer(mut self, peer: &'a Repository, writes: bool) -> Self {
        let parts = [peer.confined_git_dir(), peer.confined_common_dir()].map(Confined::directory);
        self.access.shell = true;
        if writes {
            self.access.writable.extend(parts);
        } else {
            self.access.readable.extend(parts);
        }
        self
    }

    /// Another call in the same place, on the same behalf.
    pub(crate) fn another(&self, verb: &'static str) -> Self {
        Self {
            arguments: Vec::new(),
            settings: Vec::new(),
            environment: Vec::new(),
            input: Vec::new(),
            verb,
            ..self.clone()
        }
    }

    pub(crate) fn git(&self) -> &'a Git {
        self.git
    }

    pub(crate) fn cancel(&self) -> &'a std::sync::atomic::AtomicBool {
        self.cancel
    }

    pub(crate) fn report(&self) -> Option<&'a (dyn Fn(Progress) + Sync)> {
        self.report
    }

    pub(crate) fn verb(&self) -> &'static str {
        self.verb
    }

    /// Whether the call runs with all that the person may do, rather than confined to its repository.
    fn is_free(&self) -> bool {
        self.trust == Trust::Trusted || self.is_remote() || self.reach.signs()
    }

    /// Whether the call goes to another machine.
    fn is_remote(&self) -> bool {
        self.reach == Reach::Network && !self.access.shell
    }

    /// The transports that git may use, separated by colons; none otherwise.
    pub(crate) fn protocols(mut self, protocols: &'static str) -> Self {
        self.allowed_protocols = protocols;
        self
    }

    /// Runs git, and takes any exit code but zero for a failure.
    pub(crate) fn run(self) -> Result<Finished, Error> {
        let (verb, place) = (self.verb, self.directory.shown());
        let finished = self.run_whatever_it_answers()?;
        if finished.truncated || finished.code == Some(0) {
            return Ok(finished);
        }
        Err(finished.failure(verb, place))
    }

    /// Runs git. The caller looks at the exit code.
    pub(crate) fn run_whatever_it_answers(mut self) -> Result<Finished, Error> {
        let input = std::mem::take(&mut self.input);
        let command = self.command()?;
        let confinement = if self.is_free() {
            None
        } else {
            self.git.confinement(std::mem::take(&mut self.access))
        };
        let redacted = |bytes: Vec<u8>| match self.redactions {
            Some(redactions) => redactions.apply(&bytes),
            None => bytes,
        };
        let mut report = |line: &[u8]| {
            if let Some(report) = self.report
                && let Some(progress) = Progress::parse(&redacted(line.to_vec()))
            {
                report(progress);
            }
        };
        let feed = Feed {
            input: &input,
            output_limit: self.output_limit,
            on_error_line: &mut report,
            cancel: self.cancel,
            silence: (self.reach == Reach::Network).then_some(SILENCE),
        };
        let finished =
            process::run(command, confinement.as_ref(), feed).map_err(|stopped| match stopped {
                Stopped::Cancelled => Error::Cancelled,
                Stopped::Silent => Error::Unreachable {
                    what: format!(
                        "git {} was given up: the remote did not answer within {} s",
                        self.verb,
                        SILENCE.as_secs()
                    ),
                    remedy: "check the address, and try again later".to_owned(),
                },
                Stopped::Start(source) => self.git.missing(source),
                Stopped::Broken(source) => Error::RunGit {
                    verb: self.verb,
                    source,
                },
            })?;
        Ok(Finished {
            output: redacted(finished.output),
            errors: redacted(finished.errors),
            ..finished
        })
    }

    #[expect(clippy::disallowed_methods, reason = "this crate is where git is started")]
    fn command(&self) -> Result<Command, Error> {
        let repository = self.work.map(Work::repository);
        let mut command = match &self.git.settings.tether {
            Some(tether) if self.is_remote() => tether.command(&self.git.program),
            _ => Command::new(&self.git.program),
        };
        command.env_clear();
        let person = self.git.settings.person.as_ref();
        let needs_person = self.is_free();
        match person {
            Some(person) => {
                let environment = person.environment.iter();
                command.envs(environment.map(|(name, value)| (name, value)));
                command.env(
                    "HOME",
                    if needs_person {
                        &person.home
                    } else {
                        Path::new("/nonexistent")
                    },
                );
            }
            None => {
                command.env("HOME", "/nonexistent").env("PATH", SEARCH_PATH);
            }
        }
        command
            .env("LC_ALL", "C")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_ATTR_NOSYSTEM", "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_ASKPASS", "")
            .env("SSH_ASKPASS", "")
            .env("GIT_EDITOR", ":")
            .env("GIT_PAGER", "cat")
            .env("GIT_LITERAL_PATHSPECS", "1")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_PROTOCOL_FROM_USER", "0")
            .env("GIT_ALLOW_PROTOCOL", self.allowed_protocols)
            .env("GIT_MERGE_AUTOEDIT", "no");
        if !needs_person {
            command.env("XDG_CONFIG_HOME", "/nonexistent");
        }
        if let Some(git_dir) = &self.git_dir {
            command.env("GIT_DIR", git_dir);
            if !self.bare {
                command.env("GIT_WORK_TREE", self.directory.path());
            }
        }
        for (name, value) in self.git.settings.identity.variables() {
            command.env(name, value);
        }
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));

        let mut settings = Vec::new();
        if self.trust == Trust::Untrusted && self.reach == Reach::Network {
            // Empties the list that the repository's configuration began.
            settings.push(("credential.helper".to_owned(), String::new()));
        }
        let mut personal = self.git.personal.of(self.git, repository, self.cancel)?;
        if self.reach == Reach::Network {
            // They were applied before the address was checked.
            personal.retain(|(key, _)| !key.to_ascii_lowercase().starts_with("url."));
        }
        settings.extend(personal);
        if let Some(repository) = repository {
            hardening::prefer_repository(&mut settings, repository);
        }
        settings.extend(hardening::settings(repository, self.trust, self.reach)?);
        settings.extend(self.settings.iter().cloned());
        settings.extend(self.git.settings.extra.iter().cloned());
        command.env("GIT_CONFIG_PARAMETERS", parameters(&settings));

        // Through the descriptor that was checked, whatever happens to its name meanwhile: the new process still
        // has it while it changes its directory.
        command.current_dir(magic_path(self.directory.directory()));
        command.arg(self.verb).args(&self.arguments);
        Ok(command)
    }
}

/// Settings as `git -c` hands them on, in one variable. A pair of variables for each (`GIT_CONFIG_KEY_0`) would be
/// looked up one by one in a long environment, again and again, and cost a tenth of a short call.
fn parameters(settings: &[Setting]) -> String {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', r"'\''").replace('!', r"'\!'"));
    let pairs: Vec<String> = settings
        .iter()
        .map(|(key, value)| format!("{}={}", quoted(key), quoted(value)))
        .collect();
    pairs.join(" ")
}

impl Finished {
    /// What git said, without what could steer a terminal.
    pub(crate) fn said(&self) -> String {
        text::without_controls(&String::from_utf8_lossy(&self.errors))
            .trim()
            .to_owned()
    }

    /// The failure that a nonzero exit code is, told in git's own words.
    pub(crate) fn failure(&self, verb: &'static str, place: String) -> Error {
        let mut said = self.said();
        if said.is_empty() {
            said = text::without_controls(&String::from_utf8_lossy(&self.output))
                .trim()
                .to_owned();
        }
        if let Some(lock) = crate::work::locks::lock_in(&said) {
            return Error::Locked { verb, lock };
        }
        Error::GitFailed {
            verb,
            path: place,
            code: self.code,
            said: said.chars().take(2000).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_quoted_as_git_unquotes_them() {
        let settings = [
            ("user.name".to_owned(), "O'Neil!".to_owned()),
            ("remote.a=b.url".to_owned(), String::new()),
        ];
        assert_eq!(
            parameters(&settings),
            r"'user.name'='O'\''Neil'\!'' 'remote.a=b.url'=''"
        );
    }
}
