//! Who callers are: from a token made here, or from what an issuer says of them.

use agentyard_model::{
    Caller, Permission, Permissions, RequestId, Role, Secret, Subject, TenantId, TokenId, UserId,
};
use agentyard_store::{Authentication, Store};

use crate::error::{Error, ErrorKind, Result, from_store};

/// Who callers are.
#[derive(Clone)]
pub struct Identities {
    store: Store,
}

/// What an issuer vouches for, after its signature was checked.
#[derive(Debug, Clone)]
pub struct VouchedIdentity {
    /// Who vouches.
    pub issuer: String,
    /// For whom.
    pub subject: String,
    /// The tenant, by id or name (claim `tid`); the machine's own when left out.
    pub tenant: Option<String>,
    /// The role (claim `role`).
    pub role: String,
    /// The permissions to which the bearer is limited (claim `scope`); all of its
    /// role's when left out. Words that are no permissions of ours are not for us.
    pub scope: Option<String>,
}

impl Identities {
    pub(crate) fn new(store: Store) -> Self {
        Self { store }
    }

    /// The caller itself, for a caller that wants to know.
    ///
    /// # Errors
    /// When it has no identity.
    pub fn whoami<'a>(&self, caller: &'a Caller) -> Result<&'a Caller> {
        caller.require_identity()?;
        Ok(caller)
    }

    /// Who holds this token, with the rights that it and all above it have now.
    ///
    /// # Errors
    /// When the database does not answer. A token that is unknown or ended is no error: nobody holds it.
    pub async fn by_token(&self, token: &Secret, request_id: RequestId) -> Result<Option<Caller>> {
        let authentication = self
            .store
            .tokens()
            .authenticate(token)
            .await
            .map_err(|error| from_store("looking up a token", error))?;
        match authentication {
            Authentication::Accepted(found) => Ok(Some(found.into_caller(request_id))),
            Authentication::Refused(reason) => {
                tracing::info!(%reason, %request_id, "a token was refused");
                Ok(None)
            }
        }
    }

    /// Somebody who is known by what the audit log calls them, with the rights that they have now; none when they have
    /// none any more. For what is done on their behalf while they are not there.
    ///
    /// # Errors
    /// When the database does not answer.
    pub(crate) async fn of_owner(&self, tenant: TenantId, owner: &str) -> Result<Option<Caller>> {
        let id = owner.rsplit(' ').next().unwrap_or_default();
        if owner.starts_with("token ")
            && let Ok(token) = id.parse::<TokenId>()
        {
            let standing = self.store.tokens().standing_of(tenant, token).await;
            let standing = standing.map_err(|error| from_store("looking up a token", error))?;
            return Ok(match standing {
                Authentication::Accepted(found) => Some(found.into_caller(RequestId::new())),
                Authentication::Refused(_) => None,
            });
        }
        if owner.starts_with("user ")
            && let Ok(user) = id.parse::<UserId>()
        {
            return self.of_user(tenant, user).await;
        }
        // For whom an issuer vouched, it did so when they came; we cannot ask it again.
        Ok(vouched(tenant, owner))
    }

    async fn of_user(&self, tenant: TenantId, user: UserId) -> Result<Option<Caller>> {
        if (tenant, user) == (TenantId::LOCAL, UserId::LOCAL) {
            return Ok(Some(Caller::local()));
        }
        let found = self.store.users().get(tenant, user).await;
        let found = found.map_err(|error| from_store("looking up a user", error))?;
        let Some(user) = found.filter(|user| user.disabled_at.is_none()) else {
            return Ok(None);
        };
        let role = self.role(tenant, user.role.as_str()).await?;
        Ok(Some(Caller {
            tenant,
            subject: Subject::User {
                id: user.id,
                name: user.name,
            },
            role: Some(role.name),
            toolsets: role.toolsets,
            permissions: role.permissions,
            chain: Vec::new(),
            request_id: RequestId::new(),
        }))
    }

    /// Whom an issuer means.
    ///
    /// # Errors
    /// When the tenant or the role that it names does not exist here.
    pub async fn by_vouching(&self, identity: VouchedIdentity, request_id: RequestId) -> Result<Caller> {
        let tenant = self.tenant(identity.tenant.as_deref()).await?;
        let role = self.role(tenant, &identity.role).await?;
        let permissions = match &identity.scope {
            None => role.permissions,
            Some(scope) => named_permissions(scope).intersection(role.permissions),
        };
        Ok(Caller {
            tenant,
            subject: Subject::External {
                issuer: identity.issuer,
                subject: identity.subject,
            },
            role: Some(role.name),
            toolsets: role.toolsets,
            permissions,
            chain: Vec::new(),
            request_id,
        })
    }

    async fn tenant(&self, named: Option<&str>) -> Result<TenantId> {
        let Some(named) = named else {
            return Ok(TenantId::LOCAL);
        };
        let unknown = || {
            Error::new(
                ErrorKind::Forbidden,
                "the tenant in the token's `tid` claim does not exist here",
            )
        };
        let tenants = self.store.tenants();
        let found = match (named.parse::<TenantId>(), named.parse()) {
            (Ok(id), _) => tenants.get(id).await,
            (Err(_), Ok(name)) => tenants.by_name(&name).await,
            (Err(_), Err(_)) => return Err(unknown()),
        };
        found
            .map_err(|error| from_store("looking up a tenant", error))?
            .map(|tenant| tenant.id)
            .ok_or_else(unknown)
    }

    async fn role(&self, tenant: TenantId, named: &str) -> Result<Role> {
        let unknown = || {
            Error::new(
                ErrorKind::Forbidden,
                "the role in the token's `role` claim does not exist here",
            )
        };
        let name = named.parse().map_err(|_| unknown())?;
        self.store
            .roles()
            .get(tenant, &name)
            .await
            .map_err(|error| from_store("looking up a role", error))?
            .ok_or_else(unknown)
    }
}

/// Somebody for whom an issuer vouched once, with what it takes to use what they made then.
fn vouched(tenant: TenantId, owner: &str) -> Option<Caller> {
    let (subject, issuer) = owner.strip_prefix("external ")?.rsplit_once(" of ")?;
    let plain = |quoted: &str| quoted.trim_matches('"').to_owned();
    Some(Caller {
        tenant,
        subject: Subject::External {
            issuer: plain(issuer),
            subject: plain(subject),
        },
        permissions: [Permission::AgentRun].into_iter().collect(),
        ..Caller::anonymous()
    })
}

/// The permissions among the words of a scope; others belong to other services.
fn named_permissions(scope: &str) -> Permissions {
    scope
        .split_ascii_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect()
}
