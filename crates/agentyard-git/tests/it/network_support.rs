//! A remote and two clones of it, all inside the root.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use agentyard_git::{
    Error, FetchOptions, Git, GitPerson, GitSettings, HostPatterns, Identity, NetworkSettings, Repository,
    Trust, Work,
};

use crate::support::{GO_ON, Yard};

pub(crate) struct Remotes {
    pub(crate) yard: Yard,
}

impl Remotes {
    /// `server.git` with one commit on `main`, and `here` and `there`, which are clones of it.
    pub(crate) fn new() -> Self {
        let yard = Yard::empty();
        yard.git(&["init", "--quiet", "--bare", "--initial-branch=main", "server.git"]);
        let server = yard.path("server.git").display().to_string();
        yard.git(&["clone", "--quiet", &server, "here"]);
        let remotes = Self { yard };
        remotes.commit("here", "file", "one\n");
        remotes.git("here", &["push", "--quiet", "origin", "main"]);
        remotes.yard.git(&["clone", "--quiet", &server, "there"]);
        remotes
    }

    pub(crate) fn git(&self, place: &str, arguments: &[&str]) -> String {
        self.yard.git_in(&self.yard.path(place), arguments)
    }

    /// Writes a file and commits it.
    pub(crate) fn commit(&self, place: &str, file: &str, content: &str) {
        self.yard.write(format!("{place}/{file}"), content);
        self.git(place, &["add", "--all"]);
        self.git(
            place,
            &["commit", "--quiet", "--message", &format!("{file} in {place}")],
        );
    }

    /// Somebody else pushes a commit.
    pub(crate) fn moves(&self, file: &str, content: &str) {
        self.git("there", &["pull", "--quiet", "--rebase"]);
        self.commit("there", file, content);
        self.git("there", &["push", "--quiet", "origin", "main"]);
    }

    pub(crate) fn tip(&self, place: &str, name: &str) -> String {
        self.git(place, &["rev-parse", name]).trim().to_owned()
    }

    pub(crate) fn path(&self, place: &str) -> PathBuf {
        self.yard.path(place)
    }

    pub(crate) fn work<T>(
        &self,
        place: &str,
        work: impl FnOnce(&Work<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.work_until(place, &GO_ON, work)
    }

    pub(crate) fn work_until<T>(
        &self,
        place: &str,
        cancel: &AtomicBool,
        work: impl FnOnce(&Work<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let repository = self.open(place);
        work(&Work::new(
            &program(),
            &repository,
            Trust::Untrusted,
            cancel,
            &|_| {},
        ))
    }

    pub(crate) fn open(&self, place: &str) -> Repository {
        self.yard.try_open(place).unwrap()
    }

    /// Adds lines to the configuration of `here`.
    pub(crate) fn configure(&self, lines: &str) {
        let path = self.path("here/.git/config");
        let config = std::fs::read_to_string(&path).unwrap();
        std::fs::write(path, format!("{config}\n{lines}\n")).unwrap();
    }

    /// Everything that may be told from outside about a repository's state.
    pub(crate) fn state(&self, place: &str) -> String {
        [
            self.git(
                place,
                &["for-each-ref", "refs/heads", "refs/stash", "refs/agentyard"],
            ),
            self.git(place, &["symbolic-ref", "HEAD"]),
            self.git(place, &["ls-files", "--stage"]),
            self.git(place, &["status", "--porcelain=v2"]),
        ]
        .concat()
    }
}

pub(crate) fn program() -> Git {
    program_with(NetworkSettings::default())
}

/// A program that reaches this machine, and does not wait long before it tries again.
pub(crate) fn program_with(network: NetworkSettings) -> Git {
    Git::find(GitSettings {
        identity: Identity {
            author_name: Some("Ada".to_owned()),
            author_email: Some("ada@example.org".to_owned()),
            committer_name: Some("Grace".to_owned()),
            committer_email: Some("grace@example.org".to_owned()),
        },
        network: NetworkSettings {
            first_wait: Duration::from_millis(1),
            ..network
        },
        ..GitSettings::default()
    })
}

/// As [`program_with`], on behalf of a person with this home.
pub(crate) fn program_of(home: PathBuf) -> Git {
    Git::find(GitSettings {
        person: Some(GitPerson {
            home,
            environment: vec![("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".into())],
        }),
        network: this_machine(),
        ..program().settings().clone()
    })
}

pub(crate) fn this_machine() -> NetworkSettings {
    NetworkSettings {
        allowed_hosts: HostPatterns::new(["127.0.0.1", "localhost"]),
        first_wait: Duration::from_millis(1),
        ..NetworkSettings::default()
    }
}

pub(crate) fn everything() -> FetchOptions {
    FetchOptions::default()
}
