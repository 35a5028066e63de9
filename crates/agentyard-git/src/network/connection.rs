//! A checked destination, with everything that git is to know about it.

use std::sync::atomic::AtomicBool;

use super::credential_session::CredentialSession;
use super::credentials::credential_for;
use super::destination::Route;
use super::failure::{self, Trouble};
use super::{Attempts, Destination, Redactions, RemoteUrl, local, redirect, rewriting};
use crate::program::{Finished, Git, Invocation, Reach};
use crate::{Error, Roots};

/// Below a thousand bytes a second for half a minute, a remote is given up.
const TOO_SLOW: [(&str, &str); 2] = [("http.lowSpeedLimit", "1000"), ("http.lowSpeedTime", "30")];

/// Asks nobody, notices when the other side is gone, and refuses hosts whose key is not known: with `BatchMode`
/// there is nobody to accept one, unless the person's own ssh configuration does.
const SSH: &str =
    "ssh -o BatchMode=yes -o ConnectTimeout=15 -o ServerAliveInterval=10 -o ServerAliveCountMax=2";

/// Which way objects go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Fetch,
    Push,
}

/// A connection that git may make. Credentials are served as long as it lives.
pub(crate) struct Connection {
    destination: Destination,
    session: Option<CredentialSession>,
    redactions: Redactions,
    has_own_ssh: bool,
}

impl Connection {
    /// Checks where an address leads, and gets ready to go there.
    pub(crate) fn open(
        git: &Git,
        url: &RemoteUrl,
        way: Way,
        roots: &Roots,
        cancel: &AtomicBool,
    ) -> Result<Self, Error> {
        let network = &git.settings().network;
        let personal = git.personal_settings(cancel)?;
        let url = RemoteUrl::parse(&rewriting::rewritten(url.as_str(), way, &personal))?;
        let destination = Attempts::new(network, cancel, None).run(|| {
            Destination::check(git, url.clone(), roots, cancel).map_err(|error| Trouble {
                is_passing: matches!(error, Error::Unreachable { .. }),
                ..Trouble::for_good(error)
            })
        })?;
        let credential = credential_for(&network.credentials, &destination.url);
        let session = match (credential, &network.helper) {
            (Some(credential), Some(helper)) => {
                Some(CredentialSession::serve(helper, credential, &destination.url)?)
            }
            _ => None,
        };
        Ok(Self {
            destination,
            session,
            redactions: Redactions::of(&network.credentials),
            has_own_ssh: personal
                .iter()
                .any(|(key, _)| key.eq_ignore_ascii_case("core.sshCommand")),
        })
    }

    /// The address, as git gets it.
    pub(crate) fn url(&self) -> &RemoteUrl {
        &self.destination.url
    }

    /// Makes a call one that goes through this connection. Operands follow after this.
    pub(crate) fn through<'a>(&'a self, call: Invocation<'a>, way: Way) -> Invocation<'a> {
        let mut call = call
            .reach(Reach::Network)
            .redacting(&self.redactions)
            .setting("transfer.bundleURI", "false");
        match &self.destination.route {
            Route::Local(repository) => {
                let (option, service) = match way {
                    Way::Fetch => ("--upload-pack", "upload-pack"),
                    Way::Push => ("--receive-pack", "receive-pack"),
                };
                let server = local::server(call.git(), service);
                call = call
                    .protocols("file")
                    .option(option, server)
                    .local_peer(repository, way == Way::Push);
            }
            Route::Ssh => {
                call = call.protocols("ssh");
                if !self.has_own_ssh {
                    call = call.setting("core.sshCommand", SSH).setting("ssh.variant", "ssh");
                }
            }
            Route::Http { pinned, secure } => {
                call = call
                    .protocols(if *secure { "https" } else { "http" })
                    .setting("http.followRedirects", "false");
                for (key, value) in TOO_SLOW {
                    call = call.setting(key, value);
                }
                if let Some(pinned) = pinned {
                    call = call.setting("http.curloptResolve", pinned.clone());
                }
                if let Some(session) = &self.session {
                    call = session.introduce(call);
                }
            }
        }
        call
    }

    /// Runs a call, again where another attempt may help. Exit codes that `accepts` takes are no failures.
    pub(crate) fn run<'a>(
        &'a self,
        call: &Invocation<'a>,
        accepts: impl Fn(&Finished) -> bool,
    ) -> Result<Finished, Error> {
        let network = &call.git().settings().network;
        let attempts = Attempts::new(network, call.cancel(), call.report());
        attempts.run(|| {
            let finished = call
                .clone()
                .run_whatever_it_answers()
                .map_err(Trouble::for_good)?;
            if finished.code == Some(0) || finished.truncated || accepts(&finished) {
                return Ok(finished);
            }
            let mut trouble = failure::trouble(call.verb(), self.url(), &finished, self.session.is_some());
            if trouble.is_redirect {
                trouble.error = redirect::refusal(self, call);
            }
            Err(trouble)
        })
    }
}
