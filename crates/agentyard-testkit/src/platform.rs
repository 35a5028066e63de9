//! A whole platform for tests: real git, a real database, a clock that stands still.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agentyard_git::{Git, GitSettings, Identity, Roots, TreeSettings};
use agentyard_model::{AuditEvent, Caller, Clock, TenantId, Timestamp};
use agentyard_sandbox::{Host, LeaderProgram, Machine, MachineContext};
use agentyard_services::{
    ConfiguredRepo, RepositorySettings, RunSettings, Services, WorkingDirectories, WorkspaceSettings,
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
    data: TempDir,
}

impl TestPlatform {
    /// A platform on SQLite with one repository of one commit.
    ///
    /// # Panics
    /// When the machine cannot provide it.
    pub async fn new() -> Self {
        Self::with(Vec::new(), run_settings()).await
    }

    /// As [`TestPlatform::new`], with a configuration that names these repositories.
    ///
    /// # Panics
    /// When the machine cannot provide it.
    pub async fn with_repos(configured: Vec<ConfiguredRepo>) -> Self {
        Self::with(configured, run_settings()).await
    }

    /// As [`TestPlatform::new`], with commands run in this way.
    ///
    /// # Panics
    /// When the machine cannot provide it.
    pub async fn with_runs(runs: RunSettings) -> Self {
        Self::with(Vec::new(), runs).await
    }

    async fn with(configured: Vec<ConfiguredRepo>, runs: RunSettings) -> Self {
        let data = tempfile::tempdir().expect("a temporary directory");
        let settings = StoreSettings {
            data_dir: data.path().to_owned(),
            ..StoreSettings::default()
        };
        let clock = Clock::fixed(NOON);
        let store = Store::lazy(settings, clock.clone());
        let repository = TestRepository::with_commit("README.md", "hello\n");
        let roots = Roots::new([repository.path().to_owned()]).expect("the repository is a root");
        let repositories = RepositorySettings {
            roots,
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
                directory: data.path().to_owned(),
                way: None,
                obstacle: None,
            },
            configured,
            workspaces: WorkspaceSettings::default(),
            wrapup_instructions: None,
            machine: Machine::new(MachineContext {
                search_path: "/usr/bin:/bin".into(),
                home: None,
                runtime_directory: None,
                scratch: data.path().to_owned(),
            }),
        };
        let services = Arc::new(Services::new(&store, repositories, runs, clock.clone()));
        Self {
            services,
            store,
            clock,
            repository,
            data,
        }
    }

    /// Its data directory.
    #[must_use]
    pub fn data(&self) -> &Path {
        self.data.path()
    }

    /// Another tenant beside the local one.
    ///
    /// # Panics
    /// When it cannot be made.
    pub async fn add_tenant(&self, name: &str) -> TenantId {
        let name = name.parse().expect("a tenant's name");
        self.store
            .tenants()
            .create(&name, |tenant| {
                AuditEvent::done(&Caller::local(), "tenant_create", tenant.id)
            })
            .await
            .expect("a new tenant")
            .id
    }
}

/// Commands on the host, led by the test binary itself: its `main.rs` has a test called `leader`, which calls
/// [`lead`](agentyard_sandbox::lead).
///
/// # Panics
/// When this program cannot be found.
#[must_use]
pub fn run_settings() -> RunSettings {
    let leader = LeaderProgram {
        program: std::env::current_exe().expect("this program"),
        arguments: ["--exact", "leader", "--nocapture"].map(Into::into).to_vec(),
    };
    RunSettings {
        host: Some(Host::new(leader)),
        environment: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
        timeout: Duration::from_secs(60),
        output_bytes: 1 << 30,
        at_once: 8,
        linger: Duration::ZERO,
    }
}
