//! One JSON-RPC message a line, in place of rmcp's own transport, which is silent about a line that it cannot
//! read, drops a last line without an end, and lets go of the calls under way as soon as input ends.

use std::{io, sync::Arc, time::Duration};

use rmcp::{
    RoleServer,
    model::{
        ClientJsonRpcMessage, ClientNotification, ErrorCode, ProtocolVersion, RequestId, ServerJsonRpcMessage,
    },
    transport::Transport,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use super::{
    StdioLimits,
    calls::Calls,
    lines::{Line, Lines},
    messages::{self, Opening, Parsed, Reply},
    output::Output,
};

/// How long what is left may take to be written.
const FLUSH: Duration = Duration::from_millis(500);

pub(super) struct LineTransport<Reader> {
    lines: Lines<Reader>,
    output: Output,
    /// An error answer that has not found its place in the queue yet.
    owed: Option<Vec<u8>>,
    calls: Arc<Calls>,
    limits: StdioLimits,
    supported: Vec<ProtocolVersion>,
    is_open: bool,
    /// Set when input has ended: until then the calls under way may answer.
    grace_ends: Option<Instant>,
    ended: CancellationToken,
}

impl<Reader: AsyncRead + Send + Unpin> LineTransport<Reader> {
    pub(super) fn new(
        reader: Reader,
        writer: impl AsyncWrite + Send + Unpin + 'static,
        limits: StdioLimits,
        supported: Vec<ProtocolVersion>,
        ended: CancellationToken,
    ) -> Self {
        Self {
            lines: Lines::new(reader, limits.line_bytes),
            output: Output::new(writer, ended.clone()),
            owed: None,
            calls: Arc::default(),
            limits,
            supported,
            is_open: false,
            grace_ends: None,
            ended,
        }
    }

    fn answer(&mut self, reply: &Reply) {
        self.owed = Some(reply.to_json());
    }

    /// The message, if it is one for rmcp.
    fn admit(&mut self, message: ClientJsonRpcMessage) -> Option<ClientJsonRpcMessage> {
        if !self.is_open {
            match messages::opening(&message, &self.supported) {
                Opening::Opens => self.is_open = true,
                Opening::Passes => {}
                Opening::Dropped => return None,
                Opening::Refused(reply) => {
                    self.answer(&reply);
                    return None;
                }
            }
        }
        match &message {
            ClientJsonRpcMessage::Request(request) => {
                if !self.calls.begin(&request.id, &request.request, self.limits.calls) {
                    let message = format!("{} requests are under way, as many as may be", self.limits.calls);
                    self.answer(&Reply::new(Some(request.id.clone()), ErrorCode(-32000), message));
                    return None;
                }
            }
            ClientJsonRpcMessage::Notification(notification) => {
                // rmcp does not send the answer of a request that was cancelled.
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(request) = &cancelled.params.request_id
                {
                    self.calls.end(request);
                }
            }
            ClientJsonRpcMessage::Response(_) | ClientJsonRpcMessage::Error(_) => {}
        }
        Some(message)
    }

    /// Lets the calls under way answer, for a while. rmcp's loop goes on meanwhile, so their progress is
    /// still sent.
    async fn let_calls_finish(&mut self, grace_ends: Instant) {
        let finished = async {
            self.calls.all_answered().await;
            self.output.settle().await;
        };
        if tokio::time::timeout_at(grace_ends, finished).await.is_err() {
            tracing::debug!("cancelling the calls that outlived standard input");
        }
        // Also ends a `subscriptions/listen`, which would wait for ever.
        self.ended.cancel();
    }
}

impl<Reader: AsyncRead + Send + Unpin> Transport<RoleServer> for LineTransport<Reader> {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let answered = answered(&message);
        let sent = serde_json::to_vec(&message).map(|message| self.output.send(message));
        let calls = Arc::clone(&self.calls);
        async move {
            let sent = match sent {
                Ok(sent) => sent.await,
                Err(error) => Err(error.into()),
            };
            if let Some(request) = answered {
                calls.end(&request);
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            self.output.enqueue(&mut self.owed).await;
            if let Some(grace_ends) = self.grace_ends {
                self.let_calls_finish(grace_ends).await;
                return None;
            }
            match self.lines.next().await {
                Line::Whole(line) => match messages::parse(&line) {
                    Parsed::Message(message) => {
                        if let Some(message) = self.admit(*message) {
                            return Some(message);
                        }
                    }
                    Parsed::Refused(reply) => self.answer(&reply),
                    Parsed::Nothing => {}
                },
                Line::TooLong => {
                    let message = format!("a message may have at most {} bytes", self.limits.line_bytes);
                    self.answer(&Reply::new(None, ErrorCode::INVALID_REQUEST, message));
                }
                Line::End => self.grace_ends = Some(Instant::now() + self.limits.grace),
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        // A client that does not read must not keep the process.
        let _ = tokio::time::timeout(FLUSH, self.output.close()).await;
        Ok(())
    }
}

fn answered(message: &ServerJsonRpcMessage) -> Option<RequestId> {
    match message {
        ServerJsonRpcMessage::Response(response) => Some(response.id.clone()),
        ServerJsonRpcMessage::Error(error) => error.id.clone(),
        ServerJsonRpcMessage::Request(_) | ServerJsonRpcMessage::Notification(_) => None,
    }
}
