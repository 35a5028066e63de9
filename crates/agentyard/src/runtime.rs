//! The threads that a command runs on.

use std::io;

use agentyard_services::ErrorKind;
use tokio::runtime::{Builder, Runtime};

use crate::exit::Failure;

/// One thread, for one agent or one command: a call then never crosses threads on its
/// way, but for the work that blocks.
pub(crate) fn one_thread() -> Result<Runtime, Failure> {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(unavailable)
}

/// A thread for each core, for a server.
pub(crate) fn all_threads() -> Result<Runtime, Failure> {
    Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(unavailable)
}

fn unavailable(error: io::Error) -> Failure {
    Failure::new(
        ErrorKind::Unavailable,
        format!("the system gives no threads: {error}"),
    )
}
