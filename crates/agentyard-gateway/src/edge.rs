//! The edge: who may call over HTTP, from where, how often and how much.
//!
//! [`Edge`] puts the layers around a router in their one right order. Below it nobody reads
//! a token: a handler finds a `Caller`, a `RequestId` and a [`BaseUrl`] in the request's
//! extensions. The server must leave `ConnectInfo<SocketAddr>` there.

mod refusal;
mod request_id;

mod settings;

mod keys;

mod claims;
mod fault;

mod jwt;

mod jwks;

mod peer;

mod origin;

mod limits;

mod bearer;

mod authenticator;

mod admission;

mod metadata;

mod layers;

pub use admission::{Admission, admit};
pub use authenticator::{AuthFailure, Authenticator, Identities};
pub use bearer::METADATA_PATH;
pub use claims::Claims;
pub use fault::TokenFault;
pub use jwks::JwksVerifier;
pub use jwt::JwtVerifier;
pub(crate) use layers::Browsers;
pub use layers::Edge;
pub(crate) use limits::OpenEnded;
pub use limits::{LoadLimit, RateLimits, limit_body, limit_rate, read_body, shed_load};
pub use metadata::ProtectedResource;
pub(crate) use origin::ForeignPage;
pub use origin::{BaseUrl, Guard, guard};
pub(crate) use peer::peer_of;
pub use refusal::Refusal;
pub use request_id::{REQUEST_ID_HEADER, name_request};
pub use settings::{
    AuthMode, AuthSettings, HttpSettings, InvalidSetting, JwtAlgorithm, JwtSettings, OAuthSettings,
};
