//! Tokens: how a program proves that it may call.

use crate::{Permissions, RoleName, TenantId, Timestamp, TokenId, TokenName, UserId};

/// A token as it is kept. Its secret is not: only a hash of it, in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// Which one.
    pub id: TokenId,
    /// Whose.
    pub tenant: TenantId,
    /// What it is for.
    pub name: TokenName,
    /// The role whose toolsets it sees.
    pub role: RoleName,
    /// What it was granted; what it may do now is this and what its parents may do.
    pub permissions: Permissions,
    /// The person who answers for it.
    pub owner: Option<UserId>,
    /// The token with which it was made.
    pub parent: Option<TokenId>,
    /// How many tokens stand above it.
    pub depth: u32,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it ends by itself.
    pub expires_at: Option<Timestamp>,
    /// When it was ended.
    pub revoked_at: Option<Timestamp>,
    /// When it was last used, to the minute.
    pub last_used_at: Option<Timestamp>,
}

/// A token to be made.
#[derive(Debug, Clone)]
pub struct NewToken {
    /// What it is for.
    pub name: TokenName,
    /// The role whose toolsets it sees.
    pub role: RoleName,
    /// What it is granted.
    pub permissions: Permissions,
    /// The person who answers for it.
    pub owner: Option<UserId>,
    /// The token with which it is made.
    pub parent: Option<TokenId>,
    /// When it ends by itself.
    pub expires_at: Option<Timestamp>,
}

/// Which tokens are wanted.
#[derive(Debug, Clone, Copy, Default)]
pub struct TokenFilter {
    /// Also those that were revoked or have expired.
    pub ended: bool,
}
