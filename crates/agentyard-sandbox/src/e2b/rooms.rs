//! The sandboxes of workspaces: each has one, which stays between its commands with the copies of its files.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio::sync::OwnedMutexGuard;

use super::api::{Api, Order};
use super::pool::Pool;
use super::stood::Stood;
use super::sync::Manifest;
use super::{E2bSettings, PoolSettings};
use crate::command::{Command, CommandError, Network};
use crate::standing::{Reach, Site, Stands as _};

/// How many sandboxes are kept where no pool says.
const MAX_ROOMS: usize = 32;

/// How long ending those that are kept may take in all.
const ENDING: Duration = Duration::from_secs(20);

#[derive(Debug)]
pub(super) struct Rooms(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    api: Arc<Api>,
    settings: E2bSettings,
    pool: Pool<Stood>,
    rooms: Mutex<HashMap<PathBuf, Arc<Room>>>,
    is_tended: AtomicBool,
    has_ended: AtomicBool,
}

/// Where the commands of one workspace run, one after the other.
#[derive(Debug)]
struct Room {
    kept: Arc<tokio::sync::Mutex<Option<Kept>>>,
    used: Mutex<Instant>,
}

/// A sandbox, and what is known of it.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) stood: Stood,
    /// The copies of directories, by where they are in it.
    pub(super) copies: HashMap<PathBuf, Manifest>,
    /// Whom it may talk to now.
    network: Network,
}

/// The turn to use a sandbox.
#[derive(Debug)]
pub(super) struct Held {
    kept: OwnedMutexGuard<Option<Kept>>,
    room: Arc<Room>,
}

impl Held {
    /// The sandbox, if it was not given up.
    pub(super) fn kept(&mut self) -> Option<&mut Kept> {
        self.kept.as_mut()
    }

    /// Whether the sandbox is not there any more.
    pub(super) fn has_ended(&self) -> bool {
        self.kept.as_ref().is_none_or(|kept| kept.stood.has_ended())
    }

    /// Gives the sandbox up: nobody knows what is in it.
    pub(super) fn give_up(&mut self) {
        *self.kept = None;
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.room.note_use();
    }
}

impl Room {
    fn note_use(&self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn used(&self) -> Instant {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Rooms {
    pub(super) fn new(api: Arc<Api>, settings: &E2bSettings) -> Self {
        Self(Arc::new(Inner {
            api,
            pool: Pool::new(settings.pool, Stood::has_ended),
            settings: settings.clone(),
            rooms: Mutex::default(),
            is_tended: AtomicBool::new(false),
            has_ended: AtomicBool::new(false),
        }))
    }

    /// The sandbox of the workspace that a command works in, with the network that it asks for.
    pub(super) async fn hold(&self, command: &Command) -> Result<Held, CommandError> {
        self.tend();
        let first = command.mounts.first();
        let key = first.map_or(Path::new(""), |mount| &mount.host_path);
        let room = self.0.room(key)?;
        let kept = Arc::clone(&room.kept).lock_owned().await;
        room.note_use();
        let mut held = Held { kept, room };
        if held.has_ended() {
            // What there was goes before there is another.
            held.give_up();
            *held.kept = Some(self.0.furnished().await?);
        }
        if let Some(kept) = held.kept.as_mut()
            && kept.network != command.network
        {
            let reach = Reach {
                network: command.network,
                ..Reach::default()
            };
            kept.stood
                .set_network(&reach, &self.0.settings.registries)
                .await?;
            kept.network = command.network;
        }
        Ok(held)
    }

    /// A sandbox for somebody else.
    pub(super) async fn stand_up(&self, site: Site) -> Result<Stood, CommandError> {
        self.tend();
        let settings = &self.0.settings;
        let waiting = (site.image.is_none() && site.environment.is_empty())
            .then(|| self.0.pool.take())
            .flatten();
        let stood = match waiting {
            Some(stood) => {
                stood.set_network(&site.reach, &settings.registries).await?;
                stood.renew(site.lifetime).await?;
                stood
            }
            None => {
                let order = Order {
                    template: site.image.as_deref(),
                    environment: &site.environment,
                    reach: &site.reach,
                    registries: &settings.registries,
                    // It is renewed while it is used, and is not left for long where this process ends.
                    lifetime: site.lifetime.min(settings.lifetime),
                    purpose: "standing",
                };
                Stood::up(&self.0.api, order).await?
            }
        };
        // Who does without it never misses it.
        let _ = stood.make_workspace().await;
        Ok(stood)
    }

    /// Ends all that is kept.
    pub(super) async fn end(&self) {
        self.0.has_ended.store(true, Ordering::Relaxed);
        let rooms: Vec<_> = self.0.rooms().drain().map(|(_, room)| room).collect();
        let waiting = self.0.pool.emptied();
        let ending = async {
            let waiting = waiting.iter().map(Stood::take_down);
            let kept = rooms.iter().map(|room| async {
                if let Some(kept) = room.kept.lock().await.take() {
                    kept.stood.take_down().await;
                }
            });
            futures::future::join(
                futures::future::join_all(waiting),
                futures::future::join_all(kept),
            )
            .await;
        };
        // What does not end in time ends by itself.
        let _ = tokio::time::timeout(ENDING, ending).await;
    }

    /// Starts the task that looks after what is kept, with the first use.
    fn tend(&self) {
        if !self.0.is_tended.swap(true, Ordering::Relaxed) {
            tokio::spawn(tend(Arc::downgrade(&self.0)));
        }
    }
}

impl Inner {
    /// The room of a workspace; where there are too many, that which was not used for longest is cleared for it.
    fn room(&self, key: &Path) -> Result<Arc<Room>, CommandError> {
        let mut rooms = self.rooms();
        if let Some(room) = rooms.get(key) {
            return Ok(Arc::clone(room));
        }
        let most = self.settings.pool.map_or(MAX_ROOMS, |pool| pool.max.max(1));
        if rooms.len() >= most {
            let mut idle: Vec<_> = rooms
                .iter()
                .filter(|(_, room)| room.kept.try_lock().is_ok())
                .map(|(key, room)| (room.used(), key.clone()))
                .collect();
            idle.sort();
            let Some((_, key)) = idle.into_iter().next() else {
                return Err(CommandError::Remote {
                    reason: format!("all {most} sandboxes are in use"),
                    remedy: "try again when a command has ended, or raise `e2b.pool_max`".to_owned(),
                });
            };
            rooms.remove(&key);
        }
        let room = Arc::new(Room {
            kept: Arc::default(),
            used: Mutex::new(Instant::now()),
        });
        rooms.insert(key.to_owned(), Arc::clone(&room));
        Ok(room)
    }

    /// A sandbox for commands, in which there is nothing yet.
    async fn furnished(&self) -> Result<Kept, CommandError> {
        let stood = match self.pool.take() {
            Some(stood) => stood,
            None => self.make("commands").await?,
        };
        Ok(Kept {
            stood,
            copies: HashMap::new(),
            network: Network::None,
        })
    }

    async fn make(&self, purpose: &str) -> Result<Stood, CommandError> {
        let order = Order {
            template: None,
            environment: &[],
            reach: &Reach::default(),
            registries: &self.settings.registries,
            lifetime: self.settings.lifetime,
            purpose,
        };
        let stood = Stood::up(&self.api, order).await?;
        let made = stood.make_workspace().await;
        made.map_err(|error| CommandError::Remote {
            reason: format!("a sandbox was made and could not be used: {error}"),
            remedy: "see `e2b.sandbox_url` and `e2b.domain`".to_owned(),
        })?;
        Ok(stood)
    }

    /// Takes those out that nobody used for long, or that have ended.
    fn vacated(&self, now: Instant) -> Vec<Arc<Room>> {
        let mut rooms = self.rooms();
        let gone: Vec<PathBuf> = rooms
            .iter()
            .filter(|(_, room)| {
                let is_old = now.saturating_duration_since(room.used()) >= self.settings.idle;
                let ended = |kept: &Kept| kept.stood.has_ended();
                let kept = room.kept.try_lock();
                kept.is_ok_and(|kept| is_old || kept.as_ref().is_some_and(ended))
            })
            .map(|(key, _)| key.clone())
            .collect();
        gone.iter().filter_map(|key| rooms.remove(key)).collect()
    }

    fn rooms(&self) -> MutexGuard<'_, HashMap<PathBuf, Arc<Room>>> {
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tick(&self) -> Duration {
        let pool = self.settings.pool.map(|pool: PoolSettings| pool.time_to_live);
        let shortest = pool.map_or(self.settings.idle, |pool| pool.min(self.settings.idle));
        (shortest / 10).clamp(Duration::from_millis(50), Duration::from_secs(30))
    }
}

/// Looks after what is kept, for as long as somebody may want it.
async fn tend(kept: Weak<Inner>) {
    loop {
        let Some(inner) = kept
            .upgrade()
            .filter(|inner| !inner.has_ended.load(Ordering::Relaxed))
        else {
            return;
        };
        let now = Instant::now();
        // Dropping them ends them.
        drop((inner.vacated(now), inner.pool.weeded(now)));
        let wanted = inner.pool.wanted(inner.rooms().len());
        let mut is_behind = wanted > 1;
        if wanted > 0 {
            match inner.make("waiting").await {
                Ok(stood) if !inner.has_ended.load(Ordering::Relaxed) => inner.pool.put(stood),
                // Where one cannot be made now, the next time may do.
                Ok(_) | Err(_) => is_behind = false,
            }
        }
        let (tick, taken) = (inner.tick(), Arc::clone(&inner.pool.taken));
        // Nobody is kept from dropping it while this waits.
        drop(inner);
        if !is_behind {
            tokio::select! {
                () = tokio::time::sleep(tick) => {}
                () = taken.notified() => {}
            }
        }
    }
}
