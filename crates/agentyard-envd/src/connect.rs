//! Connect: remote calls over HTTP, with messages in JSON.
//!
//! A unary call is a POST with a message and an answer with one. A stream is a row of frames: a byte of flags, a length,
//! a message; the last one has a flag of its own and tells how it went.

pub(crate) mod base64_bytes;
mod fault;
mod frames;

pub use fault::{Code, Fault};
pub use frames::{Frame, Frames, InvalidFrame, MAX_FRAME_BYTES, end_frame, message_frame};

/// The content type of a unary call.
pub const UNARY: &str = "application/json";

/// The content type of a stream.
pub const STREAM: &str = "application/connect+json";

/// The header that limits how long a call may take, in milliseconds.
pub const TIMEOUT_HEADER: &str = "connect-timeout-ms";
