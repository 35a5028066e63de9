//! Who callers are, asked of the services.

use std::sync::Arc;

use agentyard_model::{Caller, RequestId, Role, Secret};
use agentyard_services::{Services, VouchedIdentity};
use futures::future::BoxFuture;

use crate::edge::{AuthSettings, Claims, Identities, Refusal};

/// Identities from the services.
pub(super) struct FromServices {
    services: Arc<Services>,
    default_role: String,
}

impl FromServices {
    pub(super) fn new(services: &Arc<Services>, auth: &AuthSettings) -> Self {
        let default_role = auth
            .default_role
            .as_ref()
            .map_or(Role::DEFAULT, |role| role.as_str());
        Self {
            services: services.clone(),
            default_role: default_role.to_owned(),
        }
    }
}

/// The edge gives each request its id after it has found the caller, so any will do here.
impl Identities for FromServices {
    fn caller_of_token(&self, token: Secret) -> BoxFuture<'_, Result<Option<Caller>, Refusal>> {
        Box::pin(async move {
            let found = self.services.identities.by_token(&token, RequestId::new()).await;
            found.map_err(|error| Refusal::from(&error))
        })
    }

    fn caller_of_claims(&self, claims: Claims) -> BoxFuture<'_, Result<Option<Caller>, Refusal>> {
        Box::pin(async move {
            let identity = VouchedIdentity {
                issuer: claims.issuer,
                subject: claims.subject,
                tenant: claims.tenant,
                role: claims.role.unwrap_or_else(|| self.default_role.clone()),
                scope: claims.scope,
            };
            let found = self
                .services
                .identities
                .by_vouching(identity, RequestId::new())
                .await;
            found.map(Some).map_err(|error| Refusal::from(&error))
        })
    }
}
