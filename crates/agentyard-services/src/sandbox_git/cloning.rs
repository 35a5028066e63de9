//! A sandbox with a repository in it, and a branch of its agent's own.

use std::sync::Arc;

use agentyard_envd::client;
use agentyard_envd::process::{Config, StartRequest};
use agentyard_git::{BranchName, RemoteUrl};
use agentyard_model::{AuditEvent, Caller, Outcome, SandboxId, SecretName};
use agentyard_sandbox::{Network, Standing};

use super::SandboxGit;
use super::calling::{Inside, gist};
use super::checkout::{Checkout, PLACES, metadata};
use super::credentials::Credentials;
use crate::error::{Error, ErrorKind, Result};
use crate::failures::from_git;
use crate::sandboxes::CreateSandbox;
use crate::workspaces::branch_of;

/// What to clone, and for whom.
#[derive(Debug, Clone)]
pub struct SandboxClone {
    /// The repository's address.
    pub url: String,
    /// Who works on it; the caller when nobody is named.
    pub agent: Option<String>,
    /// On what.
    pub task: String,
    /// The branch to begin at; the remote's default branch when none is named.
    pub base: Option<String>,
    /// What the sandbox is made from.
    pub template: Option<String>,
    /// The secret that is the remote's token.
    pub secret: Option<SecretName>,
}

/// A repository in a sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxCloned {
    /// The sandbox.
    pub sandbox: SandboxId,
    /// Where the repository is in it.
    pub path: String,
    /// The branch that is checked out: `agent-{agent}-{task}`.
    pub branch: String,
    /// The branch that it began at.
    pub base: String,
    /// The commit that is checked out.
    pub head: String,
    /// Whether the remote had the branch already.
    pub is_resumed: bool,
}

impl SandboxGit {
    /// Makes a sandbox, clones a repository into it, and checks its agent's branch out.
    ///
    /// # Errors
    /// When the caller may not, a name or the address is refused, or the remote cannot be cloned. Then there is no
    /// sandbox either.
    pub async fn clone(&self, caller: &Caller, request: SandboxClone) -> Result<SandboxCloned> {
        self.counted("clone", caller, self.cloned(caller, request)).await
    }

    async fn cloned(&self, caller: &Caller, request: SandboxClone) -> Result<SandboxCloned> {
        let agent = match request.agent {
            Some(agent) => agent,
            None => plain(&caller.subject.to_string()),
        };
        let branch = branch_of(&agent, &request.task)?;
        let base = request.base.map(BranchName::new).transpose().map_err(from_git)?;
        let url = RemoteUrl::parse(&request.url).map_err(from_git)?;
        if !url.is_http() {
            return Err(Error::invalid(format!(
                "`url`: {url} cannot be cloned into a sandbox, which has no keys and none of this machine's files"
            ))
            .hint("use an https address"));
        }
        self.0.git.check_address(&url, &self.0.roots).map_err(from_git)?;
        // A token that is not there is told before anything is made.
        self.credentials(caller, &url, request.secret.as_ref()).await?;
        let metadata = metadata(&url, &branch, base.as_ref(), &agent, request.secret.as_ref());
        let made = self
            .0
            .sandboxes
            .create(
                caller,
                CreateSandbox {
                    template: request.template,
                    timeout: Some(self.0.settings.timeout),
                    metadata: metadata.into_iter().collect(),
                    ..CreateSandbox::default()
                },
            )
            .await?;
        let id = made.sandbox.row.id;
        let unfinished = Unfinished {
            url,
            branch,
            base,
            agent,
            secret: request.secret,
        };
        let cloned = self.fill(caller, id, unfinished).await;
        let outcome = if cloned.is_ok() {
            Outcome::Done
        } else {
            Outcome::Failed
        };
        let event = AuditEvent::with_outcome(caller, "sandbox_clone", id, outcome);
        self.0.audit.record_soon(event).await;
        if cloned.is_err() {
            // Nobody learns its name, so nobody would end it.
            let _ = self.0.sandboxes.kill(caller, id).await;
        }
        cloned
    }

    async fn fill(&self, caller: &Caller, id: SandboxId, unfinished: Unfinished) -> Result<SandboxCloned> {
        let sandbox = self.0.sandboxes.standing(caller, id).await?;
        let Unfinished {
            url,
            branch,
            base,
            agent,
            secret,
        } = unfinished;
        let path = make_place(&sandbox).await?;
        let credentials = self.credentials(caller, &url, secret.as_ref()).await?;
        let (mask, identity) = (credentials.mask()?, self.identity(&agent));
        let inside = Inside {
            sandbox: &sandbox,
            directory: path,
            time: self.0.settings.timeout,
            identity: (&identity.0, &identity.1),
            mask: &mask,
        };
        self.clone_here(&inside, &url, base.as_ref(), &credentials)
            .await?;
        let base = match base {
            Some(base) => base,
            None => BranchName::new(inside.default_branch().await?).map_err(from_git)?,
        };
        let is_resumed = inside.check_out(&branch, &base).await?;
        inside.keep_helper(&credentials).await?;
        let cloned = SandboxCloned {
            sandbox: id,
            path: path.to_owned(),
            branch: branch.as_str().to_owned(),
            base: base.as_str().to_owned(),
            head: inside.head().await?,
            is_resumed,
        };
        let checkout = Checkout {
            path: path.to_owned(),
            url,
            branch,
            base,
            agent,
            secret,
        };
        self.0.remember(id, Arc::new(checkout));
        Ok(cloned)
    }

    /// Clones a repository, at this branch or the remote's default.
    async fn clone_here(
        &self,
        inside: &Inside<'_>,
        url: &RemoteUrl,
        base: Option<&BranchName>,
        credentials: &Credentials,
    ) -> Result<()> {
        let mut words = vec!["clone", "--quiet", "--origin", "origin", "--no-tags"];
        if let Some(base) = base {
            words.extend(["--branch", base.as_str()]);
        }
        words.extend(["--", url.as_str(), "."]);
        let cloned = inside.attempt(&words, Some(credentials)).await?;
        if cloned.code == 0 {
            return Ok(());
        }
        let told = cloned.failure(&format!("cloning {url}"));
        let error = Error::new(ErrorKind::Unavailable, told.to_string()).hint(
            "see whether the address and `base` are right, and whether a token is needed: keep one as the secret \
             `GITHUB_TOKEN`, name another with `secret`, or have `git.sandbox_credentials` set, which lends the \
             server's own",
        );
        Err(match self.0.settings.network {
            Network::Full => error,
            Network::Registry | Network::None => error.hint(
                "sandboxes here reach package registries at most: whoever runs Agentyard adds the remote's host to \
                 `sandbox.registries`, or sets `e2b.network` to `full`",
            ),
        })
    }
}

impl Inside<'_> {
    /// Checks the agent's branch out: as the remote has it, or a new one at its base. Tells whether the remote had it.
    async fn check_out(&self, branch: &BranchName, base: &BranchName) -> Result<bool> {
        let remote = |name: &BranchName| format!("refs/remotes/origin/{}", name.as_str());
        let own = remote(branch);
        let known = self
            .attempt(&["rev-parse", "--verify", "--quiet", &own], None)
            .await?;
        let is_resumed = known.code == 0;
        let start = if is_resumed { own } else { remote(base) };
        let words = [
            "checkout",
            "--quiet",
            "--no-track",
            "-B",
            branch.as_str(),
            &start,
            "--",
        ];
        self.git("checking the agent's branch out", &words).await?;
        if is_resumed {
            self.note_pushed(&start).await?;
        }
        Ok(is_resumed)
    }

    /// Lets whoever calls git there with the variable set use the credential helper, which holds no token.
    async fn keep_helper(&self, credentials: &Credentials) -> Result<()> {
        if let Some((name, value)) = credentials.helper() {
            self.git("setting the credential helper", &["config", &name, value])
                .await?;
        }
        Ok(())
    }
}

/// What is to be in a sandbox.
struct Unfinished {
    url: RemoteUrl,
    branch: BranchName,
    base: Option<BranchName>,
    agent: String,
    secret: Option<SecretName>,
}

/// Makes the directory for the repository, in the first place where it can be made.
async fn make_place(sandbox: &Standing) -> Result<&'static str> {
    let mut said = String::new();
    for path in PLACES {
        let request = StartRequest {
            process: Config {
                cmd: "mkdir".to_owned(),
                args: vec!["-p".to_owned(), path.to_owned()],
                cwd: Some("/".to_owned()),
                ..Config::default()
            },
            stdin: Some(false),
            ..StartRequest::default()
        };
        let made = client::run(sandbox, &request, std::time::Duration::from_secs(30), 1000).await;
        let made = made.map_err(|error| Error::new(ErrorKind::Unavailable, gist(&error.to_string())))?;
        if made.end.exit_code == 0 {
            return Ok(path);
        }
        said = String::from_utf8_lossy(&made.stderr)
            .chars()
            .filter(|c| !c.is_control())
            .collect();
    }
    Err(Error::new(
        ErrorKind::Unavailable,
        format!("the sandbox has no place for a repository: {said}"),
    ))
}

/// A subject as a name: `user:ada@example.org` is `user-ada-example.org`.
fn plain(subject: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let name: String = subject
        .chars()
        .map(|c| if plain(c) { c } else { '-' })
        .take(64)
        .collect();
    name.trim_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_is_a_name() {
        assert_eq!(plain("user:ada@example.org"), "user-ada-example.org");
        assert_eq!(plain("agent:claude"), "agent-claude");
        assert!(plain(&"x".repeat(200)).len() <= 64);
    }
}
