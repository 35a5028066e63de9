//! Instants, and who tells them.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The text is not an instant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a time: write it as RFC 3339, for example `2026-11-15T12:00:00Z`")]
pub struct InvalidTimestamp {
    text: String,
}

/// An instant in UTC, in whole microseconds: the precision that both databases keep,
/// so that a value read back equals the value written.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp {
    microseconds: i64,
}

impl Timestamp {
    /// The instant so many microseconds after the Unix epoch.
    #[must_use]
    pub const fn from_microseconds(microseconds: i64) -> Self {
        Self { microseconds }
    }

    /// Microseconds since the Unix epoch.
    #[must_use]
    pub const fn as_microseconds(self) -> i64 {
        self.microseconds
    }

    /// This much later; the last representable instant when there is none so late.
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        let microseconds = i64::try_from(duration.as_micros()).unwrap_or(i64::MAX);
        Self::from_microseconds(self.microseconds.saturating_add(microseconds))
    }

    /// This much earlier; the first representable instant when there is none so early.
    #[must_use]
    pub fn before(self, duration: Duration) -> Self {
        let microseconds = i64::try_from(duration.as_micros()).unwrap_or(i64::MAX);
        Self::from_microseconds(self.microseconds.saturating_sub(microseconds))
    }
}

/// For calendars, which are jiff's business. An instant outside its years is the nearest inside.
impl From<Timestamp> for jiff::Timestamp {
    fn from(instant: Timestamp) -> Self {
        let nearest = if instant.microseconds < 0 {
            Self::MIN
        } else {
            Self::MAX
        };
        Self::from_microsecond(instant.microseconds).unwrap_or(nearest)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_microsecond(self.microseconds) {
            Ok(instant) => write!(f, "{instant}"),
            Err(_) => write!(f, "{} µs", self.microseconds),
        }
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Timestamp {
    type Err = InvalidTimestamp;

    fn from_str(text: &str) -> Result<Self, InvalidTimestamp> {
        text.parse::<jiff::Timestamp>()
            .map(|instant| Self::from_microseconds(instant.as_microsecond()))
            .map_err(|_| InvalidTimestamp {
                text: text.escape_debug().take(80).collect(),
            })
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Cow::<'de, str>::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Timestamp {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Timestamp".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date-time" })
    }
}

/// Tells the time. Everything that stores or compares an instant asks one of these,
/// so that a test can stand still or jump.
#[derive(Debug, Clone, Default)]
pub enum Clock {
    /// The machine's clock.
    #[default]
    System,
    /// A clock that shows what it was last set to.
    Fixed(Arc<AtomicI64>),
}

impl Clock {
    /// A clock that stands still at this instant.
    #[must_use]
    pub fn fixed(at: Timestamp) -> Self {
        Self::Fixed(Arc::new(AtomicI64::new(at.as_microseconds())))
    }

    /// What the clock shows.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        Timestamp::from_microseconds(match self {
            Self::System => jiff::Timestamp::now().as_microsecond(),
            Self::Fixed(at) => at.load(Ordering::SeqCst),
        })
    }

    /// Moves a fixed clock forward; the machine's clock is not ours to move.
    pub fn advance(&self, duration: Duration) {
        if let Self::Fixed(at) = self {
            let later = self.now().after(duration);
            at.store(later.as_microseconds(), Ordering::SeqCst);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_reads_back_as_itself() {
        let at = Clock::System.now();
        assert_eq!(at.to_string().parse(), Ok(at));
        assert_eq!(
            "2026-11-15T12:00:00Z".parse::<Timestamp>().unwrap().to_string(),
            "2026-11-15T12:00:00Z"
        );
        assert!("yesterday".parse::<Timestamp>().is_err());
    }

    #[test]
    fn a_fixed_clock_moves_only_when_told() {
        let clock = Clock::fixed(Timestamp::from_microseconds(5));
        assert_eq!(clock.now(), clock.now());
        clock.advance(Duration::from_micros(7));
        assert_eq!(clock.now(), Timestamp::from_microseconds(12));
    }
}
