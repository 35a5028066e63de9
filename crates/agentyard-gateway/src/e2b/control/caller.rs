//! Who calls, as the edge has settled it, and for which sandbox.

use std::convert::Infallible;

use agentyard_model::{Caller, SandboxId};
use axum::extract::{FromRequestParts, Path};
use http::StatusCode;
use http::request::Parts;

use crate::e2b::words::{Fault, whole_id};

/// The caller of a request.
pub(super) struct Known(pub(super) Caller);

impl<S: Sync> FromRequestParts<S> for Known {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        let caller = parts.extensions.remove::<Caller>();
        Ok(Self(caller.unwrap_or_else(Caller::anonymous)))
    }
}

/// The sandbox that an address names. What cannot be one is one that is not there: clients know what that means.
pub(super) struct SandboxPath(pub(super) SandboxId);

impl<S: Send + Sync> FromRequestParts<S> for SandboxPath {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Fault> {
        let Path(text) = Path::<String>::from_request_parts(parts, state)
            .await
            .map_err(|_| Fault::invalid("the path is not valid UTF-8"))?;
        whole_id(&text).parse().map(Self).map_err(|_| {
            let shown: String = text
                .chars()
                .filter(char::is_ascii_alphanumeric)
                .take(64)
                .collect();
            Fault::new(StatusCode::NOT_FOUND, format!("there is no sandbox `{shown}`"))
        })
    }
}
