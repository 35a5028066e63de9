//! HTTP sessions, which the revisions before 2026-07-28 open with `initialize`: bounded in number and in idle
//! time, tied to whoever opened them, and cancelling a call when its client goes away.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use axum::{
    Json,
    extract::{Request, State},
    http::{StatusCode, header::RETRY_AFTER},
    middleware::Next,
    response::{IntoResponse, Response},
};
use futures::Stream;
use rmcp::{
    model::{ClientJsonRpcMessage, ServerJsonRpcMessage},
    transport::{
        WorkerTransport,
        streamable_http_server::{
            SessionId, SessionManager,
            session::{
                ServerSseMessage,
                local::{
                    LocalSessionHandle, LocalSessionManager, LocalSessionManagerError, LocalSessionWorker,
                    SessionConfig, create_local_session,
                },
            },
        },
    },
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use self::{
    live::{LiveSessions, OpenStream},
    stream::{Call, SessionStream},
};

mod live;
mod stream;

const SESSION_ID: &str = "mcp-session-id";

/// Twice what would do: an id is all that tells two sessions of one owner apart. (rmcp's own, a UUID of
/// version 4, has 122 random bits.)
const SESSION_ID_BYTES: usize = 32;

/// How long a session may take to see that it is closed.
const CLOSING: Duration = Duration::from_secs(1);

/// Tells a client that was refused when to come back.
const RETRY_AFTER_SECONDS: &str = "30";

/// Whom a request comes from, as the identity layer put it into the request's extensions.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct SessionOwner(pub(crate) String);

#[derive(Debug, Clone, Copy)]
pub(crate) struct SessionLimits {
    pub(crate) sessions: usize,
    /// So that one owner cannot take every place.
    pub(crate) sessions_per_owner: usize,
    /// Calls under way, and listeners, of one session.
    pub(crate) streams_per_session: usize,
    /// How long a session is kept without a request or an open stream.
    pub(crate) idle: Duration,
}

impl Default for SessionLimits {
    fn default() -> Self {
        Self {
            sessions: 4096,
            sessions_per_owner: 256,
            streams_per_session: 128,
            idle: Duration::from_secs(30 * 60),
        }
    }
}

/// Why something was not opened. The reasons are the client's to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("the server holds as many sessions as it may; close one, or try again later")]
    Sessions,
    #[error("you hold as many sessions as you may; close one with DELETE, or try again later")]
    SessionsOfOwner,
    #[error("this session has as many calls under way as it may; wait for one to end")]
    Streams,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum SessionError {
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error("no random bytes for a session id")]
    Randomness(#[source] getrandom::Error),
    #[error(transparent)]
    Local(#[from] LocalSessionManagerError),
}

tokio::task_local! {
    /// Set around a request by [`bind_session_to_subject`], because rmcp hands a session manager neither the
    /// request that opens a session nor a way to answer with anything but a 500.
    static ADMISSION: Arc<Admission>;
}

#[derive(Debug)]
struct Admission {
    owner: SessionOwner,
    refusal: OnceLock<Refusal>,
}

/// rmcp's in-memory sessions within [`SessionLimits`]. Wrap its service in [`bind_session_to_subject`], and
/// run [`close_idle_until`](Self::close_idle_until) beside it.
#[derive(Debug)]
pub(crate) struct BoundSessions {
    inner: LocalSessionManager,
    live: Arc<LiveSessions>,
    limits: SessionLimits,
}

impl BoundSessions {
    pub(crate) fn new(limits: SessionLimits) -> Self {
        let mut config = SessionConfig::default();
        // rmcp counts a session as idle while a call runs without saying anything, and then ends it together
        // with the call. The clock in `live` does not.
        config.keep_alive = None;
        let mut inner = LocalSessionManager::default();
        inner.session_config = config;
        Self {
            inner,
            live: Arc::default(),
            limits,
        }
    }

    /// Closes sessions as they fall idle, and the rest at the end.
    pub(crate) async fn close_idle_until(&self, stop: CancellationToken) {
        let pause = (self.limits.idle / 4).clamp(Duration::from_millis(10), Duration::from_secs(60));
        while stop
            .run_until_cancelled(tokio::time::sleep(pause))
            .await
            .is_some()
        {
            self.close_idle().await;
        }
        futures::future::join_all(self.live.all().iter().map(|id| self.close_session(id))).await;
    }

    async fn close_idle(&self) {
        for id in self.live.idle(self.limits.idle) {
            if let Err(error) = self.close_session(&id).await {
                tracing::warn!(%error, "an idle session did not close");
            }
        }
    }

    async fn handle(&self, id: &SessionId) -> Result<LocalSessionHandle, SessionError> {
        let handle = self.inner.sessions.read().await.get(id).cloned();
        Ok(handle.ok_or_else(|| LocalSessionManagerError::SessionNotFound(Arc::clone(id)))?)
    }

    fn open_stream(&self, id: &SessionId) -> Result<OpenStream, SessionError> {
        LiveSessions::open_stream(&self.live, id, self.limits.streams_per_session)
            .inspect_err(|refusal| note(*refusal))
            .map_err(Into::into)
    }
}

impl SessionManager for BoundSessions {
    type Error = SessionError;
    type Transport = WorkerTransport<LocalSessionWorker>;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), SessionError> {
        self.close_idle().await;
        let id = new_session_id().map_err(SessionError::Randomness)?;
        let owner = ADMISSION.try_with(|admission| admission.owner.clone()).ok();
        self.live
            .admit(&id, owner, &self.limits)
            .inspect_err(|refusal| note(*refusal))?;
        let (handle, worker) = create_local_session(Arc::clone(&id), self.inner.session_config.clone());
        self.inner.sessions.write().await.insert(Arc::clone(&id), handle);
        Ok((id, WorkerTransport::spawn(worker)))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, SessionError> {
        Ok(self.inner.initialize_session(id, message).await?)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, SessionError> {
        self.live.touch(id);
        Ok(self.inner.has_session(id).await?)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), SessionError> {
        let unanswered = self.live.forget(id);
        let Some(handle) = self.inner.sessions.write().await.remove(id) else {
            return Ok(());
        };
        let close = async {
            // rmcp lets the calls of a closed session run on for five seconds before it cancels them.
            for request in unanswered {
                handle
                    .push_message(stream::cancelled(request, "the session was closed"), None)
                    .await?;
            }
            handle.close().await
        };
        // An error says that the session has ended by itself. One that waits for a client who does not read
        // ends when that client leaves.
        let _ = tokio::time::timeout(CLOSING, close).await;
        Ok(())
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        let open = self.open_stream(id)?;
        let handle = self.handle(id).await?;
        let receiver = handle
            .establish_request_wise_channel()
            .await
            .map_err(LocalSessionManagerError::from)?;
        let call = match (&message, receiver.http_request_id) {
            (ClientJsonRpcMessage::Request(request), Some(number)) => Some(Call::begin(
                open.calls().clone(),
                handle.clone(),
                number,
                request.id.clone(),
            )),
            _ => None,
        };
        // Made before the message is pushed: a client that goes away in between must cancel too.
        let stream = SessionStream::new(receiver.inner, call, open);
        let pushed = handle.push_message(message, receiver.http_request_id).await;
        pushed.map_err(LocalSessionManagerError::from)?;
        Ok(stream)
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), SessionError> {
        Ok(self.inner.accept_message(id, message).await?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        let open = self.open_stream(id)?;
        let receiver = self.handle(id).await?.establish_common_channel().await;
        Ok(SessionStream::new(
            receiver.map_err(LocalSessionManagerError::from)?.inner,
            None,
            open,
        ))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        let open = self.open_stream(id)?;
        let handle = self.handle(id).await?;
        let event = last_event_id.parse().map_err(LocalSessionManagerError::from)?;
        let receiver = handle
            .resume(event)
            .await
            .map_err(LocalSessionManagerError::from)?;
        let call = receiver
            .http_request_id
            .and_then(|number| Call::resume(open.calls().clone(), handle.clone(), number));
        Ok(SessionStream::new(receiver.inner, call, open))
    }
}

#[cfg(test)]
impl BoundSessions {
    /// Ends the stream of a session's `number`th call from this side, as SSE polling does.
    pub(crate) async fn end_stream(&self, id: &str, number: u64) -> Result<(), SessionError> {
        let ended = self
            .handle(&id.into())
            .await?
            .close_sse_stream(number, None)
            .await;
        Ok(ended.map_err(LocalSessionManagerError::from)?)
    }

    pub(crate) fn count(&self) -> usize {
        self.live.count()
    }
}

/// Lets a session be used, and deleted, only by the owner who opened it: anyone else is told that there is
/// none.
///
/// Belongs inside the layer that sets [`SessionOwner`] and around rmcp's service.
pub(crate) async fn bind_session_to_subject(
    State(sessions): State<Arc<BoundSessions>>,
    request: Request,
    next: Next,
) -> Response {
    let Some(owner) = request.extensions().get::<SessionOwner>().cloned() else {
        // Without the identity layer every session would be everyone's.
        tracing::error!("a request for the MCP endpoint carries no session owner");
        return json_rpc_error(StatusCode::INTERNAL_SERVER_ERROR, -32603, "Internal error");
    };
    // Whatever revision the request claims: an `initialize` that names the stateless one still reaches its
    // session.
    if let Some(id) = request.headers().get(SESSION_ID)
        && !id.to_str().is_ok_and(|id| sessions.live.belongs_to(id, &owner))
    {
        return json_rpc_error(StatusCode::NOT_FOUND, -32001, "Session not found");
    }
    let admission = Arc::new(Admission {
        owner,
        refusal: OnceLock::new(),
    });
    let response = ADMISSION.scope(Arc::clone(&admission), next.run(request)).await;
    match admission.refusal.get() {
        Some(refusal) => refused(*refusal),
        None => response,
    }
}

fn refused(refusal: Refusal) -> Response {
    let status = match refusal {
        Refusal::Sessions => StatusCode::SERVICE_UNAVAILABLE,
        Refusal::SessionsOfOwner | Refusal::Streams => StatusCode::TOO_MANY_REQUESTS,
    };
    let answer = json_rpc_error(status, -32000, &refusal.to_string());
    ([(RETRY_AFTER, RETRY_AFTER_SECONDS)], answer).into_response()
}

/// The id is null: the body, which has it, is rmcp's to read.
fn json_rpc_error(status: StatusCode, code: i32, message: &str) -> Response {
    let body = json!({ "jsonrpc": "2.0", "id": null, "error": { "code": code, "message": message } });
    (status, Json(body)).into_response()
}

fn note(refusal: Refusal) {
    // Outside a request there is nobody to tell.
    let _ = ADMISSION.try_with(|admission| admission.refusal.set(refusal));
}

fn new_session_id() -> Result<SessionId, getrandom::Error> {
    let mut bytes = [0; SESSION_ID_BYTES];
    getrandom::fill(&mut bytes)?;
    Ok(hex::encode(bytes).into())
}

#[cfg(test)]
mod tests;
