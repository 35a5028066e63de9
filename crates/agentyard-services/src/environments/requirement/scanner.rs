//! A text that is read from left to right. White space counts for nothing between words.

/// What is left of a text.
pub(super) struct Scanner<'text> {
    rest: &'text str,
}

impl<'text> Scanner<'text> {
    pub(super) fn new(text: &'text str) -> Self {
        Self { rest: text.trim() }
    }

    pub(super) fn rest(&self) -> &'text str {
        self.rest
    }

    pub(super) fn is_done(&self) -> bool {
        self.rest.is_empty()
    }

    /// Whether this comes next; it is passed over then.
    pub(super) fn take(&mut self, token: &str) -> bool {
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = skip_blanks(rest);
                true
            }
            None => false,
        }
    }

    /// As [`Scanner::take`], for a word that is not the beginning of a longer one.
    pub(super) fn take_word(&mut self, word: &str) -> bool {
        let is_longer =
            |rest: &str| rest.starts_with(|next: char| next.is_ascii_alphanumeric() || next == '_');
        match self.rest.strip_prefix(word) {
            Some(rest) if !is_longer(rest) => self.take(word),
            _ => false,
        }
    }

    /// The characters of a kind that come next, if there are any.
    pub(super) fn word(&mut self, is_part: impl Fn(char) -> bool) -> Option<&'text str> {
        let end = self
            .rest
            .find(|character| !is_part(character))
            .unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        if word.is_empty() {
            return None;
        }
        self.rest = skip_blanks(rest);
        Some(word)
    }

    /// A name of a distribution or extra.
    pub(super) fn name(&mut self) -> Option<&'text str> {
        let is_edge =
            |character: Option<char>| character.is_some_and(|character| character.is_ascii_alphanumeric());
        let before = self.rest;
        let word = self.word(|character| character.is_ascii_alphanumeric() || "._-".contains(character))?;
        let is_name = is_edge(word.chars().next()) && is_edge(word.chars().next_back());
        if !is_name {
            self.rest = before;
            return None;
        }
        Some(word)
    }

    /// What stands between two quotation marks that come next.
    pub(super) fn quoted(&mut self) -> Option<&'text str> {
        let mark = self.rest.chars().next().filter(|first| "'\"".contains(*first))?;
        let (text, rest) = self.rest[1..].split_once(mark)?;
        self.rest = skip_blanks(rest);
        Some(text)
    }
}

/// Only blanks and tabs: a line end is never between two words of one requirement.
fn skip_blanks(text: &str) -> &str {
    text.trim_start_matches([' ', '\t'])
}
