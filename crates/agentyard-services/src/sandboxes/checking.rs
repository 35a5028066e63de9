//! What a caller may say about a sandbox: bounds.

use std::collections::BTreeMap;
use std::time::Duration;

use agentyard_model::SandboxNetwork;
use agentyard_sandbox::Reach;

use super::{DEFAULT_TIMEOUT, SandboxSettings};
use crate::error::{Error, Result};

const MAX_NOTES: usize = 64;
const MAX_NOTE_NAME: usize = 256;
const MAX_NOTE_BYTES: usize = 4096;
const MAX_VARIABLES: usize = 256;
const MAX_VARIABLE_NAME: usize = 256;
const MAX_VARIABLES_BYTES: usize = 256 * 1024;
const MAX_DESTINATIONS: usize = 64;
const MAX_DESTINATION: usize = 260;
const MAX_NAME: usize = 128;
const MAX_KEY: usize = 256;

/// How long a sandbox is to stay.
pub(super) fn timeout(settings: &SandboxSettings, asked: Option<Duration>) -> Result<Duration> {
    let (asked, most) = (asked.unwrap_or(DEFAULT_TIMEOUT), settings.max_timeout);
    if asked <= most {
        return Ok(asked);
    }
    Err(Error::invalid(format!(
        "`timeout`: {} s were asked for, and a sandbox stays for {} s at most",
        asked.as_secs(),
        most.as_secs()
    ))
    .hint(
        "ask for less, and prolong it with sandbox_set_timeout; whoever runs Agentyard sets \
         `e2b.max_timeout_hours`",
    ))
}

/// What is noted on a sandbox.
pub(super) fn metadata(metadata: &BTreeMap<String, String>) -> Result<()> {
    if metadata.len() > MAX_NOTES {
        return Err(Error::invalid(format!(
            "`metadata` has {} keys, and {MAX_NOTES} are allowed",
            metadata.len()
        )));
    }
    for (name, value) in metadata {
        let is_name = !name.is_empty() && name.len() <= MAX_NOTE_NAME && !name.contains(char::is_control);
        let is_control = |character: char| character.is_control() && !"\n\t".contains(character);
        if !is_name || value.len() > MAX_NOTE_BYTES || value.contains(is_control) {
            return Err(Error::invalid(format!(
                "`metadata`: the key `{}` or its value is empty, too long ({MAX_NOTE_NAME} and {MAX_NOTE_BYTES} bytes \
                 are allowed), or has control characters",
                name.escape_debug().take(80).collect::<String>()
            )));
        }
    }
    Ok(())
}

/// What programs have in their environment. Values are not shown: they may be secrets.
pub(super) fn environment(variables: &BTreeMap<String, String>) -> Result<()> {
    if variables.len() > MAX_VARIABLES {
        return Err(Error::invalid(format!(
            "`envs` has {} variables, and {MAX_VARIABLES} are allowed",
            variables.len()
        )));
    }
    let bytes: usize = variables
        .iter()
        .map(|(name, value)| name.len() + value.len() + 2)
        .sum();
    if bytes > MAX_VARIABLES_BYTES {
        return Err(Error::invalid(format!(
            "`envs` has {bytes} bytes in all, and {MAX_VARIABLES_BYTES} are allowed"
        )));
    }
    for (name, value) in variables {
        let is_name = !name.is_empty()
            && name.len() <= MAX_VARIABLE_NAME
            && !name.contains(|character: char| character == '=' || character.is_control());
        if !is_name || value.contains('\0') {
            return Err(Error::invalid(format!(
                "`envs`: `{}` cannot be a variable: its name is empty, too long or has `=` in it, or its value has a \
                 zero character",
                name.escape_debug().take(80).collect::<String>()
            )));
        }
    }
    Ok(())
}

/// Whom a sandbox is to talk to.
pub(super) fn network(network: &SandboxNetwork) -> Result<()> {
    for (field, list) in [("allow_out", &network.allow_out), ("deny_out", &network.deny_out)] {
        let is_one = |destination: &String| {
            !destination.is_empty()
                && destination.len() <= MAX_DESTINATION
                && destination.bytes().all(|byte| byte.is_ascii_graphic())
        };
        if list.len() > MAX_DESTINATIONS || !list.iter().all(is_one) {
            return Err(Error::invalid(format!(
                "`{field}`: expected at most {MAX_DESTINATIONS} host names, addresses or blocks of addresses, such as \
                 `*.example.com` or `10.0.0.0/8`"
            )));
        }
        let reach = Reach {
            allowed: list.clone(),
            ..Reach::default()
        };
        reach.check().map_err(|error| {
            Error::invalid(format!("`{field}`: {error}"))
                .hint("write host names, `*.` before one for all below it, addresses, or blocks such as 192.0.2.0/24")
        })?;
    }
    Ok(())
}

/// What a snapshot is to be called.
pub(super) fn snapshot_name(name: &str) -> Result<()> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:/".contains(&byte);
    if name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(is_plain) {
        return Err(Error::invalid(format!(
            "`name`: expected 1 to {MAX_NAME} letters, digits, `-`, `_`, `.`, `:` and `/`, got `{}`",
            name.escape_debug().take(80).collect::<String>()
        )));
    }
    Ok(())
}

/// By what a request is recognised that is sent again.
pub(super) fn idempotency_key(key: &str) -> Result<()> {
    if key.is_empty() || key.len() > MAX_KEY || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(Error::invalid(format!(
            "`idempotency_key`: expected 1 to {MAX_KEY} characters without spaces"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(name: &str, value: &str) -> BTreeMap<String, String> {
        [(name.to_owned(), value.to_owned())].into()
    }

    #[test]
    fn destinations_are_names_addresses_and_blocks() {
        let allowed = |text: &str| SandboxNetwork {
            allow_out: vec![text.to_owned()],
            ..SandboxNetwork::default()
        };
        for good in ["a.example", "*.example.com", "192.0.2.1", "2001:db8::/32"] {
            assert!(network(&allowed(good)).is_ok(), "{good}");
        }
        for bad in ["", "a b", "192.0.2.0/33", "a*.example", "example.com/path"] {
            let error = network(&allowed(bad)).unwrap_err();
            assert_eq!(error.kind(), crate::ErrorKind::InvalidInput, "{bad}");
            assert!(error.message().starts_with("`allow_out`"), "{error}");
        }
    }

    #[test]
    fn notes_and_variables_are_bounded() {
        assert!(metadata(&one("a", "b\n")).is_ok());
        for bad in [
            one("", "x"),
            one("a\u{1b}", "x"),
            one("a", "\u{1b}[0m"),
            one("a", &"x".repeat(5000)),
        ] {
            assert!(metadata(&bad).is_err(), "{bad:?}");
        }
        let many: BTreeMap<String, String> = (0..65).map(|n| (n.to_string(), String::new())).collect();
        assert!(metadata(&many).is_err());
        assert!(environment(&one("A", "hunter22")).is_ok());
        for bad in [
            one("", "x"),
            one("A=B", "x"),
            one("A", "hunter22\0"),
            one("A", &"x".repeat(300_000)),
        ] {
            let error = environment(&bad).unwrap_err().to_string();
            assert!(!error.contains("hunter22"), "{error}");
        }
    }

    #[test]
    fn a_sandbox_stays_no_longer_than_the_settings_say() {
        let settings = SandboxSettings::default();
        assert_eq!(timeout(&settings, None).unwrap(), DEFAULT_TIMEOUT);
        assert!(timeout(&settings, Some(settings.max_timeout)).is_ok());
        assert!(timeout(&settings, Some(settings.max_timeout + Duration::from_secs(1))).is_err());
    }
}
