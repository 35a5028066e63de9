//! Who we are to other hosts.

use std::path::PathBuf;

use agentyard_model::Secret;

use super::{HostPatterns, RemoteUrl};
use crate::program::Git;

/// A token or password for a host.
#[derive(Debug, Clone)]
pub struct Credential {
    /// For which hosts.
    pub hosts: HostPatterns,
    /// The user name; hosts that take tokens mostly do not care.
    pub username: String,
    /// The token.
    pub secret: Secret,
}

/// How git gets credentials: it starts a program of ours, which asks this process over a socket.
#[derive(Debug, Clone)]
pub struct CredentialHelper {
    /// The program, which calls [`answer_credential_request`](super::answer_credential_request).
    pub program: PathBuf,
    /// The words that come before git's own.
    pub arguments: &'static str,
    /// Where sockets may be made.
    pub directory: PathBuf,
}

impl Git {
    /// Who we are where an address leads, if anybody.
    pub fn credential_for(&self, url: &RemoteUrl) -> Option<&Credential> {
        credential_for(&self.settings().network.credentials, url)
    }
}

/// The first credential for where an address leads.
pub(super) fn credential_for<'a>(credentials: &'a [Credential], url: &RemoteUrl) -> Option<&'a Credential> {
    let super::remote_url::Place::Http { host, port, .. } = url.place() else {
        return None;
    };
    credentials
        .iter()
        .find(|credential| credential.hosts.cover(&host.to_string(), *port))
}
