//! The way into sandboxes: a request that is for one is handed to it, and its answer back, both as they come.

mod address;
mod bodies;
mod headers;
mod sockets;

use std::net::IpAddr;
use std::sync::Arc;

use agentyard_envd::ENVD_PORT;
use agentyard_model::{SandboxId, Secret};
use agentyard_services::{Error, ErrorKind, Services, SignedFile, Visit};
use axum::body::{Body, HttpBody};
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::request::Parts;
use http::{HeaderMap, StatusCode};
use http_body_util::BodyExt;
use tokio_util::sync::CancellationToken;

use crate::edge::{Admission, ForeignPage, OpenEnded, Refusal, peer_of};

use self::address::Signed;
use self::bodies::{Bounded, UntilStop};
use super::words::{Fault, whole_id};

pub(super) use self::address::Address;

/// What leads into sandboxes.
#[derive(Clone)]
pub(super) struct DataPlane {
    pub(super) services: Arc<Services>,
    /// Counts who presents wrong tokens.
    pub(super) admission: Arc<Admission>,
    /// Whether this server lets anybody do something in a sandbox.
    pub(super) is_offered: bool,
    /// How large a request may be.
    pub(super) max_upload_bytes: u64,
    /// Ends answers that would go on for ever.
    pub(super) end: CancellationToken,
}

/// A request that is for a sandbox; its [`Address`] is in the extensions.
pub(super) async fn answer(State(plane): State<DataPlane>, mut request: Request) -> Response {
    let Some(address) = request.extensions_mut().remove::<Address>() else {
        return Fault::invalid("the request names no sandbox").into_response();
    };
    plane
        .pass(&address, request)
        .await
        .unwrap_or_else(IntoResponse::into_response)
}

/// Why a request does not reach its sandbox.
enum TurnedAway {
    ByUs(Fault),
    ByTheEdge(Refusal),
}

impl DataPlane {
    async fn pass(&self, address: &Address, request: Request) -> Result<Response, TurnedAway> {
        if !self.is_offered {
            return Err(super::not_offered("talking to sandboxes").into());
        }
        if request.body().size_hint().lower() > self.max_upload_bytes {
            return Err(self.too_large().into());
        }
        let (mut parts, body) = request.into_parts();
        let visit = self.enter(address, &parts).await?;
        let socket = sockets::asked_for(address, &mut parts);
        let mut inward = http::Request::new(());
        *inward.method_mut() = parts.method;
        *inward.uri_mut() = address::without_signature(&parts.uri)
            .parse()
            .map_err(|_| Fault::invalid("the address cannot be read"))?;
        *inward.headers_mut() = parts.headers;
        headers::for_sandbox(inward.headers_mut(), address);
        if let Some(client) = socket {
            return self.connect(address, &visit, inward, client).await;
        }
        let (body, overflow) = Bounded::new(body, self.max_upload_bytes);
        let inward = inward.map(|()| body.boxed_unsync());
        match self.services.sandboxes.exchange(&visit, inward).await {
            _ if overflow.happened() => Err(self.too_large().into()),
            Ok(answer) => Ok(self.outward(address, answer)),
            Err(error) => Err(unreachable(&visit.sandbox().to_string(), &error).into()),
        }
    }

    fn outward(&self, address: &Address, answer: http::Response<agentyard_envd::Body>) -> Response {
        let (mut parts, body) = answer.into_parts();
        if parts.status.is_informational() {
            // There is no way on from here but HTTP.
            return Fault::new(
                StatusCode::NOT_IMPLEMENTED,
                "the server in the sandbox wants to change the protocol, which is not supported",
            )
            .into_response();
        }
        headers::from_sandbox(&mut parts.headers, address);
        parts.extensions = http::Extensions::new();
        if body.size_hint().exact().is_none() {
            parts.extensions.insert(OpenEnded);
        }
        Response::from_parts(parts, Body::new(UntilStop::new(body, self.end.clone())))
    }

    /// Lets a request in that has the right to.
    async fn enter(&self, address: &Address, head: &Parts) -> Result<Visit, TurnedAway> {
        let peer = peer_of(&head.extensions);
        let foreign = head.extensions.get::<ForeignPage>();
        let credential = match foreign {
            // Whatever a page of somebody else presents, it has no business there; what is open to all is to it, too.
            Some(_) => Credential::None,
            None => Credential::of(address, head)?,
        };
        if credential.is_some() {
            self.admission.may_try(credential.token(), peer)?;
        }
        match self.visit(address, &credential).await {
            Ok(visit) => {
                self.admission.accepted(credential.token(), visit.sandbox())?;
                Ok(visit)
            }
            Err(Denial::Unknown(sandbox, error)) => {
                self.admission.count(peer)?;
                Err(unreachable(&sandbox, &error).into())
            }
            Err(Denial::Refused(error)) => match foreign {
                Some(page) => Err(page.clone().refusal().into()),
                None => Err(self.refused(address, &credential, peer, &error)?.into()),
            },
            Err(Denial::Failed(error)) => Err(Fault::from(error).into()),
        }
    }

    async fn visit(&self, address: &Address, credential: &Credential) -> Result<Visit, Denial> {
        let sandboxes = &self.services.sandboxes;
        let (named, port) = match address {
            Address::Named { sandbox, port } | Address::Hosted { sandbox, port } => {
                let id = whole_id(sandbox)
                    .parse::<SandboxId>()
                    .map_err(|_| Denial::unknown(sandbox))?;
                (Some(id), *port)
            }
            Address::Signed => (None, ENVD_PORT),
        };
        let outcome = match (credential, named) {
            (Credential::Signed(signed), _) => {
                let file = SignedFile {
                    sandbox: named,
                    path: &signed.path,
                    write: signed.write,
                    user: &signed.user,
                    expiration: signed.expiration,
                    signature: &signed.signature,
                };
                sandboxes.visit_signed(file).await
            }
            (Credential::Token(token), Some(id)) => sandboxes.visit(id, port, Some(token)).await,
            (Credential::None, Some(id)) => sandboxes.visit(id, port, None).await,
            (Credential::Token(_) | Credential::None, None) => {
                return Err(Denial::Refused(Error::new(
                    ErrorKind::Unauthenticated,
                    "the signature does not open this file",
                )));
            }
        };
        outcome.map_err(|error| match error.kind() {
            ErrorKind::NotFound => Denial::Unknown(named.map(|id| id.to_string()).unwrap_or_default(), error),
            ErrorKind::Unauthenticated | ErrorKind::Forbidden => Denial::Refused(error),
            _ => Denial::Failed(error),
        })
    }

    /// Counts a wrong credential and says so: as the daemon would, or as whoever stands before other ports.
    fn refused(
        &self,
        address: &Address,
        credential: &Credential,
        peer: IpAddr,
        error: &Error,
    ) -> Result<Fault, Refusal> {
        if credential.is_some() {
            tracing::info!(%peer, "refused a sandbox's token");
            self.admission.refused(credential.token(), peer);
        }
        self.admission.count(peer)?;
        let status = match address.port() {
            ENVD_PORT => StatusCode::UNAUTHORIZED,
            _ => StatusCode::FORBIDDEN,
        };
        Ok(Fault::new(status, error.message()))
    }

    fn too_large(&self) -> Fault {
        Fault::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!(
                "the request is longer than {} bytes. The limit is `http.max_sandbox_upload_bytes`",
                self.max_upload_bytes
            ),
        )
    }
}

/// What somebody shows to be let in.
enum Credential {
    None,
    Token(Secret),
    Signed(Signed),
}

impl Credential {
    fn of(address: &Address, head: &Parts) -> Result<Self, Fault> {
        let port = address.port();
        if let Some(token) = presented(&head.headers, port) {
            return Ok(Self::Token(token));
        }
        let signed = match port {
            ENVD_PORT => Signed::of(&head.method, &head.uri)?,
            _ => None,
        };
        Ok(signed.map_or(Self::None, Self::Signed))
    }

    fn is_some(&self) -> bool {
        !matches!(self, Self::None)
    }

    fn token(&self) -> Option<&Secret> {
        match self {
            Self::Token(token) => Some(token),
            Self::None | Self::Signed(_) => None,
        }
    }
}

/// The token for a port: the daemon has one of its own, which opens the others, too.
fn presented(headers: &HeaderMap, port: u16) -> Option<Secret> {
    let names = match port {
        ENVD_PORT => &[headers::ACCESS_TOKEN][..],
        _ => &[headers::TRAFFIC_TOKEN, headers::ACCESS_TOKEN][..],
    };
    let value = names.iter().find_map(|name| headers.get(name))?;
    Some(Secret::new(String::from_utf8_lossy(value.as_bytes())))
}

/// Why nobody is let in.
enum Denial {
    Unknown(String, Error),
    Refused(Error),
    Failed(Error),
}

impl Denial {
    fn unknown(sandbox: &str) -> Self {
        let shown: String = sandbox
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .take(64)
            .collect();
        let error = Error::not_found(format!("The sandbox {shown} was not found"));
        Self::Unknown(shown, error)
    }
}

/// What clients take for the end of a sandbox, or for a reason to ask for its state.
fn unreachable(sandbox: &str, error: &Error) -> Fault {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::Unavailable => Fault::unreachable(sandbox, error.message()),
        _ => Fault::from(error),
    }
}

impl From<Fault> for TurnedAway {
    fn from(fault: Fault) -> Self {
        Self::ByUs(fault)
    }
}

impl From<Refusal> for TurnedAway {
    fn from(refusal: Refusal) -> Self {
        Self::ByTheEdge(refusal)
    }
}

impl IntoResponse for TurnedAway {
    fn into_response(self) -> Response {
        match self {
            Self::ByUs(fault) => fault.into_response(),
            Self::ByTheEdge(refusal) => refusal.into_response(),
        }
    }
}
