//! The table of live sessions: who owns each, when it was last used, and which of its calls are not answered.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use rmcp::{model::RequestId, transport::streamable_http_server::SessionId};

use super::{Refusal, SessionLimits, SessionOwner};

#[derive(Debug, Default)]
pub(super) struct LiveSessions(Mutex<HashMap<SessionId, LiveSession>>);

#[derive(Debug)]
struct LiveSession {
    /// `None` only where no [`bind_session_to_subject`](super::bind_session_to_subject) is in front: then
    /// nobody's.
    owner: Option<SessionOwner>,
    last_used: Instant,
    open_streams: usize,
    /// By rmcp's number for the HTTP request that brought the call.
    calls: BTreeMap<u64, RequestId>,
}

impl LiveSessions {
    pub(super) fn admit(
        &self,
        id: &SessionId,
        owner: Option<SessionOwner>,
        limits: &SessionLimits,
    ) -> Result<(), Refusal> {
        let mut sessions = self.lock();
        if sessions.len() >= limits.sessions {
            return Err(Refusal::Sessions);
        }
        let of_owner = sessions
            .values()
            .filter(|session| owner.is_some() && session.owner == owner)
            .count();
        if of_owner >= limits.sessions_per_owner {
            return Err(Refusal::SessionsOfOwner);
        }
        let session = LiveSession {
            owner,
            last_used: Instant::now(),
            open_streams: 0,
            calls: BTreeMap::new(),
        };
        sessions.insert(Arc::clone(id), session);
        Ok(())
    }

    pub(super) fn belongs_to(&self, id: &str, owner: &SessionOwner) -> bool {
        self.lock()
            .get(id)
            .is_some_and(|session| session.owner.as_ref() == Some(owner))
    }

    pub(super) fn touch(&self, id: &str) {
        if let Some(session) = self.lock().get_mut(id) {
            session.last_used = Instant::now();
        }
    }

    pub(super) fn idle(&self, limit: Duration) -> Vec<SessionId> {
        let sessions = self.lock();
        let idle = sessions
            .iter()
            .filter(|(_, session)| session.open_streams == 0 && session.last_used.elapsed() >= limit);
        idle.map(|(id, _)| Arc::clone(id)).collect()
    }

    pub(super) fn all(&self) -> Vec<SessionId> {
        self.lock().keys().map(Arc::clone).collect()
    }

    /// Removes a session and returns the calls that it has not answered.
    pub(super) fn forget(&self, id: &str) -> Vec<RequestId> {
        let session = self.lock().remove(id);
        session
            .map(|session| session.calls.into_values().collect())
            .unwrap_or_default()
    }

    pub(super) fn open_stream(
        sessions: &Arc<Self>,
        id: &SessionId,
        limit: usize,
    ) -> Result<OpenStream, Refusal> {
        if let Some(session) = sessions.lock().get_mut(id) {
            if session.open_streams >= limit {
                return Err(Refusal::Streams);
            }
            session.open_streams += 1;
            // More calls than streams: those whose stream was ended from this side and never taken up again.
            while session.calls.len() > limit {
                session.calls.pop_first();
            }
        }
        Ok(OpenStream(SessionCalls {
            sessions: Arc::clone(sessions),
            id: Arc::clone(id),
        }))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, LiveSession>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.lock().len()
    }
}

/// Keeps a session from being idle for as long as it lives.
#[derive(Debug)]
pub(super) struct OpenStream(SessionCalls);

impl OpenStream {
    pub(super) fn calls(&self) -> &SessionCalls {
        &self.0
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.with(|session| {
            session.open_streams = session.open_streams.saturating_sub(1);
            session.last_used = Instant::now();
        });
    }
}

/// The unanswered calls of one session.
#[derive(Debug, Clone)]
pub(super) struct SessionCalls {
    sessions: Arc<LiveSessions>,
    id: SessionId,
}

impl SessionCalls {
    pub(super) fn begin(&self, number: u64, request: RequestId) {
        self.with(|session| session.calls.insert(number, request));
    }

    pub(super) fn find(&self, number: u64) -> Option<RequestId> {
        self.with(|session| session.calls.get(&number).cloned()).flatten()
    }

    pub(super) fn end(&self, number: u64) {
        self.with(|session| session.calls.remove(&number));
    }

    fn with<Answer>(&self, act: impl FnOnce(&mut LiveSession) -> Answer) -> Option<Answer> {
        self.sessions.lock().get_mut(&self.id).map(act)
    }
}
