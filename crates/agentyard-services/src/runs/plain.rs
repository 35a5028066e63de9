//! Output without what steers a terminal.

/// Takes escape sequences and control characters out of text that comes in pieces. Line ends, tabs and carriage
/// returns stay.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PlainText {
    state: State,
}

/// Where in an escape sequence the text is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Text,
    /// After an escape character.
    Escape,
    /// In a sequence such as a colour, which one letter ends.
    Control,
    /// In a string such as a window's title, which a bell or a terminator ends.
    String,
    /// After an escape character within a string.
    StringEscape,
}

impl PlainText {
    /// What is left of the next piece.
    pub fn push(&mut self, text: &str) -> String {
        text.chars().filter(|character| self.keeps(*character)).collect()
    }

    fn keeps(&mut self, character: char) -> bool {
        let (state, keeps) = match (self.state, character) {
            (State::String, '\u{7}' | '\u{9c}') => (State::Text, false),
            (State::String, '\u{1b}') => (State::StringEscape, false),
            // A line end in a string: one that was never meant to be a string.
            (State::String | State::StringEscape, '\n') => (State::Text, true),
            (State::StringEscape, '\\') => (State::Text, false),
            (State::String | State::StringEscape, _) => (State::String, false),
            (_, '\u{1b}') => (State::Escape, false),
            (State::Escape, '[') | (State::Text, '\u{9b}') => (State::Control, false),
            (State::Escape, ']' | 'P' | 'X' | '^' | '_')
            | (State::Text, '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}') => (State::String, false),
            // `ESC ( B` and the like.
            (State::Escape, ' '..='/') => (State::Escape, false),
            (State::Escape, '0'..='~') => (State::Text, false),
            (State::Control, '\u{20}'..='?') => (State::Control, false),
            (State::Control, '@'..='~') => (State::Text, false),
            (_, character) => (State::Text, is_plain(character)),
        };
        self.state = state;
        keeps
    }
}

fn is_plain(character: char) -> bool {
    !character.is_control() || matches!(character, '\n' | '\t' | '\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, plain: &str) {
        let mut whole = PlainText::default();
        assert_eq!(whole.push(text), plain);
        // The same in pieces of one character.
        let mut pieces = PlainText::default();
        let pieced: String = text
            .chars()
            .map(|piece| pieces.push(&piece.to_string()))
            .collect();
        assert_eq!(pieced, plain);
    }

    #[test]
    fn sequences_go_and_text_stays() {
        check("a\u{1b}[1;31mred\u{1b}[0m b\tc\r\n", "ared b\tc\r\n");
        check("\u{1b}]0;title\u{7}x\u{1b}]8;;http://h\u{1b}\\link", "xlink");
        check("\u{1b}(Bx\u{1b}7y\u{1b}cz", "xyz");
        check("a\u{0}\u{8}\u{7f}\u{9b}31mb\u{90}q\u{9c}c", "abc");
        check("\u{1b}Pq#0\u{1b}\\six", "six");
    }

    #[test]
    fn what_is_never_ended_hides_one_line_at_most() {
        check("\u{1b}]0;open\nnext", "\nnext");
        check("\u{1b}[31\nnext", "\nnext");
        check("\u{1b}\nnext", "\nnext");
    }
}
