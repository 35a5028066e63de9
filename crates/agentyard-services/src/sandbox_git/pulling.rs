//! What is new on the remote, under the agent's own work.

use agentyard_model::{AuditEvent, Caller, SandboxId};

use super::SandboxGit;
use super::calling::Inside;
use super::checkout::Session;
use super::status::plain;
use crate::error::{Error, ErrorKind, Result};
use crate::sandbox_measures as measures;

/// How many files in conflict are named.
const MAX_CONFLICTS: usize = 1000;

/// What came of a pull.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxPulled {
    /// The branch that is checked out.
    pub branch: String,
    /// The branch whose news were pulled.
    pub base: String,
    /// The commit before.
    pub previous: String,
    /// The commit now; the same when nothing was new, or files are in conflict.
    pub head: String,
    /// The files in conflict, for which nothing was changed.
    pub conflicts: Vec<String>,
}

impl SandboxGit {
    /// Fetches the base branch, and puts the agent's commits on top of it. Where that fails, all is as before.
    ///
    /// # Errors
    /// When the caller may not, the remote cannot be reached, or there are changes that are in no commit.
    pub async fn pull(&self, caller: &Caller, id: SandboxId) -> Result<SandboxPulled> {
        self.counted("pull", caller, async {
            let session = self.session(caller, id).await?;
            let inside = session.inside();
            let previous = inside.head().await?;
            inside.must_be_clean().await?;
            session.fetch_base().await?;
            let base = session.checkout.base.as_str().to_owned();
            let conflicts = inside.rebase(&format!("refs/remotes/origin/{base}")).await?;
            measures::conflicts(conflicts.len());
            let event = AuditEvent::done(caller, "sandbox_pull", id);
            self.0.audit.record_soon(event).await;
            Ok(SandboxPulled {
                branch: session.checkout.branch.as_str().to_owned(),
                base,
                head: inside.head().await?,
                previous,
                conflicts,
            })
        })
        .await
    }
}

impl Session {
    /// Fetches the base branch.
    pub(super) async fn fetch_base(&self) -> Result<()> {
        let base = self.checkout.base.as_str();
        let refspec = format!("+refs/heads/{base}:refs/remotes/origin/{base}");
        let fetched = self
            .ask_remote(&["fetch", "--quiet", "--no-tags"], &[&refspec])
            .await?;
        if fetched.code == 0 {
            return Ok(());
        }
        let told = fetched.failure(&format!("fetching `{base}` from {}", self.checkout.url));
        Err(Error::new(ErrorKind::Unavailable, told.to_string())
            .hint("see whether the remote can be reached and the token still holds"))
    }
}

impl Inside<'_> {
    /// The commit that is checked out.
    pub(super) async fn head(&self) -> Result<String> {
        let told = self
            .git("reading the head", &["rev-parse", "--verify", "HEAD"])
            .await?;
        Ok(told.line())
    }

    /// Refuses where there are changes that are in no commit, or something was left half-done.
    async fn must_be_clean(&self) -> Result<()> {
        let words = ["status", "--porcelain", "-z", "--untracked-files=no"];
        let told = self.git("reading the status", &words).await?;
        if told.stdout.is_empty() {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Conflict,
            "there are changes that are in no commit, which a rebase would lose",
        )
        .hint("commit and push them with `sandbox_push`, or commit or drop them there, then pull again"))
    }

    /// Puts the branch's commits on top of others, or tells which files are in conflict and leaves all as it was.
    pub(super) async fn rebase(&self, onto: &str) -> Result<Vec<String>> {
        let rebased = self
            .attempt(&["rebase", "--quiet", "--no-autostash", onto], None)
            .await?;
        if rebased.code == 0 {
            return Ok(Vec::new());
        }
        let words = ["diff", "--name-only", "--diff-filter=U", "-z"];
        let conflicts = self.attempt(&words, None).await;
        // Nothing half-done stays; one that was not begun cannot be given up.
        let aborted = self.attempt(&["rebase", "--abort"], None).await;
        let conflicts: Vec<String> = conflicts?
            .stdout
            .split(|byte| *byte == 0)
            .filter(|name| !name.is_empty())
            .take(MAX_CONFLICTS)
            .map(|name| plain(&String::from_utf8_lossy(name)))
            .collect();
        if conflicts.is_empty() {
            return Err(rebased.failure("putting the commits on top of what is new"));
        }
        aborted?.succeeded("taking a rebase back")?;
        Ok(conflicts)
    }
}
