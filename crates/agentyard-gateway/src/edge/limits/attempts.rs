//! How often an address may present credentials that nobody accepts.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentyard_model::Secret;
use tokio::time::Instant;

use crate::edge::peer::network_of;
use agentyard_services::ErrorKind;

use crate::edge::refusal::Refusal;

const WINDOW: Duration = Duration::from_secs(60);
const CLEAN_PAUSE: Duration = Duration::from_secs(5);
/// How many addresses are remembered before new ones are counted together.
const MAX_ADDRESSES: usize = 10_000;
const MAX_KNOWN_TOKENS: usize = 10_000;

/// Counts failures by address, and shuts the door on one that has had too many.
#[derive(Debug)]
pub(in crate::edge) struct FailedAttempts {
    limit: u32,
    table: Mutex<Table>,
}

#[derive(Debug)]
struct Table {
    /// `None` stands for all addresses that did not fit.
    windows: HashMap<Option<IpAddr>, Window>,
    cleaned: Instant,
}

#[derive(Debug, Clone, Copy)]
struct Window {
    since: Instant,
    failures: u32,
}

impl FailedAttempts {
    pub(in crate::edge) fn new(per_minute: u32) -> Self {
        Self {
            limit: per_minute,
            table: Mutex::new(Table {
                windows: HashMap::new(),
                cleaned: Instant::now(),
            }),
        }
    }

    /// Refuses an address that has failed too often in the last minute.
    pub(in crate::edge) fn check(&self, peer: IpAddr) -> Result<(), Refusal> {
        match self.table().window(peer) {
            Some(window) if window.failures >= self.limit && !window.is_over() => {
                Err(too_many(window.remaining()))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Counts a failure.
    pub(in crate::edge) fn record(&self, peer: IpAddr) {
        self.table().record(peer);
    }

    /// Nothing here can be left half done, so that a panic elsewhere does not spoil it.
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    fn window(&self, peer: IpAddr) -> Option<Window> {
        self.windows.get(&self.key(peer)).copied()
    }

    fn record(&mut self, peer: IpAddr) {
        // A full table is looked through once in a while only: doing it for every stranger
        // would make strangers expensive.
        if self.windows.len() >= MAX_ADDRESSES && self.cleaned.elapsed() >= CLEAN_PAUSE {
            self.windows.retain(|_, window| !window.is_over());
            self.cleaned = Instant::now();
        }
        let fresh = Window {
            since: Instant::now(),
            failures: 0,
        };
        let window = self.windows.entry(self.key(peer)).or_insert(fresh);
        if window.is_over() {
            *window = fresh;
        }
        window.failures = window.failures.saturating_add(1);
    }

    fn key(&self, peer: IpAddr) -> Option<IpAddr> {
        let key = Some(network_of(peer));
        if self.windows.len() < MAX_ADDRESSES || self.windows.contains_key(&key) {
            key
        } else {
            None
        }
    }
}

impl Window {
    fn remaining(&self) -> Duration {
        WINDOW.saturating_sub(self.since.elapsed())
    }

    fn is_over(&self) -> bool {
        self.remaining().is_zero()
    }
}

fn too_many(wait: Duration) -> Refusal {
    Refusal::new(
        ErrorKind::LimitExceeded,
        "too many failed attempts from this address; wait, and try again with a token that is valid",
    )
    .with_hint("The limit is `http.failed_attempts_per_minute`.")
    .retry_after(wait)
}

/// Remembers which tokens were accepted lately. They are verified even while their address
/// is shut out: many agents share one address, and one of them with an expired token must
/// not stop the others.
#[derive(Debug, Default)]
pub(in crate::edge) struct KnownTokens {
    /// Keyed anew in each process, so that what is kept says nothing about a token.
    hasher: RandomState,
    fingerprints: Mutex<HashSet<u64>>,
}

impl KnownTokens {
    pub(in crate::edge) fn contains(&self, token: &Secret) -> bool {
        let fingerprint = self.hasher.hash_one(token.expose());
        self.fingerprints().contains(&fingerprint)
    }

    pub(in crate::edge) fn insert(&self, token: &Secret) {
        let fingerprint = self.hasher.hash_one(token.expose());
        let mut fingerprints = self.fingerprints();
        if fingerprints.len() >= MAX_KNOWN_TOKENS {
            // They come back with their next request, unless their address is shut out.
            fingerprints.clear();
        }
        fingerprints.insert(fingerprint);
    }

    pub(in crate::edge) fn remove(&self, token: &Secret) {
        let fingerprint = self.hasher.hash_one(token.expose());
        self.fingerprints().remove(&fingerprint);
    }

    fn fingerprints(&self) -> MutexGuard<'_, HashSet<u64>> {
        self.fingerprints.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use axum::response::IntoResponse;

    use super::*;

    fn address(number: u32) -> IpAddr {
        IpAddr::V4(Ipv4Addr::from(number))
    }

    #[tokio::test(start_paused = true)]
    async fn an_address_is_shut_out_for_the_rest_of_the_minute() {
        let attempts = FailedAttempts::new(3);
        for _ in 0..3 {
            assert_eq!(attempts.check(address(1)), Ok(()));
            attempts.record(address(1));
        }
        tokio::time::advance(Duration::from_secs(20)).await;
        let refusal = attempts.check(address(1)).unwrap_err();
        assert_eq!(refusal.into_response().headers()["retry-after"], "40");
        assert_eq!(attempts.check(address(2)), Ok(()));
        tokio::time::advance(Duration::from_secs(40)).await;
        assert_eq!(attempts.check(address(1)), Ok(()));
        attempts.record(address(1));
        assert_eq!(attempts.check(address(1)), Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn memory_is_bounded() {
        let attempts = FailedAttempts::new(2);
        for number in 0..30_000 {
            attempts.record(address(number));
        }
        assert_eq!(attempts.table().windows.len(), MAX_ADDRESSES + 1);
        assert_eq!(attempts.check(address(1)), Ok(()));
        assert!(
            attempts.check(address(29_999)).is_err(),
            "those that did not fit count together"
        );

        tokio::time::advance(WINDOW).await;
        attempts.record(address(1));
        assert_eq!(attempts.table().windows.len(), 1, "what is over is forgotten");
    }

    #[test]
    fn known_tokens_are_bounded() {
        let known = KnownTokens::default();
        for number in 0..30_000 {
            known.insert(&Secret::new(number.to_string()));
        }
        assert!(known.fingerprints().len() <= MAX_KNOWN_TOKENS);
        assert!(known.contains(&Secret::new("29999")));
        known.remove(&Secret::new("29999"));
        assert!(!known.contains(&Secret::new("29999")));
    }
}
