//! Podman itself: a service of ours, or one that is there already.
//!
//! A service of ours is a command on the host like any other, so it ends with the server, however that ends, and every
//! container ends with it: all are its descendants, and its leader finds them. What podman has noted about them on disk
//! stays; the next server takes that away.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::PodmanSettings;
use super::api::{Api, ApiError, clean};
use super::registration::{Registration, is_gone};
use super::seccomp;
use super::specification::LABEL;
use super::staging::Stages;
use crate::command::{Access, Command, CommandError, Event, Limits, Mount, Network};
use crate::host::Host;
use crate::sandbox::{Running, Sandbox as _};

/// For how long a service may run; the next command then starts another.
const LIFETIME: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// How long it may take to answer for the first time.
const PATIENCE: Duration = Duration::from_secs(20);

/// How often it is asked whether it answers.
const INTERVAL: Duration = Duration::from_millis(20);

/// The longest path that a socket can have.
const MAX_SOCKET_PATH: usize = 107;

/// Where podman's filter of system calls may be.
const SECCOMP_PROFILES: &[&str] = &[
    "/etc/containers/seccomp.json",
    "/usr/share/containers/seccomp.json",
];

/// Podman, reachable.
#[derive(Debug)]
pub(super) struct Service {
    pub(super) api: Api,
    /// By which containers of this service are known.
    pub(super) server: String,
    /// Where directories are put for it, when it is ours and may have them put.
    pub(super) stages: Option<Stages>,
    keeper: Keeper,
    pub(super) seccomp_profile: Option<PathBuf>,
    containers: AtomicU64,
}

/// What looks after a service, for as long as it is there.
#[derive(Debug)]
enum Keeper {
    /// One of ours. The task ends with it, and tells its last words.
    Own(JoinHandle<String>),
    /// One that was there before us.
    Foreign { _registration: Registration },
}

impl Service {
    /// Starts podman where it must be, and takes away what servers have left that are gone.
    pub(super) async fn start(settings: &PodmanSettings) -> Result<Self, CommandError> {
        make_directory(&settings.directory).map_err(CommandError::Prepare)?;
        let registration = Registration::new();
        let server = registration.name().map_err(CommandError::Prepare)?;
        let (socket, keeper) = match &settings.socket {
            Some(socket) => {
                let keeper = Keeper::Foreign {
                    _registration: registration,
                };
                (socket.clone(), keeper)
            }
            None => {
                let socket = socket_path(&settings.directory, &server).map_err(CommandError::Prepare)?;
                let running = start_own(settings, &socket).await?;
                (socket, Keeper::Own(tokio::spawn(keep(running, registration))))
            }
        };
        let mut service = Self {
            api: Api::new(socket),
            server,
            stages: None,
            keeper,
            seccomp_profile: write_seccomp_profile(&settings.directory),
            containers: AtomicU64::new(0),
        };
        service.answers().await?;
        if has_own_mounts(settings) {
            let stages = settings.directory.join(format!("{}.stages", service.server));
            let podman = service.api.process().await.map_err(CommandError::Prepare)?;
            service.stages = Some(Stages::new(podman, stages).map_err(CommandError::Prepare)?);
        }
        service.sweep().await.map_err(|error| refused(&error))?;
        Ok(service)
    }

    /// Whether it is still there; one that is not ours is asked when it is needed.
    pub(super) fn is_alive(&self) -> bool {
        match &self.keeper {
            Keeper::Own(task) => !task.is_finished(),
            Keeper::Foreign { .. } => true,
        }
    }

    /// A name for another container.
    pub(super) fn container_name(&self) -> String {
        let number = self.containers.fetch_add(1, Ordering::Relaxed);
        format!("agentyard-{}-{number}", self.server)
    }

    async fn answers(&mut self) -> Result<(), CommandError> {
        let started = tokio::time::Instant::now();
        loop {
            let Err(error) = self.api.get("/containers/json?limit=1").await else {
                return Ok(());
            };
            match &mut self.keeper {
                Keeper::Own(task) if task.is_finished() => {
                    let words = task.await.unwrap_or_default();
                    return Err(refused(&ApiError::Broken(words)));
                }
                _ if started.elapsed() > PATIENCE => return Err(refused(&error)),
                Keeper::Own(_) => tokio::time::sleep(INTERVAL).await,
                Keeper::Foreign { .. } => return Err(refused(&error)),
            }
        }
    }

    /// Removes containers of servers that are gone. Those of a server that cannot be seen from here are left alone.
    async fn sweep(&self) -> Result<(), ApiError> {
        let filters = json!({ "label": [LABEL] }).to_string();
        let filters = percent_encoding::utf8_percent_encode(&filters, percent_encoding::NON_ALPHANUMERIC);
        let found = self
            .api
            .get(&format!("/containers/json?all=true&filters={filters}"))
            .await?;
        for container in found.as_array().into_iter().flatten() {
            let server = container["Labels"][LABEL].as_str().unwrap_or_default();
            let Some(id) = container["Id"].as_str().filter(|_| is_gone(server)) else {
                continue;
            };
            self.remove(id).await?;
        }
        Ok(())
    }

    /// Removes a container. Where its server has died just now, podman may still be busy with its end, and then refuses.
    async fn remove(&self, id: &str) -> Result<(), ApiError> {
        let path = format!("/containers/{id}?force=true&v=true&timeout=0");
        let started = tokio::time::Instant::now();
        loop {
            match self.api.delete(&path).await {
                Ok(_) => return Ok(()),
                Err(error) if error.is_missing() => return Ok(()),
                Err(error) if started.elapsed() > PATIENCE => return Err(error),
                Err(_) => tokio::time::sleep(INTERVAL).await,
            }
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        if let Keeper::Own(task) = &self.keeper {
            task.abort();
        }
    }
}

/// Podman cannot be used, and this is why.
pub(super) fn refused(error: &ApiError) -> CommandError {
    CommandError::Refused {
        reason: error.to_string(),
        remedy: "run `agentyard doctor`, or use another `sandbox.backend`".to_owned(),
    }
}

async fn start_own(settings: &PodmanSettings, socket: &Path) -> Result<Running, CommandError> {
    let directory = &settings.directory;
    let configuration = directory.join("containers.conf");
    let prepare = || -> io::Result<Mount> {
        fs::write(&configuration, containers_conf())?;
        Ok(Mount {
            source: fs::File::open(directory)?.into(),
            host_path: directory.clone(),
            at: directory.clone(),
            access: Access::ReadWrite,
        })
    };
    let mount = prepare().map_err(CommandError::Prepare)?;
    let mut words: Vec<String> = Vec::new();
    if has_own_mounts(settings) {
        words.extend(["unshare", "--mount", "--propagation=slave", "--"].map(str::to_owned));
    }
    words.push("podman".to_owned());
    words.extend(settings.storage.iter().cloned());
    words.extend(["system", "service", "--time=0"].map(str::to_owned));
    words.push(format!("unix://{}", socket.display()));
    let mut environment = settings.environment.clone();
    environment.push(("CONTAINERS_CONF".to_owned(), configuration.display().to_string()));
    let command = Command {
        program: words.remove(0),
        arguments: words,
        mounts: vec![mount],
        directory: directory.clone(),
        hidden: Vec::new(),
        environment,
        input: Vec::new(),
        network: Network::Full,
        limits: Limits {
            duration: LIFETIME,
            output_bytes: u64::MAX,
            ..Limits::default()
        },
    };
    Host::new(settings.leader.clone()).start(command).await
}

/// Whether podman is to have mounts that nobody else sees.
fn has_own_mounts(settings: &PodmanSettings) -> bool {
    settings.socket.is_none() && rustix::process::geteuid().is_root()
}

/// Looks after a service of ours until it ends, and keeps the last that it says: why it could not begin.
async fn keep(mut running: Running, _registration: Registration) -> String {
    let mut words = String::new();
    loop {
        match running.next().await {
            Ok(Event::Output(_, bytes)) => words = clean(&String::from_utf8_lossy(&bytes)),
            Ok(Event::Ended(_)) => return words,
            Err(CommandError::Start { program, source }) => return format!("`{program}`: {source}"),
            Err(error) => return error.to_string(),
        }
    }
}

/// What podman is told about this machine. The containers' own limits are said for each.
fn containers_conf() -> String {
    let unified = Path::new("/sys/fs/cgroup/cgroup.controllers").exists();
    let has_systemd = Path::new("/run/systemd/system").exists();
    let manager = if has_systemd { "systemd" } else { "cgroupfs" };
    // On older hierarchies only this one knows all controllers.
    let runtime = if unified { "" } else { "runtime = \"runc\"\n" };
    format!(
        "[containers]\nbase_hosts_file = \"none\"\nhttp_proxy = false\ndefault_ulimits = [\"nofile=1024:1024\"]\n\n\
         [engine]\ncgroup_manager = \"{manager}\"\nevents_logger = \"none\"\n{runtime}"
    )
}

fn write_seccomp_profile(directory: &Path) -> Option<PathBuf> {
    let theirs = SECCOMP_PROFILES
        .iter()
        .find_map(|path| fs::read_to_string(path).ok())?;
    let path = directory.join("seccomp.json");
    fs::write(&path, seccomp::profile(&theirs)?).ok()?;
    Some(path)
}

/// Where a service of ours listens. What those have left that are gone is removed.
fn socket_path(directory: &Path, server: &str) -> io::Result<PathBuf> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let owner = path.file_stem().and_then(OsStr::to_str);
        if owner.is_some_and(is_gone) {
            // One of the two it is; somebody else may have come first.
            let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
        }
    }
    let path = directory.join(format!("{server}.sock"));
    if path.as_os_str().len() > MAX_SOCKET_PATH {
        return Err(io::Error::new(
            io::ErrorKind::InvalidFilename,
            format!("{} is too long for a socket", path.display()),
        ));
    }
    Ok(path)
}

fn make_directory(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// The first process of a container, as this machine numbers it.
pub(super) fn first_process(inspected: &Value) -> Option<rustix::process::Pid> {
    let number = inspected["State"]["Pid"].as_i64()?;
    rustix::process::Pid::from_raw(i32::try_from(number).ok()?)
}
