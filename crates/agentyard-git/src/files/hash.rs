//! What a file's content is told by.

use std::fmt;

use sha2::{Digest as _, Sha256};

use crate::Error;

/// The SHA-256 of a file's content, shown by its first 16 digits: enough that nobody meets another content with the
/// same ones by chance, and short enough to be repeated by a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileHash([u8; 32]);

/// The hash that a caller believes a file to have, by at least its first 12 digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedHash(String);

const SHOWN_BYTES: usize = 8;
const MIN_DIGITS: usize = 12;
const MAX_DIGITS: usize = 64;

impl FileHash {
    pub(super) fn of(content: &[u8]) -> Self {
        Self(Sha256::digest(content).into())
    }

    pub(super) fn finish(hasher: Sha256) -> Self {
        Self(hasher.finalize().into())
    }

    fn digits(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl fmt::Display for FileHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&Self::digits(&self.0[..SHOWN_BYTES]))
    }
}

impl ExpectedHash {
    /// Reads the beginning of a SHA-256, or all of it.
    pub fn new(digits: &str) -> Result<Self, Error> {
        let digits = digits.trim().to_ascii_lowercase();
        if !(MIN_DIGITS..=MAX_DIGITS).contains(&digits.len())
            || !digits.bytes().all(|digit| digit.is_ascii_hexdigit())
        {
            return Err(Error::invalid(
                "expected_hash",
                "give the `hash` that read_file, write_file or edit_file answered with (12 to 64 hexadecimal digits)",
            ));
        }
        Ok(Self(digits))
    }

    pub(super) fn fits(&self, hash: FileHash) -> bool {
        FileHash::digits(&hash.0).starts_with(&self.0)
    }
}

impl fmt::Display for ExpectedHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_expected_by_its_beginning() {
        let hash = FileHash::of(b"hello\n");
        assert_eq!(hash.to_string(), "5891b5b522d5df08");
        for digits in ["5891b5b522d5df08", "5891B5B522D5", " 5891b5b522d5df08 "] {
            assert!(ExpectedHash::new(digits).unwrap().fits(hash), "{digits}");
        }
        assert!(!ExpectedHash::new("5891b5b522d5df09").unwrap().fits(hash));
        for digits in ["", "5891b5b522d", "5891b5b522d5df0g", &"0".repeat(65)] {
            assert!(ExpectedHash::new(digits).is_err(), "{digits}");
        }
    }
}
