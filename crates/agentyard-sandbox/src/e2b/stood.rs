//! A sandbox of somebody else's, for as long as we want it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use agentyard_envd::client::{self, CallError};
use agentyard_envd::process::{Config, StartRequest};
use agentyard_envd::{Body, Exchange, Exchanged};
use http::{HeaderValue, Request};
use tokio::runtime::Handle;
use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;

use super::api::{Api, Made, Order};
use super::failed;
use super::link::Link;
use super::paths::WORKSPACE;
use crate::command::{CommandError, EndCause};
use crate::sandbox::Awaited;
use crate::standing::{Load, Reach, Standing, Stands};

/// How long what prepares a sandbox may take.
const PREPARATION: Duration = Duration::from_secs(60);

/// A sandbox that is renewed while this is there, and ended when it is dropped.
#[derive(Debug)]
pub(super) struct Stood {
    shared: Arc<Shared>,
    registries: Vec<String>,
    renewing: AbortHandle,
    runtime: Handle,
}

#[derive(Debug)]
struct Shared {
    api: Arc<Api>,
    link: Link,
    /// For how long it stays each time that it is renewed.
    lifetime: Duration,
    /// Until when somebody asked for it to stay, if that is longer.
    until: Mutex<Instant>,
    ended: watch::Sender<Option<EndCause>>,
    renewed: Notify,
}

impl Stood {
    /// Makes a sandbox.
    pub(super) async fn up(api: &Arc<Api>, order: Order<'_>) -> Result<Self, CommandError> {
        let (lifetime, registries) = (order.lifetime, order.registries.to_vec());
        let made = api.create(order).await.map_err(|error| failed(&error))?;
        Self::of(api, made, lifetime, registries)
    }

    /// A sandbox that was made just now.
    fn of(
        api: &Arc<Api>,
        made: Made,
        lifetime: Duration,
        registries: Vec<String>,
    ) -> Result<Self, CommandError> {
        let link = Link::new(Arc::clone(api), made).map_err(|error| failed(&error))?;
        let shared = Arc::new(Shared {
            api: Arc::clone(api),
            link,
            lifetime,
            until: Mutex::new(Instant::now()),
            ended: watch::Sender::new(None),
            renewed: Notify::new(),
        });
        let renewing = tokio::spawn(Arc::clone(&shared).keep()).abort_handle();
        Ok(Self {
            shared,
            registries,
            renewing,
            runtime: Handle::current(),
        })
    }

    pub(super) fn link(&self) -> &Link {
        &self.shared.link
    }

    pub(super) fn has_ended(&self) -> bool {
        self.shared.ended.borrow().is_some() || self.shared.link.is_gone()
    }

    /// Makes the tree's directory where it is not there: by itself, or by the administrator where there is one.
    pub(super) async fn make_workspace(&self) -> Result<(), CallError> {
        let own = program("mkdir", &["-p", "-m", "0755", WORKSPACE]);
        let made = client::run(self.link(), &own, PREPARATION, 0).await?;
        if made.end.exit_code == 0 {
            return Ok(());
        }
        let script = program(
            "sh",
            &["-c", "mkdir -p \"$1\" && chown user: \"$1\"", "sh", WORKSPACE],
        );
        let administrator = Administrator(Arc::clone(&self.shared));
        client::run(&administrator, &script, PREPARATION, 0)
            .await
            .map(drop)
    }

    pub(super) async fn set_network(&self, reach: &Reach, registries: &[String]) -> Result<(), CommandError> {
        let Shared { api, link, .. } = &*self.shared;
        let done = api.set_reach(link.id(), reach, registries).await;
        done.map_err(|error| self.noticed(&error))
    }

    /// What a failure means, of which it may be the reason that the sandbox is gone.
    fn noticed(&self, error: &super::ApiError) -> CommandError {
        if error.is_gone() {
            self.shared.link.note_gone();
        }
        failed(error)
    }

    async fn kill(&self) {
        self.renewing.abort();
        self.shared.end().await;
    }
}

impl Shared {
    /// Renews the sandbox until it is gone.
    async fn keep(self: Arc<Self>) {
        let pause = (self.lifetime / 3).max(Duration::from_millis(500));
        loop {
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.renewed.notified() => continue,
                () = self.link.gone() => break,
            }
            if self.link.is_frozen() {
                // It does not grow older, and renewing would wake it in some places.
                self.link.thawed().await;
                continue;
            }
            let renewing = self.api.set_timeout(self.link.id(), self.stay());
            // One that is not answered must not take the time in which another could be.
            let Ok(renewed) = tokio::time::timeout(pause, renewing).await else {
                continue;
            };
            match renewed {
                Err(error) if error.is_gone() => {
                    self.link.note_gone();
                    break;
                }
                // The next time may do; if none does, it ends by itself.
                Ok(()) | Err(_) => {}
            }
        }
        self.tell(EndCause::Itself);
    }

    fn stay(&self) -> Duration {
        let until = *self.until.lock().unwrap_or_else(PoisonError::into_inner);
        self.lifetime.max(until.saturating_duration_since(Instant::now()))
    }

    fn tell(&self, cause: EndCause) {
        self.ended.send_if_modified(|ended| {
            let is_news = ended.is_none();
            ended.get_or_insert(cause);
            is_news
        });
    }

    async fn end(&self) {
        if self.ended.borrow().is_some() {
            return;
        }
        // Where this fails, nobody renews it any more.
        let _ = self.api.kill(self.link.id()).await;
        self.link.note_gone();
        self.tell(EndCause::Stopped);
    }
}

impl Drop for Stood {
    fn drop(&mut self) {
        self.renewing.abort();
        let shared = Arc::clone(&self.shared);
        if shared.ended.borrow().is_none() {
            // Who stops the process waits for it.
            let awaited = Arc::clone(&shared.api.ending).try_read_owned();
            self.runtime.spawn(async move {
                shared.end().await;
                drop(awaited);
            });
        }
    }
}

impl Exchange for Stood {
    fn exchange(&self, request: Request<Body>) -> Exchanged<'_> {
        self.shared.link.exchange(request)
    }
}

impl Stands for Stood {
    fn name(&self) -> Option<String> {
        Some(self.shared.link.id().to_owned())
    }

    fn freeze(&self) -> Awaited<'_, Result<(), CommandError>> {
        Box::pin(async move {
            self.shared.link.set_frozen(true);
            let paused = self.shared.api.pause(self.shared.link.id()).await;
            paused.map_err(|error| {
                self.shared.link.set_frozen(false);
                self.noticed(&error)
            })
        })
    }

    fn thaw(&self) -> Awaited<'_, Result<(), CommandError>> {
        Box::pin(async move {
            let shared = &self.shared;
            let woken = shared.api.connect(shared.link.id(), shared.stay()).await;
            woken.map_err(|error| self.noticed(&error))?;
            shared.link.set_frozen(false);
            Ok(())
        })
    }

    fn load(&self) -> Awaited<'_, Load> {
        Box::pin(async move {
            let load = self.shared.api.load(self.shared.link.id()).await;
            load.unwrap_or_default()
        })
    }

    fn set_reach(&self, reach: Reach) -> Awaited<'_, Result<(), CommandError>> {
        Box::pin(async move { self.set_network(&reach, &self.registries).await })
    }

    fn renew(&self, lifetime: Duration) -> Awaited<'_, Result<(), CommandError>> {
        Box::pin(async move {
            let shared = &self.shared;
            *shared.until.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now() + lifetime;
            let renewed = shared.api.set_timeout(shared.link.id(), shared.stay()).await;
            shared.renewed.notify_one();
            renewed.map_err(|error| self.noticed(&error))
        })
    }

    fn snapshot(&self, name: &str) -> Awaited<'_, Result<String, CommandError>> {
        let name = name.to_owned();
        Box::pin(async move {
            let _still = self.shared.link.held_still();
            let taken = self.shared.api.snapshot(self.shared.link.id(), &name).await;
            taken.map_err(|error| self.noticed(&error))
        })
    }

    fn fork(&self, count: u32) -> Awaited<'_, Result<Vec<Result<Standing, CommandError>>, CommandError>> {
        Box::pin(async move {
            let shared = &self.shared;
            let forked = {
                let _still = shared.link.held_still();
                shared.api.fork(shared.link.id(), count, shared.lifetime).await
            };
            let standing = |made: Result<Made, super::ApiError>| {
                let made = made.map_err(|error| failed(&error))?;
                Self::of(&shared.api, made, shared.lifetime, self.registries.clone()).map(Standing::new)
            };
            let forked = forked.map_err(|error| self.noticed(&error))?;
            Ok(forked.into_iter().map(standing).collect())
        })
    }

    fn ended(&self) -> Awaited<'_, EndCause> {
        let mut ended = self.shared.ended.subscribe();
        Box::pin(async move {
            let cause = ended.wait_for(Option::is_some).await;
            cause.ok().and_then(|cause| *cause).unwrap_or(EndCause::Itself)
        })
    }

    fn take_down(&self) -> Awaited<'_, ()> {
        Box::pin(self.kill())
    }
}

/// The same sandbox as its administrator, where there is one.
#[derive(Debug)]
struct Administrator(Arc<Shared>);

impl Exchange for Administrator {
    fn exchange(&self, mut request: Request<Body>) -> Exchanged<'_> {
        // `root`, without a password.
        let root = HeaderValue::from_static("Basic cm9vdDo=");
        request.headers_mut().insert(http::header::AUTHORIZATION, root);
        self.0.link.exchange(request)
    }
}

fn program(cmd: &str, args: &[&str]) -> StartRequest {
    StartRequest {
        process: Config {
            cmd: cmd.to_owned(),
            args: args.iter().map(|&word| word.to_owned()).collect(),
            cwd: Some("/".to_owned()),
            ..Config::default()
        },
        stdin: Some(false),
        ..StartRequest::default()
    }
}
