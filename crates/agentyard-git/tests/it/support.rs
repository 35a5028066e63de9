//! Temporary directories with repositories in them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use agentyard_git::{
    BranchQuery, Confined, Error, Git, GitSettings, Identity, LogPage, LogQuery, ReflogQuery, Repository,
    Roots, Status, StatusOptions, TagQuery, Trust, Work,
};
use tempfile::TempDir;

/// Never set.
pub(crate) static GO_ON: AtomicBool = AtomicBool::new(false);

/// A directory that is a root, next to one that is not. Both go when it does.
pub(crate) struct Yard {
    directory: TempDir,
    /// Commits are made a minute apart, beginning in September 2020.
    clock: AtomicU64,
}

impl Yard {
    /// Without any repository.
    pub(crate) fn empty() -> Self {
        let directory = TempDir::new().unwrap();
        fs::create_dir(directory.path().join("root")).unwrap();
        fs::create_dir(directory.path().join("outside")).unwrap();
        Self {
            directory,
            clock: AtomicU64::new(1_600_000_000),
        }
    }

    /// With a new repository in the root.
    pub(crate) fn new() -> Self {
        let yard = Self::empty();
        yard.git(&["init", "--quiet", "--initial-branch=main"]);
        yard
    }

    /// With a repository that has one commit with one file.
    pub(crate) fn with_commit() -> Self {
        let yard = Self::new();
        yard.write("file", "content\n");
        yard.commit("first");
        yard
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.directory.path().join("root").canonicalize().unwrap()
    }

    pub(crate) fn outside(&self) -> PathBuf {
        self.directory.path().join("outside").canonicalize().unwrap()
    }

    pub(crate) fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.root().join(path)
    }

    pub(crate) fn write(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn remove(&self, path: impl AsRef<Path>) {
        fs::remove_file(self.path(path)).unwrap();
    }

    pub(crate) fn set_executable(&self, path: impl AsRef<Path>, executable: bool) {
        let mode = if executable { 0o755 } else { 0o644 };
        fs::set_permissions(self.path(path), fs::Permissions::from_mode(mode)).unwrap();
    }

    pub(crate) fn link(&self, target: impl AsRef<Path>, path: impl AsRef<Path>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, path).unwrap();
    }

    /// Adds lines to the repository's configuration, without asking git whether it likes them.
    pub(crate) fn configure(&self, lines: &str) {
        let path = self.path(".git/config");
        let config = fs::read_to_string(&path).unwrap();
        fs::write(path, format!("{config}\n{lines}\n")).unwrap();
    }

    /// Commits everything.
    pub(crate) fn commit(&self, message: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message", message]);
    }

    /// Runs git at the top of the root.
    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        self.git_in(&self.root(), arguments)
    }

    pub(crate) fn git_in(&self, directory: &Path, arguments: &[&str]) -> String {
        let output = self.try_git_in(directory, arguments);
        assert!(output.status.success(), "git {arguments:?}: {output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    pub(crate) fn try_git_in(&self, directory: &Path, arguments: &[&str]) -> Output {
        let date = format!("{} +0000", self.clock.fetch_add(60, Ordering::Relaxed) + 60);
        command("git")
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", "/nonexistent")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_AUTHOR_NAME", "Ada")
            .env("GIT_AUTHOR_EMAIL", "ada@example.org")
            .env("GIT_COMMITTER_NAME", "Grace")
            .env("GIT_COMMITTER_EMAIL", "grace@example.org")
            .env("GIT_AUTHOR_DATE", &date)
            .env("GIT_COMMITTER_DATE", &date)
            .args([
                "-c",
                "protocol.file.allow=always",
                "-c",
                "advice.detachedHead=false",
            ])
            .current_dir(directory)
            .args(arguments)
            .output()
            .unwrap()
    }

    /// Runs a shell command at the top of the root, for what takes a redirection.
    pub(crate) fn shell(&self, script: &str) -> String {
        let output = command("sh")
            .args(["-c", script])
            .current_dir(self.root())
            .output()
            .unwrap();
        assert!(output.status.success(), "{script}: {output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    pub(crate) fn roots(&self) -> Roots {
        Roots::new([self.root()]).unwrap()
    }

    pub(crate) fn confined(&self, path: impl AsRef<Path>) -> Confined {
        self.roots().resolve(&self.path(path)).unwrap()
    }

    pub(crate) fn try_open(&self, path: impl AsRef<Path>) -> Result<Repository, Error> {
        Repository::open(&self.roots().resolve(&self.path(path))?)
    }

    pub(crate) fn open(&self) -> Repository {
        self.try_open("").unwrap()
    }

    /// The git program, on behalf of nobody but Ada and Grace.
    pub(crate) fn program(&self) -> Git {
        Git::find(settings())
    }

    /// Works in the repository, which nobody vouches for.
    pub(crate) fn work<T>(&self, work: impl FnOnce(&Work<'_>) -> Result<T, Error>) -> Result<T, Error> {
        self.work_until(&GO_ON, Trust::Untrusted, work)
    }

    pub(crate) fn trusted_work<T>(
        &self,
        work: impl FnOnce(&Work<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.work_until(&GO_ON, Trust::Trusted, work)
    }

    pub(crate) fn work_until<T>(
        &self,
        cancel: &AtomicBool,
        trust: Trust,
        work: impl FnOnce(&Work<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        work(&Work::new(&self.program(), &self.open(), trust, cancel, &|_| {}))
    }

    /// As [`Yard::work`], in another repository of the root.
    pub(crate) fn work_in<T>(
        &self,
        repository: &Repository,
        work: impl FnOnce(&Work<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        work(&Work::new(
            &self.program(),
            repository,
            Trust::Untrusted,
            &GO_ON,
            &|_| {},
        ))
    }

    /// As [`Yard::work`], with a setting of the person's own.
    pub(crate) fn work_with_setting<T>(
        &self,
        key: &str,
        value: &str,
        work: impl FnOnce(&Work<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let git = Git::find(GitSettings {
            extra: vec![(key.to_owned(), value.to_owned())],
            ..settings()
        });
        work(&Work::new(&git, &self.open(), Trust::Untrusted, &GO_ON, &|_| {}))
    }

    /// As [`Yard::work`], with other settings.
    pub(crate) fn work_as<T>(
        &self,
        settings: GitSettings,
        work: impl FnOnce(&Work<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let git = Git::find(settings);
        work(&Work::new(&git, &self.open(), Trust::Untrusted, &GO_ON, &|_| {}))
    }

    /// An executable file.
    pub(crate) fn script(&self, path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// The index, byte for byte.
    pub(crate) fn index(&self) -> Vec<u8> {
        fs::read(self.path(".git/index")).unwrap()
    }

    /// A merge that waits for somebody to resolve `file`.
    pub(crate) fn conflict(&self) {
        self.git(&["switch", "--quiet", "--create", "other"]);
        self.write("file", "theirs\n");
        self.commit("theirs");
        self.git(&["switch", "--quiet", "main"]);
        self.write("file", "ours\n");
        self.commit("ours");
        self.try_git_in(&self.root(), &["merge", "--quiet", "other"]);
    }

    pub(crate) fn status(&self) -> Status {
        self.status_of("")
    }

    pub(crate) fn status_of(&self, path: impl AsRef<Path>) -> Status {
        let repository = self.try_open(path).unwrap();
        repository.status(&StatusOptions::default(), &GO_ON).unwrap()
    }

    pub(crate) fn log(&self, query: &LogQuery) -> LogPage {
        self.open().log(query, &GO_ON).unwrap()
    }
}

/// A repository whose `main` and `side` changed one file, and where `side` has another one.
pub(crate) fn diverged(ours: &str, theirs: &str) -> Yard {
    let yard = Yard::new();
    yard.write("file", "content\n");
    yard.commit("first");
    yard.git(&["checkout", "--quiet", "-b", "side"]);
    yard.write("file", theirs);
    yard.write("only-side", "side\n");
    yard.commit("side");
    yard.git(&["checkout", "--quiet", "main"]);
    yard.write("file", ours);
    yard.commit("main");
    yard
}

/// Everything that an operation which did nothing leaves alone: HEAD, branches, index, files, what is in progress.
pub(crate) fn tree_state(yard: &Yard) -> String {
    let git = |arguments: &[&str]| yard.git(arguments);
    [
        git(&["symbolic-ref", "-q", "HEAD"]),
        git(&["for-each-ref", "refs/heads", "refs/tags", "refs/remotes"]),
        git(&["ls-files", "--stage", "--debug"])
            .lines()
            .filter(|line| !line.starts_with("  "))
            .collect(),
        git(&["status", "--porcelain=v2", "--ignored", "--untracked-files=all"]),
        git(&["diff", "--binary"]),
        format!("{:?}", yard.status().operation),
    ]
    .join("\n---\n")
}

pub(crate) fn settings() -> GitSettings {
    GitSettings {
        identity: Identity {
            author_name: Some("Ada".to_owned()),
            author_email: Some("ada@example.org".to_owned()),
            committer_name: Some("Grace".to_owned()),
            committer_email: Some("grace@example.org".to_owned()),
        },
        ..GitSettings::default()
    }
}

/// The one place where tests start processes.
#[expect(
    clippy::disallowed_methods,
    reason = "tests compare with git, and run themselves in another environment"
)]
pub(crate) fn command(program: impl AsRef<std::ffi::OsStr>) -> Command {
    Command::new(program)
}

/// The message that a client would see.
pub(crate) fn message<T>(result: Result<T, Error>) -> String {
    match result {
        Ok(_) => panic!("this should have failed"),
        Err(error) => error.to_string(),
    }
}

/// Calls everything there is to call, and shows what came of it.
fn use_it(repository: &Repository) -> String {
    let options = StatusOptions {
        ignored: true,
        ..StatusOptions::default()
    };
    let status = repository.status(&options, &GO_ON);
    let log = repository.log(&LogQuery::default(), &GO_ON);
    let snapshot = repository.snapshot(&GO_ON);
    let branches = BranchQuery {
        remote: true,
        distances: true,
        ..BranchQuery::default()
    };
    let branches = repository.branches(&branches, &GO_ON);
    let tags = repository.tags(&TagQuery::default(), &GO_ON);
    let reflog = repository.reflog(&ReflogQuery::default(), &GO_ON);
    let stashes = repository.stashes(10, &GO_ON);
    let worktrees = repository.worktrees(&GO_ON);
    format!("{status:?} {log:?} {snapshot:?} {branches:?} {tags:?} {reflog:?} {stashes:?} {worktrees:?}")
}

pub(crate) fn assert_harmless(yard: &Yard) -> String {
    let shown = match yard.try_open("") {
        Ok(repository) => use_it(&repository),
        Err(error) => error.to_string(),
    };
    assert!(!yard.path("pwned").exists() && !yard.outside().join("pwned").exists());
    assert!(!shown.contains("secret"), "{shown}");
    shown
}

/// The refusal, without the path in it.
pub(crate) fn refusal(yard: &Yard, path: impl AsRef<Path>) -> String {
    message(yard.try_open(path)).replace(&*yard.root().to_string_lossy(), "ROOT")
}

/// Another tenant's repository.
pub(crate) fn foreign_repository(yard: &Yard) -> PathBuf {
    let path = yard.outside().join("foreign");
    fs::create_dir(&path).unwrap();
    yard.git_in(&path, &["init", "--quiet", "--initial-branch=secret-branch"]);
    fs::write(path.join("file"), "secret").unwrap();
    yard.git_in(&path, &["add", "file"]);
    yard.git_in(&path, &["commit", "--quiet", "--message", "secret commit"]);
    path
}
