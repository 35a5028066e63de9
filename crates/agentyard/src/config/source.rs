//! Where a value came from.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use serde::{Serialize, Serializer};

/// Where a value came from, so that whoever wonders about it knows where to change it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// Nobody said anything.
    Default,
    /// A line of a configuration file, counted from one.
    File { path: Arc<Path>, line: usize },
    /// An environment variable.
    Variable(String),
    /// A flag of the command line.
    Flag(String),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Variable(name) => write!(f, "${name}"),
            Self::Flag(flag) => f.write_str(flag),
        }
    }
}

impl Serialize for Source {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
