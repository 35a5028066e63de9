//! A whole platform for tests: real git, a real database, a clock that stands still.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agentyard_git::{Git, GitSettings, Identity, Roots, TreeOwner, TreeSettings};
use agentyard_model::{Clock, TenantId, Timestamp};
use agentyard_sandbox::{
    Bubblewrap, BubblewrapSettings, DaemonProgram, Host, Interpreters, LeaderProgram, Limits, Machine,
    MachineContext, Network, SANDBOX_USER,
};
use agentyard_services::{
    ConfiguredRepo, EnvironmentKind, EnvironmentSettings, ExecutionSettings, RepositorySettings, RunSettings,
    SandboxSettings, ScratchSettings, Services, WorkingDirectories, WorkspaceSettings,
};
use agentyard_store::{Store, StoreSettings};
use tempfile::TempDir;

use crate::TestRepository;

/// 2026-11-15T12:00:00Z.
const NOON: Timestamp = Timestamp::from_microseconds(1_794_744_000_000_000);

/// Everything below a face, in a temporary directory.
pub struct TestPlatform {
    /// What the platform does.
    pub services: Arc<Services>,
    /// Its database.
    pub store: Store,
    /// Its clock, which moves when told.
    pub clock: Clock,
    /// A repository inside its roots.
    pub repository: TestRepository,
    configured: Vec<ConfiguredRepo>,
    workspaces: WorkspaceSettings,
    executions: ExecutionSettings,
    sandboxes: SandboxSettings,
    data: DataDirectory,
}

impl TestPlatform {
    /// A platform on SQLite with one repository of one commit.
    ///
    /// # Panics
    /// When the machine cannot provide it.
    pub async fn new() -> Self {
        Self::with_executions(ExecutionSettings::default()).await
    }

    /// As [`TestPlatform::new`], with executions kept in this way.
    ///
    /// # Panics
    /// When the machine cannot provide it.
    pub async fn with_executions(executions: ExecutionSettings) -> Self {
        let workspaces = WorkspaceSettings::default();
        Self::of_parts(
            Vec::new(),
            run_settings(),
            workspaces,
            executions,
            sandbox_settings(),
        )
        .await
    }

    /// As [`TestPlatform::new`], with real sandboxes that stay, kept in this way. They have no network.
    ///
    /// # Panics
    /// When the machine cannot provide it.
    pub async fn with_sandboxes(sandboxes: SandboxSettings) -> Self {
        let (runs, workspaces) = (standing_run_settings(), WorkspaceSettings::default());
        Self::of_parts(
            Vec::new(),
            runs,
            workspaces,
            ExecutionSettings::default(),
            sandboxes,
        )
        .await
    }

    /// The services of another process on the same data directory, with real sandboxes that stay.
    #[must_use]
    pub fn another_process_with_sandboxes(&self) -> Arc<Services> {
        self.beside(standing_run_settings(), self.sandboxes.clone())
    }

    /// As [`TestPlatform::new`], with workspaces kept in this way.
    ///
    /// # Panics
    /// When the machine cannot provide it.
    pub async fn with_workspaces(workspaces: WorkspaceSettings) -> Self {
        Self::with(Vec::new(), run_settings(), workspaces).await
    }

    /// As [`TestPlatform::new`], with a configuration that names these repositories.
    ///
    /// # Panics
    /// When the machine cannot provide it.
    pub async fn with_repos(configured: Vec<ConfiguredRepo>) -> Self {
        Self::with(configured, run_settings(), WorkspaceSettings::default()).await
    }

    /// As [`TestPlatform::new`], with commands run in this way.
    ///
    /// # Panics
    /// When the machine cannot provide it.
    pub async fn with_runs(runs: RunSettings) -> Self {
        Self::with(Vec::new(), runs, WorkspaceSettings::default()).await
    }

    async fn with(configured: Vec<ConfiguredRepo>, runs: RunSettings, workspaces: WorkspaceSettings) -> Self {
        let executions = ExecutionSettings::default();
        Self::of_parts(configured, runs, workspaces, executions, sandbox_settings()).await
    }

    async fn of_parts(
        configured: Vec<ConfiguredRepo>,
        runs: RunSettings,
        workspaces: WorkspaceSettings,
        executions: ExecutionSettings,
        sandboxes: SandboxSettings,
    ) -> Self {
        let data = DataDirectory::new();
        let clock = Clock::fixed(NOON);
        let store = data.store(&clock);
        let repository = TestRepository::with_commit("README.md", "hello\n");
        let mut settings = settings(&data, &store, &repository, configured.clone(), workspaces.clone());
        // As the binary has it: root gives workspaces to whom commands run as.
        let is_sandboxed = runs.interpreters.is_some();
        settings.trees.owner = (is_sandboxed && is_root()).then_some(TreeOwner {
            uid: SANDBOX_USER,
            gid: SANDBOX_USER,
        });
        let environments = environment_settings(data.0.path());
        let services = Services::new(
            &store,
            settings,
            runs,
            environments,
            executions.clone(),
            sandboxes.clone(),
            clock.clone(),
        );
        let services = Arc::new(services);
        Self {
            services,
            store,
            clock,
            repository,
            configured,
            workspaces,
            executions,
            sandboxes,
            data,
        }
    }

    /// The services of another process on the same data directory, as after a restart or beside this one.
    #[must_use]
    pub fn another_process(&self) -> Arc<Services> {
        self.beside(run_settings(), sandbox_settings())
    }

    fn beside(&self, runs: RunSettings, sandboxes: SandboxSettings) -> Arc<Services> {
        let store = self.data.store(&self.clock);
        let (configured, workspaces) = (self.configured.clone(), self.workspaces.clone());
        let settings = settings(&self.data, &store, &self.repository, configured, workspaces);
        Arc::new(Services::new(
            &store,
            settings,
            runs,
            environment_settings(self.data()),
            self.executions.clone(),
            sandboxes,
            self.clock.clone(),
        ))
    }

    /// The services of another process on the same data directory, with these Python environments.
    #[must_use]
    pub fn with_environments(&self, environments: EnvironmentSettings) -> Arc<Services> {
        self.with_environments_and_runs(environments, run_settings())
    }

    /// As [`TestPlatform::with_environments`], with commands run in this way.
    #[must_use]
    pub fn with_environments_and_runs(
        &self,
        environments: EnvironmentSettings,
        runs: RunSettings,
    ) -> Arc<Services> {
        let store = self.data.store(&self.clock);
        let (configured, workspaces) = (self.configured.clone(), self.workspaces.clone());
        let settings = settings(&self.data, &store, &self.repository, configured, workspaces);
        let (runs, executions) = (runs, ExecutionSettings::default());
        let services = Services::new(
            &store,
            settings,
            runs,
            environments,
            executions,
            sandbox_settings(),
            self.clock.clone(),
        );
        Arc::new(services)
    }

    /// Takes away all mounts in the data directory, as a restart of the machine does.
    pub fn unmount_all(&self) {
        self.data.unmount_all();
    }

    /// Its data directory.
    #[must_use]
    pub fn data(&self) -> &Path {
        self.data.0.path()
    }

    /// Another tenant beside the local one.
    ///
    /// # Panics
    /// When it cannot be made.
    pub async fn add_tenant(&self, name: &str) -> TenantId {
        crate::add_tenant(&self.store, name).await
    }
}

fn settings(
    data: &DataDirectory,
    store: &Store,
    repository: &TestRepository,
    configured: Vec<ConfiguredRepo>,
    workspaces: WorkspaceSettings,
) -> RepositorySettings {
    let data = data.0.path().to_owned();
    RepositorySettings {
        roots: Roots::new([repository.path().to_owned()]).expect("the repository is a root"),
        working_directories: WorkingDirectories::Stored(store.clone()),
        timeout: Duration::from_secs(30),
        network_timeout: Duration::from_secs(30),
        git: Git::find(GitSettings {
            identity: Identity {
                author_name: Some("Ada".to_owned()),
                author_email: Some("ada@example.org".to_owned()),
                committer_name: Some("Grace".to_owned()),
                committer_email: Some("grace@example.org".to_owned()),
            },
            ..GitSettings::default()
        }),
        trees: TreeSettings {
            directory: data.clone(),
            way: None,
            obstacle: None,
            owner: None,
        },
        configured,
        workspaces,
        wrapup_instructions: None,
        machine: Machine::new(MachineContext {
            search_path: "/usr/bin:/bin".into(),
            home: None,
            runtime_directory: None,
            scratch: data,
        }),
        scratch: ScratchSettings::default(),
    }
}

/// Python environments in a data directory, made with the system's own Python. Nothing can be fetched: the index is
/// nowhere.
#[must_use]
pub fn environment_settings(data: &Path) -> EnvironmentSettings {
    EnvironmentSettings {
        directory: data.to_owned(),
        kind: EnvironmentKind::Venv,
        conda_env_name: None,
        venv_path: None,
        uv_venv_path: None,
        python: None,
        index_url: "http://127.0.0.1:9/simple".to_owned(),
        extra_index_urls: Vec::new(),
        certificates: None,
        allow_urls: false,
        max_bytes: 1 << 30,
        timeout: Duration::from_secs(120),
        network: Network::Registry,
        search_path: "/usr/bin:/bin".to_owned(),
        machine: Machine::new(MachineContext {
            search_path: "/usr/bin:/bin".into(),
            home: None,
            runtime_directory: None,
            scratch: data.to_owned(),
        }),
    }
}

/// A data directory that goes away with its value, with what is mounted in it.
struct DataDirectory(TempDir);

impl DataDirectory {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary directory"))
    }

    fn store(&self, clock: &Clock) -> Store {
        let settings = StoreSettings {
            data_dir: self.0.path().to_owned(),
            ..StoreSettings::default()
        };
        Store::lazy(settings, clock.clone())
    }

    #[expect(clippy::disallowed_methods, reason = "tests unmount with the real program")]
    fn unmount_all(&self) {
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let inside = mounts
            .lines()
            .filter_map(|line| line.split(' ').nth(4))
            .filter(|path| Path::new(path).starts_with(self.0.path()));
        for path in inside {
            let _ = std::process::Command::new("umount")
                .args(["--lazy", path])
                .status();
        }
    }
}

impl Drop for DataDirectory {
    fn drop(&mut self) {
        // What goes on in the background may still make files here; it stops soon, as its services are gone.
        for _ in 0..100 {
            self.unmount_all();
            if std::fs::remove_dir_all(self.0.path()).is_ok() || !self.0.path().exists() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

/// The test binary itself, as what answers inside sandboxes that stay: its `main.rs` has a test called `daemon`, which
/// calls [`serve`](agentyard_envd::serve).
///
/// # Panics
/// When this program cannot be found.
#[must_use]
pub fn daemon() -> DaemonProgram {
    DaemonProgram {
        program: std::env::current_exe().expect("this program"),
        arguments: ["--exact", "daemon", "--nocapture"].map(Into::into).to_vec(),
    }
}

/// Sandboxes that stay, of which none is stood up before somebody asks.
#[must_use]
pub fn sandbox_settings() -> SandboxSettings {
    SandboxSettings {
        spare: 0,
        owner: is_root().then_some((SANDBOX_USER, SANDBOX_USER)),
        ..SandboxSettings::default()
    }
}

fn leader() -> LeaderProgram {
    LeaderProgram {
        program: std::env::current_exe().expect("this program"),
        arguments: ["--exact", "leader", "--nocapture"].map(Into::into).to_vec(),
    }
}

/// The same in a real sandbox, with interpreters that are kept warm.
///
/// # Panics
/// When this program cannot be found.
#[must_use]
pub fn sandboxed_run_settings() -> RunSettings {
    let bubblewrap = Bubblewrap::new(BubblewrapSettings {
        leader: leader(),
        daemon: daemon(),
        search_path: "/usr/bin:/bin".into(),
        home: None,
        user: (SANDBOX_USER, SANDBOX_USER),
        read_only: Vec::new(),
        egress: None,
        allow_weaker: false,
    });
    RunSettings {
        interpreters: Some(Interpreters::new(bubblewrap.clone())),
        sandbox: Some(Arc::new(bubblewrap)),
        ..run_settings()
    }
}

/// The same without interpreters and without a network, for sandboxes that stay.
fn standing_run_settings() -> RunSettings {
    RunSettings {
        interpreters: None,
        network: Network::None,
        ..sandboxed_run_settings()
    }
}

/// Commands on the host, led by the test binary itself: its `main.rs` has a test called `leader`, which calls
/// [`lead`](agentyard_sandbox::lead).
///
/// # Panics
/// When this program cannot be found.
#[must_use]
pub fn run_settings() -> RunSettings {
    RunSettings {
        sandbox: Some(Arc::new(Host::new(leader()))),
        environment: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
        timeout: Duration::from_secs(60),
        code_timeout: Duration::from_secs(60),
        limits: Limits {
            output_bytes: 1 << 30,
            ..Limits::default()
        },
        network: Network::Registry,
        at_once: 8,
        linger: Duration::ZERO,
        interpreters: None,
    }
}
