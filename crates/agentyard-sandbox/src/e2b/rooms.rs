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
use super::{E2bSettings, PoolSettings, failed};
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
    /// Had by whoever makes one that is to wait, until it does.
    filling: tokio::sync::Mutex<()>,
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

impl Kept {
    /// A sandbox in which there is nothing yet, and that reaches nobody.
    fn of(stood: Stood) -> Self {
        Self {
            stood,
            copies: HashMap::new(),
            network: Network::None,
        }
    }
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

impl Default for Room {
    fn default() -> Self {
        Self {
            kept: Arc::default(),
            used: Mutex::new(Instant::now()),
        }
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
            filling: tokio::sync::Mutex::default(),
            is_tended: AtomicBool::new(false),
            has_ended: AtomicBool::new(false),
        }))
    }

    /// Makes those that are to wait, from now on.
    ///
    /// # Errors
    /// When some are to wait, and the service cannot be reached now. It is tried again.
    pub(super) async fn warm_up(&self) -> Result<(), CommandError> {
        if self.0.settings.pool.is_none() {
            return Ok(());
        }
        self.tend();
        self.0.api.reachable().await.map_err(|error| failed(&error))
    }

    /// The sandbox of the workspace that a command works in, with the network that it asks for.
    pub(super) async fn hold(&self, command: &Command) -> Result<Held, CommandError> {
        self.0.must_go_on()?;
        self.tend();
        let room = match command.mounts.first() {
            Some(workspace) => self.0.room(&workspace.host_path)?,
            // Nobody else works where nobody's files are.
            None => Arc::default(),
        };
        let kept = Arc::clone(&room.kept).lock_owned().await;
        room.note_use();
        let mut held = Held { kept, room };
        if held.has_ended() {
            // What there was goes before there is another.
            held.give_up();
            *held.kept = Some(self.0.furnished().await?);
        }
        match self.0.connect(&mut held, command.network).await {
            Err(_) if held.has_ended() => {
                self.refurnish(&mut held, command.network).await?;
                Ok(held)
            }
            connected => connected.map(|()| held),
        }
    }

    /// Another sandbox in place of one that was thought to be there and is not. None of those that wait is taken for
    /// it, since they may have gone with it.
    pub(super) async fn refurnish(&self, held: &mut Held, network: Network) -> Result<(), CommandError> {
        held.give_up();
        *held.kept = Some(Kept::of(self.0.make("commands").await?));
        self.0.connect(held, network).await
    }

    /// A sandbox for somebody else.
    pub(super) async fn stand_up(&self, site: Site) -> Result<Stood, CommandError> {
        self.0.must_go_on()?;
        self.tend();
        let settings = &self.0.settings;
        let stood = match self.0.waiting_for(&site).await? {
            Some(stood) => stood,
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
        let ending = async {
            // One that is being made is there when that is done.
            drop(self.0.filling.lock().await);
            let waiting = self.0.pool.emptied();
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
            // So are those that somebody let go of just before.
            drop(self.0.api.ending.write().await);
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
        let room: Arc<Room> = Arc::default();
        rooms.insert(key.to_owned(), Arc::clone(&room));
        Ok(room)
    }

    fn must_go_on(&self) -> Result<(), CommandError> {
        match self.has_ended.load(Ordering::Relaxed) {
            false => Ok(()),
            true => Err(CommandError::Remote {
                reason: "no sandbox was made: the server stops".to_owned(),
                remedy: "ask again when it runs".to_owned(),
            }),
        }
    }

    /// A sandbox for commands, in which there is nothing yet.
    async fn furnished(&self) -> Result<Kept, CommandError> {
        Ok(Kept::of(match self.pool.take() {
            Some(stood) => stood,
            None => self.make("commands").await?,
        }))
    }

    /// Lets a sandbox for commands talk to whom the next one may.
    async fn connect(&self, held: &mut Held, network: Network) -> Result<(), CommandError> {
        let Some(kept) = held.kept.as_mut().filter(|kept| kept.network != network) else {
            return Ok(());
        };
        let reach = Reach {
            network,
            ..Reach::default()
        };
        kept.stood.set_network(&reach, &self.settings.registries).await?;
        kept.network = network;
        Ok(())
    }

    /// One of those that wait, if it will do and is still there.
    async fn waiting_for(&self, site: &Site) -> Result<Option<Stood>, CommandError> {
        if site.image.is_some() || !site.environment.is_empty() {
            return Ok(None);
        }
        let Some(stood) = self.pool.take() else {
            return Ok(None);
        };
        let adapted = async {
            stood.set_network(&site.reach, &self.settings.registries).await?;
            stood.renew(site.lifetime).await
        };
        match adapted.await {
            Err(_) if stood.has_ended() => Ok(None),
            adapted => adapted.map(|()| Some(stood)),
        }
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
            let _filling = inner.filling.lock().await;
            // Whoever ends all waits for this, and takes what is put here.
            match inner.must_go_on().is_ok() {
                true => match inner.make("waiting").await {
                    Ok(stood) => inner.pool.put(stood),
                    // Where one cannot be made now, the next time may do.
                    Err(_) => is_behind = false,
                },
                false => return,
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
