//! The binary as its users meet it: over stdio, over HTTP, at a terminal.

#![expect(clippy::disallowed_methods, reason = "these tests start the binary itself")]

mod command_line;
mod generated;
mod robustness;
mod secrets;
mod serve;
mod stdio;
mod support;
