//! Other repositories, on this machine and on others: which may be reached, how, and with which credentials.
//!
//! An address is read in this process, from the caller or from the repository's configuration, checked
//! ([`RemoteUrl`], [`HostPatterns`], [`Destination`]), and handed to git explicitly: git never looks an address up
//! by a remote's name.

mod attempts;
mod connection;
mod credential_session;
mod credentials;
mod destination;
mod failure;
mod hosts;
mod local;
mod redactions;
mod redirect;
mod remote_url;
mod rewriting;

use std::time::Duration;

use attempts::Attempts;
pub(crate) use connection::{Connection, Way};
pub use credential_session::{NONCE_VARIABLE, SOCKET_VARIABLE, answer_credential_request};
pub use credentials::{Credential, CredentialHelper};
use destination::Destination;
pub(crate) use destination::check_at_rest;
pub use hosts::HostPatterns;
pub(crate) use redactions::Redactions;
pub use remote_url::RemoteUrl;

/// How other machines are reached.
#[derive(Debug, Clone)]
pub struct NetworkSettings {
    /// Hosts that may be reached although they are not public, or only over plain HTTP.
    pub allowed_hosts: HostPatterns,
    /// How often a call is tried that may well succeed the next time.
    pub attempts: u32,
    /// How long to wait before the second attempt; before each further one, twice as long.
    pub first_wait: Duration,
    /// Who we are to other hosts.
    pub credentials: Vec<Credential>,
    /// The program through which git gets them. Without one, it gets none.
    pub helper: Option<CredentialHelper>,
}

impl Default for NetworkSettings {
    fn default() -> Self {
        Self {
            allowed_hosts: HostPatterns::default(),
            attempts: 3,
            first_wait: Duration::from_millis(500),
            credentials: Vec::new(),
            helper: None,
        }
    }
}
