//! The edge: who calls is settled here, and the operations are put into the words of
//! MCP and REST by one adapter each, neither of which knows an operation by name. Clients
//! of E2B find those of sandboxes in the words that they know.
//!
//! This crate touches sockets. What it serves comes from the operations; it holds no
//! rule of its own about who may do what, beyond finding out who calls.

// A call is one future from the transport down to the port, and optimised builds lay it out whole.
#![recursion_limit = "256"]

pub mod edge;

mod event_stream;
mod failure;
mod live;
mod platform;
mod run_output;

mod e2b;
mod mcp;
mod rest;

mod http;

mod bridge;
mod remote;

pub use bridge::{BridgeError, bridge};
pub use edge::{AuthMode, AuthSettings, HttpSettings};
pub use failure::error_object;
pub use http::{HttpServer, Readiness, RenderMetrics};
pub use live::LiveEvent;
pub use mcp::{McpServer, serve_stdio};
pub use platform::Platform;
pub use remote::{RemoteError, RemoteServer};
pub use rest::openapi_document;
