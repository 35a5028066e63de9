//! What `deny.toml` says: the part of cargo-deny's format that is used here.

use toml::{Table, Value};

use crate::failure::{Attempt, Failure, Result};
use crate::workspace;

pub(super) struct Policy {
    /// SPDX identifiers.
    licences: Vec<String>,
    /// Crates that may have further licences.
    exceptions: Vec<(String, Vec<String>)>,
    /// Crates that may not come in, each with the reason.
    bans: Vec<(String, String)>,
    /// Advisories that were looked into, each with the reason.
    ignored: Vec<(String, String)>,
}

impl Policy {
    pub(super) fn read() -> Result<Self> {
        let path = workspace::root().join("deny.toml");
        let text = std::fs::read_to_string(path).attempt("read deny.toml")?;
        Self::parse(&text)
    }

    fn parse(text: &str) -> Result<Self> {
        let table: Table = toml::from_str(text).attempt("read deny.toml")?;
        let section = |name: &str, key: &str| array(table.get(name).and_then(|section| section.get(key)));
        let mut policy = Self {
            licences: strings(section("licenses", "allow")),
            exceptions: Vec::new(),
            bans: Vec::new(),
            ignored: Vec::new(),
        };
        for entry in section("licenses", "exceptions") {
            let allowed = strings(array(entry.get("allow")));
            policy.exceptions.push((required(entry, "crate")?, allowed));
        }
        for entry in section("bans", "deny") {
            policy
                .bans
                .push((required(entry, "crate")?, required(entry, "reason")?));
        }
        for entry in section("advisories", "ignore") {
            policy
                .ignored
                .push((required(entry, "id")?, required(entry, "reason")?));
        }
        Ok(policy)
    }

    pub(super) fn allows(&self, licence: &str) -> bool {
        self.licences.iter().any(|allowed| allowed == licence)
    }

    /// Whether this crate alone may have this licence.
    pub(super) fn excepts(&self, name: &str, licence: &str) -> bool {
        self.exceptions
            .iter()
            .any(|(exception, allowed)| exception == name && allowed.iter().any(|id| id == licence))
    }

    /// Why a crate may not come in.
    pub(super) fn ban(&self, name: &str) -> Option<&str> {
        self.bans
            .iter()
            .find(|(banned, _)| banned == name)
            .map(|(_, reason)| reason.as_str())
    }

    /// Why an advisory does not concern us.
    pub(super) fn ignores(&self, id: &str) -> Option<&str> {
        self.ignored
            .iter()
            .find(|(ignored, _)| ignored == id)
            .map(|(_, reason)| reason.as_str())
    }
}

fn array(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn strings(values: &[Value]) -> Vec<String> {
    values
        .iter()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

/// An exception without a reason is none.
fn required(entry: &Value, key: &str) -> Result<String> {
    match entry.get(key).and_then(Value::as_str) {
        Some(text) if !text.is_empty() => Ok(text.to_owned()),
        _ => Err(Failure::new(format!("deny.toml: `{entry}` needs `{key}`"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_parts_it_needs() {
        let policy = Policy::parse(
            r#"
            [licenses]
            allow = ["MIT"]
            exceptions = [{ crate = "webpki-roots", allow = ["CDLA-Permissive-2.0"] }]
            [bans]
            deny = [{ crate = "openssl", reason = "we use rustls" }]
            "#,
        )
        .unwrap();
        assert!(policy.allows("MIT") && !policy.allows("CDLA-Permissive-2.0"));
        assert!(policy.excepts("webpki-roots", "CDLA-Permissive-2.0"));
        assert!(!policy.excepts("other", "CDLA-Permissive-2.0"));
        assert_eq!(policy.ban("openssl"), Some("we use rustls"));
        assert_eq!(policy.ignores("RUSTSEC-2000-0001"), None);
    }

    #[test]
    fn a_ban_or_an_exception_needs_its_reason() {
        assert!(Policy::parse("[bans]\ndeny = [{ crate = \"openssl\" }]").is_err());
        assert!(Policy::parse("[advisories]\nignore = [{ id = \"RUSTSEC-2000-0001\" }]").is_err());
    }

    #[test]
    fn our_own_policy_can_be_read() {
        assert!(Policy::read().unwrap().allows("MIT"));
    }
}
