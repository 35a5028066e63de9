//! E2B's protocol inside a sandbox: its messages, the daemon that answers them, and what calls it.
//!
//! A sandbox that stays has one process of ours in it, the [daemon](serve): it starts programs, hands their streams
//! over, and reads, writes and watches files, all with no more rights than what it starts. E2B calls that program
//! `envd`, and ours speaks its protocol, so that one protocol is enough for everything: official clients talk to our
//! sandboxes, and we talk to sandboxes of our own and to hosted ones in the same words.
//!
//! The crate knows no database, no sandbox and no caller. The daemon reads the files and starts the processes of the
//! sandbox that it is in; nothing else here touches either.

#![warn(missing_docs)]

pub mod client;
pub mod connect;
mod daemon;
mod exchange;
pub mod filesystem;
mod headers;
pub mod process;
pub mod upgrade;

pub use daemon::{ENVD_PORT, ENVD_VERSION, INTERPRETER_PORT, Initialization, MEETING_PLACE, serve};
pub use exchange::{Body, Exchange, Exchanged, Http2, Unreachable, empty, full};
pub use headers::{
    ACCESS_TOKEN_HEADER, API_KEY_HEADER, PORT_HEADER, SANDBOX_HEADER, TOKEN_HEADERS, TRAFFIC_TOKEN_HEADER,
    drop_hop_by_hop,
};
