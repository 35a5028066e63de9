//! The tokens with which one talks to a sandbox. They are derived from the installation's key, so none is kept.

use agentyard_model::{SandboxId, Secret};

use super::Sandboxes;
use crate::Result;

/// What a token is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SandboxToken {
    /// Everything in the sandbox.
    Access,
    /// What listens in the sandbox.
    Traffic,
}

impl SandboxToken {
    fn label(self, id: SandboxId) -> String {
        match self {
            Self::Access => format!("envd:{id}"),
            Self::Traffic => format!("traffic:{id}"),
        }
    }
}

impl Sandboxes<'_> {
    /// The token of a sandbox, as it is given to whoever may use it.
    ///
    /// # Errors
    /// When there is no key, and none can be made.
    pub async fn token(self, kind: SandboxToken, id: SandboxId) -> Result<Secret> {
        let key = self.store.sealing_key().await?;
        Ok(Secret::new(hex::encode(key.derive(&kind.label(id)))))
    }

    /// Whether somebody came with the token of a sandbox. How long it takes says nothing about how nearly it was that.
    ///
    /// # Errors
    /// When there is no key, and none can be made.
    pub async fn is_token(self, kind: SandboxToken, id: SandboxId, presented: &Secret) -> Result<bool> {
        let key = self.store.sealing_key().await?;
        let presented = hex::decode(presented.expose()).unwrap_or_default();
        Ok(key.is_derived(&kind.label(id), &presented))
    }
}
