//! The person's own rewriting rules for addresses (`url.<base>.insteadOf`).
//!
//! They are applied here, before an address is checked, and not passed on: git would apply them after.

use super::connection::Way;

/// Keys in lower case but for the middle, and values.
pub(super) type Rules<'a> = &'a [(String, String)];

/// The address with the longest rule applied that fits; rules for pushes alone come first there.
pub(super) fn rewritten(url: &str, way: Way, rules: Rules<'_>) -> String {
    let for_pushes = (way == Way::Push)
        .then(|| longest(url, ".pushinsteadof", rules))
        .flatten();
    for_pushes
        .or_else(|| longest(url, ".insteadof", rules))
        .unwrap_or_else(|| url.to_owned())
}

fn longest(url: &str, suffix: &str, rules: Rules<'_>) -> Option<String> {
    let fitting = rules.iter().filter_map(|(key, prefix)| {
        let lower = key.to_ascii_lowercase();
        let base = lower.strip_prefix("url.")?.strip_suffix(suffix)?.len();
        // The middle keeps its case.
        let base = key.get(4..4 + base)?;
        Some((
            prefix.len(),
            format!("{base}{}", url.strip_prefix(prefix.as_str())?),
        ))
    });
    fitting
        .filter(|(length, _)| *length > 0)
        .max_by_key(|(length, _)| *length)
        .map(|(_, rewritten)| rewritten)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_rule_that_fits_counts() {
        let rule = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let rules = [
            rule("url.git@GitHub.com:.insteadOf", "https://github.com/"),
            rule("url.https://mirror.example/.insteadof", "https://github.com/big/"),
            rule("url.ssh://push.example/.pushinsteadof", "https://github.com/"),
            rule("url.https://evil.example/.insteadof", ""),
            rule("user.name", "https://github.com/"),
        ];
        for (url, way, expected) in [
            ("https://github.com/a/b", Way::Fetch, "git@GitHub.com:a/b"),
            ("https://github.com/big/b", Way::Fetch, "https://mirror.example/b"),
            ("https://github.com/a/b", Way::Push, "ssh://push.example/a/b"),
            ("https://other.example/a", Way::Fetch, "https://other.example/a"),
        ] {
            assert_eq!(rewritten(url, way, &rules), expected);
        }
    }
}
