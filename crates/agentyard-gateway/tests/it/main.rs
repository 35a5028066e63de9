//! The gateway as a client meets it.

mod edge_admission;
mod edge_jwks;
mod edge_jwt;
mod edge_keys;
mod edge_limits;
mod edge_load;
mod edge_pages;
mod edge_secrecy;
mod edge_yard;
