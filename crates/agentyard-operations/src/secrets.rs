//! Secrets: set, listed, removed, and never shown.

use agentyard_model::{
    Cursor, Page, PageRequest, Permission, Secret, SecretEntry, SecretName, Timestamp, Toolset,
};
use agentyard_services::Result;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::Output;
use crate::registry::Entry;

pub(crate) const ALL: &[Entry] = &[
    Entry::of::<SecretSet>(),
    Entry::of::<SecretList>(),
    Entry::of::<SecretRemove>(),
];

struct SecretSet;

/// Keep a secret, which executions can be granted by name: they find it in the variable of that name, and it is masked
/// in what they say. A value that was there is replaced. It is never shown again.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SecretSetInput {
    /// Name of a variable, for example `API_TOKEN`.
    name: SecretName,
    /// At least 4 bytes. On a command line, read from standard input when left out.
    value: Secret,
}

/// What may be told of a secret.
#[derive(Serialize, JsonSchema)]
struct SecretView {
    /// Its name.
    name: SecretName,
    /// When it was first set.
    created_at: Timestamp,
    /// When it was last set.
    updated_at: Timestamp,
}

impl Output for SecretView {}

impl Operation for SecretSet {
    const NAME: &'static str = "secret_set";
    const TOOLSET: Toolset = Toolset::Admin;
    const EFFECT: Effect = Effect::Set;
    const ACCESS: Access = Access::Holds(Permission::SecretWrite);
    const ROUTE: Route = Route::put("/v1/secrets/{name}");
    type Input = SecretSetInput;
    type Output = SecretView;

    async fn call(context: Context<'_>, input: SecretSetInput) -> Result<SecretView> {
        let secrets = &context.services.secrets;
        let entry = secrets.set(context.caller, &input.name, &input.value).await?;
        Ok(entry.into())
    }
}

struct SecretList;

/// List the secrets of your tenant by name, without their values.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SecretListInput {
    /// How many at most; 50 by default.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<u32>,
    /// `next_cursor` of the page before.
    cursor: Option<Cursor>,
}

/// A page of secrets.
#[derive(Serialize, JsonSchema)]
struct SecretPageView {
    /// The secrets.
    secrets: Vec<SecretView>,
    /// Where the next page begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<Cursor>,
    /// Whether this page was cut short to fit.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

impl Output for SecretPageView {
    fn item_count(&self) -> usize {
        self.secrets.len()
    }

    fn keep(&mut self, count: usize) {
        self.secrets.truncate(count);
        self.next_cursor = self.secrets.last().map(|secret| Cursor::at(&secret.name));
        self.truncated = true;
    }
}

impl Operation for SecretList {
    const NAME: &'static str = "secret_list";
    const TOOLSET: Toolset = Toolset::Admin;
    const EFFECT: Effect = Effect::Read;
    const ACCESS: Access = Access::Holds(Permission::SecretRead);
    const ROUTE: Route = Route::get("/v1/secrets");
    type Input = SecretListInput;
    type Output = SecretPageView;

    async fn call(context: Context<'_>, input: SecretListInput) -> Result<SecretPageView> {
        let page = PageRequest::new(input.limit, input.cursor);
        let listed = context.services.secrets.list(context.caller, &page).await?;
        Ok(listed.into())
    }
}

struct SecretRemove;

/// Forget a secret. What runs already keeps it until it ends.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SecretRemoveInput {
    /// Its name; `secret_list` shows it.
    name: SecretName,
}

/// A secret that is gone.
#[derive(Serialize, JsonSchema)]
struct RemovedSecretView {
    /// What it was called.
    removed: SecretName,
}

impl Output for RemovedSecretView {}

impl Operation for SecretRemove {
    const NAME: &'static str = "secret_remove";
    const TOOLSET: Toolset = Toolset::Admin;
    const EFFECT: Effect = Effect::Destroy;
    const ACCESS: Access = Access::Holds(Permission::SecretWrite);
    const ROUTE: Route = Route::delete("/v1/secrets/{name}");
    type Input = SecretRemoveInput;
    type Output = RemovedSecretView;

    async fn call(context: Context<'_>, input: SecretRemoveInput) -> Result<RemovedSecretView> {
        context
            .services
            .secrets
            .remove(context.caller, &input.name)
            .await?;
        Ok(RemovedSecretView { removed: input.name })
    }
}

impl From<SecretEntry> for SecretView {
    fn from(entry: SecretEntry) -> Self {
        Self {
            name: entry.name,
            created_at: entry.created_at,
            updated_at: entry.updated_at,
        }
    }
}

impl From<Page<SecretEntry>> for SecretPageView {
    fn from(page: Page<SecretEntry>) -> Self {
        let page = page.map(SecretView::from);
        Self {
            secrets: page.items,
            next_cursor: page.next,
            truncated: false,
        }
    }
}
