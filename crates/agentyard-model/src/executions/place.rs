//! Where a list of executions goes on.

use std::fmt;
use std::str::FromStr;

use crate::{ExecutionId, InvalidCursor, Timestamp};

/// The place of an execution among all: by when it began, and by its id where two began at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExecutionPlace {
    /// When it began.
    pub started_at: Timestamp,
    /// Which one it is.
    pub id: ExecutionId,
}

impl fmt::Display for ExecutionPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.started_at.as_microseconds(), self.id)
    }
}

impl FromStr for ExecutionPlace {
    type Err = InvalidCursor;

    fn from_str(text: &str) -> Result<Self, InvalidCursor> {
        let parts = text.split_once('.').and_then(|(started_at, id)| {
            Some(Self {
                started_at: Timestamp::from_microseconds(started_at.parse().ok()?),
                id: id.parse().ok()?,
            })
        });
        parts.ok_or_else(|| InvalidCursor::new(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_reads_back_as_itself() {
        let place = ExecutionPlace {
            started_at: Timestamp::from_microseconds(-7),
            id: ExecutionId::new(),
        };
        assert_eq!(place.to_string().parse(), Ok(place));
        for bad in ["", "7", "7.", ".exe_1", "x.exe_1"] {
            assert!(bad.parse::<ExecutionPlace>().is_err(), "{bad}");
        }
    }
}
