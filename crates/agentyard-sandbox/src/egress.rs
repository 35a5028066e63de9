//! The way out of a sandbox: a proxy that filters.
//!
//! A sandbox has a network of its own in which there is nothing but one listening socket. Whoever made that socket hands it
//! in ([`Egress::serve`]), and what is asked for there is fetched from outside, by the server: package registries only,
//! or everything public. A name is looked up once, every address that it has is checked, and one of those is connected to,
//! so that no name leads to this machine or to its neighbours.

mod addresses;
mod connection;
mod destination;
mod hello;
mod meter;
mod reach;
mod refusal;
mod registries;
mod relay;
mod upstream;

use std::io;
use std::net::TcpListener as StdTcpListener;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, JoinSet};

use crate::command::Network;
use crate::standing::Reach;
pub use addresses::Addresses;
use meter::Allowance;
use reach::Grant;
pub use refusal::Denied;
use refusal::Refusal;
use registries::Registries;
pub(crate) use registries::WELL_KNOWN as WELL_KNOWN_REGISTRIES;
use upstream::Upstream;

/// The port at which programs in a sandbox find the proxy, on their own loopback address.
pub const EGRESS_PORT: u16 = 3128;

/// How many refusals are remembered for each sandbox.
const MAX_DENIED: usize = 32;

/// How long to wait when the machine has no descriptor left for another connection.
const BREATH: Duration = Duration::from_millis(100);

/// What tells programs in a sandbox where the proxy is. Both spellings are in use.
#[must_use]
pub fn egress_environment() -> Vec<(String, String)> {
    ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"]
        .map(|name| (name.to_owned(), format!("http://127.0.0.1:{EGRESS_PORT}")))
        .to_vec()
}

/// Whom sandboxes may reach, and by which way.
#[derive(Debug, Clone, Default)]
pub struct EgressSettings {
    /// Hosts beside the well-known registries: `packages.example`, `*.example`, each with a port where it is not the usual
    /// one. A host that is named in full may have a private address.
    pub registries: Vec<String>,
    /// The proxy that the server itself must use: `http://proxy.example:3128`, with a user and a password where needed.
    pub upstream: Option<String>,
    /// What sandboxes may take.
    pub bounds: EgressBounds,
    /// How names lead to addresses, and which of these are public.
    pub addresses: Addresses,
}

/// What sandboxes may take of the server.
#[derive(Debug, Clone, Copy)]
pub struct EgressBounds {
    /// Connections that one sandbox has at once; more wait.
    pub connections: usize,
    /// Connections of all sandboxes at once; more wait. Each costs the server two descriptors.
    pub connections_in_all: usize,
    /// How long the head of a request may be.
    pub header_bytes: usize,
    /// How long the head of a request may take.
    pub header_time: Duration,
    /// How long a connection may be quiet.
    pub idle: Duration,
    /// How much one sandbox may send and receive in all.
    pub bytes: u64,
}

impl Default for EgressBounds {
    fn default() -> Self {
        Self {
            connections: 64,
            connections_in_all: 256,
            header_bytes: 32 * 1024,
            header_time: Duration::from_secs(15),
            idle: Duration::from_secs(120),
            bytes: 16 * 1024 * 1024 * 1024,
        }
    }
}

/// A setting that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("`{text}` cannot be used: {reason}")]
pub struct InvalidEgress {
    /// What was set, without a password.
    pub text: String,
    /// Why it cannot be used.
    pub reason: &'static str,
}

/// The proxy that filters. Copies share their bounds.
#[derive(Debug, Clone)]
pub struct Egress(Arc<Policy>);

/// What holds for all sandboxes.
#[derive(Debug)]
struct Policy {
    registries: Registries,
    upstream: Option<Upstream>,
    addresses: Addresses,
    bounds: EgressBounds,
    connections: Arc<Semaphore>,
}

/// What holds for one sandbox.
#[derive(Debug)]
struct Tenancy {
    policy: Arc<Policy>,
    grant: Mutex<Arc<Grant>>,
    allowance: Allowance,
    denied: Mutex<Vec<Denied>>,
}

/// The proxy at work for one sandbox. Dropping this closes its listener and every connection.
#[derive(Debug)]
pub struct Serving {
    tenancy: Arc<Tenancy>,
    accepting: JoinHandle<()>,
}

impl Egress {
    /// A proxy by these settings.
    ///
    /// # Errors
    /// When a registry or the server's own proxy is not written as it must be.
    pub fn new(settings: EgressSettings) -> Result<Self, InvalidEgress> {
        Ok(Self(Arc::new(Policy {
            registries: Registries::new(&settings.registries)?,
            upstream: settings.upstream.as_deref().map(Upstream::parse).transpose()?,
            addresses: settings.addresses,
            bounds: settings.bounds,
            connections: Arc::new(Semaphore::new(settings.bounds.connections_in_all)),
        })))
    }

    /// Answers at a socket that a sandbox reaches. Must be called where tokio runs.
    ///
    /// # Errors
    /// When the socket cannot be used.
    pub fn serve(&self, listener: StdTcpListener, network: Network) -> io::Result<Serving> {
        self.serve_grant(listener, Grant::of(network))
    }

    /// The same for a sandbox that has lists of its own.
    ///
    /// # Errors
    /// When a list is not written as it must be, or the socket cannot be used.
    pub(crate) fn serve_reach(&self, listener: StdTcpListener, reach: &Reach) -> io::Result<Serving> {
        let grant = Grant::parse(reach).map_err(io::Error::other)?;
        self.serve_grant(listener, grant)
    }

    fn serve_grant(&self, listener: StdTcpListener, grant: Grant) -> io::Result<Serving> {
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let tenancy = Arc::new(Tenancy {
            policy: Arc::clone(&self.0),
            grant: Mutex::new(Arc::new(grant)),
            allowance: Allowance::new(self.0.bounds.bytes),
            denied: Mutex::default(),
        });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&tenancy)));
        Ok(Serving { tenancy, accepting })
    }
}

impl Reach {
    /// Checks how the lists are written.
    ///
    /// # Errors
    /// The first entry that is not written as it must be.
    pub fn check(&self) -> Result<(), InvalidEgress> {
        Grant::parse(self).map(drop)
    }
}

impl Serving {
    /// Lets the sandbox reach others than before. What is connected already stays so.
    ///
    /// # Errors
    /// When a list is not written as it must be.
    pub(crate) fn set_reach(&self, reach: &Reach) -> Result<(), InvalidEgress> {
        let grant = Arc::new(Grant::parse(reach)?);
        *self.tenancy.grant.lock().unwrap_or_else(PoisonError::into_inner) = grant;
        Ok(())
    }

    /// What was refused or not reached so far, each destination once and the first ones only.
    #[must_use]
    pub fn denied(&self) -> Vec<Denied> {
        self.tenancy.denied().clone()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Tenancy {
    /// Whom the sandbox may reach now.
    fn grant(&self) -> Arc<Grant> {
        Arc::clone(&self.grant.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn denied(&self) -> std::sync::MutexGuard<'_, Vec<Denied>> {
        self.denied.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers a refusal, for those who ask what went wrong.
    fn remember(&self, refusal: &Refusal) {
        let mut denied = self.denied();
        let known = denied
            .iter()
            .any(|known| known.destination == refusal.denied.destination);
        if !known && denied.len() < MAX_DENIED {
            denied.push(refusal.denied.clone());
        }
    }
}

/// Takes connections for as long as anybody lets it. Those that it has taken end with it.
async fn accept(listener: TcpListener, tenancy: Arc<Tenancy>) {
    let own = Arc::new(Semaphore::new(tenancy.policy.bounds.connections));
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let Ok(place) = Arc::clone(&own).acquire_owned().await else {
            return;
        };
        let Ok((client, _)) = listener.accept().await else {
            tokio::time::sleep(BREATH).await;
            continue;
        };
        let tenancy = Arc::clone(&tenancy);
        connections.spawn(async move {
            if let Ok(_shared) = tenancy.policy.connections.acquire().await {
                connection::serve(client, &tenancy).await;
            }
            drop(place);
        });
    }
}
