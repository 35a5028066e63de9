//! The requests that a client still waits for.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use rmcp::model::{ClientRequest, RequestId};
use tokio::sync::Notify;

#[derive(Debug, Default)]
pub(super) struct Calls {
    under_way: Mutex<HashMap<RequestId, Kind>>,
    changed: Notify,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Call,
    /// Lasts as long as the session, so the session cannot last as long as it.
    Subscription,
}

impl Calls {
    /// `false`, and nothing begun, when there are `limit` already.
    pub(super) fn begin(&self, id: &RequestId, request: &ClientRequest, limit: usize) -> bool {
        let kind = match request {
            ClientRequest::SubscriptionsListenRequest(_) => Kind::Subscription,
            _ => Kind::Call,
        };
        let mut under_way = self.lock();
        let has_place = under_way.len() < limit;
        if has_place {
            under_way.insert(id.clone(), kind);
        }
        has_place
    }

    pub(super) fn end(&self, id: &RequestId) {
        self.lock().remove(id);
        self.changed.notify_waiters();
    }

    pub(super) async fn all_answered(&self) {
        loop {
            // Made before the look: it hears of a change from here on.
            let changed = self.changed.notified();
            if !self.lock().values().any(|kind| *kind == Kind::Call) {
                return;
            }
            changed.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RequestId, Kind>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
