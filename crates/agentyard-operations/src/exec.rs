//! Code: kept in files, run, and given the packages that it imports.

mod list_executions;

use crate::registry::Entry;

pub(crate) const ALL: &[Entry] = &[Entry::of::<list_executions::ListExecutions>()];
