//! Secrets: kept sealed, granted by name to one execution, shown to nobody.

use agentyard_model::{AuditEvent, Caller, Page, PageRequest, Permission, Secret, SecretEntry, SecretName};
use agentyard_store::Store;

use crate::error::{Error, ErrorKind, Result, from_store};
use crate::masking::SHORTEST;

/// The longest value. It goes into an environment variable, and its spellings into a mask.
const MAX_VALUE_BYTES: usize = 16 * 1024;

/// How many secrets one execution is granted at most.
const MAX_GRANTED: usize = 32;

/// Secrets.
#[derive(Clone)]
pub struct Secrets {
    store: Store,
}

impl Secrets {
    pub(crate) fn new(store: Store) -> Self {
        Self { store }
    }

    /// Keeps a value under a name, in the place of what was there.
    ///
    /// # Errors
    /// When the caller may not, or the value cannot be masked or put into an environment.
    pub async fn set(&self, caller: &Caller, name: &SecretName, value: &Secret) -> Result<SecretEntry> {
        caller.require(Permission::SecretWrite)?;
        check(value)?;
        let event = AuditEvent::done(caller, "secret_set", name);
        let secrets = self.store.secrets();
        let set = secrets.set(caller.tenant, name, value, &event).await;
        set.map_err(|error| from_store("keeping a secret", error))
    }

    /// What secrets there are, by name, without their values.
    ///
    /// # Errors
    /// When the caller may not know, or the cursor is not one of this list's.
    pub async fn list(&self, caller: &Caller, page: &PageRequest) -> Result<Page<SecretEntry>> {
        caller.require(Permission::SecretRead)?;
        if let Some(cursor) = &page.cursor {
            cursor.place::<SecretName>()?;
        }
        let listed = self.store.secrets().list(caller.tenant, page).await;
        listed.map_err(|error| from_store("listing the secrets", error))
    }

    /// Forgets a secret.
    ///
    /// # Errors
    /// When the caller may not, or there is none of this name.
    pub async fn remove(&self, caller: &Caller, name: &SecretName) -> Result<()> {
        caller.require(Permission::SecretWrite)?;
        let event = AuditEvent::done(caller, "secret_remove", name);
        let removed = self.store.secrets().remove(caller.tenant, name, &event).await;
        removed.map_err(|error| from_store("removing a secret", error))
    }

    /// The secrets that are to be granted to an execution, each once.
    ///
    /// # Errors
    /// When the caller may not use secrets, names too many, or one that is not there.
    pub async fn granted(&self, caller: &Caller, names: &[SecretName]) -> Result<Vec<(SecretName, Secret)>> {
        if names.is_empty() {
            return Ok(Vec::new());
        }
        caller.require(Permission::SecretRead)?;
        if names.len() > MAX_GRANTED {
            return Err(Error::new(
                ErrorKind::LimitExceeded,
                format!(
                    "`secrets`: {} are named, and {MAX_GRANTED} are allowed",
                    names.len()
                ),
            ));
        }
        let mut granted: Vec<(SecretName, Secret)> = Vec::new();
        for name in names {
            if granted.iter().any(|(known, _)| known == name) {
                continue;
            }
            let found = self.store.secrets().get(caller.tenant, name).await;
            let value = found
                .map_err(|error| from_store("granting a secret", error))?
                .ok_or_else(|| {
                    Error::not_found(format!("there is no secret `{name}`"))
                        .hint("`secret_list` names those that there are")
                })?;
            granted.push((name.clone(), value));
        }
        Ok(granted)
    }
}

/// What is wrong with it is said without showing it.
fn check(value: &Secret) -> Result<()> {
    let value = value.expose();
    if value.trim().len() < SHORTEST {
        return Err(Error::invalid(format!(
            "`value`: expected at least {SHORTEST} bytes: anything shorter could not be masked in what a program says"
        )));
    }
    if value.len() > MAX_VALUE_BYTES {
        return Err(Error::invalid(format!(
            "`value`: {} bytes, and {MAX_VALUE_BYTES} are allowed",
            value.len()
        )));
    }
    if value.contains('\0') {
        return Err(Error::invalid(
            "`value` holds a zero character, which no environment variable can",
        ));
    }
    Ok(())
}
