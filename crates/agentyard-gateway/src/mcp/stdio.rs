//! MCP over standard input and output, for the one client that started this process.

use std::time::Duration;

use rmcp::{
    ServerHandler,
    service::{ServerInitializeError, serve_server_with_ct},
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use self::{standard::StandardStreams, transport::LineTransport};

mod calls;
mod lines;
mod messages;
mod output;
mod standard;
mod transport;

#[derive(Debug, Clone, Copy)]
pub(crate) struct StdioLimits {
    /// Of one message.
    pub(crate) line_bytes: usize,
    /// Requests under way at once.
    pub(crate) calls: usize,
    /// How long calls may still answer once input has ended: someone may pipe requests in and close the pipe.
    pub(crate) grace: Duration,
    /// How long calls may take to stop once they are cancelled.
    pub(crate) wind_down: Duration,
}

impl Default for StdioLimits {
    fn default() -> Self {
        Self {
            line_bytes: 16 * 1024 * 1024,
            calls: 1024,
            grace: Duration::from_secs(2),
            wind_down: Duration::from_secs(1),
        }
    }
}

/// Serves the client on standard input and output until it has gone.
///
/// `ended` is the session's end, whoever brings it about: cancel it to stop, on a signal say; it is cancelled
/// when input has ended and the calls under way are answered or out of grace, and at once when the client no
/// longer reads. The token of every call is a child of it.
///
/// Once `ended` is cancelled rmcp no longer takes notifications: `notify_progress` then waits for its loop to
/// be gone. A call that watches its own token while it reports, as it should while it works, does not notice.
///
/// # Errors
///
/// When the handler refuses `initialize`.
pub async fn serve_stdio<Handler: ServerHandler>(
    handler: Handler,
    ended: CancellationToken,
) -> Result<(), ServerInitializeError> {
    let StandardStreams {
        reader,
        writer,
        closed,
    } = StandardStreams::open();
    let served = serve_streams(handler, reader, writer, StdioLimits::default(), ended.clone());
    let watch = async {
        closed.await;
        ended.cancel();
        std::future::pending().await
    };
    tokio::select! {
        served = served => served,
        never = watch => never,
    }
}

/// The same over any pair of streams.
pub(crate) async fn serve_streams<Handler: ServerHandler>(
    handler: Handler,
    reader: impl AsyncRead + Send + Unpin + 'static,
    writer: impl AsyncWrite + Send + Unpin + 'static,
    limits: StdioLimits,
    ended: CancellationToken,
) -> Result<(), ServerInitializeError> {
    let _on_return = ended.clone().drop_guard();
    let supported = handler.supported_protocol_versions().into_owned();
    let transport = LineTransport::new(reader, writer, limits, supported, ended.clone());
    let running = match serve_server_with_ct(handler, transport, ended.clone()).await {
        Ok(running) => running,
        // Ended before it began, by either side.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => return Ok(()),
        Err(error) => return Err(error),
    };
    let out_of_patience = async {
        ended.cancelled().await;
        tokio::time::sleep(limits.wind_down).await;
    };
    tokio::select! {
        stopped = running.waiting() => {
            if let Err(error) = stopped {
                tracing::error!(%error, "the loop that serves standard input failed");
            }
        }
        // rmcp would wait five seconds for a call that does not stop; the process ends now, and the call with
        // it.
        () = out_of_patience => tracing::debug!("leaving calls behind that do not stop"),
    }
    Ok(())
}

#[cfg(test)]
mod tests;
