//! Text from elsewhere on a line of ours: it must neither end the line nor speak to the terminal.

use std::fmt::{self, Write};

/// Whether a character can forge a line, move the cursor or turn the direction of the text around it.
/// `tracing` itself escapes some of these, but not line breaks.
pub(crate) fn is_unsafe(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Writes text, with `\n`, `\u{1b}` and the like in place of unsafe characters.
pub(crate) struct Escaping<'a, W>(pub(crate) &'a mut W);

impl<W: Write> Write for Escaping<'_, W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut rest = text;
        while let Some((offset, character)) = rest.char_indices().find(|(_, character)| is_unsafe(*character))
        {
            self.0.write_str(&rest[..offset])?;
            write!(self.0, "{}", character.escape_default())?;
            rest = &rest[offset + character.len_utf8()..];
        }
        self.0.write_str(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unsafe_characters_are_escaped() {
        let mut text = String::new();
        let hostile = "\u{1b}[2J";
        write!(Escaping(&mut text), "grün\n{hostile}\u{9b}\u{202e}ok").unwrap();
        assert_eq!(text, "grün\\n\\u{1b}[2J\\u{9b}\\u{202e}ok");
    }
}
