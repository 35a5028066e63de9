//! Expressions, and how files are searched for them.

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};

use super::{MAX_CONTEXT, SearchCase, SearchMode, SearchQuery};
use crate::{Error, text};

/// How large a compiled expression may be, and how deep it may be nested. Time is no worry: it grows with the text
/// alone.
const MAX_COMPILED: usize = 4 << 20;
const MAX_NESTING: u32 = 100;

/// How long an expression may be.
const MAX_PATTERN: usize = 4096;

/// How long a line may be. Files with longer ones are left out, as binary ones are.
const MAX_LINE: usize = 8 << 20;

pub(super) fn matcher(query: &SearchQuery) -> Result<RegexMatcher, Error> {
    if query.pattern.is_empty() {
        return Err(Error::invalid("the pattern", "it is empty"));
    }
    if query.pattern.len() > MAX_PATTERN {
        return Err(Error::invalid(
            "the pattern",
            format!("it is longer than {MAX_PATTERN} bytes"),
        ));
    }
    let mut builder = RegexMatcherBuilder::new();
    builder
        .fixed_strings(query.fixed)
        .case_insensitive(query.case == SearchCase::Insensitive)
        .case_smart(query.case == SearchCase::Smart)
        .size_limit(MAX_COMPILED)
        .dfa_size_limit(MAX_COMPILED)
        .nest_limit(MAX_NESTING)
        .multi_line(true)
        .crlf(true)
        .line_terminator(Some(b'\n'));
    builder.build(&query.pattern).map_err(|error| {
        let said = text::without_controls(&error.to_string());
        Error::invalid(
            "the pattern",
            format!(
                "it is not a regular expression that can be searched for: {said} (set `fixed` for plain text)"
            ),
        )
    })
}

pub(super) fn searcher(query: &SearchQuery) -> Searcher {
    let context = match query.mode {
        SearchMode::Lines => query.context.min(MAX_CONTEXT),
        SearchMode::Files | SearchMode::Counts => 0,
    };
    SearcherBuilder::new()
        .line_number(true)
        .before_context(context)
        .after_context(context)
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(Some(MAX_LINE))
        .build()
}
