//! Sandboxes that stay: one that is stood up has a daemon in it, which starts programs and reads and writes files for
//! whoever may ask, until it is taken down.

mod held;
mod scales;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use agentyard_envd::{Body, Exchange, Exchanged};
use http::Request;

use crate::command::{CommandError, EndCause, Limits, Mount, Network};
use crate::egress::InvalidEgress;
use crate::sandbox::Awaited;
pub(crate) use held::{Held, end_of};
pub(crate) use scales::Scales;

/// Where the home directory is, and whose.
pub const STANDING_HOME: &str = "/home/user";

/// As whom programs run there.
pub const STANDING_USER: &str = "user";

/// What a sandbox that stays is made of.
#[derive(Debug)]
pub struct Site {
    /// The image it is made from, where sandboxes are made from images; else that which the settings name.
    pub image: Option<String>,
    /// Its directories. Whatever is not below one of them is gone with it.
    pub mounts: Vec<Mount>,
    /// The environment of its programs.
    pub environment: Vec<(String, String)>,
    /// Whom it may talk to.
    pub reach: Reach,
    /// What it cannot have more of, as a whole. How long it may stay is its owner's to say.
    pub limits: Limits,
    /// How long it stays when nobody says more: whoever lets us sandboxes ends them by themselves.
    pub lifetime: Duration,
}

/// Whom a sandbox may talk to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reach {
    /// In general.
    pub network: Network,
    /// If there are any, nobody but these: host names, `*.` before one for all below it, addresses and blocks of them.
    /// They win over the denied.
    pub allowed: Vec<String>,
    /// Not these, though the network would do.
    pub denied: Vec<String>,
}

/// Lists that are not written as they must be.
pub(crate) fn invalid_reach(error: &InvalidEgress) -> CommandError {
    CommandError::Refused {
        reason: error.to_string(),
        remedy:
            "write host names, `*.` before one for all below it, addresses, or blocks such as 192.0.2.0/24"
                .to_owned(),
    }
}

/// Whoever keeps sandboxes elsewhere copies them; ours are copied by [`crate::Grounds`].
fn is_here() -> CommandError {
    CommandError::Refused {
        reason: "its files are on this machine, and are copied here".to_owned(),
        remedy: "copy the directories that it stands on".to_owned(),
    }
}

/// What a sandbox takes at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Load {
    /// How long processors have worked for it so far.
    pub cpu: Option<Duration>,
    /// How much memory it uses.
    pub memory_bytes: Option<u64>,
    /// How much of that is only there to be fast.
    pub cache_bytes: Option<u64>,
    /// How much its directories hold.
    pub disk_bytes: Option<u64>,
}

/// A sandbox that stays until it is taken down. Copies are the same one; dropping the last one takes it down.
#[derive(Debug, Clone)]
pub struct Standing(Arc<dyn Stands>);

/// A sandbox that stays, in one of the ways.
pub(crate) trait Stands: Exchange {
    /// Its name with whoever keeps it, where that is not us.
    fn name(&self) -> Option<String> {
        None
    }
    fn freeze(&self) -> Awaited<'_, Result<(), CommandError>>;
    fn thaw(&self) -> Awaited<'_, Result<(), CommandError>>;
    fn load(&self) -> Awaited<'_, Load>;
    fn set_reach(&self, reach: Reach) -> Awaited<'_, Result<(), CommandError>>;
    fn renew(&self, _lifetime: Duration) -> Awaited<'_, Result<(), CommandError>> {
        Box::pin(async { Ok(()) })
    }
    fn snapshot(&self, _name: &str) -> Awaited<'_, Result<String, CommandError>> {
        Box::pin(async { Err(is_here()) })
    }
    fn fork(&self, _count: u32) -> Awaited<'_, Result<Vec<Result<Standing, CommandError>>, CommandError>> {
        Box::pin(async { Err(is_here()) })
    }
    fn ended(&self) -> Awaited<'_, EndCause>;
    fn take_down(&self) -> Awaited<'_, ()>;
}

impl Standing {
    pub(crate) fn new(stands: impl Stands + 'static) -> Self {
        Self(Arc::new(stands))
    }

    /// Its name with whoever keeps it, where that is not us.
    #[must_use]
    pub fn name(&self) -> Option<String> {
        self.0.name()
    }

    /// Stops everybody inside, who keep what they have. While it is frozen, the daemon does not answer.
    ///
    /// # Errors
    /// When this machine cannot, or the sandbox is gone.
    pub async fn freeze(&self) -> Result<(), CommandError> {
        self.0.freeze().await
    }

    /// Lets everybody inside go on.
    ///
    /// # Errors
    /// When the sandbox is gone.
    pub async fn thaw(&self) -> Result<(), CommandError> {
        self.0.thaw().await
    }

    /// What it takes at the moment.
    pub async fn load(&self) -> Load {
        self.0.load().await
    }

    /// Lets it talk to others than before. What is connected already stays so.
    ///
    /// # Errors
    /// When a name or block is not written as it must be, or the sandbox has no way out at all.
    pub async fn set_reach(&self, reach: Reach) -> Result<(), CommandError> {
        self.0.set_reach(reach).await
    }

    /// Lets it stay for so long from now, where somebody else would end it.
    ///
    /// # Errors
    /// When the sandbox is gone, or whoever keeps it cannot be reached.
    pub async fn renew(&self, lifetime: Duration) -> Result<(), CommandError> {
        self.0.renew(lifetime).await
    }

    /// Lets whoever keeps it keep it as it is now, too, and tells what they call that. It is what [`Site::image`] takes.
    ///
    /// # Errors
    /// When its files are on this machine, whoever keeps it refuses, or cannot be reached.
    pub async fn snapshot(&self, name: &str) -> Result<String, CommandError> {
        self.0.snapshot(name).await
    }

    /// Lets whoever keeps it make so many copies of it as it is now, each of which may fail by itself.
    ///
    /// # Errors
    /// When its files are on this machine, whoever keeps it refuses, or cannot be reached.
    pub async fn fork(&self, count: u32) -> Result<Vec<Result<Self, CommandError>>, CommandError> {
        self.0.fork(count).await
    }

    /// Waits until it is gone, and tells why. Any number may wait.
    pub async fn ended(&self) -> EndCause {
        self.0.ended().await
    }

    /// Ends everybody inside, and returns when nobody is left.
    pub async fn take_down(&self) {
        self.0.take_down().await;
    }
}

impl Exchange for Standing {
    fn exchange(&self, request: Request<Body>) -> Exchanged<'_> {
        self.0.exchange(request)
    }
}

impl fmt::Display for Standing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name().as_deref().unwrap_or("a sandbox of this machine"))
    }
}
