//! Why a verb failed, and what the reader can do about it.

use std::fmt;

pub(crate) type Result<T = ()> = std::result::Result<T, Failure>;

/// What failed, and what to do next when that is known.
#[derive(Debug)]
pub(crate) struct Failure {
    what: String,
    next: Option<String>,
}

impl Failure {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            next: None,
        }
    }

    /// Says what the reader should do about it.
    pub(crate) fn next(mut self, next: impl Into<String>) -> Self {
        self.next = Some(next.into());
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        match &self.next {
            Some(next) => write!(f, "\n  next: {next}"),
            None => Ok(()),
        }
    }
}

/// Puts what was attempted before the cause of an error.
pub(crate) trait Attempt<T> {
    fn attempt(self, what: impl fmt::Display) -> Result<T>;
}

impl<T, E: fmt::Display> Attempt<T> for std::result::Result<T, E> {
    fn attempt(self, what: impl fmt::Display) -> Result<T> {
        self.map_err(|cause| Failure::new(format!("{what}: {cause}")))
    }
}
