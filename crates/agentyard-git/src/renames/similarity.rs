//! How much of one file is found in another, measured as git measures it.
//!
//! Content is cut into lines, or pieces of 64 bytes, and the pieces that both files have are counted by size.
//! The numbers have to be git's: a file is a rename or not by whether the measure passes one half.

/// The pieces of a file: how many bytes there are of each.
pub(super) struct Fingerprint {
    /// Sorted by piece.
    pieces: Vec<(u32, u64)>,
    size: u64,
}

/// A similarity of one.
pub(super) const MAX_SCORE: u64 = 60_000;

/// Less than this is another file.
pub(super) const MIN_SCORE: u64 = MAX_SCORE / 2;

/// Where git looks for a NUL to tell binary files from text.
const BINARY_PROBE: usize = 8000;

const PIECE_LIMIT: u64 = 64;

const BUCKETS: u32 = 107_927;

impl Fingerprint {
    pub(super) fn new(content: &[u8]) -> Self {
        let is_text = !content.iter().take(BINARY_PROBE).any(|&byte| byte == 0);
        let mut pieces = Vec::new();
        let mut hash = (0_u32, 0_u32);
        let mut length = 0;
        for (at, &byte) in content.iter().enumerate() {
            if is_text && byte == b'\r' && content.get(at + 1) == Some(&b'\n') {
                continue;
            }
            hash = (
                ((hash.0 << 7) ^ (hash.1 >> 25)).wrapping_add(u32::from(byte)),
                (hash.1 << 7) ^ (hash.0 >> 25),
            );
            length += 1;
            if length == PIECE_LIMIT || byte == b'\n' {
                pieces.push((bucket(hash), length));
                hash = (0, 0);
                length = 0;
            }
        }
        if length > 0 {
            pieces.push((bucket(hash), length));
        }
        pieces.sort_unstable();
        pieces.dedup_by(|later, earlier| {
            let same = later.0 == earlier.0;
            if same {
                earlier.1 += later.1;
            }
            same
        });
        Self {
            pieces,
            size: content.len() as u64,
        }
    }

    /// How much of `self` went into `other`, as a score.
    pub(super) fn score(&self, other: &Self) -> u64 {
        if !may_be_similar(self.size, other.size) || other.size == 0 {
            return 0;
        }
        let mut copied = 0;
        let mut theirs = other.pieces.iter().peekable();
        for &(piece, bytes) in &self.pieces {
            while theirs.next_if(|(other, _)| *other < piece).is_some() {}
            if let Some(&(_, other_bytes)) = theirs.next_if(|(other, _)| *other == piece) {
                copied += bytes.min(other_bytes);
            }
        }
        copied * MAX_SCORE / self.size.max(other.size)
    }
}

/// Whether two files of these sizes can pass [`MIN_SCORE`] at all.
pub(super) fn may_be_similar(one: u64, other: u64) -> bool {
    let larger = one.max(other);
    larger * (MAX_SCORE - MIN_SCORE) >= one.abs_diff(other) * MAX_SCORE
}

fn bucket((low, high): (u32, u32)) -> u32 {
    low.wrapping_add(high.wrapping_mul(0x61)) % BUCKETS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(one: &str, other: &str) -> u64 {
        Fingerprint::new(one.as_bytes()).score(&Fingerprint::new(other.as_bytes()))
    }

    #[test]
    fn equal_lines_count_by_their_size() {
        assert_eq!(score("a\nb\nc\nd\n", "a\nb\nc\nd\n"), MAX_SCORE);
        assert_eq!(score("a\nb\nc\nd\n", "a\nb\nc\nx\n"), MAX_SCORE * 3 / 4);
        assert_eq!(score("a\nb\n", "x\ny\n"), 0);
        assert_eq!(score("", ""), 0);
    }

    #[test]
    fn line_endings_do_not_count_in_text() {
        assert_eq!(score("a\r\nb\r\n", "a\nb\n"), 4 * MAX_SCORE / 6);
    }

    #[test]
    fn sizes_alone_can_rule_a_rename_out() {
        assert!(may_be_similar(100, 50));
        assert!(!may_be_similar(100, 49));
    }
}
