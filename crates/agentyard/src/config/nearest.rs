//! The right word for a mistyped one.

/// How alike two words must be for one to be offered instead of the other; from 0 to 1.
const ALIKE: f64 = 0.6;

/// The word nearest to this one, if any is near at all.
pub(crate) fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .into_iter()
        .map(|candidate| (likeness(word, candidate), candidate))
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .max_by(|(left, _), (right, _)| left.total_cmp(right))
        .map(|(_, candidate)| candidate)
}

/// Whole words count most; a key in the wrong section is recognised by its last part.
fn likeness(word: &str, candidate: &str) -> f64 {
    fn last(key: &str) -> &str {
        key.rsplit('.').next().unwrap_or(key)
    }
    let whole = strsim::normalized_damerau_levenshtein(word, candidate);
    let end = strsim::normalized_damerau_levenshtein(last(word), last(candidate));
    whole.max(end * 0.9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_offered_and_a_stranger_is_not() {
        let keys = ["http.listen", "http.allowed_origins", "log.format"];
        assert_eq!(nearest("http.lisen", keys), Some("http.listen"));
        assert_eq!(nearest("listen", keys), Some("http.listen"));
        assert_eq!(nearest("server.listen", keys), Some("http.listen"));
        assert_eq!(nearest("log.fromat", keys), Some("log.format"));
        assert_eq!(nearest("colour", keys), None);
    }
}
