//! Whoever talks to a sandbox itself comes with its token, or with a file's signed address, and not as a caller.

use agentyard_envd::{ENVD_PORT, INTERPRETER_PORT};
use agentyard_model::{
    Caller, Permission, RequestId, Sandbox as Row, SandboxId, SandboxState, Secret, TenantId,
};
use agentyard_store::SandboxToken;
use base64::Engine as _;
use sha2::{Digest as _, Sha256};

use super::Sandboxes;
use super::owners::{absent, visible};
use crate::error::{Error, ErrorKind, Result, from_store};

/// The right to talk to a port of a sandbox, in one request.
#[derive(Debug, Clone)]
pub struct Visit {
    pub(super) row: Row,
    pub(super) port: u16,
    /// The owner, for whom everything there is done.
    pub(super) owner: Caller,
    /// Whether it was had with the token that opens everything, and not only what listens there.
    pub(super) opens_all: bool,
}

impl Visit {
    /// Which sandbox.
    #[must_use]
    pub fn sandbox(&self) -> SandboxId {
        self.row.id
    }

    /// Whose.
    #[must_use]
    pub fn tenant(&self) -> TenantId {
        self.row.tenant
    }

    /// Which port of it.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }
}

/// The signed address of a file, as it was presented.
#[derive(Debug, Clone, Copy)]
pub struct SignedFile<'a> {
    /// Of which sandbox, if the address says.
    pub sandbox: Option<SandboxId>,
    /// The file.
    pub path: &'a str,
    /// Whether it is to be written and not read.
    pub write: bool,
    /// As whom.
    pub user: &'a str,
    /// Until when it holds, in seconds since the Unix epoch; for ever when it does not say.
    pub expiration: Option<i64>,
    /// The signature.
    pub signature: &'a str,
}

impl Sandboxes {
    /// Lets somebody talk to a port of a sandbox who comes with its token.
    ///
    /// # Errors
    /// When there is no such sandbox, the token is not its own or not one for this port, or its owner may not run
    /// anything any more.
    pub async fn visit(&self, id: SandboxId, port: u16, token: Option<&Secret>) -> Result<Visit> {
        let row = self.visited(id).await?;
        let (is_open, opens_all) = match token {
            Some(token) => self.opens(id, port, token).await?,
            None => {
                let is_public = row.network.public_traffic;
                let is_public = is_public.unwrap_or(self.0.parts.settings.public_traffic);
                (is_public && port != ENVD_PORT && port != INTERPRETER_PORT, false)
            }
        };
        if !is_open {
            return Err(Error::new(
                ErrorKind::Unauthenticated,
                format!("port {port} of the sandbox {id} needs the sandbox's token"),
            )
            .hint(
                "E2B's `create` and `connect` give it; it goes into the header `X-Access-Token`, or, for what listens in \
                 the sandbox, `E2B-Traffic-Access-Token`",
            ));
        }
        self.let_in(row, port, opens_all).await
    }

    /// Lets somebody read or write the file whose signed address they have.
    ///
    /// # Errors
    /// When the signature is not one of this file, or has expired.
    pub async fn visit_signed(&self, file: SignedFile<'_>) -> Result<Visit> {
        let refused = || {
            Error::new(
                ErrorKind::Unauthenticated,
                "the signature of the file's address is not right, or has expired",
            )
            .hint("ask for a new address")
        };
        let now = self.0.parts.clock.now().as_microseconds() / 1_000_000;
        if file.expiration.is_some_and(|end| end < now) {
            return Err(refused());
        }
        let sandboxes = self.0.parts.store.sandboxes();
        let failed = |error| from_store("looking up a sandbox", error);
        let candidates = match file.sandbox {
            Some(id) => vec![self.visited(id).await?],
            // The address does not say, so it is looked whose signature it is.
            None => sandboxes.visible().await.map_err(failed)?,
        };
        let mut found = None;
        for row in candidates {
            let token = sandboxes.token(SandboxToken::Access, row.id).await;
            let expected = signature(&file, &token.map_err(failed)?);
            if is_same(&expected, file.signature) {
                found = Some(row);
            }
        }
        let row = found.ok_or_else(refused)?;
        let row = self.visited(row.id).await?;
        self.let_in(row, ENVD_PORT, false).await
    }

    /// A sandbox that answers, or wakes when it is talked to.
    async fn visited(&self, id: SandboxId) -> Result<Row> {
        let found = self.0.parts.store.sandboxes().find(id).await;
        let row = visible(
            id,
            found.map_err(|error| from_store("looking up a sandbox", error))?,
        )?;
        match row.state == SandboxState::Paused && !row.lifecycle.auto_resume {
            true => Err(absent(id)),
            false => Ok(row),
        }
    }

    /// Whether a token opens a port, and whether it opens everything.
    async fn opens(&self, id: SandboxId, port: u16, token: &Secret) -> Result<(bool, bool)> {
        let sandboxes = self.0.parts.store.sandboxes();
        let failed = |error| from_store("checking the token of a sandbox", error);
        let is_access = sandboxes.is_token(SandboxToken::Access, id, token).await;
        let is_traffic = sandboxes.is_token(SandboxToken::Traffic, id, token).await;
        let (is_access, is_traffic) = (is_access.map_err(failed)?, is_traffic.map_err(failed)?);
        Ok((is_access | (is_traffic & (port != ENVD_PORT)), is_access))
    }

    async fn let_in(&self, row: Row, port: u16, opens_all: bool) -> Result<Visit> {
        let owner = self.0.parts.identities.of_owner(row.tenant, &row.owner).await?;
        let owner = owner.ok_or_else(|| {
            Error::new(
                ErrorKind::Forbidden,
                format!("whoever made the sandbox {} may not use it any more", row.id),
            )
            .hint("their token was revoked or has expired; make a sandbox with one that holds")
        })?;
        owner.require(Permission::AgentRun)?;
        Ok(Visit {
            row,
            port,
            owner: owner.in_request(RequestId::new()),
            opens_all,
        })
    }
}

/// What clients sign a file's address with.
fn signature(file: &SignedFile<'_>, token: &Secret) -> String {
    let operation = if file.write { "write" } else { "read" };
    let mut signed = format!("{}:{operation}:{}:{}", file.path, file.user, token.expose());
    if let Some(expiration) = file.expiration {
        signed.push(':');
        signed.push_str(&expiration.to_string());
    }
    let digest = Sha256::digest(signed.as_bytes());
    format!(
        "v1_{}",
        base64::engine::general_purpose::STANDARD_NO_PAD.encode(digest)
    )
}

/// Whether two texts are the same. It takes as long wherever they differ.
fn is_same(expected: &str, presented: &str) -> bool {
    let (expected, presented) = (expected.as_bytes(), presented.trim_end_matches('=').as_bytes());
    expected.len() == presented.len()
        && expected
            .iter()
            .zip(presented)
            .fold(0, |difference, (one, other)| difference | (one ^ other))
            == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_of_one_file_one_operation_and_one_token() {
        let file = SignedFile {
            sandbox: None,
            path: "/home/user/a",
            write: false,
            user: "user",
            expiration: Some(5),
            signature: "",
        };
        let token = Secret::new("t");
        let read = signature(&file, &token);
        assert_eq!(read, signature(&file, &token));
        assert!(is_same(&read, &read) && !is_same(&read, "v1_") && read.starts_with("v1_"));
        for other in [
            SignedFile { write: true, ..file },
            SignedFile { path: "/b", ..file },
            SignedFile { user: "", ..file },
            SignedFile {
                expiration: None,
                ..file
            },
        ] {
            assert!(!is_same(&read, &signature(&other, &token)), "{other:?}");
        }
        assert!(!is_same(&read, &signature(&file, &Secret::new("u"))));
    }
}
