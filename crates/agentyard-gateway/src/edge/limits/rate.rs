//! How often one caller may ask. Who has an identity is counted by it, since many may share
//! an address; who has none is counted by address.

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use agentyard_model::{Caller, SandboxId, Subject, TenantId};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use governor::clock::Clock;
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::keyed::DashMapStateStore;
use governor::{Quota, RateLimiter};
use tokio::time::Instant;

use crate::edge::peer::{network_of, peer_of};
use agentyard_services::ErrorKind;

use crate::edge::refusal::Refusal;
use crate::edge::settings::HttpSettings;

/// How many requests come between two clean-ups.
const CLEAN_EVERY: u64 = 1024;
/// How many keys are remembered before addresses are counted together.
const MAX_KEYS: usize = 50_000;

/// Counts requests.
#[derive(Debug)]
pub struct RateLimits {
    /// None when any rate is allowed.
    limiter: Option<Limiter>,
    checks: AtomicU64,
    crowded: AtomicBool,
}

type Limiter = RateLimiter<Key, DashMapStateStore<Key>, Ticks, NoOpMiddleware<Nanos>>;

/// By what a request is counted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Key {
    Caller(TenantId, Subject),
    /// What runs there is asked by whoever may, from wherever they are.
    Sandbox(SandboxId),
    Address(IpAddr),
    /// Everybody without an identity, when there are more addresses than we remember.
    Crowd,
}

impl RateLimits {
    /// The limits of these settings.
    #[must_use]
    pub fn new(settings: &HttpSettings) -> Self {
        let quota = NonZeroU32::new(settings.requests_per_second).map(|rate| {
            let burst = NonZeroU32::new(settings.request_burst).unwrap_or(NonZeroU32::MIN);
            Quota::per_second(rate).allow_burst(burst)
        });
        Self {
            limiter: quota.map(|quota| RateLimiter::new(quota, DashMapStateStore::default(), Ticks::start())),
            checks: AtomicU64::new(0),
            crowded: AtomicBool::new(false),
        }
    }

    /// Counts one request of this caller; without one, or of one that nobody knows, of this
    /// address.
    ///
    /// # Errors
    /// When there were too many, with the time to wait.
    pub fn check(&self, caller: Option<&Caller>, peer: IpAddr) -> Result<(), Refusal> {
        self.check_key(self.key_of(caller, peer))
    }

    /// Counts one request to this sandbox.
    ///
    /// # Errors
    /// When there were too many, with the time to wait.
    pub fn check_sandbox(&self, sandbox: SandboxId) -> Result<(), Refusal> {
        self.check_key(Key::Sandbox(sandbox))
    }

    fn check_key(&self, key: Key) -> Result<(), Refusal> {
        let Some(limiter) = &self.limiter else {
            return Ok(());
        };
        if self.checks.fetch_add(1, Ordering::Relaxed) % CLEAN_EVERY == CLEAN_EVERY - 1 {
            limiter.retain_recent();
            self.crowded.store(limiter.len() > MAX_KEYS, Ordering::Relaxed);
        }
        let outcome = limiter.check_key(&key);
        outcome.map_err(|until| too_fast(until.wait_time_from(limiter.clock().now())))
    }

    fn key_of(&self, caller: Option<&Caller>, peer: IpAddr) -> Key {
        match caller {
            Some(Caller {
                subject: Subject::Anonymous,
                ..
            })
            | None => {
                if self.crowded.load(Ordering::Relaxed) {
                    Key::Crowd
                } else {
                    Key::Address(network_of(peer))
                }
            }
            Some(caller) => Key::Caller(caller.tenant, caller.subject.clone()),
        }
    }
}

/// The middleware for routes that need no identity. Routes that need one are counted when
/// the identity is known.
pub async fn limit_rate(State(limits): State<Arc<RateLimits>>, request: Request, next: Next) -> Response {
    let caller = request.extensions().get::<Caller>();
    match limits.check(caller, peer_of(request.extensions())) {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    }
}

fn too_fast(wait: Duration) -> Refusal {
    Refusal::new(
        ErrorKind::LimitExceeded,
        "too many requests; wait before the next",
    )
    .with_hint("The limits are `http.requests_per_second` and `http.request_burst`.")
    .retry_after(wait)
}

/// The runtime's monotonic time, which a test can move.
#[derive(Debug, Clone)]
struct Ticks {
    start: Instant,
}

impl Ticks {
    fn start() -> Self {
        Self {
            start: Instant::now(),
        }
    }
}

impl Clock for Ticks {
    type Instant = Nanos;

    fn now(&self) -> Nanos {
        Nanos::from(self.start.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn limits(per_second: u32, burst: u32) -> RateLimits {
        RateLimits::new(&HttpSettings {
            requests_per_second: per_second,
            request_burst: burst,
            ..HttpSettings::default()
        })
    }

    fn address(number: u32) -> IpAddr {
        IpAddr::V4(Ipv4Addr::from(number))
    }

    fn external(subject: &str) -> Caller {
        Caller {
            subject: Subject::External {
                issuer: "i".to_owned(),
                subject: subject.to_owned(),
            },
            ..Caller::anonymous()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_is_allowed_and_then_the_rate() {
        let limits = limits(2, 3);
        for _ in 0..3 {
            assert_eq!(limits.check(None, address(1)), Ok(()));
        }
        let refusal = limits.check(None, address(1)).unwrap_err();
        assert_eq!(refusal.status(), 429);
        assert_eq!(refusal.into_response().headers()["retry-after"], "1");
        assert_eq!(limits.check(None, address(2)), Ok(()));
        tokio::time::advance(Duration::from_millis(501)).await;
        assert_eq!(limits.check(None, address(1)), Ok(()));
        assert!(limits.check(None, address(1)).is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn who_is_known_is_counted_by_identity() {
        let limits = limits(1, 1);
        assert_eq!(limits.check(Some(&external("ada")), address(1)), Ok(()));
        assert!(limits.check(Some(&external("ada")), address(2)).is_err());
        assert_eq!(limits.check(Some(&external("bob")), address(1)), Ok(()));
        // Not by the identity of nobody, which everybody can have.
        assert_eq!(limits.check(Some(&Caller::anonymous()), address(1)), Ok(()));
        assert_eq!(limits.check(Some(&Caller::anonymous()), address(2)), Ok(()));
        assert!(limits.check(None, address(2)).is_err());
    }

    #[test]
    fn zero_is_no_limit() {
        let limits = limits(0, 0);
        assert!((0..10_000).all(|_| limits.check(None, address(1)).is_ok()));
    }

    #[tokio::test(start_paused = true)]
    async fn memory_is_bounded() {
        let limits = limits(1, 1);
        let limiter = limits.limiter.as_ref().unwrap();
        for number in 0..55_000 {
            let _ = limits.check(None, address(number));
        }
        assert!(
            limiter.len() <= MAX_KEYS + CLEAN_EVERY as usize + 1,
            "{}",
            limiter.len()
        );
        // Who is known keeps a count of their own in the crowd.
        assert_eq!(limits.check(Some(&external("ada")), address(1)), Ok(()));
        // And what has been forgiven is forgotten.
        tokio::time::advance(Duration::from_secs(5)).await;
        for number in 0..CLEAN_EVERY {
            let _ = limits.check(None, address(number as u32));
        }
        assert!(limiter.len() < CLEAN_EVERY as usize, "{}", limiter.len());
    }
}
