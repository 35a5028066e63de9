//! What is known of the repository in a sandbox, and the way to work on it.

use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use agentyard_git::{BranchName, RemoteUrl};
use agentyard_model::{Caller, Sandbox, SandboxId, SecretName};
use agentyard_sandbox::Standing;

use super::calling::{Answer, Inside};
use super::credentials::Credentials;
use super::{Inner, SandboxGit};
use crate::error::{Error, ErrorKind, Result};
use crate::failures::from_git;
use crate::masking::Mask;
use crate::sandbox_measures as measures;

/// Where the repository is: the first that can be made.
pub(super) const PLACES: [&str; 2] = ["/workspace/repo", "/home/user/workspace/repo"];

/// The names under which a sandbox remembers what was cloned into it.
const URL: &str = "agentyard.git.url";
const BRANCH: &str = "agentyard.git.branch";
const BASE: &str = "agentyard.git.base";
const AGENT: &str = "agentyard.git.agent";
const SECRET: &str = "agentyard.git.secret";

/// Beyond this, what is known of others is forgotten.
const MAX_KNOWN: usize = 1000;

/// The repository in a sandbox.
#[derive(Debug, Clone)]
pub(super) struct Checkout {
    pub(super) path: String,
    pub(super) url: RemoteUrl,
    pub(super) branch: BranchName,
    pub(super) base: BranchName,
    pub(super) agent: String,
    pub(super) secret: Option<SecretName>,
}

/// A sandbox that is worked in.
pub(super) struct Session {
    pub(super) sandbox: Standing,
    pub(super) checkout: Arc<Checkout>,
    pub(super) credentials: Credentials,
    mask: Mask,
    time: Duration,
    identity: (String, String),
}

impl Session {
    /// Git where the repository is.
    pub(super) fn inside(&self) -> Inside<'_> {
        Inside {
            sandbox: &self.sandbox,
            directory: &self.checkout.path,
            time: self.time,
            identity: (&self.identity.0, &self.identity.1),
            mask: &self.mask,
        }
    }

    /// Calls git about the remote: with these words, its address, and these references.
    pub(super) async fn ask_remote(&self, words: &[&str], references: &[&str]) -> Result<Answer> {
        // Not as `origin`: what the repository's settings say of that may have been changed.
        let (settings, address) = self.credentials.address(&self.checkout.url);
        let mut call: Vec<&str> = settings.iter().map(String::as_str).collect();
        call.extend(words);
        call.extend(["--", &address]);
        call.extend(references);
        self.inside().attempt(&call, Some(&self.credentials)).await
    }

    /// What somebody else said, without secrets.
    pub(super) fn masked(&self, text: &str) -> String {
        self.mask.text(text)
    }
}

/// What a sandbox is to remember.
pub(super) fn metadata(
    url: &RemoteUrl,
    branch: &BranchName,
    base: Option<&BranchName>,
    agent: &str,
    secret: Option<&SecretName>,
) -> Vec<(String, String)> {
    let known = [
        (URL, Some(url.as_str())),
        (BRANCH, Some(branch.as_str())),
        (BASE, base.map(BranchName::as_str)),
        (AGENT, Some(agent)),
        (SECRET, secret.map(SecretName::as_str)),
    ];
    known
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
        .collect()
}

impl SandboxGit {
    /// The sandbox with this id, which stays for a while longer.
    pub(super) async fn session(&self, caller: &Caller, id: SandboxId) -> Result<Session> {
        let timeout = self.0.settings.timeout;
        let details = self.0.sandboxes.set_timeout(caller, id, timeout).await;
        let row = details.map_err(|error| self.explained(id, error))?.row;
        let sandbox = self.0.sandboxes.standing(caller, id).await;
        let sandbox = sandbox.map_err(|error| self.explained(id, error))?;
        let known = self.0.known().get(&id).cloned();
        measures::looked_up(known.is_some());
        let checkout = match known {
            Some(known) => known,
            None => {
                let found = Arc::new(self.found(&row, &sandbox).await?);
                self.0.remember(id, Arc::clone(&found));
                found
            }
        };
        let secret = checkout.secret.as_ref();
        let credentials = self.credentials(caller, &checkout.url, secret).await?;
        let mask = credentials.mask()?;
        // Which secret is wanted, and for whom, was said by whoever made the sandbox.
        let credentials = match row.owner == caller.subject.to_string() {
            true => credentials,
            false => credentials.kept_back(),
        };
        let identity = self.identity(&checkout.agent);
        Ok(Session {
            sandbox,
            credentials,
            mask,
            time: self.0.settings.timeout,
            identity,
            checkout,
        })
    }

    /// Who makes an agent's commits: whom the settings name, or the agent.
    pub(super) fn identity(&self, agent: &str) -> (String, String) {
        let configured = &self.0.git.settings().identity;
        let (name, address) = (configured.author_name.clone(), configured.author_email.clone());
        (
            name.unwrap_or_else(|| agent.to_owned()),
            address.unwrap_or_else(|| format!("{agent}@agentyard.invalid")),
        )
    }

    /// Finds out what was cloned into a sandbox, after this process forgot it.
    async fn found(&self, row: &Sandbox, sandbox: &Standing) -> Result<Checkout> {
        let told = |name: &str| row.metadata.get(name);
        let missing = || {
            Error::invalid(format!("no repository was cloned into the sandbox `{}`", row.id))
                .hint("`sandbox_clone` makes a sandbox with one")
        };
        let (Some(url), Some(branch), Some(agent)) = (told(URL), told(BRANCH), told(AGENT)) else {
            return Err(missing());
        };
        let mask = Mask::nothing();
        let inside = |directory| Inside {
            sandbox,
            directory,
            time: self.0.settings.timeout,
            identity: ("agentyard", "agentyard@agentyard.invalid"),
            mask: &mask,
        };
        for path in PLACES {
            let looked = inside(path).attempt(&["rev-parse", "--git-dir"], None).await;
            if !looked.is_ok_and(|looked| looked.code == 0) {
                continue;
            }
            let base = match told(BASE) {
                Some(base) => base.clone(),
                None => inside(path).default_branch().await?,
            };
            return Ok(Checkout {
                path: path.to_owned(),
                url: RemoteUrl::parse(url).map_err(from_git)?,
                branch: BranchName::new(branch).map_err(from_git)?,
                base: BranchName::new(base).map_err(from_git)?,
                agent: agent.clone(),
                secret: told(SECRET).and_then(|name| name.parse().ok()),
            });
        }
        Err(missing())
    }

    /// What it means here that a sandbox is not there.
    fn explained(&self, id: SandboxId, error: Error) -> Error {
        if error.kind() != ErrorKind::NotFound {
            return error;
        }
        self.0.known().remove(&id);
        Error::not_found(format!(
            "the sandbox `{id}` is not there: it expired, was ended, or is not yours"
        ))
        .hint("clone again with `sandbox_clone`; what was pushed is on the remote")
    }
}

impl Inside<'_> {
    /// The remote's default branch.
    pub(super) async fn default_branch(&self) -> Result<String> {
        let words = ["symbolic-ref", "--short", "refs/remotes/origin/HEAD"];
        let told = self
            .git("looking for the remote's default branch", &words)
            .await?;
        let name = told.line();
        Ok(name.strip_prefix("origin/").unwrap_or(&name).to_owned())
    }
}

impl Inner {
    pub(super) fn remember(&self, id: SandboxId, checkout: Arc<Checkout>) {
        let mut known = self.known();
        if known.len() >= MAX_KNOWN {
            known.clear();
        }
        known.insert(id, checkout);
    }

    fn known(&self) -> MutexGuard<'_, std::collections::HashMap<SandboxId, Arc<Checkout>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
