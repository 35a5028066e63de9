//! Who one is.

use agentyard_model::{Caller, Permissions, RequestId, RoleName, TenantId, Toolset, Toolsets};
use agentyard_services::Result;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::level::{Level, LevelledField};
use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::Output;
use crate::registry::Entry;

pub(crate) const ALL: &[Entry] = &[Entry::of::<Whoami>()];

struct Whoami;

/// Tell who you are to Agentyard: subject, tenant, role, and what you may do. Call it
/// when a call was refused.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WhoamiInput {}

/// A caller, as it sees itself.
#[derive(Serialize, JsonSchema)]
struct IdentityView {
    /// Who: a user, a token, or somebody for whom an issuer vouches.
    subject: String,
    /// The tenant it belongs to.
    tenant: TenantId,
    /// The role its rights come from.
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<RoleName>,
    /// The toolsets it sees.
    toolsets: Toolsets,
    /// What it may do.
    permissions: Permissions,
    /// On whose behalf it acts, nearest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 4))]
    on_behalf_of: Vec<String>,
    /// The id of this request, as logs and the audit log have it.
    request_id: String,
}

impl Output for IdentityView {
    const LEVELS: &'static [LevelledField] = &[
        ("toolsets", Level::Standard),
        ("permissions", Level::Standard),
        ("request_id", Level::Full),
    ];
}

impl Operation for Whoami {
    const NAME: &'static str = "whoami";
    const TOOLSET: Toolset = Toolset::Core;
    const EFFECT: Effect = Effect::Read;
    const ACCESS: Access = Access::Identity;
    const ROUTE: Route = Route::get("/v1/whoami");
    type Input = WhoamiInput;
    type Output = IdentityView;

    async fn call(context: Context<'_>, WhoamiInput {}: WhoamiInput) -> Result<IdentityView> {
        context
            .services
            .identities
            .whoami(context.caller)
            .map(IdentityView::from)
    }
}

impl From<&Caller> for IdentityView {
    fn from(caller: &Caller) -> Self {
        Self {
            subject: caller.subject.to_string(),
            tenant: caller.tenant,
            role: caller.role.clone(),
            toolsets: caller.toolsets,
            permissions: caller.permissions,
            on_behalf_of: caller.chain.iter().map(ToString::to_string).collect(),
            request_id: RequestId::as_str(&caller.request_id).to_owned(),
        }
    }
}
