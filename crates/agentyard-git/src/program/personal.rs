//! The person's own settings, as git finds them for a repository.
//!
//! They are read apart and handed to every process, where they are stronger than the repository's: git itself
//! never reads the home directory on behalf of a repository that is not trusted.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant, SystemTime};

use super::hardening::Setting;
use super::process::{self, Feed};
use super::{Git, Identity, Person};
use crate::{Error, Repository};

/// How long settings are taken as read. Files that they include are not watched.
const FRESH: Duration = Duration::from_secs(60);

/// How many repositories' settings are remembered.
const REMEMBERED: usize = 64;

/// What of a person's settings reaches git. Settings that name programs are in it: they are the person's own.
const COUNTED: &[&str] = &[
    "user.",
    "author.",
    "committer.",
    "gpg.",
    "commit.gpgsign",
    "tag.gpgsign",
    "credential.",
    "http.",
    "https.",
    "ssh.",
    "url.",
    "init.defaultbranch",
    "core.sshcommand",
    "core.autocrlf",
    "core.eol",
    "core.safecrlf",
    "merge.conflictstyle",
    "diff.algorithm",
    "pull.",
    "fetch.prune",
    "rebase.updaterefs",
];

/// The person's settings by repository: which ones count may depend on where it is (`includeIf`).
#[derive(Debug, Default)]
pub(super) struct PersonalSettings(Mutex<HashMap<Option<PathBuf>, Remembered>>);

#[derive(Debug, Clone)]
struct Remembered {
    settings: Vec<Setting>,
    read_at: Instant,
    files: [Option<SystemTime>; 3],
}

impl PersonalSettings {
    pub(super) fn of(
        &self,
        git: &Git,
        repository: Option<&Repository>,
        cancel: &AtomicBool,
    ) -> Result<Vec<Setting>, Error> {
        let Some(person) = &git.settings.person else {
            return Ok(Vec::new());
        };
        let key = repository.map(|repository| repository.git_dir().to_owned());
        let files = files(person).map(|file| std::fs::metadata(file).and_then(|file| file.modified()).ok());
        if files == [None; 3] {
            return Ok(Vec::new());
        }
        let mut remembered = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(known) = remembered.get(&key)
            && known.read_at.elapsed() < FRESH
            && known.files == files
        {
            return Ok(known.settings.clone());
        }
        let settings = read(git, person, repository, cancel)?;
        if remembered.len() >= REMEMBERED {
            remembered.clear();
        }
        remembered.insert(
            key,
            Remembered {
                settings: settings.clone(),
                read_at: Instant::now(),
                files,
            },
        );
        Ok(settings)
    }
}

impl Identity {
    pub(super) fn variables(&self) -> impl Iterator<Item = (&'static str, &str)> {
        [
            ("GIT_AUTHOR_NAME", &self.author_name),
            ("GIT_AUTHOR_EMAIL", &self.author_email),
            ("GIT_COMMITTER_NAME", &self.committer_name),
            ("GIT_COMMITTER_EMAIL", &self.committer_email),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((name, value.as_deref()?)))
    }
}

fn files(person: &Person) -> [PathBuf; 3] {
    let config_home = person
        .environment
        .iter()
        .find(|(name, _)| name == "XDG_CONFIG_HOME")
        .map_or_else(|| person.home.join(".config"), |(_, value)| PathBuf::from(value));
    [
        person.home.join(".gitconfig"),
        config_home.join("git/config"),
        PathBuf::from("/etc/gitconfig"),
    ]
}

/// Asks git, which knows about includes, their conditions and the system's own file.
#[expect(clippy::disallowed_methods, reason = "this crate is where git is started")]
fn read(
    git: &Git,
    person: &Person,
    repository: Option<&Repository>,
    cancel: &AtomicBool,
) -> Result<Vec<Setting>, Error> {
    let mut command = std::process::Command::new(&git.program);
    command
        .env_clear()
        .envs(person.environment.iter().map(|(name, value)| (name, value)))
        .env("HOME", &person.home)
        .env("LC_ALL", "C")
        .current_dir("/");
    if let Some(repository) = repository {
        command.env("GIT_DIR", repository.git_dir());
        command.env("GIT_CONFIG_COUNT", "1");
        command.env("GIT_CONFIG_KEY_0", "safe.directory");
        command.env("GIT_CONFIG_VALUE_0", "*");
    } else {
        command.env("GIT_DIR", "/nonexistent");
    }
    command.args(["config", "--list", "--includes", "--show-scope", "-z"]);
    let feed = Feed {
        input: &[],
        output_limit: 1 << 20,
        on_error_line: &mut |_| {},
        cancel,
        silence: None,
    };
    let finished = process::run(command, None, feed).map_err(|stopped| match stopped {
        process::Stopped::Cancelled => Error::Cancelled,
        process::Stopped::Start(source) => git.missing(source),
        process::Stopped::Silent => Error::Cancelled,
        process::Stopped::Broken(source) => Error::RunGit {
            verb: "config",
            source,
        },
    })?;
    if finished.code != Some(0) {
        return Err(finished.failure("config", person.home.display().to_string()));
    }
    Ok(parse(&finished.output))
}

/// `scope NUL key LF value NUL`, again and again.
fn parse(output: &[u8]) -> Vec<Setting> {
    let text = String::from_utf8_lossy(output);
    let mut parts = text.split('\0');
    let mut settings = Vec::new();
    while let (Some(scope), Some(entry)) = (parts.next(), parts.next()) {
        let (key, value) = entry.split_once('\n').unwrap_or((entry, "true"));
        let lower = key.to_ascii_lowercase();
        let counts = matches!(scope, "system" | "global")
            && COUNTED
                .iter()
                .any(|counted| lower == *counted || counted.ends_with('.') && lower.starts_with(counted));
        if counts {
            settings.push((key.to_owned(), value.to_owned()));
        }
    }
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_persons_own_settings_count_and_only_some() {
        let listed = b"system\0user.name\nSystem\0global\0user.email\na@example.org\0global\0alias.x\n!sh\0local\0user.name\nMallory\0global\0credential.https://a.example.helper\n!helper\0global\0commit.verbose\0";
        let setting = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(
            parse(listed),
            [
                setting("user.name", "System"),
                setting("user.email", "a@example.org"),
                setting("credential.https://a.example.helper", "!helper"),
            ]
        );
    }
}
