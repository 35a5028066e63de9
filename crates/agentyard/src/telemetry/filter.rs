//! Which events are logged.

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;

/// A log filter cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{part}` is neither a level nor `part=level`; the levels are `off`, `error`, `warn`, `info`, `debug` and \
     `trace`, as in `info,agentyard_git=debug`"
)]
pub(crate) struct InvalidFilter {
    part: String,
}

/// Libraries that log what passes through them, and how much of that is logged at most. `rmcp` writes whole
/// requests and answers at `debug`, notifications at `info` and whole errors at `warn`; the others
/// write headers, statements and frames. A filter that names one of them has its way.
const CAPPED: &[(&str, LevelFilter)] = &[
    ("rmcp", LevelFilter::ERROR),
    ("axum", LevelFilter::WARN),
    ("h2", LevelFilter::WARN),
    ("hyper", LevelFilter::WARN),
    ("jsonwebtoken", LevelFilter::WARN),
    ("opentelemetry", LevelFilter::WARN),
    ("reqwest", LevelFilter::WARN),
    ("rustls", LevelFilter::WARN),
    ("sqlx", LevelFilter::WARN),
    ("tower", LevelFilter::WARN),
];

/// The filter that a text describes.
pub(crate) fn targets(text: &str) -> Result<Targets, InvalidFilter> {
    let mut default = LevelFilter::OFF;
    let mut named = Vec::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let invalid = || InvalidFilter {
            part: part.escape_debug().take(80).collect(),
        };
        // A bare word is a level, never a part: a mistyped level would silence everything.
        let (target, level) = part.split_once('=').unwrap_or(("", part));
        let level: LevelFilter = level.trim().parse().map_err(|_| invalid())?;
        match (part.contains('='), target.trim()) {
            (false, _) => default = level,
            (true, "") => return Err(invalid()),
            (true, target) => named.push((target, level)),
        }
    }
    let capped = CAPPED.iter().map(|(target, cap)| (*target, default.min(*cap)));
    Ok(Targets::new()
        .with_default(default)
        .with_targets(capped)
        .with_targets(named))
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::*;

    #[test]
    fn libraries_are_capped_unless_they_are_named() {
        let filter = targets("debug").unwrap();
        assert!(filter.would_enable("agentyard_git::status", &Level::DEBUG));
        assert!(!filter.would_enable("rmcp::service", &Level::WARN));
        assert!(filter.would_enable("rmcp::service", &Level::ERROR));
        assert!(!filter.would_enable("hyper_util::client", &Level::INFO));
        assert!(filter.would_enable("sqlx::query", &Level::WARN));

        let filter = targets("error, rmcp=debug, sqlx::query=trace").unwrap();
        assert!(filter.would_enable("rmcp::service", &Level::DEBUG));
        assert!(filter.would_enable("sqlx::query", &Level::TRACE));
        assert!(!filter.would_enable("sqlx::pool", &Level::WARN));
        assert!(!filter.would_enable("hyper", &Level::WARN));
    }

    #[test]
    fn nothing_is_logged_when_nothing_is_asked_for() {
        for text in ["off", ""] {
            assert!(!targets(text).unwrap().would_enable("agentyard", &Level::ERROR));
            assert!(!targets(text).unwrap().would_enable("hyper", &Level::ERROR));
        }
    }

    #[test]
    fn a_mistyped_filter_is_refused() {
        for text in ["inof", "info,agentyard=loud", "=info", "info,a=b=c", "\u{1b}[31m"] {
            let error = targets(text).unwrap_err().to_string();
            assert!(error.contains("`off`") && !error.contains('\u{1b}'), "{error}");
        }
    }
}
