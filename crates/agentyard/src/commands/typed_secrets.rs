//! Secrets that were not typed as arguments: those stand in the history of the shell and in the list of processes.

use std::io::{self, IsTerminal as _, Read, Write as _};

use agentyard_services::ErrorKind;
use serde_json::Value;

use super::operation::Typed;
use crate::exit::Failure;

/// The most that is read of standard input.
const MAX_BYTES: u64 = 64 * 1024;

/// Whether an argument is a secret.
pub(crate) fn is_secret(schema: &Value) -> bool {
    schema.get("format").and_then(Value::as_str) == Some("password")
}

/// Reads the secret that a call must have and was not given from standard input.
pub(crate) fn complete(typed: &mut Typed) -> Result<(), Failure> {
    let operation = typed.operation;
    let mut missing = operation.properties().iter().filter(|(name, schema)| {
        is_secret(schema) && operation.requires(name) && !typed.arguments.contains_key(name.as_str())
    });
    let Some((name, _)) = missing.next() else {
        return Ok(());
    };
    let name = name.clone();
    if io::stdin().is_terminal() {
        let _ = write!(io::stderr(), "{name} (ends with Ctrl-D): ");
    }
    let value = read(io::stdin().lock())?;
    typed.arguments.insert(name, Value::String(value));
    Ok(())
}

/// The text without the line end that `echo` and editors add.
fn read(source: impl Read) -> Result<String, Failure> {
    let mut text = String::new();
    source
        .take(MAX_BYTES + 1)
        .read_to_string(&mut text)
        .map_err(|error| {
            Failure::new(
                ErrorKind::InvalidInput,
                format!("standard input cannot be read: {error}"),
            )
        })?;
    if text.len() as u64 > MAX_BYTES {
        return Err(Failure::new(
            ErrorKind::InvalidInput,
            format!("standard input has more than {MAX_BYTES} bytes"),
        ));
    }
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_end_is_not_part_of_a_secret() {
        for (given, expected) in [
            ("a\n", "a"),
            ("a\r\n", "a"),
            ("a\n\n", "a\n"),
            ("a", "a"),
            ("", ""),
        ] {
            assert_eq!(read(given.as_bytes()).ok().as_deref(), Some(expected));
        }
        assert!(read(io::repeat(b'x')).is_err());
        assert!(read(&b"\xff"[..]).is_err());
    }
}
