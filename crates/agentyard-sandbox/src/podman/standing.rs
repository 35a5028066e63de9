//! A sandbox that stays, in a container: its daemon comes to a socket that is shown inside.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use agentyard_envd::{Http2, MEETING_PLACE};
use rustix::fs::{Mode, OFlags};
use tokio::net::UnixListener;
use tokio::time::timeout;

use super::container::{Afterwards, Contained};
use super::service::refused;
use super::sources::writable;
use super::{Circumstances, ImageName, Podman, api};
use crate::command::{Access, CommandError, EndCause, Event, Mount, Network};
use crate::sandbox::Awaited;
use crate::standing::{Held, Load, Reach, Scales, Site, Standing, end_of, invalid_reach};

/// How long a daemon may take to come.
const ARRIVAL: Duration = Duration::from_secs(60);

/// How much is told of what it said when it did not.
const MAX_WORDS: usize = 1000;

impl Podman {
    pub(super) async fn stood_up(&self, site: Site) -> Result<Standing, CommandError> {
        site.reach.check().map_err(|error| invalid_reach(&error))?;
        let podman = self.for_image(site.image.as_deref())?;
        let service = podman.service().await?;
        let (image, runs) = podman.image(&service).await?;
        let reach = site.reach.clone();
        let meeting = Meeting::new(&podman.settings.directory, &service.server);
        let meeting = meeting.map_err(CommandError::Prepare)?;
        let mut command = podman
            .settings
            .daemon
            .command(site)
            .map_err(CommandError::Prepare)?;
        command
            .mounts
            .push(meeting.mount().map_err(CommandError::Prepare)?);
        let scales = Scales::new(writable(&command.mounts)?);
        let circumstances = Circumstances {
            image: &image,
            runs: &runs,
            identity: podman.identity(),
            afterwards: Afterwards::Removed,
            stays: Some(&reach),
        };
        let mut contained = podman.begin(&service, command, circumstances).await?;
        let connection = meeting.arrival(&mut contained, &podman.settings.image).await?;
        Ok(Standing::held(connection, Daemon { contained, scales }))
    }

    /// The same podman with the image that a sandbox is made from.
    fn for_image(&self, image: Option<&str>) -> Result<Self, CommandError> {
        let Some(image) = image else {
            return Ok(self.clone());
        };
        let name = ImageName::chosen(image).map_err(|error| CommandError::Refused {
            reason: error.to_string(),
            remedy: "name an image such as `docker.io/library/debian:12`".to_owned(),
        })?;
        Ok(self.with_image(name, self.settings.setup.clone()))
    }
}

/// A socket for one daemon, which nobody outside of its container can reach but this server.
struct Meeting {
    listener: UnixListener,
    path: PathBuf,
}

impl Meeting {
    /// Its name tells whose it is, by which those are found whose server is gone.
    fn new(directory: &Path, server: &str) -> io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = directory.join(format!("{server}.{number}"));
        let listener = UnixListener::bind(&path)?;
        let meeting = Self { listener, path };
        // The directory is closed to everybody else.
        fs::set_permissions(&meeting.path, fs::Permissions::from_mode(0o666))?;
        Ok(meeting)
    }

    fn mount(&self) -> io::Result<Mount> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Mount {
            source: rustix::fs::open(&self.path, flags, Mode::empty())?,
            host_path: self.path.clone(),
            at: MEETING_PLACE.into(),
            access: Access::ReadOnly,
        })
    }

    /// Waits for the daemon, who is the first to run inside, and so the first to come. Nobody else is let in.
    async fn arrival(self, contained: &mut Contained, image: &ImageName) -> Result<Http2, CommandError> {
        let arrived = tokio::select! {
            accepted = timeout(ARRIVAL, self.listener.accept()) => accepted,
            words = last_words(contained) => return Err(cannot_run(image, &words)),
        };
        let (socket, _) = arrived
            .map_err(|_| cannot_run(image, "it does not answer"))?
            .map_err(CommandError::Prepare)?;
        let connection = Http2::over(socket).await;
        connection.map_err(|error| CommandError::Prepare(io::Error::other(error)))
    }
}

impl Drop for Meeting {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = fs::remove_file(&self.path);
    }
}

/// Waits for the end of a daemon that never came, and tells what it said last.
async fn last_words(contained: &mut Contained) -> String {
    let mut words = Vec::new();
    loop {
        match contained.next_event().await {
            Ok(Event::Output(_, bytes)) => {
                words.extend(bytes);
                words.drain(..words.len().saturating_sub(MAX_WORDS));
            }
            Ok(Event::Ended(_)) => return api::clean(&String::from_utf8_lossy(&words)),
            Err(error) => return error.to_string(),
        }
    }
}

fn cannot_run(image: &ImageName, words: &str) -> CommandError {
    CommandError::Refused {
        reason: format!(
            "the image {image} cannot run this server's own program, which answers inside: {words}"
        ),
        remedy: "use an image with a C library like this machine's (glibc, and not older), such as \
                 docker.io/library/debian:stable"
            .to_owned(),
    }
}

/// A daemon in its container.
struct Daemon {
    contained: Contained,
    scales: Arc<Scales>,
}

impl Held for Daemon {
    fn ended(&mut self) -> Awaited<'_, EndCause> {
        Box::pin(end_of(&mut self.contained))
    }

    fn kill(&mut self) {
        self.contained.kill();
    }

    fn freeze(&mut self) -> Awaited<'_, Result<(), CommandError>> {
        let paused = self.contained.pause(true);
        Box::pin(async { paused.await.map_err(|error| refused(&error)) })
    }

    fn thaw(&mut self) -> Awaited<'_, Result<(), CommandError>> {
        let unpaused = self.contained.pause(false);
        Box::pin(async { unpaused.await.map_err(|error| refused(&error)) })
    }

    fn load(&mut self) -> Awaited<'static, Load> {
        let load = self.contained.load();
        Box::pin(Arc::clone(&self.scales).added_to(load))
    }

    fn set_reach(&mut self, reach: &Reach) -> Result<(), CommandError> {
        match self.contained.serving() {
            Some(serving) => serving.set_reach(reach).map_err(|error| invalid_reach(&error)),
            None if reach.network == Network::None => Ok(()),
            None => Err(CommandError::Refused {
                reason: "the container's network cannot be entered, so it has no way out".to_owned(),
                remedy: "run the server as root, or use another `sandbox.backend`".to_owned(),
            }),
        }
    }
}
