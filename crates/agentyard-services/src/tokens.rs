//! Tokens: made, listed, revoked. A token never holds more than its maker holds now.

use std::time::Duration;

use agentyard_model::{
    AuditEvent, Caller, Clock, Delegated, Denied, NewToken, Page, PageRequest, Permission, Permissions, Role,
    RoleName, Secret, Subject, Token, TokenFilter, TokenId, TokenName, UserId,
};
use agentyard_store::{Store, generate_token_secret};

use crate::error::{Error, ErrorKind, Result, from_store};

/// How long a token lasts when nobody says.
const DEFAULT_DAYS: u32 = 90;

/// The longest that a token may last: ten years.
const MAX_DAYS: u32 = 3650;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Tokens.
pub struct Tokens {
    store: Store,
    clock: Clock,
}

/// A token that somebody wants.
#[derive(Debug, Clone)]
pub struct TokenRequest {
    /// What it is for.
    pub name: TokenName,
    /// The role whose toolsets it sees; the default role when left out.
    pub role: Option<RoleName>,
    /// What it shall be able to do; all of its role when left out.
    pub permissions: Option<Permissions>,
    /// When it shall end.
    pub expires_in_days: Option<u32>,
}

/// A token just made, and the only sight of its secret.
#[derive(Debug)]
pub struct IssuedToken {
    /// The token.
    pub token: Token,
    /// What its holder sends.
    pub secret: Secret,
    /// What was asked for and not granted.
    pub dropped: Permissions,
}

impl Tokens {
    pub(crate) fn new(store: Store, clock: Clock) -> Self {
        Self { store, clock }
    }

    /// Makes a token.
    ///
    /// # Errors
    /// When the caller may not make tokens, has passed its rights on too often already,
    /// or names a role that does not exist.
    pub async fn create(&self, caller: &Caller, request: TokenRequest) -> Result<IssuedToken> {
        caller.require(Permission::AdminUsers)?;
        let expires_at = self.clock.now().after(DAY * days(request.expires_in_days)?);
        let (owner, parent) = lineage(caller)?;
        let role = self.role(caller, request.role).await?;
        let held = caller.permissions.intersection(role.permissions);
        let delegated = Delegated::from_parent(held, request.permissions);
        let new = NewToken {
            name: request.name,
            role: role.name,
            permissions: delegated.granted,
            owner,
            parent,
            expires_at: Some(expires_at),
        };
        let unmade = |error| from_store("making a token", error);
        let (secret, hash) = generate_token_secret().map_err(unmade)?;
        let token = self
            .store
            .tokens()
            .create(caller.tenant, new, &hash, |token| {
                AuditEvent::done(caller, "token_create", token.id)
            })
            .await
            .map_err(unmade)?;
        Ok(IssuedToken {
            token,
            secret,
            dropped: delegated.dropped,
        })
    }

    /// The tokens of the caller's tenant, newest first.
    ///
    /// # Errors
    /// When the caller may not see them, or the cursor is not one of this list's.
    pub async fn list(&self, caller: &Caller, filter: TokenFilter, page: PageRequest) -> Result<Page<Token>> {
        caller.require(Permission::AdminUsers)?;
        if let Some(cursor) = &page.cursor {
            cursor.place::<TokenId>()?;
        }
        self.store
            .tokens()
            .list(caller.tenant, filter, &page)
            .await
            .map_err(|error| from_store("listing tokens", error))
    }

    /// Ends a token at once. Ending it again changes nothing.
    ///
    /// # Errors
    /// When the caller may not, or its tenant has no such token.
    pub async fn revoke(&self, caller: &Caller, token: TokenId) -> Result<Token> {
        caller.require(Permission::AdminUsers)?;
        let tokens = self.store.tokens();
        let event = AuditEvent::done(caller, "token_revoke", token);
        let unended = |error| from_store("revoking a token", error);
        tokens
            .revoke(caller.tenant, token, &event)
            .await
            .map_err(unended)?;
        let ended = tokens.get(caller.tenant, token).await.map_err(unended)?;
        ended.ok_or_else(|| Error::not_found(format!("there is no token `{token}`")))
    }

    async fn role(&self, caller: &Caller, name: Option<RoleName>) -> Result<Role> {
        let name = match name {
            Some(name) => name,
            None => Role::DEFAULT
                .parse()
                .map_err(|error| Error::internal("naming the default role", error))?,
        };
        self.store
            .roles()
            .get(caller.tenant, &name)
            .await
            .map_err(|error| from_store("looking up a role", error))?
            .ok_or_else(|| {
                Error::not_found(format!("there is no role `{name}`"))
                    .hint("the built-in roles are dev, ops, ui, admin")
            })
    }
}

/// Who answers for a token that this caller makes, and the token it is made with: one of the two.
fn lineage(caller: &Caller) -> Result<(Option<UserId>, Option<TokenId>)> {
    match &caller.subject {
        Subject::User { id, .. } => Ok((Some(*id), None)),
        Subject::Token { id, .. } => Ok((None, Some(*id))),
        Subject::External { .. } => Err(Error::new(
            ErrorKind::Forbidden,
            "your rights come from an issuer, and a token made here would outlive them",
        )
        .hint("get a token from the issuer, or let an administrator of this machine make one")),
        Subject::Anonymous | Subject::Machine => Err(Denied::Anonymous.into()),
    }
}

fn days(asked: Option<u32>) -> Result<u32> {
    let days = asked.unwrap_or(DEFAULT_DAYS);
    if (1..=MAX_DAYS).contains(&days) {
        Ok(days)
    } else {
        Err(Error::invalid(format!(
            "`expires_in_days`: expected 1 to {MAX_DAYS}, got {days}"
        )))
    }
}
