//! Who calls: settled once, at the edge. Below it nobody reads a header or a token.

use std::fmt;

use crate::{Permission, Permissions, RoleName, TenantId, TokenId, TokenName, Toolsets, UserId, UserName};

/// Names one request in every log line, audit row and error that it leaves behind.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RequestId(String);

impl RequestId {
    /// The longest id that is taken over from a client.
    const MAX_LENGTH: usize = 64;

    /// A new id.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "an id is made, never defaulted")]
    pub fn new() -> Self {
        Self(uuid::Uuid::now_v7().simple().to_string())
    }

    /// The id that a client sent, if it is one that can stand in a log line.
    #[must_use]
    pub fn from_client(text: &str) -> Option<Self> {
        let plain = !text.is_empty()
            && text.len() <= Self::MAX_LENGTH
            && text
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'));
        plain.then(|| Self(text.to_owned()))
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Who somebody is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Subject {
    /// Nobody we know.
    Anonymous,
    /// Agentyard itself, doing what nobody asked for.
    Machine,
    /// A person known to this installation.
    User {
        /// Which one.
        id: UserId,
        /// What they sign in as.
        name: UserName,
    },
    /// The holder of a token made here.
    Token {
        /// Which one.
        id: TokenId,
        /// What it is for.
        name: TokenName,
    },
    /// Somebody for whom an issuer vouches (`jwt`, `oauth`).
    External {
        /// Who vouches.
        issuer: String,
        /// Whom they mean.
        subject: String,
    },
}

/// How a subject is named in the audit log: stable, unambiguous, without a secret.
impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Anonymous => f.write_str("anonymous"),
            Self::Machine => f.write_str("agentyard"),
            Self::User { id, name } => write!(f, "user {name} {id}"),
            Self::Token { id, name } => write!(f, "token {name} {id}"),
            Self::External { issuer, subject } => write!(f, "external {subject:?} of {issuer:?}"),
        }
    }
}

/// Why a caller was turned away.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// It has no identity.
    #[error("no identity: this call needs a token")]
    Anonymous,
    /// It has one, and it does not suffice.
    #[error("permission `{0}` is needed and this caller does not hold it")]
    Lacks(Permission),
}

/// Who calls, for whom, and with which rights.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The tenant that the caller belongs to; nothing crosses it.
    pub tenant: TenantId,
    /// Who it is.
    pub subject: Subject,
    /// The role from which the rights come.
    pub role: Option<RoleName>,
    /// The toolsets it sees.
    pub toolsets: Toolsets,
    /// What it may do, already cut down to what everybody in `chain` may do.
    pub permissions: Permissions,
    /// On whose behalf, nearest first: the holders whose rights bound this caller's.
    pub chain: Vec<Subject>,
    /// The request that is being served.
    pub request_id: RequestId,
}

impl Caller {
    /// Somebody without an identity.
    #[must_use]
    pub fn anonymous() -> Self {
        Self {
            tenant: TenantId::LOCAL,
            subject: Subject::Anonymous,
            role: None,
            toolsets: Toolsets::NONE,
            permissions: Permissions::NONE,
            chain: Vec::new(),
            request_id: RequestId::new(),
        }
    }

    /// The person whose machine this is: who started the process over stdio or typed
    /// the command owns the data directory, so there is nothing to withhold.
    #[must_use]
    pub fn local() -> Self {
        Self {
            tenant: TenantId::LOCAL,
            subject: Subject::User {
                id: UserId::LOCAL,
                name: UserName::local(),
            },
            role: "admin".parse().ok(),
            toolsets: Toolsets::ALL,
            permissions: Permissions::ALL,
            chain: Vec::new(),
            request_id: RequestId::new(),
        }
    }

    /// Agentyard itself, for a tenant: it tidies up, and may do nothing that callers may.
    #[must_use]
    pub fn machine(tenant: TenantId) -> Self {
        Self {
            tenant,
            subject: Subject::Machine,
            ..Self::anonymous()
        }
    }

    /// The same caller in another request.
    #[must_use]
    pub fn in_request(&self, request_id: RequestId) -> Self {
        Self {
            request_id,
            ..self.clone()
        }
    }

    /// Turns away a caller that lacks this permission.
    ///
    /// # Errors
    /// When it has no identity, or lacks it.
    pub fn require(&self, permission: Permission) -> Result<(), Denied> {
        self.require_identity()?;
        if self.permissions.contains(permission) {
            Ok(())
        } else {
            Err(Denied::Lacks(permission))
        }
    }

    /// Turns away a caller that nobody knows.
    ///
    /// # Errors
    /// When it has no identity.
    pub fn require_identity(&self) -> Result<(), Denied> {
        match self.subject {
            Subject::Anonymous => Err(Denied::Anonymous),
            Subject::Machine | Subject::User { .. } | Subject::Token { .. } | Subject::External { .. } => {
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_id_from_outside_cannot_forge_a_log_line() {
        assert!(RequestId::from_client("req-1.a_b").is_some());
        for bad in ["", "a b", "a\nb", "\u{1b}[0m", &"a".repeat(65)] {
            assert!(RequestId::from_client(bad).is_none(), "{bad:?}");
        }
    }

    #[test]
    fn nobody_may_do_anything() {
        let nobody = Caller {
            permissions: Permissions::ALL,
            ..Caller::anonymous()
        };
        assert_eq!(nobody.require(Permission::ProjectRead), Err(Denied::Anonymous));
        assert_eq!(Caller::local().require(Permission::AdminUsers), Ok(()));
    }
}
