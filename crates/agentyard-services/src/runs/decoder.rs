//! Text from bytes that come in pieces.

/// Makes text of bytes. What is not UTF-8 is replaced; a character that is cut by the end of a piece waits for the
/// next.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    cut: Vec<u8>,
}

impl Decoder {
    /// The text of the next piece.
    pub(super) fn push(&mut self, bytes: &[u8]) -> String {
        let mut pending = std::mem::take(&mut self.cut);
        pending.extend_from_slice(bytes);
        let mut text = String::with_capacity(pending.len());
        let mut chunks = pending.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            text.push_str(chunk.valid());
            let invalid = chunk.invalid();
            if chunks.peek().is_none() && is_cut(invalid) {
                self.cut = invalid.to_vec();
            } else if !invalid.is_empty() {
                text.push(char::REPLACEMENT_CHARACTER);
            }
        }
        text
    }

    /// What is left when nothing follows.
    pub(super) fn finish(&mut self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut self.cut)).into_owned()
    }
}

/// Whether more bytes could make a character of these.
fn is_cut(bytes: &[u8]) -> bool {
    matches!(std::str::from_utf8(bytes), Err(error) if error.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_may_come_in_pieces() {
        let whole = "aé€😀z".as_bytes();
        for at in 0..=whole.len() {
            let mut decoder = Decoder::default();
            let text = decoder.push(&whole[..at]) + &decoder.push(&whole[at..]) + &decoder.finish();
            assert_eq!(text, "aé€😀z", "cut at {at}");
        }
    }

    #[test]
    fn what_is_not_text_is_replaced() {
        let mut decoder = Decoder::default();
        assert_eq!(decoder.push(b"a\xffb\xe2\x82"), "a\u{fffd}b");
        assert_eq!(decoder.push(b"c"), "\u{fffd}c");
        assert_eq!(decoder.push(b"\xf0\x9f"), "");
        assert_eq!(decoder.finish(), "\u{fffd}");
    }
}
