//! Wiring: from the command line and the configuration to a platform.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use agentyard_gateway::Platform;
use agentyard_git::{
    Git, GitPerson, GitSettings, HostPatterns, Identity, NetworkSettings, ProtectedBranches, Roots, Tether,
    TreeOwner, TreeSettings, Way,
};
use agentyard_model::{Clock, Secret, Toolsets};
use agentyard_operations::{Presentation, Selection, nearest, registry};
use agentyard_sandbox::namespace::Presence;
use agentyard_sandbox::{Backend, Limits, Machine, MachineContext, Sandbox};
use agentyard_services::{
    COMMAND_HOME, ConfiguredRepo, ErrorKind, RepositorySettings, RunSettings, ScratchSettings, Services,
    WorkingDirectories, WorkspaceSettings,
};
use agentyard_store::Store;

use crate::cli::{GlobalArgs, SelectionArgs};
use crate::config::{
    self, Config, ConfigError, Environment, Loaded, Override, RepoEntry, SandboxBackend, SandboxSettings,
    WorkspaceWay,
};
use crate::credentials;
use crate::execution_log;
use crate::exit::Failure;
use crate::sandboxing::{self, Sandboxing};
use crate::telemetry::{self, Face, Telemetry};

/// What a command finds itself in.
pub(crate) struct Setting {
    pub(crate) environment: Environment,
    pub(crate) global: GlobalArgs,
    overrides: Vec<Override>,
    /// How this process stands to the namespace in which views are mounted, once that is settled.
    pub(crate) presence: OnceLock<Presence>,
}

impl Setting {
    /// Takes in the command line and the environment. The configuration itself is read
    /// by the commands that need it.
    pub(crate) fn read(global: GlobalArgs) -> Result<Self, Failure> {
        let mut overrides = Vec::new();
        for assignment in &global.set {
            overrides.push(Override::parse_set(assignment)?);
        }
        if let Some(directory) = &global.data_dir {
            overrides.push(Override::new(
                "store.data_dir",
                absolute(directory)?.to_string_lossy(),
                "--data-dir",
            ));
        }
        Ok(Self {
            environment: Environment::of_process(),
            global,
            overrides,
            presence: OnceLock::new(),
        })
    }

    /// The configuration, with the flags of this command over it.
    pub(crate) fn config(&self, flags: Vec<Override>) -> Result<Loaded<Config>, Failure> {
        let mut overrides = self.overrides.clone();
        overrides.extend(flags);
        Ok(config::load(
            &self.environment,
            self.global.config.as_deref(),
            &overrides,
        )?)
    }

    /// Begins to log, and tells what looked wrong in the configuration.
    pub(crate) fn start_telemetry(&self, config: &Loaded<Config>, face: Face) -> Result<Telemetry, Failure> {
        let started = telemetry::start(&config.settings.log, face, &self.environment)
            .map_err(|error| Failure::new(ErrorKind::InvalidInput, with_causes(&error)))?;
        for warning in &config.warnings {
            tracing::warn!("{warning}");
        }
        Ok(started)
    }

    /// The server that commands are to call, if there is one.
    pub(crate) fn server(&self) -> Result<Option<String>, Failure> {
        match &self.global.server {
            Some(server) => Ok(Some(server.clone())),
            None => Ok(self.environment.text("AGENTYARD_URL")?.map(ToOwned::to_owned)),
        }
    }

    /// The token for it.
    pub(crate) fn token(&self) -> Result<Option<Secret>, Failure> {
        Ok(self
            .environment
            .text("AGENTYARD_TOKEN")?
            .map(|token| Secret::new(token.trim())))
    }

    /// The directories that a person's own commands and agents may use: those named, or
    /// the repository in which one stands, or the directory itself.
    pub(crate) fn own_roots(&self) -> Result<Roots, Failure> {
        let named = if self.global.roots.is_empty() {
            vec![enclosing_repository(&current_directory()?)]
        } else {
            self.global
                .roots
                .iter()
                .map(|root| absolute(root))
                .collect::<Result<_, _>>()?
        };
        opened(own_roots_of(named))
    }
}

/// These directories, and where the repositories are to which they belong when that is elsewhere: a linked
/// worktree or a submodule is of no use without.
pub(crate) fn own_roots_of(named: impl IntoIterator<Item = PathBuf>) -> Vec<PathBuf> {
    let mut roots: Vec<PathBuf> = named.into_iter().collect();
    let elsewhere: Vec<PathBuf> = roots
        .iter()
        .filter_map(|root| agentyard_git::repository_elsewhere(root))
        .collect();
    roots.extend(elsewhere);
    roots
}

/// The store, which opens when first needed.
pub(crate) fn store(config: &Loaded<Config>) -> Result<Store, Failure> {
    config.data_dir()?;
    Ok(Store::lazy(config.settings.store.clone(), Clock::System))
}

/// A store for commands that may never need one: without a data directory it fails when
/// it is used, not before.
pub(crate) fn store_if_needed(config: &Loaded<Config>) -> Store {
    Store::lazy(config.settings.store.clone(), Clock::System)
}

/// On whose behalf git runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Behalf {
    /// That of the person whose commands and agents these are: their identity, keys and credential helpers count.
    Person,
    /// Nobody's: a server acts for its callers, who are not the person that started it.
    Nobody,
}

/// The platform over these.
pub(crate) fn platform(
    setting: &Setting,
    behalf: Behalf,
    config: &Loaded<Config>,
    store: &Store,
    roots: Roots,
    working_directories: WorkingDirectories,
    selection: Selection,
) -> Result<Platform, Failure> {
    let output = &config.settings.output;
    let repositories = RepositorySettings {
        roots,
        working_directories,
        timeout: Duration::from_millis(config.settings.git.timeout_ms),
        network_timeout: Duration::from_millis(config.settings.git.network_timeout_ms),
        git: git(&setting.environment, behalf, &config.settings.git)?,
        trees: TreeSettings {
            directory: config.settings.store.data_dir.clone(),
            way: way(config.settings.workspaces.way),
            obstacle: crate::namespace::obstacle_in(setting).map(ToOwned::to_owned),
            owner: owner_of_trees(&config.settings.sandbox),
        },
        configured: config.settings.repos.iter().map(configured).collect(),
        workspaces: workspaces(&config.settings.workspaces),
        wrapup_instructions: config.settings.git.wrapup_instructions_path.clone(),
        machine: machine(&setting.environment, own_search_path(&setting.environment)),
        scratch: ScratchSettings {
            code_storage: config.settings.exec.code_storage_dir.clone(),
            too_wide: setting
                .environment
                .home()
                .map(Path::to_path_buf)
                .into_iter()
                .collect(),
        },
    };
    let runs = runs(&setting.environment, &config.settings)?;
    let search_path = runs.environment.iter().find(|(name, _)| name == "PATH");
    let search_path = search_path.map_or("", |(_, value)| value.as_str());
    let machine_of_commands = machine(&setting.environment, OsString::from(search_path));
    let environments = crate::environments::settings(&config.settings, machine_of_commands, search_path);
    let executions = execution_log::settings(&config.settings.executions)?;
    let owner = owner_of_trees(&config.settings.sandbox);
    Ok(Platform {
        services: Arc::new(Services::new(
            store,
            repositories,
            runs,
            environments,
            executions,
            crate::standing_settings::sandboxes(&config.settings, owner.map(|owner| (owner.uid, owner.gid)))?,
            Clock::System,
        )),
        selection: Arc::new(selection),
        presentation: Presentation::new(output.level, output.max_tokens as usize),
    })
}

/// To whom files in mounted views are given: the user as whom sandboxed commands run, where that is not this process's
/// own.
fn owner_of_trees(settings: &SandboxSettings) -> Option<TreeOwner> {
    let is_another = rustix::process::geteuid().is_root()
        && !matches!(settings.backend, SandboxBackend::Host | SandboxBackend::E2b);
    is_another.then_some(TreeOwner {
        uid: settings.user,
        gid: settings.user,
    })
}

/// How commands are run. They see of the environment only what every program needs.
fn runs(environment: &Environment, config: &Config) -> Result<RunSettings, Failure> {
    let Sandboxing {
        sandbox,
        interpreters,
    } = sandboxing::chosen(environment, config)?;
    Ok(RunSettings {
        environment: variables(environment, sandbox.as_deref().map(Sandbox::backend)),
        sandbox,
        timeout: Duration::from_millis(config.build.timeout_ms),
        code_timeout: Duration::from_millis(config.exec.timeout_ms),
        limits: Limits {
            output_bytes: config.build.max_output_bytes,
            ..config.sandbox.limits()
        },
        network: config.sandbox.network.into(),
        at_once: config.build.max_at_once as usize,
        linger: Duration::from_millis(config.build.linger_ms),
        interpreters,
    })
}

/// What commands see of the environment. In a sandbox they have a name and a home directory of their own.
fn variables(environment: &Environment, backend: Option<Backend>) -> Vec<(String, String)> {
    let known = |names: &[&str]| -> Vec<(String, String)> {
        let value = |name: &&str| {
            let value = environment.value(name)?.to_str()?;
            Some(((*name).to_owned(), value.to_owned()))
        };
        names.iter().filter_map(value).collect()
    };
    let mut variables = vec![
        ("TERM".to_owned(), "dumb".to_owned()),
        ("PATH".to_owned(), search_path(environment, backend)),
    ];
    variables.extend(known(COMMAND_VARIABLES));
    match backend {
        Some(Backend::Bubblewrap | Backend::Podman | Backend::E2b) => {
            let own = [("HOME", COMMAND_HOME), ("USER", "agent"), ("LOGNAME", "agent")];
            variables.extend(own.map(|(name, value)| (name.to_owned(), value.to_owned())));
        }
        Some(Backend::Host) | None => variables.extend(known(PERSONS_VARIABLES)),
    }
    variables
}

/// Where programs are looked for. What stands elsewhere on this machine would have to be sent to a service before it
/// could run there, so what every system has comes first then.
fn search_path(environment: &Environment, backend: Option<Backend>) -> String {
    let own = environment.value("PATH").and_then(|path| path.to_str());
    match own {
        Some(own) if backend == Some(Backend::E2b) => format!("{EVERY_SYSTEMS_PATH}:{own}"),
        Some(own) => own.to_owned(),
        None => EVERY_SYSTEMS_PATH.to_owned(),
    }
}

/// Where the server itself looks for programs.
fn own_search_path(environment: &Environment) -> OsString {
    environment
        .value("PATH")
        .map(ToOwned::to_owned)
        .unwrap_or_default()
}

/// Where programs are on every system.
const EVERY_SYSTEMS_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// What commands see of the environment, wherever they run.
const COMMAND_VARIABLES: &[&str] = &["LANG", "LC_ALL", "LC_CTYPE", "TZ"];

/// What they see beside that on the host itself, where they run as the person.
const PERSONS_VARIABLES: &[&str] = &["HOME", "USER", "LOGNAME", "TMPDIR"];

/// This machine with the programs that are found on a search path. Nothing is tried on a file system.
fn machine(environment: &Environment, search_path: OsString) -> Machine {
    Machine::new(MachineContext {
        search_path,
        home: environment.home().map(Path::to_path_buf),
        runtime_directory: None,
        scratch: PathBuf::new(),
    })
}

fn way(configured: WorkspaceWay) -> Option<Way> {
    match configured {
        WorkspaceWay::Auto => None,
        WorkspaceWay::Overlay => Some(Way::Overlay),
        WorkspaceWay::Reflink => Some(Way::Reflink),
        WorkspaceWay::Checkout => Some(Way::Checkout),
    }
}

fn workspaces(settings: &config::WorkspaceSettings) -> WorkspaceSettings {
    WorkspaceSettings {
        max_per_repo: settings.max_per_repo,
        time_to_live: Duration::from_secs(u64::from(settings.ttl_hours) * 60 * 60),
        lease: Duration::from_secs(u64::from(settings.lease_minutes) * 60),
        max_checkpoints: settings.max_checkpoints as usize,
        ..WorkspaceSettings::default()
    }
}

fn configured(entry: &RepoEntry) -> ConfiguredRepo {
    ConfiguredRepo {
        name: entry.name.clone(),
        url: entry.url.clone(),
        default_branch: entry.default_branch.clone(),
    }
}

fn git(
    environment: &Environment,
    behalf: Behalf,
    settings: &config::GitSettings,
) -> Result<Git, ConfigError> {
    let known = |names: &[&str]| -> Vec<(String, OsString)> {
        let values = names
            .iter()
            .map(|name| ((*name).to_owned(), environment.value(name).map(ToOwned::to_owned)));
        values.filter_map(|(name, value)| Some((name, value?))).collect()
    };
    let person = environment
        .home()
        .filter(|_| behalf == Behalf::Person)
        .map(|home| GitPerson {
            home: home.to_owned(),
            environment: known(PERSONAL_VARIABLES),
        });
    let network = NetworkSettings {
        allowed_hosts: HostPatterns::new(settings.allowed_hosts.iter().map(String::as_str)),
        attempts: settings.retries,
        credentials: credentials::of(environment)?,
        helper: credentials::helper(environment),
        ..NetworkSettings::default()
    };
    Ok(Git::find(GitSettings {
        search_path: environment.value("PATH").map(ToOwned::to_owned),
        person,
        identity: Identity {
            author_name: settings.author_name.clone(),
            author_email: settings.author_email.clone(),
            committer_name: settings.committer_name.clone(),
            committer_email: settings.committer_email.clone(),
        },
        sign: settings.sign_commits,
        tether: std::env::current_exe().ok().map(|program| Tether {
            program,
            argument: crate::tethered::COMMAND,
        }),
        extra: Vec::new(),
        protected_branches: ProtectedBranches::new(settings.protected_branches.iter().cloned()),
        network,
    }))
}

/// What git, and the programs that the person's own settings name, see of the environment.
const PERSONAL_VARIABLES: &[&str] = &[
    "PATH",
    "XDG_CONFIG_HOME",
    "XDG_CACHE_HOME",
    "XDG_RUNTIME_DIR",
    "DBUS_SESSION_BUS_ADDRESS",
    "SSH_AUTH_SOCK",
    "GNUPGHOME",
    "GPG_TTY",
    "USER",
    "LOGNAME",
    "TZ",
    "TMPDIR",
    "HTTPS_PROXY",
    "https_proxy",
    "HTTP_PROXY",
    "http_proxy",
    "ALL_PROXY",
    "all_proxy",
    "NO_PROXY",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];

/// Opens roots.
pub(crate) fn opened(roots: Vec<PathBuf>) -> Result<Roots, Failure> {
    Roots::new(roots).map_err(|error| {
        Failure::new(ErrorKind::InvalidInput, error)
            .hint("name directories that exist, with --root or `git.roots`")
    })
}

/// The flags that choose operations, as overrides of the configuration.
pub(crate) fn selection_flags(arguments: &SelectionArgs) -> Vec<Override> {
    let lists = [
        ("mcp.toolsets", &arguments.toolsets, "--toolsets"),
        ("mcp.tools", &arguments.tools, "--tools"),
        ("mcp.exclude_tools", &arguments.exclude_tools, "--exclude-tools"),
    ];
    let mut flags: Vec<Override> = lists
        .into_iter()
        .filter(|(_, names, _)| !names.is_empty())
        .map(|(key, names, flag)| Override::new(key, names.join(","), flag))
        .collect();
    if arguments.read_only {
        flags.push(Override::new("mcp.read_only", "true", "--read-only"));
    }
    flags
}

/// Which operations the configuration chooses. A name that is none is refused: leaving
/// out a tool that was misspelt would be worse than not starting.
pub(crate) fn selection(config: &Config) -> Result<Selection, Failure> {
    let mcp = &config.mcp;
    let known: Vec<&str> = registry()
        .iter()
        .map(|operation| operation.entry().name)
        .collect();
    for name in mcp.tools.iter().chain(&mcp.exclude_tools) {
        if !known.contains(&name.as_str()) {
            let failure = Failure::new(
                ErrorKind::InvalidInput,
                format!("there is no tool `{}`", name.escape_debug()),
            );
            return Err(match nearest(name, &known) {
                Some(nearest) => failure.hint(format!("did you mean `{nearest}`?")),
                None => failure.hint("`agentyard --help` lists the operations"),
            });
        }
    }
    let toolsets: Toolsets = mcp
        .toolsets
        .join(",")
        .parse()
        .map_err(|unknown: agentyard_model::UnknownToolset| Failure::new(ErrorKind::InvalidInput, unknown))?;
    Ok(Selection {
        toolsets: (!mcp.toolsets.is_empty()).then_some(toolsets),
        include: mcp.tools.clone(),
        exclude: mcp.exclude_tools.clone(),
        read_only: mcp.read_only,
    })
}

/// An error and every cause below it, on one line.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

/// Where one stands.
pub(crate) fn current_directory() -> Result<PathBuf, Failure> {
    std::env::current_dir().map_err(|error| {
        Failure::new(
            ErrorKind::NotFound,
            format!("the current directory cannot be read: {error}"),
        )
    })
}

/// A path as seen from where one stands.
pub(crate) fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path).map_err(|error| {
        Failure::new(
            ErrorKind::InvalidInput,
            format!("{} is not a path: {error}", path.display()),
        )
    })
}

/// The top of the repository in which a directory is, or the directory.
pub(crate) fn enclosing_repository(directory: &Path) -> PathBuf {
    directory
        .ancestors()
        .find(|ancestor| ancestor.join(".git").exists())
        .unwrap_or(directory)
        .to_owned()
}
