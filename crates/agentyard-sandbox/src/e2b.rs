//! Sandboxes that somebody else keeps: E2B, or any server that speaks its protocol.
//!
//! A sandbox there is made over REST and used through the daemon in it, as one of our own. It knows nothing of the
//! directories of this machine, so a command's are copied: what changed here goes there before the command, and what
//! changed there comes back after it (see [`sync`]). Whatever a sandbox says is the word of whoever runs code in it.
//!
//! Nothing is left behind: a sandbox ends with the value that stands for it, and by itself when this process is gone,
//! because nobody renews its time any more.

mod api;
mod launch;
mod limits;
mod link;
mod network;
mod paths;
mod pool;
mod rooms;
mod running;
mod stood;
mod sync;
mod transfer;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agentyard_model::Secret;
use tokio::sync::OnceCell;

use crate::command::{Command, CommandError, Limits, Mount};
use crate::sandbox::{Awaited, Backend, Enforcement, Running, Sandbox, Weakness};
use crate::standing::{Reach, Site, Standing, Stands as _};
use api::{Api, ApiError};
use rooms::Rooms;

/// How long a sandbox stays in which something is tried.
const TRIAL: Duration = Duration::from_secs(60);

/// How E2B is reached, and what is made there.
#[derive(Debug, Clone)]
pub struct E2bSettings {
    /// The key by which it knows whose the sandboxes are.
    pub api_key: Secret,
    /// Where sandboxes are made. Without one, `https://api.<domain>`.
    pub api_url: Option<String>,
    /// Where all sandboxes are reached, told apart by a header. Without one, `https://<port>-<id>.<domain>`.
    pub sandbox_url: Option<String>,
    /// The domain of the service.
    pub domain: String,
    /// What sandboxes are made from.
    pub template: String,
    /// How long a sandbox stays when nobody renews it, as happens all the while it is used.
    pub lifetime: Duration,
    /// For how long the sandbox of a workspace is kept after its last command.
    pub idle: Duration,
    /// How many sandboxes wait for use, if any do.
    pub pool: Option<PoolSettings>,
    /// The proxy through which this machine reaches the Internet.
    pub proxy: Option<Secret>,
    /// The hosts that a command may reach whose network is `registry`, beside the well-known ones.
    pub registries: Vec<String>,
}

impl Default for E2bSettings {
    fn default() -> Self {
        Self {
            api_key: Secret::new(""),
            api_url: None,
            sandbox_url: None,
            domain: "e2b.app".to_owned(),
            template: "base".to_owned(),
            lifetime: Duration::from_secs(300),
            idle: Duration::from_secs(60 * 60),
            pool: None,
            proxy: None,
            registries: Vec::new(),
        }
    }
}

/// Sandboxes that wait for use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolSettings {
    /// How many wait.
    pub min: usize,
    /// How many there are at most, with those in use.
    pub max: usize,
    /// How old one may get before it is used.
    pub time_to_live: Duration,
}

impl Default for PoolSettings {
    fn default() -> Self {
        Self {
            min: 3,
            max: 10,
            time_to_live: Duration::from_secs(60 * 60),
        }
    }
}

/// Settings with which nothing can be reached.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{key}` {reason}")]
pub struct InvalidE2b {
    /// Which of them.
    pub key: &'static str,
    /// What is wrong with it.
    pub reason: String,
}

/// Runs commands in sandboxes of E2B.
#[derive(Debug, Clone)]
pub struct E2b(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    api: Arc<Api>,
    rooms: Rooms,
    /// What holds, once that was tried.
    tried: OnceCell<Enforcement>,
}

impl E2b {
    /// Runs commands by these settings. Nothing is asked for before the first one.
    ///
    /// # Errors
    /// When an address is none, or there is no key.
    pub fn new(settings: E2bSettings) -> Result<Self, InvalidE2b> {
        let api = Arc::new(Api::new(&settings)?);
        let rooms = Rooms::new(Arc::clone(&api), &settings);
        Ok(Self(Arc::new(Inner {
            api,
            rooms,
            tried: OnceCell::new(),
        })))
    }
}

impl Sandbox for E2b {
    fn backend(&self) -> Backend {
        Backend::E2b
    }

    fn start(&self, command: Command) -> Awaited<'_, Result<Running, CommandError>> {
        Box::pin(async move {
            let mut held = self.0.rooms.hold(&command).await?;
            let copied = match running::prepare(&mut held, &command).await {
                // It was there when it was used last, and has gone since.
                Err(_) if held.has_ended() => {
                    self.0.rooms.refurnish(&mut held, command.network).await?;
                    running::prepare(&mut held, &command).await
                }
                prepared => prepared,
            };
            match copied {
                Ok(copied) => Ok(running::start(held, copied, command)),
                Err(error) => {
                    held.give_up();
                    Err(error)
                }
            }
        })
    }

    fn stand_up(&self, site: Site) -> Awaited<'_, Result<Standing, CommandError>> {
        Box::pin(async move {
            let stood = self.0.rooms.stand_up(site).await?;
            Ok(Standing::new(stood))
        })
    }

    fn remove_snapshot<'a>(&'a self, name: &'a str) -> Awaited<'a, Result<(), CommandError>> {
        Box::pin(async move {
            let removed = self.0.api.remove_snapshot(name).await;
            removed.map_err(|error| failed(&error))
        })
    }

    fn path_inside(&self, mount: &Mount) -> PathBuf {
        paths::inside(&mount.at)
    }

    fn enforcement(&self) -> Awaited<'_, Enforcement> {
        Box::pin(async move {
            let tried = self.0.tried.get_or_try_init(|| self.tried()).await;
            tried.cloned().unwrap_or_else(|error| broken(&error))
        })
    }

    fn warm_up(&self) -> Awaited<'_, Result<(), CommandError>> {
        Box::pin(self.0.rooms.warm_up())
    }

    fn end(&self) -> Awaited<'_, ()> {
        Box::pin(self.0.rooms.end())
    }
}

impl E2b {
    /// Tries what holds in a sandbox of its own.
    async fn tried(&self) -> Result<Enforcement, CommandError> {
        self.0.api.reachable().await.map_err(|error| failed(&error))?;
        let stood = self.0.rooms.stand_up(nobodys_site()).await?;
        let tried = limits::tried(stood.link()).await;
        stood.take_down().await;
        tried.map_err(|error| CommandError::Remote {
            reason: format!("a sandbox was made and could not be used: {error}"),
            remedy: "see `e2b.sandbox_url` and `e2b.domain`".to_owned(),
        })
    }
}

/// A sandbox in which something is tried.
fn nobodys_site() -> Site {
    Site {
        image: None,
        mounts: Vec::new(),
        environment: Vec::new(),
        reach: Reach::default(),
        limits: Limits::default(),
        lifetime: TRIAL,
    }
}

fn broken(error: &CommandError) -> Enforcement {
    let remedy =
        "see `e2b.api_key`, `e2b.api_url` and `e2b.domain`, and whether the service can be reached from here";
    Enforcement {
        breaches: vec![Weakness {
            what: "the service".to_owned(),
            reason: error.to_string(),
            remedy: remedy.to_owned(),
        }],
        ..Enforcement::default()
    }
}

/// What a failure of the service means for a command.
fn failed(error: &ApiError) -> CommandError {
    CommandError::Remote {
        reason: error.to_string(),
        remedy: error.remedy().to_owned(),
    }
}
