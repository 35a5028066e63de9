//! The store: where every question to the database begins.

use std::fmt;
use std::sync::Arc;

use agentyard_model::{Clock, TenantId, Timestamp};
use tokio::sync::OnceCell;

use crate::database::{Database, Query, Row, Transaction};
use crate::sealing::SealingKey;
use crate::{
    AppliedMigration, Audit, Executions, Jobs, Measures, Repos, Result, Roles, SandboxSnapshots, Sandboxes,
    SealedSecrets, StoreSettings, Tenants, Tokens, TrustedRepositories, Users, WorkingDirectories,
    Workspaces, migrations,
};

/// The database. Clones share it.
#[derive(Clone)]
pub struct Store {
    shared: Arc<Shared>,
}

struct Shared {
    settings: StoreSettings,
    clock: Clock,
    database: OnceCell<Database>,
    sealing_key: OnceCell<SealingKey>,
}

impl Store {
    /// A store that does nothing yet: the database is opened, and brought up to date, by
    /// the first call that needs it. Should that fail, the next call tries again.
    #[must_use]
    pub fn lazy(settings: StoreSettings, clock: Clock) -> Self {
        Self {
            shared: Arc::new(Shared {
                settings,
                clock,
                database: OnceCell::new(),
                sealing_key: OnceCell::new(),
            }),
        }
    }

    /// Opens the database now.
    ///
    /// # Errors
    /// When it cannot be reached, or is of a newer release.
    pub async fn open(&self) -> Result<()> {
        self.database().await.map(|_| ())
    }

    /// Opens the database and says which changes of its tables that took. None, when it
    /// was up to date or already open.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub async fn migrate(&self) -> Result<Vec<AppliedMigration>> {
        let mut applied = Vec::new();
        self.open_with(&mut applied).await?;
        Ok(applied)
    }

    /// Asks the database for a sign of life.
    ///
    /// # Errors
    /// When there is none.
    pub async fn ping(&self) -> Result<()> {
        self.fetch(&Query::new("reach the database", "SELECT 1"))
            .await
            .map(|_| ())
    }

    /// Whether nobody has used this installation yet: the local tenant has never had a
    /// token. See [`Tokens::bootstrap_administrator`].
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn is_empty(&self) -> Result<bool> {
        let query = Query::new(
            "look for tokens",
            "SELECT 1 AS one FROM tokens WHERE tenant_id = $1 LIMIT 1",
        )
        .bind(TenantId::LOCAL);
        Ok(self.fetch(&query).await?.is_empty())
    }

    /// Closes the connections, once those who still use one are done. Later calls fail.
    pub async fn close(&self) {
        if let Some(database) = self.shared.database.get() {
            database.close().await;
        }
    }

    /// The audit log.
    #[must_use]
    pub fn audit(&self) -> Audit<'_> {
        Audit::new(self)
    }

    /// Tenants.
    #[must_use]
    pub fn tenants(&self) -> Tenants<'_> {
        Tenants::new(self)
    }

    /// People.
    #[must_use]
    pub fn users(&self) -> Users<'_> {
        Users::new(self)
    }

    /// The roles that administrators have defined.
    #[must_use]
    pub fn roles(&self) -> Roles<'_> {
        Roles::new(self)
    }

    /// Tokens, and who they belong to.
    #[must_use]
    pub fn tokens(&self) -> Tokens<'_> {
        Tokens::new(self)
    }

    /// Secrets that executions can be granted.
    #[must_use]
    pub fn secrets(&self) -> SealedSecrets<'_> {
        SealedSecrets::new(self)
    }

    /// Long work.
    #[must_use]
    pub fn jobs(&self) -> Jobs<'_> {
        Jobs::new(self)
    }

    /// What was executed.
    #[must_use]
    pub fn executions(&self) -> Executions<'_> {
        Executions::new(self)
    }

    /// Where each caller works.
    #[must_use]
    pub fn working_directories(&self) -> WorkingDirectories<'_> {
        WorkingDirectories::new(self)
    }

    /// Repositories that may run programs.
    #[must_use]
    pub fn trusted_repositories(&self) -> TrustedRepositories<'_> {
        TrustedRepositories::new(self)
    }

    /// Repositories of which workspaces are made.
    #[must_use]
    pub fn repos(&self) -> Repos<'_> {
        Repos::new(self)
    }

    /// Workspaces.
    #[must_use]
    pub fn workspaces(&self) -> Workspaces<'_> {
        Workspaces::new(self)
    }

    /// Sandboxes that stay.
    #[must_use]
    pub fn sandboxes(&self) -> Sandboxes<'_> {
        Sandboxes::new(self)
    }

    /// The files of sandboxes as they were.
    #[must_use]
    pub fn sandbox_snapshots(&self) -> SandboxSnapshots<'_> {
        SandboxSnapshots::new(self)
    }

    /// What was counted of workspaces.
    #[must_use]
    pub fn measures(&self) -> Measures<'_> {
        Measures::new(self)
    }

    /// The key of the secrets, which is made when there is none.
    pub(crate) async fn sealing_key(&self) -> Result<&SealingKey> {
        let settings = &self.shared.settings;
        self.shared
            .sealing_key
            .get_or_try_init(async || SealingKey::of(settings))
            .await
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.shared.clock.now()
    }

    pub(crate) async fn database(&self) -> Result<&Database> {
        self.open_with(&mut Vec::new()).await
    }

    pub(crate) async fn fetch(&self, query: &Query) -> Result<Vec<Row>> {
        self.database().await?.fetch(query).await
    }

    /// Reads what is at most one row.
    pub(crate) async fn fetch_optional(&self, query: &Query) -> Result<Option<Row>> {
        Ok(self.fetch(query).await?.into_iter().next())
    }

    pub(crate) async fn begin(&self, attempt: &'static str) -> Result<Transaction> {
        self.database().await?.begin(attempt).await
    }

    /// Begins a transaction for what may be lost with the machine's power, though not with this process.
    pub(crate) async fn begin_hastily(&self, attempt: &'static str) -> Result<Transaction> {
        self.database().await?.begin_hastily(attempt).await
    }

    async fn open_with(&self, applied: &mut Vec<AppliedMigration>) -> Result<&Database> {
        self.shared
            .database
            .get_or_try_init(async || {
                let database = Database::connect(&self.shared.settings).await?;
                *applied = migrations::run(&database).await?;
                for migration in &*applied {
                    tracing::info!(
                        version = migration.version,
                        name = migration.name,
                        "changed the tables of the database"
                    );
                }
                Ok(database)
            })
            .await
    }
}

/// Shows where the data is, and not how to get in: the URL is a secret.
impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store")
            .field("settings", &self.shared.settings)
            .finish_non_exhaustive()
    }
}
