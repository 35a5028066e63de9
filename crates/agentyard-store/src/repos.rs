//! Registered repositories.

use agentyard_model::{
    AuditEvent, Cursor, MAX_PAGE_SIZE, NewRepo, Page, PageRequest, Repo, RepoId, RepoName, TenantId,
};

use crate::database::{Query, Row, Transaction};
use crate::{Error, Result, Store, audit, text};

/// What became of a repository that was to be registered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Added {
    /// It is registered now.
    Added(Repo),
    /// Another repository has this name; nothing has changed.
    NameTaken(Repo),
    /// This address was registered before, under this name or another; nothing has changed.
    UrlTaken(Repo),
}

/// The repositories of all tenants.
#[derive(Debug, Clone, Copy)]
pub struct Repos<'a> {
    store: &'a Store,
}

impl<'a> Repos<'a> {
    pub(crate) fn new(store: &'a Store) -> Self {
        Self { store }
    }

    /// Registers a repository. The event is written only when that changes something.
    ///
    /// # Errors
    /// When there is no such tenant, a text is too long to be a key, or it cannot be written.
    pub async fn add(self, new: &NewRepo, event: &AuditEvent) -> Result<Added> {
        let repo = Repo {
            id: RepoId::new(),
            tenant: new.tenant,
            name: new.name.clone(),
            url: text::key(ADD, &new.url)?.to_owned(),
            default_branch: new.default_branch.clone(),
            created_by: text::bounded(&new.created_by).into_owned(),
            created_at: self.store.now(),
            fetched_at: None,
        };
        let mut transaction = self.store.begin(ADD).await?;
        if !insert(&mut transaction, &repo).await? {
            return in_the_way(&mut transaction, &repo).await;
        }
        audit::append(&mut transaction, event, repo.created_at).await?;
        transaction.commit(ADD).await?;
        Ok(Added::Added(repo))
    }

    /// The repository of this name.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn get(self, tenant: TenantId, name: &RepoName) -> Result<Option<Repo>> {
        self.one(&selection(tenant).push(" AND name = ").push_value(name))
            .await
    }

    /// The repository with this id.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn by_id(self, tenant: TenantId, id: RepoId) -> Result<Option<Repo>> {
        self.one(&selection(tenant).push(" AND id = ").push_value(id))
            .await
    }

    /// The repository that comes from this address.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn by_url(self, tenant: TenantId, url: &str) -> Result<Option<Repo>> {
        self.one(&selection(tenant).push(" AND url = ").push_value(url))
            .await
    }

    /// The repositories of a tenant, by name.
    ///
    /// # Errors
    /// When the cursor is not one of this list, or the database cannot be read.
    pub async fn list(self, tenant: TenantId, page: &PageRequest) -> Result<Page<Repo>> {
        let limit = page.limit.clamp(1, MAX_PAGE_SIZE);
        let mut query = selection(tenant);
        if let Some(cursor) = &page.cursor {
            query = query.push(" AND name > ").push_value(cursor.place::<RepoName>()?);
        }
        query = query.push(" ORDER BY name LIMIT ").push_value(limit + 1);
        let rows = self.store.fetch(&query).await?;
        let repos = rows.iter().map(repo).collect::<Result<_>>()?;
        Ok(Page::from_overfull(repos, limit, |repo: &Repo| {
            Cursor::at(&repo.name)
        }))
    }

    /// Notes that its mirror has just heard from the remote, and what the default branch is there. None leaves
    /// what is known.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn fetched(self, id: RepoId, default_branch: Option<&str>) -> Result<()> {
        let query = Query::new(
            "note a fetch",
            "UPDATE repos SET fetched_at = $2, default_branch = COALESCE($3, default_branch) WHERE id = $1",
        )
        .bind(id)
        .bind(self.store.now())
        .bind(default_branch);
        let mut transaction = self.store.begin_hastily(query.attempt()).await?;
        transaction.execute(&query).await?;
        transaction.commit(query.attempt()).await
    }

    /// Forgets a repository, its closed workspaces and what was counted of it, and says whether it did: it does
    /// not while one of its workspaces is anything but closed.
    ///
    /// # Errors
    /// When there is no such repository, or it cannot be written.
    pub async fn remove(self, tenant: TenantId, id: RepoId, event: &AuditEvent) -> Result<bool> {
        const ATTEMPT: &str = "remove a repository";
        let mut transaction = self.store.begin(ATTEMPT).await?;
        hold(&mut transaction, tenant, id).await?;
        let present = Query::new(
            ATTEMPT,
            "SELECT 1 AS one FROM workspaces WHERE repo_id = $1 AND state <> 'closed' LIMIT 1",
        )
        .bind(id);
        if transaction.fetch_optional(&present).await?.is_some() {
            return Ok(false);
        }
        for statement in [
            "DELETE FROM workspace_measures WHERE repo_id = $1",
            "DELETE FROM workspaces WHERE repo_id = $1",
            "DELETE FROM repos WHERE id = $1",
        ] {
            transaction
                .execute(&Query::new(ATTEMPT, statement).bind(id))
                .await?;
        }
        audit::append(&mut transaction, event, self.store.now()).await?;
        transaction.commit(ATTEMPT).await?;
        Ok(true)
    }

    async fn one(self, query: &Query) -> Result<Option<Repo>> {
        self.store
            .fetch_optional(query)
            .await?
            .as_ref()
            .map(repo)
            .transpose()
    }
}

/// Makes all others who decide something about the workspaces of this repository wait until the transaction ends.
///
/// # Errors
/// When there is no such repository.
pub(crate) async fn hold(transaction: &mut Transaction, tenant: TenantId, id: RepoId) -> Result<()> {
    // An update that changes nothing locks the row, on either engine.
    let query = Query::new(
        "look up a repository",
        "UPDATE repos SET name = name WHERE tenant_id = $1 AND id = $2",
    )
    .bind(tenant)
    .bind(id);
    match transaction.execute(&query).await? {
        0 => Err(Error::not_found("repository", id)),
        _ => Ok(()),
    }
}

const ADD: &str = "register a repository";

/// The columns of which [`repo`] makes one.
const COLUMNS: &str = "id, tenant_id, name, url, default_branch, created_by, created_at, fetched_at";

/// Writes a row, unless its name or address is taken.
async fn insert(transaction: &mut Transaction, repo: &Repo) -> Result<bool> {
    let query = Query::new(
        ADD,
        "INSERT INTO repos (tenant_id, id, name, url, default_branch, created_by, created_at) \
         SELECT tenants.id, $2, $3, $4, $5, $6, $7 FROM tenants WHERE tenants.id = $1 \
         ON CONFLICT DO NOTHING",
    )
    .bind(repo.tenant)
    .bind(repo.id)
    .bind(&repo.name)
    .bind(&repo.url)
    .bind(repo.default_branch.as_deref())
    .bind(&repo.created_by)
    .bind(repo.created_at);
    Ok(transaction.execute(&query).await? == 1)
}

/// Which row kept this one from being written. Whoever registers the same address twice wants to hear of that
/// first: the name is then most likely taken by the same row.
async fn in_the_way(transaction: &mut Transaction, wanted: &Repo) -> Result<Added> {
    let query = selection(wanted.tenant)
        .push(" AND (name = ")
        .push_value(&wanted.name)
        .push(" OR url = ")
        .push_value(&wanted.url)
        .push(")");
    let rows = transaction.fetch(&query).await?;
    let found = rows.iter().map(repo).collect::<Result<Vec<_>>>()?;
    let same_url = found.iter().find(|repo| repo.url == wanted.url).cloned();
    match (same_url, found.into_iter().next()) {
        (Some(repo), _) => Ok(Added::UrlTaken(repo)),
        (None, Some(repo)) => Ok(Added::NameTaken(repo)),
        (None, None) => Err(Error::not_found("tenant", wanted.tenant)),
    }
}

fn selection(tenant: TenantId) -> Query {
    Query::new("look up repositories", "SELECT ")
        .push(COLUMNS)
        .push(" FROM repos WHERE tenant_id = ")
        .push_value(tenant)
}

fn repo(row: &Row) -> Result<Repo> {
    Ok(Repo {
        id: row.parsed("id")?,
        tenant: row.parsed("tenant_id")?,
        name: row.parsed("name")?,
        url: row.text("url")?,
        default_branch: row.optional_text("default_branch")?,
        created_by: row.text("created_by")?,
        created_at: row.timestamp("created_at")?,
        fetched_at: row.optional_timestamp("fetched_at")?,
    })
}
