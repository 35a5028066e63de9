//! Temporary repositories, made with the git program.

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

/// A repository that goes away with its value.
pub struct TestRepository {
    directory: TempDir,
}

impl TestRepository {
    /// An empty repository on branch `main`.
    ///
    /// # Panics
    /// When git cannot make it.
    #[must_use]
    pub fn empty() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let repository = Self { directory };
        repository.git(&["init", "--quiet", "--initial-branch=main"]);
        repository
    }

    /// A repository with one commit of one file.
    ///
    /// # Panics
    /// When git cannot make it.
    #[must_use]
    pub fn with_commit(file: &str, content: &str) -> Self {
        let repository = Self::empty();
        repository.write(file, content);
        repository.commit("Begin");
        repository
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Writes a file of its working tree.
    ///
    /// # Panics
    /// When the file cannot be written.
    pub fn write(&self, file: &str, content: &str) {
        let path = self.path().join(file);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).expect("a directory");
        }
        std::fs::write(path, content).expect("a file");
    }

    /// Commits all there is.
    ///
    /// # Panics
    /// When git refuses.
    pub fn commit(&self, message: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message", message]);
    }

    /// Runs git in it, apart from whatever this machine's user has configured.
    ///
    /// # Panics
    /// When git fails.
    pub fn git(&self, arguments: &[&str]) -> String {
        git_in(self.path(), arguments)
    }
}

/// Runs git in a directory, apart from whatever this machine's user has configured.
///
/// # Panics
/// When git fails.
#[expect(
    clippy::disallowed_methods,
    reason = "tests make repositories with the real git"
)]
pub fn git_in(directory: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .current_dir(directory)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_AUTHOR_NAME", "Ann Author")
        .env("GIT_AUTHOR_EMAIL", "ann@example.org")
        .env("GIT_AUTHOR_DATE", "2026-11-01T10:00:00Z")
        .env("GIT_COMMITTER_NAME", "Cora Committer")
        .env("GIT_COMMITTER_EMAIL", "cora@example.org")
        .env("GIT_COMMITTER_DATE", "2026-11-01T10:00:00Z")
        .args(arguments)
        .output()
        .expect("git is installed");
    assert!(
        output.status.success(),
        "git {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}
