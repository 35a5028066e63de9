//! The MCP face: tools from the registry, resources, prompts, completion.

pub(crate) mod answers;
pub(crate) mod conformance;
mod guide;
mod pages;
mod prompts;
mod resources;
pub(crate) mod scope;
mod server;
pub(crate) mod sessions;
mod stdio;
mod tools;

pub use server::McpServer;
pub(crate) use server::REVISIONS;
pub use stdio::serve_stdio;
