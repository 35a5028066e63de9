//! Commands in containers, made by podman: each with an image of its own choice.
//!
//! Podman is asked over its socket, which is one of a service that is started at first use and ends with the server. A
//! container is made, looked at from outside, and only then started: whether it sees the directories that were meant, and
//! whether it has the program. Its network is empty; where it may reach registries, a listening socket is put into it
//! (see [`crate::Egress`]).

mod api;
mod container;
mod image;
mod images;
mod inside;
mod output;
mod registration;
mod seccomp;
mod service;
mod setup;
mod sources;
mod specification;
mod staging;
mod standing;
mod usage;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use rustix::process::{Resource, getrlimit};
use tokio::io::{AsyncWriteExt as _, split};
use tokio::sync::Mutex;

use crate::bubblewrap::DaemonProgram;
use crate::bubblewrap::owners::Owners;
use crate::command::{Command, CommandError, Network};
use crate::egress::Egress;
use crate::leader::LeaderProgram;
use crate::sandbox::{Awaited, Backend, Enforcement, Running, Sandbox, Weakness};
use crate::standing::{Reach, Site, Standing};
use crate::watch::Watch;
use container::{Afterwards, Contained, Container, Parts, Unstarted};
pub use image::{IMAGE_REGISTRIES, ImageName, InvalidImage, choose_image};
use images::Image;
use inside::Inside;
use service::{Service, first_process, refused};
use sources::{Source, writable};
use specification::{Identity, Surroundings, search_path, specification};
use usage::Meter;

/// How many processes of one user there may be where the machine has no limit of its own.
const MAX_USER_PROCESSES: u64 = 32_768;

/// How podman is reached, and what containers are made of.
#[derive(Debug, Clone)]
pub struct PodmanSettings {
    /// What a service of ours is led by.
    pub leader: LeaderProgram,
    /// The program that answers inside sandboxes that stay.
    pub daemon: DaemonProgram,
    /// The socket of a service that runs already, on this machine. Without one, a service is started.
    pub socket: Option<PathBuf>,
    /// Where a service of ours keeps its socket and its configuration; nobody else may write there.
    pub directory: PathBuf,
    /// The environment of a service of ours: `PATH`, `HOME`, `XDG_RUNTIME_DIR`.
    pub environment: Vec<(String, String)>,
    /// Options about where a service of ours keeps images, such as `--root=…`. Without any, where podman always does.
    pub storage: Vec<String>,
    /// As which user and group commands run when the server is root.
    pub user: (u32, u32),
    /// The image for commands.
    pub image: ImageName,
    /// Commands that are run in the image before it is first used, as root among users of its own.
    pub setup: Vec<String>,
    /// Whom set-up commands may talk to.
    pub setup_network: Network,
    /// The way out of containers.
    pub egress: Egress,
}

/// Runs commands in containers.
#[derive(Debug, Clone)]
pub struct Podman {
    settings: Arc<PodmanSettings>,
    shared: Arc<Shared>,
}

/// What copies have in common.
#[derive(Debug, Default)]
struct Shared {
    service: Mutex<Option<Arc<Service>>>,
    /// Held while an image is fetched or set up, so that it happens once.
    making_images: Mutex<()>,
    owners: Owners,
}

/// What a container is started with beside its command.
#[derive(Debug, Clone, Copy)]
struct Circumstances<'a> {
    image: &'a Image,
    /// The name or id of the image that is run, which may have been made of the one above.
    runs: &'a str,
    identity: Identity,
    afterwards: Afterwards,
    /// Whom it may reach, where it stays.
    stays: Option<&'a Reach>,
}

impl Podman {
    /// Runs commands by these settings. Nothing is started before the first one.
    #[must_use]
    pub fn new(settings: PodmanSettings) -> Self {
        Self {
            settings: Arc::new(settings),
            shared: Arc::default(),
        }
    }

    /// The same podman with another image.
    #[must_use]
    pub fn with_image(&self, image: ImageName, setup: Vec<String>) -> Self {
        let settings = PodmanSettings {
            image,
            setup,
            ..(*self.settings).clone()
        };
        Self {
            settings: Arc::new(settings),
            shared: Arc::clone(&self.shared),
        }
    }

    async fn run(&self, command: Command) -> Result<Contained, CommandError> {
        let identity = self.identity();
        let service = self.service().await?;
        let (image, runs) = self.image(&service).await?;
        let circumstances = Circumstances {
            image: &image,
            runs: &runs,
            identity,
            afterwards: Afterwards::Removed,
            stays: None,
        };
        self.begin(&service, command, circumstances).await
    }

    fn identity(&self) -> Identity {
        if rustix::process::geteuid().is_root() {
            let (user, group) = self.settings.user;
            Identity::User(user, group)
        } else {
            Identity::Own
        }
    }

    async fn service(&self) -> Result<Arc<Service>, CommandError> {
        let mut known = self.shared.service.lock().await;
        if let Some(service) = known.as_ref().filter(|service| service.is_alive()) {
            return Ok(Arc::clone(service));
        }
        *known = None;
        let service = Arc::new(Service::start(&self.settings).await?);
        *known = Some(Arc::clone(&service));
        Ok(service)
    }

    /// Makes a container, looks at it, and starts it.
    async fn begin(
        &self,
        service: &Arc<Service>,
        command: Command,
        circumstances: Circumstances<'_>,
    ) -> Result<Contained, CommandError> {
        let api = &service.api;
        let name = service.container_name();
        let staged = self
            .stage(service, &command.mounts, circumstances.identity)
            .await?;
        let sources: Vec<PathBuf> = staged.iter().map(Source::path).collect();
        let around = Surroundings {
            name: &name,
            server: &service.server,
            image: circumstances.runs,
            image_environment: &circumstances.image.environment,
            sources: &sources,
            identity: circumstances.identity,
            seccomp_profile: service.seccomp_profile.as_deref(),
            process_ceiling: process_ceiling(),
            stays: circumstances.stays.is_some(),
        };
        let path = search_path(&command, &around);
        let spec = specification(&command, &around);
        let container = Container::new(Arc::clone(service), name.clone());
        let asked = async {
            api.post("/containers/create", Some(&spec)).await?;
            api.post(&format!("/containers/{name}/init"), None).await?;
            api.get(&format!("/containers/{name}/json")).await
        };
        let made = asked.await.map_err(|error| refused(&error))?;
        let first = first_process(&made).ok_or_else(|| CommandError::Lost {
            program: command.program.clone(),
        })?;
        // The container has its own by now.
        drop(staged);
        let meter = Meter::of(first);
        let looked = look_inside(first, command, path, circumstances.stays.is_some()).await?;
        let egress = &self.settings.egress;
        let serving = match (looked.listener, circumstances.stays) {
            (Some(listener), Some(reach)) => Some(egress.serve_reach(listener, reach)),
            (Some(listener), None) => Some(egress.serve(listener, looked.command.network)),
            (None, _) => None,
        };
        let serving = serving.transpose().map_err(CommandError::Prepare)?;
        let command = looked.command;
        let begun = async {
            let stdin = !command.input.is_empty();
            let stream = api
                .upgrade(&format!(
                    "/containers/{name}/attach?stream=true&stdout=true&stderr=true&stdin={stdin}"
                ))
                .await?;
            api.post(&format!("/containers/{name}/start"), None).await?;
            Ok(stream)
        };
        let watch = Watch::new(command.limits, writable(&command.mounts)?, false);
        let (output, mut input) = split(begun.await.map_err(|error: api::ApiError| refused(&error))?);
        if !command.input.is_empty() {
            // Ends with the container at the latest.
            tokio::spawn(async move {
                input.write_all(&command.input).await?;
                input.shutdown().await
            });
        }
        Ok(Contained::new(Parts {
            program: command.program,
            limits: command.limits,
            container,
            afterwards: circumstances.afterwards,
            inside: looked.inside,
            first,
            watch,
            meter,
            output,
            serving,
        }))
    }
}

impl Sandbox for Podman {
    fn backend(&self) -> Backend {
        Backend::Podman
    }

    fn start(&self, command: Command) -> Awaited<'_, Result<Running, CommandError>> {
        Box::pin(async move {
            let program = command.program.clone();
            match self.run(command).await {
                Ok(contained) => Ok(Running::new(contained)),
                Err(error @ CommandError::Start { .. }) => Ok(Running::new(Unstarted(Some(error), program))),
                Err(error) => Err(error),
            }
        })
    }

    fn stand_up(&self, site: Site) -> Awaited<'_, Result<Standing, CommandError>> {
        Box::pin(self.stood_up(site))
    }

    fn enforcement(&self) -> Awaited<'_, Enforcement> {
        Box::pin(async move {
            match self.service().await {
                Ok(service) => enforcement(&service),
                Err(error) => Enforcement {
                    breaches: vec![Weakness {
                        what: "containers".to_owned(),
                        reason: error.to_string(),
                        remedy: "install podman, or use another `sandbox.backend`".to_owned(),
                    }],
                    ..Enforcement::default()
                },
            }
        })
    }
}

/// A container as it was found before it started.
struct Looked {
    inside: Inside,
    command: Command,
    /// Its way out, where it has one.
    listener: Option<std::net::TcpListener>,
}

async fn look_inside(
    first: rustix::process::Pid,
    command: Command,
    search_path: String,
    stays: bool,
) -> Result<Looked, CommandError> {
    let look = move || {
        let inside = Inside::open(first).map_err(CommandError::Prepare)?;
        inside
            .has_mounts(&command.mounts)
            .map_err(CommandError::Prepare)?;
        inside
            .has_program(&command.program, &search_path, &command.directory)
            .map_err(|source| CommandError::Start {
                program: command.program.clone(),
                source,
            })?;
        let listener = match command.network {
            // It may be let out later, where that can be done at all.
            Network::None => stays.then(|| inside.listen().ok()).flatten(),
            Network::Registry | Network::Full => Some(inside.listen().map_err(no_way_out)?),
        };
        Ok(Looked {
            inside,
            command,
            listener,
        })
    };
    tokio::task::spawn_blocking(look)
        .await
        .unwrap_or_else(|error| Err(CommandError::Prepare(io::Error::other(error))))
}

fn no_way_out(error: io::Error) -> CommandError {
    CommandError::Refused {
        reason: format!(
            "the container's network cannot be entered ({error}), so it has no way to a registry"
        ),
        remedy: "run the server as root, use network `none`, or use another `sandbox.backend`".to_owned(),
    }
}

/// What the server may give away of the processes of one user.
fn process_ceiling() -> u64 {
    getrlimit(Resource::Nproc)
        .maximum
        .map_or(MAX_USER_PROCESSES, |maximum| maximum.min(MAX_USER_PROCESSES))
}

fn enforcement(service: &Service) -> Enforcement {
    let mut enforcement = Enforcement {
        holds: [
            "processes, files, network: namespaces by podman",
            "memory, processes, cpu: control groups by podman",
            "file size, open files: rlimits",
            "time, output, disk: watched",
        ]
        .map(str::to_owned)
        .to_vec(),
        ..Enforcement::default()
    };
    if service.seccomp_profile.is_none() {
        enforcement.weaker.push(Weakness {
            what: "system calls".to_owned(),
            reason: "podman's own filter was not found, so its built-in one is used".to_owned(),
            remedy: "install the package that has /usr/share/containers/seccomp.json".to_owned(),
        });
    }
    enforcement
}
