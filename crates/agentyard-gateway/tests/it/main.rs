//! The gateway as a client meets it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod edge_admission;
mod edge_jwks;
mod edge_jwt;
mod edge_keys;
mod edge_limits;
mod edge_load;
mod edge_pages;
mod edge_secrecy;
mod edge_yard;
