//! Bytes of a repository, made safe to show.

use gix::bstr::{BStr, BString, ByteSlice as _};

/// A path of a repository as text: unchanged when it is plain UTF-8, otherwise quoted like git quotes it
/// (`"a\303\244"`).
///
/// Nothing is lost: a quoted path can be unquoted to the same bytes, and an unquoted one never starts with
/// `"`. Unlike git with `core.quotePath`, valid UTF-8 beyond ASCII is left readable.
pub fn display_path(path: &BStr) -> String {
    match path.to_str() {
        Ok(text) if !text.chars().any(needs_quoting) => text.to_owned(),
        _ => quote(path),
    }
}

/// The path that [`display_path`] shows like this.
pub(crate) fn parse_path(shown: &str) -> BString {
    match shown
        .starts_with('"')
        .then(|| gix::quote::ansi_c::undo(shown.into()))
    {
        Some(Ok((path, consumed))) if consumed == shown.len() => path.into_owned(),
        _ => shown.into(),
    }
}

/// Text of a repository (names, subjects, messages) without what could steer a terminal: control characters
/// go, except line feed and tab.
pub(crate) fn without_controls(text: &str) -> String {
    text.chars()
        .filter(|&character| matches!(character, '\n' | '\t') || !is_control(character))
        .collect()
}

/// As [`without_controls`], for text that fits on one line.
pub(crate) fn one_line(text: &str) -> String {
    text.chars().filter(|&character| !is_control(character)).collect()
}

/// Content of a repository with what could steer a terminal made visible (`\x1b`, `\r`), except line feed and
/// tab, and what is not UTF-8 replaced.
pub(crate) fn escaped(content: &[u8]) -> String {
    let decoded = content.to_str_lossy();
    let needs_escape = |character: char| is_control(character) && !matches!(character, '\n' | '\t');
    if !decoded.contains(needs_escape) {
        return decoded.into_owned();
    }
    let mut shown = String::with_capacity(decoded.len() + 64);
    for character in decoded.chars() {
        match character {
            '\r' => shown.push_str("\\r"),
            _ if !needs_escape(character) => shown.push(character),
            _ if character.is_ascii() => shown.push_str(&format!("\\x{:02x}", u32::from(character))),
            _ => shown.extend(character.escape_unicode()),
        }
    }
    shown
}

fn needs_quoting(character: char) -> bool {
    matches!(character, '"' | '\\') || is_control(character)
}

/// Control characters, and the marks that break or reorder lines on a screen although Unicode does not call
/// them so.
fn is_control(character: char) -> bool {
    character.is_control() || matches!(character, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn quote(path: &BStr) -> String {
    let mut quoted = String::with_capacity(path.len() + 2);
    quoted.push('"');
    for chunk in path.utf8_chunks() {
        for character in chunk.valid().chars() {
            quote_character(character, &mut quoted);
        }
        for &byte in chunk.invalid() {
            push_octal(byte, &mut quoted);
        }
    }
    quoted.push('"');
    quoted
}

fn quote_character(character: char, quoted: &mut String) {
    match character {
        '"' => quoted.push_str("\\\""),
        '\\' => quoted.push_str("\\\\"),
        '\u{07}' => quoted.push_str("\\a"),
        '\u{08}' => quoted.push_str("\\b"),
        '\t' => quoted.push_str("\\t"),
        '\n' => quoted.push_str("\\n"),
        '\u{0b}' => quoted.push_str("\\v"),
        '\u{0c}' => quoted.push_str("\\f"),
        '\r' => quoted.push_str("\\r"),
        _ if is_control(character) => {
            for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                push_octal(byte, quoted);
            }
        }
        _ => quoted.push(character),
    }
}

fn push_octal(byte: u8, quoted: &mut String) {
    quoted.push('\\');
    for shift in [6, 3, 0] {
        quoted.push(char::from(b'0' + ((byte >> shift) & 7)));
    }
}

#[cfg(test)]
mod tests {
    use gix::bstr::ByteSlice as _;

    use super::*;

    fn check(path: &[u8], expected: &str) {
        assert_eq!(display_path(path.as_bstr()), expected);
    }

    #[test]
    fn plain_paths_are_unchanged() {
        check(b"src/lib.rs", "src/lib.rs");
        check(b"with space", "with space");
        check("grün/übung".as_bytes(), "grün/übung");
    }

    #[test]
    fn paths_are_quoted_only_when_needed() {
        check(b"\xe4", r#""\344""#);
        check(b"a\"b\\c", r#""a\"b\\c""#);
        check(b"line\nfeed\ttab\x1b[31m", r#""line\nfeed\ttab\033[31m""#);
        check("bidi\u{202e}gpj".as_bytes(), r#""bidi\342\200\256gpj""#);
        check("ä\u{1}".as_bytes(), r#""ä\001""#);
    }

    #[test]
    fn quoting_loses_nothing() {
        for byte in 0..=255_u8 {
            let path = [b'x', byte, b'y'];
            let shown = display_path(path.as_bstr());
            assert_eq!(parse_path(&shown), path.as_bstr());
        }
    }

    #[test]
    fn controls_in_content_are_made_visible() {
        assert_eq!(
            escaped(b"a\x1b[1m\r\n\tb\xff\x07"),
            "a\\x1b[1m\\r\n\tb\u{fffd}\\x07"
        );
        assert_eq!(escaped("\u{202e}\u{9b}ä".as_bytes()), "\\u{202e}\\u{9b}ä");
        assert_eq!(escaped("plain ü\n".as_bytes()), "plain ü\n");
    }

    #[test]
    fn controls_are_stripped_from_text() {
        assert_eq!(without_controls("a\x1b]0;x\x07b\r\n\tc\u{9b}d"), "a]0;xb\n\tcd");
        assert_eq!(one_line("a\nb\tc"), "abc");
    }
}
