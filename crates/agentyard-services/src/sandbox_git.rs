//! Git in sandboxes: a repository is cloned into a sandbox of its own, worked on there, and pushed from there.
//!
//! Git runs inside, where the repository is, and whoever works there may have changed the repository's settings; so every
//! call carries its own, which are stronger, and whatever git says is read as a stranger's word. The token goes into the
//! environment of those calls that talk to the remote and nowhere else, and is given to no host but the remote's.

mod calling;
mod checkout;
mod cloning;
mod credentials;
mod diffing;
mod pulling;
mod pushing;
mod status;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use agentyard_git::{Git, Roots};
use agentyard_model::{Caller, Permission, SandboxId};
use agentyard_sandbox::Network;

use crate::audit::AuditLog;
use crate::error::Result;
use crate::sandbox_measures as measures;
use crate::sandboxes::{SandboxSettings, Sandboxes};
use crate::secrets::Secrets;
use checkout::Checkout;
pub use cloning::{SandboxClone, SandboxCloned};
pub use diffing::{SandboxDiff, SandboxDiffFile, SandboxDiffRequest};
pub use pulling::SandboxPulled;
pub use pushing::{SandboxPush, SandboxPushed};
pub use status::{SandboxChange, SandboxStatus};

/// How git is used in sandboxes.
#[derive(Debug, Clone)]
pub(crate) struct SandboxGitSettings {
    /// How long a sandbox stays after its last use, and how long one call may take.
    timeout: Duration,
    /// How often a push is tried.
    max_retries: u32,
    /// Whether the server's own tokens are used there for who has none.
    use_own_credentials: bool,
    /// Whom commands may talk to at most.
    network: Network,
}

impl SandboxGitSettings {
    pub(crate) fn of(settings: &SandboxSettings, network: Network) -> Self {
        Self {
            timeout: settings.git_timeout.clamp(SHORTEST, LONGEST),
            max_retries: settings.git_max_retries,
            use_own_credentials: settings.git_own_credentials,
            network,
        }
    }
}

/// Less is not enough to clone anything.
const SHORTEST: Duration = Duration::from_secs(10);

/// For how long nobody may use a sandbox with a repository before it ends.
const LONGEST: Duration = Duration::from_secs(60 * 60);

/// Git in sandboxes.
#[derive(Clone)]
pub struct SandboxGit(Arc<Inner>);

struct Inner {
    sandboxes: Sandboxes,
    secrets: Secrets,
    git: Arc<Git>,
    roots: Roots,
    audit: AuditLog,
    settings: SandboxGitSettings,
    /// What is known of the repositories in sandboxes. All of it can be found out again.
    known: Mutex<HashMap<SandboxId, Arc<Checkout>>>,
}

/// What git in sandboxes stands on.
pub(crate) struct SandboxGitParts {
    pub(crate) sandboxes: Sandboxes,
    pub(crate) secrets: Secrets,
    pub(crate) git: Arc<Git>,
    pub(crate) roots: Roots,
    pub(crate) audit: AuditLog,
    pub(crate) settings: SandboxGitSettings,
}

impl SandboxGit {
    pub(crate) fn new(parts: SandboxGitParts) -> Self {
        Self(Arc::new(Inner {
            sandboxes: parts.sandboxes,
            secrets: parts.secrets,
            git: parts.git,
            roots: parts.roots,
            audit: parts.audit,
            settings: parts.settings,
            known: Mutex::default(),
        }))
    }

    /// Does something, and counts it.
    async fn counted<T>(
        &self,
        kind: &'static str,
        caller: &Caller,
        work: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        caller.require(Permission::AgentRun)?;
        let started = Instant::now();
        let done = work.await;
        measures::operated(kind, started.elapsed(), done.as_ref().err());
        done
    }
}
