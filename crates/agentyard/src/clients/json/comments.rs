//! JSON with comments, as some clients accept it.

use serde::de::IgnoredAny;

/// Whether a text would be valid JSON without its comments and trailing commas.
pub(crate) fn are_all_that_is_wrong(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(&without(text)).is_ok()
}

fn without(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let length = match character {
            '"' => text_length(rest),
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            other => other.len_utf8(),
        };
        let (piece, remaining) = rest.split_at(length);
        if !piece.starts_with('/') {
            if piece.starts_with(['}', ']']) {
                drop_trailing_comma(&mut result);
            }
            result.push_str(piece);
        }
        rest = remaining;
    }
    result
}

/// The length of the quoted text at the beginning, quotes included.
fn text_length(text: &str) -> usize {
    let mut escaped = false;
    for (offset, character) in text.char_indices().skip(1) {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return offset + 1,
            _ => {}
        }
    }
    text.len()
}

fn drop_trailing_comma(text: &mut String) {
    let trimmed = text.trim_end();
    if trimmed.ends_with(',') {
        text.truncate(trimmed.len() - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_told_from_what_looks_like_them() {
        for text in [
            "{ // why\n }",
            "{ /* a */ \"a\": 1, /* \" */ }",
            "{ \"a\": [1, 2,], }",
            "// first\n{\"url\": \"https://x\"}",
            "{\"a\": \"\\\"//\" // x\n}",
        ] {
            assert!(are_all_that_is_wrong(text), "{text}");
        }
        for text in [
            "{ \"a\": }",
            "{ // only",
            "{ \"a\": 1 \"b\": 2 }",
            "{ \"ä\": / }",
            "/*",
            "\"open // ",
        ] {
            assert!(!are_all_that_is_wrong(text), "{text}");
        }
    }
}
