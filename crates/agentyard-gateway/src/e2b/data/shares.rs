//! How much of the server one tenant's sandboxes may take. What runs in them decides when it answers, if ever, and whoever
//! waits for it holds a place; so nobody has all of the places.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentyard_model::TenantId;
use agentyard_services::ErrorKind;

use crate::edge::{HttpSettings, Refusal};

/// After how long another try may do.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// What is under way into sandboxes. Copies are the same.
#[derive(Debug, Clone)]
pub(in crate::e2b) struct Shares(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    requests: usize,
    streams: usize,
    taken: Mutex<HashMap<(TenantId, Kind), usize>>,
}

/// What a place is taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// Something that is answered, and then over.
    Request,
    /// Something that goes on until somebody ends it.
    Stream,
}

/// A place that is taken until this is dropped.
#[derive(Debug)]
pub(super) struct Share {
    shares: Shares,
    key: (TenantId, Kind),
}

impl Shares {
    /// Half of what the server takes at once is the most that one tenant may have.
    pub(in crate::e2b) fn new(http: &HttpSettings) -> Self {
        let half = |places: usize| (places / 2).max(1);
        Self(Arc::new(Inner {
            requests: half(http.max_concurrent_requests),
            streams: half(http.max_event_streams),
            taken: Mutex::default(),
        }))
    }

    /// Takes a place.
    pub(super) fn take(&self, tenant: TenantId, kind: Kind) -> Result<Share, Refusal> {
        let (most, what, setting) = match kind {
            Kind::Request => (
                self.0.requests,
                "requests in progress",
                "http.max_concurrent_requests",
            ),
            Kind::Stream => (self.0.streams, "streams open", "http.max_event_streams"),
        };
        let key = (tenant, kind);
        let mut taken = self.taken();
        let count = taken.entry(key).or_default();
        if *count >= most {
            return Err(Refusal::new(
                ErrorKind::Unavailable,
                format!("the sandboxes of your tenant have as many {what} as they may; try again shortly"),
            )
            .with_hint(format!("They may have half of `{setting}`."))
            .retry_after(RETRY_AFTER));
        }
        *count += 1;
        Ok(Share {
            shares: self.clone(),
            key,
        })
    }

    fn taken(&self) -> MutexGuard<'_, HashMap<(TenantId, Kind), usize>> {
        self.0.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut taken = self.shares.taken();
        if let Some(count) = taken.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_has_all_of_the_places() {
        let shares = Shares::new(&HttpSettings {
            max_concurrent_requests: 4,
            max_event_streams: 1,
            ..HttpSettings::default()
        });
        let (one, other) = (TenantId::new(), TenantId::new());
        let _first = shares.take(one, Kind::Request).unwrap();
        let second = shares.take(one, Kind::Request).unwrap();
        let refusal = shares.take(one, Kind::Request).unwrap_err();
        assert_eq!(refusal.status(), 503);
        assert!(shares.take(other, Kind::Request).is_ok());
        let stream = shares.take(one, Kind::Stream).unwrap();
        assert!(shares.take(one, Kind::Stream).is_err());
        drop((second, stream));
        assert!(shares.take(one, Kind::Request).is_ok() && shares.take(one, Kind::Stream).is_ok());
    }
}
