//! The agent's work, committed and on the remote.

use std::time::Duration;

use agentyard_model::{AuditEvent, Caller, Outcome, SandboxId};

use super::SandboxGit;
use super::calling::Inside;
use super::checkout::Session;
use crate::error::{Error, ErrorKind, Result};
use crate::sandbox_measures as measures;

/// Where a sandbox remembers what it pushed last: what is there on the remote may be replaced by it.
const PUSHED: &str = "refs/agentyard/pushed";

/// The longest that is waited before another try.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// How long a message may be.
const MAX_MESSAGE: usize = 64 * 1024;

/// How many files may be named.
const MAX_FILES: usize = 1000;

/// What to push.
#[derive(Debug, Clone, Default)]
pub struct SandboxPush {
    /// What the commit is to say. Without one, only what is committed already is pushed.
    pub message: Option<String>,
    /// The files to commit; all that changed when none is named.
    pub files: Vec<String>,
}

/// What came of a push.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxPushed {
    /// The commit that is on the remote; none when files are in conflict.
    pub commit: Option<String>,
    /// The branch there.
    pub branch: String,
    /// Whether something was committed by this call.
    pub has_committed: bool,
    /// How often it was tried.
    pub attempts: u32,
    /// The files in conflict with what is new on the remote. What was to be pushed is committed in the sandbox.
    pub conflicts: Vec<String>,
}

impl SandboxGit {
    /// Commits what changed, puts it on top of what is new on the remote, and pushes it; again when the remote moved.
    ///
    /// # Errors
    /// When the caller may not, there is nothing to push, or the remote does not take it.
    pub async fn push(&self, caller: &Caller, id: SandboxId, request: SandboxPush) -> Result<SandboxPushed> {
        self.counted("push", caller, async {
            check(&request)?;
            let session = self.session(caller, id).await?;
            let pushed = self.pushed(&session, request).await;
            let outcome = match &pushed {
                Ok(pushed) if pushed.commit.is_some() => Outcome::Done,
                _ => Outcome::Failed,
            };
            let target = format!("{id} {}", session.checkout.branch.as_str());
            let event = AuditEvent::with_outcome(caller, "sandbox_push", target, outcome);
            self.0.audit.record_soon(event).await;
            pushed
        })
        .await
    }

    async fn pushed(&self, session: &Session, request: SandboxPush) -> Result<SandboxPushed> {
        let inside = session.inside();
        let branch = session.checkout.branch.as_str();
        let current = inside
            .git("reading the branch", &["rev-parse", "--abbrev-ref", "HEAD"])
            .await?
            .line();
        if current != branch {
            return Err(Error::new(
                ErrorKind::Conflict,
                format!("`{current}` is checked out, and not the agent's branch `{branch}`"),
            )
            .hint(format!("check `{branch}` out in the sandbox, then push again")));
        }
        let has_committed = match &request.message {
            Some(message) => inside.commit(message, &request.files).await?,
            None => false,
        };
        let most = self.0.settings.max_retries.max(1);
        let mut attempts = 0;
        loop {
            attempts += 1;
            let tried = session.push_once().await;
            measures::push_retries(u32::from(attempts > 1));
            let told = |commit, conflicts: Vec<String>| SandboxPushed {
                commit,
                branch: branch.to_owned(),
                has_committed,
                attempts,
                conflicts,
            };
            match tried? {
                Tried::Pushed(commit) => return Ok(told(Some(commit), Vec::new())),
                Tried::Conflicts(conflicts) => {
                    measures::conflicts(conflicts.len());
                    return Ok(told(None, conflicts));
                }
                Tried::Failed(error) if attempts >= most => {
                    return Err(Error::new(
                        ErrorKind::Unavailable,
                        format!("{error} (tried {attempts} times)"),
                    )
                    .hint(
                        "what was to be pushed is committed in the sandbox: push again later, or look at why",
                    ));
                }
                Tried::Failed(_) => {
                    let wait = Duration::from_secs(1 << (attempts - 1).min(6));
                    tokio::time::sleep(wait.min(LONGEST_WAIT)).await;
                }
            }
        }
    }
}

/// What came of one try.
enum Tried {
    Pushed(String),
    Conflicts(Vec<String>),
    /// The next one may do.
    Failed(Error),
}

impl Session {
    async fn push_once(&self) -> Result<Tried> {
        let inside = self.inside();
        if let Err(error) = self.fetch_base().await {
            return Ok(Tried::Failed(error));
        }
        let branch = self.checkout.branch.as_str();
        let there = match self.fetch_own().await? {
            Ok(there) => there,
            Err(error) => return Ok(Tried::Failed(error)),
        };
        if let Some(there) = &there
            && inside.pushed().await?.as_ref() != Some(there)
        {
            // Somebody else pushed to the branch, whose work must stay.
            let conflicts = inside.rebase(there).await?;
            if !conflicts.is_empty() {
                return Ok(Tried::Conflicts(conflicts));
            }
        }
        let base = format!("refs/remotes/origin/{}", self.checkout.base.as_str());
        let conflicts = inside.rebase(&base).await?;
        if !conflicts.is_empty() {
            return Ok(Tried::Conflicts(conflicts));
        }
        let head = inside.head().await?;
        // Only what was seen there just now is replaced.
        let lease = format!(
            "--force-with-lease=refs/heads/{branch}:{}",
            there.as_deref().unwrap_or_default()
        );
        let refspec = format!("HEAD:refs/heads/{branch}");
        let words = ["push", "--quiet", "--no-verify", &lease];
        let pushed = self.ask_remote(&words, &[&refspec]).await?;
        if pushed.code != 0 {
            let attempted = format!("pushing `{branch}` to {}", self.checkout.url);
            return Ok(Tried::Failed(pushed.failure(&attempted)));
        }
        inside.note_pushed(&head).await?;
        Ok(Tried::Pushed(head))
    }

    /// The agent's branch as the remote has it, fetched; none when it has none.
    async fn fetch_own(&self) -> Result<Result<Option<String>>> {
        let (branch, url) = (self.checkout.branch.as_str(), &self.checkout.url);
        let name = format!("refs/heads/{branch}");
        let listed = self.ask_remote(&["ls-remote"], &[&name]).await?;
        if listed.code != 0 {
            return Ok(Err(listed.failure(&format!("asking {url} for `{branch}`"))));
        }
        let line = listed.line();
        let Some(there) = line.split_whitespace().next().filter(|id| is_id(id)) else {
            return Ok(Ok(None));
        };
        let refspec = format!("+{name}:refs/remotes/origin/{branch}");
        let fetched = self
            .ask_remote(&["fetch", "--quiet", "--no-tags"], &[&refspec])
            .await?;
        Ok(match fetched.code {
            0 => Ok(Some(there.to_owned())),
            _ => Err(fetched.failure(&format!("fetching `{branch}` from {url}"))),
        })
    }
}

impl Inside<'_> {
    /// Commits files, or all that changed; tells whether there was anything to commit.
    async fn commit(&self, message: &str, files: &[String]) -> Result<bool> {
        let mut words = vec!["add", "--all", "--"];
        words.extend(files.iter().map(String::as_str));
        if files.is_empty() {
            words.push(".");
        }
        self.git("staging the changes", &words).await?;
        let staged = self.attempt(&["diff", "--cached", "--quiet"], None).await?;
        if staged.code == 0 {
            return Ok(false);
        }
        let words = [
            "commit",
            "--quiet",
            "--no-verify",
            "--cleanup=strip",
            "-m",
            message,
        ];
        self.git("committing the changes", &words).await?;
        Ok(true)
    }

    /// What this sandbox pushed last.
    async fn pushed(&self) -> Result<Option<String>> {
        let told = self
            .attempt(&["rev-parse", "--verify", "--quiet", PUSHED], None)
            .await?;
        Ok((told.code == 0).then(|| told.line()))
    }

    /// Remembers what the remote has of this sandbox.
    pub(super) async fn note_pushed(&self, commit: &str) -> Result<()> {
        let words = ["update-ref", PUSHED, commit];
        self.git("noting what was pushed", &words).await.map(drop)
    }
}

fn check(request: &SandboxPush) -> Result<()> {
    if let Some(message) = &request.message
        && (message.trim().is_empty() || message.len() > MAX_MESSAGE || message.contains('\0'))
    {
        return Err(Error::invalid(format!(
            "`message`: expected 1 to {MAX_MESSAGE} bytes of text"
        )));
    }
    if request.message.is_none() && !request.files.is_empty() {
        return Err(Error::invalid(
            "`files` are committed with a `message`, which is missing",
        ));
    }
    let is_path = |file: &String| !file.is_empty() && file.len() <= 4096 && !file.contains('\0');
    if request.files.len() > MAX_FILES || !request.files.iter().all(is_path) {
        return Err(Error::invalid(format!(
            "`files`: expected at most {MAX_FILES} paths"
        )));
    }
    Ok(())
}

fn is_id(text: &str) -> bool {
    (40..=64).contains(&text.len()) && text.chars().all(|c| c.is_ascii_hexdigit())
}
