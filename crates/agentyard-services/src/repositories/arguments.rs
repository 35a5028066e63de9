//! What the modes of an operation need to be told.

use agentyard_git as git;
use agentyard_model::Cursor;

use crate::error::Result;

/// An argument that a mode cannot do without.
pub(super) fn needed<T>(argument: Option<T>, name: &str, mode: &str) -> Result<T, git::Error> {
    argument.ok_or_else(|| git::Error::Invalid {
        what: format!("mode `{mode}` without `{name}`"),
        reason: format!("pass `{name}`"),
    })
}

/// How many items of a list came before, by its cursor.
pub(super) fn offset(cursor: Option<&Cursor>) -> Result<usize> {
    Ok(cursor.map(Cursor::place).transpose()?.unwrap_or(0))
}
