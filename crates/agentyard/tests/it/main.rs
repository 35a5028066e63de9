//! The binary as its users meet it: over stdio, over HTTP, at a terminal.

#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "these tests start the binary itself, and fail by panicking"
)]

mod command_line;
mod corpus;
mod credentials;
mod e2b;
mod e2b_backend;
mod e2b_face;
mod faults;
mod generated;
mod git_host;
mod kept_secrets;
mod namespace;
mod robustness;
mod runs;
mod sandbox_git;
mod secrets;
mod serve;
mod stdio;
mod support;
mod test_driven;
mod trust;
mod whole_output;
mod workspaces;
