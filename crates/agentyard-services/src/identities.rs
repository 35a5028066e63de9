//! Who callers are: from a token made here, or from what an issuer says of them.

use agentyard_model::{Caller, Permissions, RequestId, Role, Secret, Subject, TenantId};
use agentyard_store::{Authentication, Store};

use crate::error::{Error, ErrorKind, Result, from_store};

/// Who callers are.
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

/// The permissions among the words of a scope; others belong to other services.
fn named_permissions(scope: &str) -> Permissions {
    scope
        .split_ascii_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect()
}
