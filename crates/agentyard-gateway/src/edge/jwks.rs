//! Tokens of an OAuth issuer: verified with the keys that it publishes, which change
//! without our being told.

mod document;
mod source;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use agentyard_model::{Clock, Secret};
use arc_swap::ArcSwapOption;
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep, timeout};

use self::document::KeySet;
use self::source::{FetchError, KeySource};
use super::claims::{Claims, Expected};
use super::fault::TokenFault;
use super::jwt::UnverifiedToken;
use super::keys::VerificationKey;
use super::settings::{InvalidSetting, OAuthSettings, required};

/// A key that we do not know makes us ask the issuer, but not more often than this: anybody
/// can make up key ids.
const REFETCH_PAUSE: Duration = Duration::from_secs(30);
/// How long a caller with an unknown key waits for the answer, which may come later.
const MAX_WAIT: Duration = Duration::from_secs(3);

/// Verifies tokens with the keys that their issuer publishes.
#[derive(Debug)]
pub struct JwksVerifier {
    cache: Arc<KeyCache>,
    expected: Expected,
    refresher: OnceLock<AbortHandle>,
}

impl JwksVerifier {
    /// A verifier for these settings. Nothing is fetched yet.
    ///
    /// # Errors
    /// Names the setting that cannot stand.
    pub fn new(settings: &OAuthSettings, clock: Clock) -> Result<Self, InvalidSetting> {
        Ok(Self {
            cache: Arc::new(KeyCache {
                source: KeySource::new(settings)?,
                refresh: Duration::from_secs(settings.refresh_seconds),
                stale: Duration::from_secs(settings.stale_seconds),
                loaded: ArcSwapOption::empty(),
                flight: Arc::new(Mutex::new(Flight::default())),
            }),
            expected: Expected {
                issuer: required("auth.oauth.issuer", settings.issuer.as_deref())?.to_owned(),
                audience: required("auth.oauth.audience", settings.audience.as_deref())?.to_owned(),
                leeway: Duration::from_secs(settings.leeway_seconds),
                clock,
            },
            refresher: OnceLock::new(),
        })
    }

    /// Fetches the keys ahead of the first token. That the issuer cannot be reached is logged
    /// and no reason not to start: it may be starting too.
    pub async fn warm(&self) {
        self.start_refreshing();
        let flight = Arc::clone(&self.cache.flight).lock_owned().await;
        KeyCache::fetch_detached(&self.cache, flight).await;
    }

    /// What the token says, if it is to be believed.
    ///
    /// # Errors
    /// Says what is wrong with it, without a word of its content; or that the issuer's keys
    /// cannot be had.
    pub async fn verify(&self, token: &Secret) -> Result<Claims, TokenFault> {
        self.start_refreshing();
        let unverified = UnverifiedToken::read(token)?;
        let id = unverified.key_id();
        let key = match self.cache.get(id) {
            Some(key) => key,
            None => KeyCache::get_from_issuer(&self.cache, id).await?,
        };
        unverified.verify(&key, &self.expected)
    }

    /// Here rather than in `new`, which need not run inside a runtime.
    fn start_refreshing(&self) {
        self.refresher.get_or_init(|| {
            let cache = Arc::clone(&self.cache);
            tokio::spawn(async move { cache.keep_fresh().await }).abort_handle()
        });
    }
}

impl Drop for JwksVerifier {
    fn drop(&mut self) {
        if let Some(refresher) = self.refresher.get() {
            refresher.abort();
        }
    }
}

#[derive(Debug)]
struct KeyCache {
    source: KeySource,
    refresh: Duration,
    stale: Duration,
    loaded: ArcSwapOption<Loaded>,
    /// Held by whoever asks the issuer, so that there is never more than one.
    flight: Arc<Mutex<Flight>>,
}

#[derive(Debug)]
struct Loaded {
    keys: KeySet,
    at: Instant,
}

#[derive(Debug, Default)]
struct Flight {
    last: Option<Instant>,
}

impl KeyCache {
    fn get(&self, id: Option<&str>) -> Option<VerificationKey> {
        self.usable()?.keys.get(id).cloned()
    }

    /// The keys, unless they are so old that they might have been withdrawn long since.
    fn usable(&self) -> Option<Arc<Loaded>> {
        self.loaded
            .load_full()
            .filter(|loaded| loaded.at.elapsed() < self.stale)
    }

    /// The key of this id after asking the issuer, unless it was asked a moment ago.
    async fn get_from_issuer(this: &Arc<Self>, id: Option<&str>) -> Result<VerificationKey, TokenFault> {
        let asking = async {
            let flight = Arc::clone(&this.flight).lock_owned().await;
            // Somebody else may have asked while we waited for the turn.
            let asked = flight.last.is_some_and(|last| last.elapsed() < REFETCH_PAUSE);
            if !asked && this.get(id).is_none() {
                Self::fetch_detached(this, flight).await;
            }
        };
        // When the wait is over the answer is the same as if the key were not there.
        let _ = timeout(MAX_WAIT, asking).await;
        match this.usable() {
            Some(loaded) => loaded.keys.get(id).cloned().ok_or(TokenFault::UnknownKey),
            None => Err(TokenFault::KeysUnavailable),
        }
    }

    /// Fetches in a task of its own: a caller who asks and goes away must not be able to
    /// spend the one attempt that everybody else is waiting for.
    async fn fetch_detached(this: &Arc<Self>, flight: OwnedMutexGuard<Flight>) {
        let cache = Arc::clone(this);
        let task = tokio::spawn(async move { cache.fetch(flight).await });
        // It cannot fail otherwise than by panicking or by the runtime's end.
        let _ = task.await;
    }

    /// Replaces the keys when the issuer answers with some, and keeps those there are
    /// otherwise. Says whether it worked.
    async fn fetch(&self, mut flight: OwnedMutexGuard<Flight>) -> bool {
        flight.last = Some(Instant::now());
        match self.source.fetch().await {
            Ok(keys) => {
                tracing::debug!(keys = keys.len(), "fetched the issuer's keys");
                let at = Instant::now();
                self.loaded.store(Some(Arc::new(Loaded { keys, at })));
                true
            }
            Err(error) => {
                let kept = self.usable().is_some();
                tracing::warn!(error = %Chain(&error), kept, "cannot fetch the issuer's keys");
                false
            }
        }
    }

    async fn keep_fresh(&self) {
        let mut pause = self.refresh;
        loop {
            sleep(pause).await;
            let flight = Arc::clone(&self.flight).lock_owned().await;
            let worked = self.fetch(flight).await;
            pause = if worked {
                self.refresh
            } else {
                self.refresh.min(REFETCH_PAUSE)
            };
        }
    }
}

/// An error with its causes, for a log line.
struct Chain<'a>(&'a FetchError);

impl std::fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)?;
        let mut cause = std::error::Error::source(self.0);
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}
