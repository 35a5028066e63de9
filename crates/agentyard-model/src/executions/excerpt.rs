//! What is kept of what an execution said.

/// How much of the beginning is kept of an output, and how much of its end.
pub const MAX_EXCERPT_BYTES: usize = 4 * 1024;

/// The beginning and the end of an output.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OutputExcerpt {
    /// Its beginning, or all of it.
    pub head: String,
    /// Its end, when something between the two is left out.
    pub tail: String,
    /// How long it was in all.
    pub bytes: u64,
}

impl OutputExcerpt {
    /// The excerpt of an output that is there as a whole.
    #[must_use]
    pub fn of(text: &str) -> Self {
        Self {
            head: text.to_owned(),
            tail: String::new(),
            bytes: text.len() as u64,
        }
        .within_bounds()
    }

    /// How many bytes of it are not here.
    #[must_use]
    pub fn left_out_bytes(&self) -> u64 {
        self.bytes
            .saturating_sub((self.head.len() + self.tail.len()) as u64)
    }

    /// The same with no more than is kept, whatever it holds.
    #[must_use]
    pub fn within_bounds(mut self) -> Self {
        let shown = self.head.len() + self.tail.len();
        self.bytes = self.bytes.max(shown as u64);
        // What has no gap is one text.
        if self.bytes == shown as u64 {
            self.head.push_str(&std::mem::take(&mut self.tail));
            if self.head.len() <= 2 * MAX_EXCERPT_BYTES {
                return self;
            }
        }
        let end = match self.tail.as_str() {
            "" => &self.head[self.head.floor_char_boundary(MAX_EXCERPT_BYTES)..],
            tail => tail,
        };
        let start = end.ceil_char_boundary(end.len().saturating_sub(MAX_EXCERPT_BYTES));
        self.tail = end[start..].to_owned();
        self.head
            .truncate(self.head.floor_char_boundary(MAX_EXCERPT_BYTES));
        self
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn short_output_is_kept_whole() {
        let text = "x".repeat(2 * MAX_EXCERPT_BYTES);
        let excerpt = OutputExcerpt::of(&text);
        assert_eq!(
            (excerpt.head.as_str(), excerpt.tail.as_str()),
            (text.as_str(), "")
        );
        assert_eq!(excerpt.left_out_bytes(), 0);
    }

    /// So many letters, with one of two bytes after each so many.
    fn text(letters: usize, period: usize) -> String {
        let letter = |position: usize| match position % period {
            0 => 'ä',
            rest => char::from(b'a' + (rest % 26) as u8),
        };
        (0..letters).map(letter).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn of_long_output_both_ends_are_kept(letters in 9000_usize..20_000, period in 1_usize..40) {
            let text = text(letters, period);
            let excerpt = OutputExcerpt::of(&text);
            prop_assert!(excerpt.head.len() <= MAX_EXCERPT_BYTES && excerpt.tail.len() <= MAX_EXCERPT_BYTES);
            prop_assert!(excerpt.head.len() > MAX_EXCERPT_BYTES - 4 && excerpt.tail.len() > MAX_EXCERPT_BYTES - 4);
            prop_assert!(text.starts_with(&excerpt.head) && text.ends_with(&excerpt.tail));
            prop_assert_eq!(excerpt.bytes, text.len() as u64);
        }

        #[test]
        fn whatever_it_holds_it_is_bounded(
            head in 0_usize..20_000,
            tail in 0_usize..20_000,
            period in 1_usize..40,
            more in 0_u64..100,
        ) {
            let (head, tail) = (text(head, period), text(tail, period));
            let bytes = (head.len() + tail.len()) as u64 + more;
            let excerpt = OutputExcerpt { head: head.clone(), tail: tail.clone(), bytes }.within_bounds();
            prop_assert!(excerpt.head.len() + excerpt.tail.len() <= 2 * MAX_EXCERPT_BYTES);
            prop_assert_eq!(excerpt.bytes, bytes);
            let given = head + &tail;
            prop_assert!(given.starts_with(&excerpt.head) && given.ends_with(&excerpt.tail));
            prop_assert_eq!(excerpt.clone().within_bounds(), excerpt);
        }
    }
}
