//! Dates that a caller writes.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::{Error, text};

/// Which moment a date without a time of day stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DayEdge {
    /// The first second of the day: for the beginning of a period.
    Start,
    /// The last second of the day: for the end of a period, which then includes the day.
    End,
}

/// Reads an RFC 3339 time, a date (`2026-03-01`, in UTC), or any other form that git knows, such as `2 weeks
/// ago`.
pub fn parse_date(date: &str, edge: DayEdge, now: Timestamp) -> Result<Timestamp, Error> {
    let invalid = || Error::InvalidDate {
        date: text::one_line(date).chars().take(100).collect(),
    };
    let trimmed = date.trim();
    if let Ok(moment) = trimmed.parse::<Timestamp>() {
        return Ok(moment);
    }
    if let Ok(day) = trimmed.parse::<Date>()
        && trimmed.len() == "YYYY-MM-DD".len()
    {
        let moment = match edge {
            DayEdge::Start => day.at(0, 0, 0, 0),
            DayEdge::End => day.at(23, 59, 59, 0),
        };
        return moment
            .to_zoned(TimeZone::UTC)
            .map(|moment| moment.timestamp())
            .map_err(|_| invalid());
    }
    let time = gix::date::parse(trimmed, Some(now.to_zoned(TimeZone::UTC))).map_err(|_| invalid())?;
    Timestamp::from_second(time.seconds).map_err(|_| invalid())
}

/// A commit's time. Anything can be written there; what no calendar has becomes the nearest that one has.
pub(crate) fn timestamp(seconds: i64) -> Timestamp {
    let seconds = seconds.clamp(Timestamp::MIN.as_second(), Timestamp::MAX.as_second());
    Timestamp::from_second(seconds).unwrap_or(Timestamp::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(date: &str, edge: DayEdge, expected: Option<&str>) {
        let now = "2026-03-15T12:00:00Z".parse().unwrap();
        let found = parse_date(date, edge, now).ok().map(|moment| moment.to_string());
        assert_eq!(found.as_deref(), expected, "{date:?}");
    }

    #[test]
    fn dates_are_read() {
        check(
            "2026-03-01T10:00:00+02:00",
            DayEdge::Start,
            Some("2026-03-01T08:00:00Z"),
        );
        check(
            "2026-03-01T10:00:00.5Z",
            DayEdge::Start,
            Some("2026-03-01T10:00:00.5Z"),
        );
        check("2026-03-01", DayEdge::Start, Some("2026-03-01T00:00:00Z"));
        check("2026-03-01", DayEdge::End, Some("2026-03-01T23:59:59Z"));
        check("2 weeks ago", DayEdge::End, Some("2026-03-01T12:00:00Z"));
        check(" yesterday ", DayEdge::Start, Some("2026-03-14T12:00:00Z"));
        check("1700000000", DayEdge::Start, Some("2023-11-14T22:13:20Z"));
    }

    #[test]
    fn nonsense_is_refused() {
        for date in [
            "",
            "soon",
            "2026-13-01",
            "2026-02-30",
            "--since",
            "2026-03-01; rm",
        ] {
            check(date, DayEdge::Start, None);
        }
    }

    #[test]
    fn impossible_times_are_clamped() {
        assert_eq!(timestamp(i64::MAX), timestamp(Timestamp::MAX.as_second()));
        assert_eq!(timestamp(i64::MIN), timestamp(Timestamp::MIN.as_second()));
    }
}
