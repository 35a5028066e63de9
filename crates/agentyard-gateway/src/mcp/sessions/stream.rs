//! A session's event stream to its client, which cancels the call that it carries when the client stops
//! reading.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use futures::Stream;
use rmcp::{
    model::{
        CancelledNotification, CancelledNotificationParam, ClientJsonRpcMessage, ClientNotification,
        RequestId, ServerJsonRpcMessage,
    },
    transport::streamable_http_server::session::{ServerSseMessage, local::LocalSessionHandle},
};
use tokio::{runtime::Handle, sync::mpsc::Receiver};

use super::live::{OpenStream, SessionCalls};

#[derive(Debug)]
pub(super) struct SessionStream {
    events: Receiver<ServerSseMessage>,
    /// Until it is answered.
    call: Option<Call>,
    _open: OpenStream,
}

/// A request whose answer a stream waits for.
#[derive(Debug)]
pub(super) struct Call {
    handle: LocalSessionHandle,
    calls: SessionCalls,
    number: u64,
    request: RequestId,
}

impl Call {
    pub(super) fn begin(
        calls: SessionCalls,
        handle: LocalSessionHandle,
        number: u64,
        request: RequestId,
    ) -> Self {
        calls.begin(number, request.clone());
        Self {
            handle,
            calls,
            number,
            request,
        }
    }

    /// Takes a call up again whose stream the server had ended; `None` when it was answered meanwhile.
    pub(super) fn resume(calls: SessionCalls, handle: LocalSessionHandle, number: u64) -> Option<Self> {
        let request = calls.find(number)?;
        Some(Self {
            handle,
            calls,
            number,
            request,
        })
    }

    fn end(self) {
        self.calls.end(self.number);
    }

    fn is_answered_by(&self, event: &ServerSseMessage) -> bool {
        match event.message.as_deref() {
            Some(ServerJsonRpcMessage::Response(response)) => response.id == self.request,
            Some(ServerJsonRpcMessage::Error(error)) => error.id.as_ref() == Some(&self.request),
            _ => false,
        }
    }

    fn cancel(self) {
        // Without a runtime the process is ending, and the call with it.
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        runtime.spawn(async move {
            let message = cancelled(self.request.clone(), "the client disconnected");
            // An error says that the session is gone already.
            let _ = self.handle.push_message(message, None).await;
            // Not before: a session that is closed meanwhile must know of the call to cancel it.
            self.end();
        });
    }
}

impl SessionStream {
    pub(super) fn new(events: Receiver<ServerSseMessage>, call: Option<Call>, open: OpenStream) -> Self {
        Self {
            events,
            call,
            _open: open,
        }
    }
}

impl Stream for SessionStream {
    type Item = ServerSseMessage;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<ServerSseMessage>> {
        let event = std::task::ready!(self.events.poll_recv(context));
        if let Some(event) = &event
            && let Some(call) = self.call.take_if(|call| call.is_answered_by(event))
        {
            call.end();
        }
        Poll::Ready(event)
    }
}

impl Drop for SessionStream {
    fn drop(&mut self) {
        // When the session worker has dropped its end, the stream was ended from this side, for the client to
        // take up again, and the call goes on. Otherwise it was the client who left.
        if let Some(call) = self.call.take()
            && !self.events.is_closed()
        {
            call.cancel();
        }
    }
}

/// What the client would have sent, had it cancelled the request itself.
pub(super) fn cancelled(request: RequestId, reason: &str) -> ClientJsonRpcMessage {
    let params = CancelledNotificationParam::new(Some(request), Some(reason.to_owned()));
    let notification = CancelledNotification::new(params);
    ClientJsonRpcMessage::notification(ClientNotification::CancelledNotification(notification))
}
