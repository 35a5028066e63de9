//! The secrets of tokens: made here, shown once, kept as a hash.

use std::fmt;
use std::io;

use agentyard_model::Secret;
use sha2::{Digest, Sha256};

use crate::{Error, Result};

/// What every token begins with, so that scanners for leaked secrets know one when they see it.
const PREFIX: &str = "ay_";

/// How much of it is random.
const RANDOM_BYTES: usize = 32;

/// A new secret for a token, and what is to be kept of it.
///
/// # Errors
/// When the operating system gives no random numbers.
pub fn generate_token_secret() -> Result<(Secret, TokenHash)> {
    let mut random = [0; RANDOM_BYTES];
    getrandom::fill(&mut random).map_err(|error| Error::NoRandomness(io::Error::other(error)))?;
    let text = format!("{PREFIX}{}", hex::encode(random));
    let hash = TokenHash::of_text(&text);
    Ok((Secret::new(text), hash))
}

/// What is kept of a token's secret. It is random enough to need no slow hash, and looking
/// a token up by this hash takes a time that says nothing about how nearly a guess hit.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenHash(String);

impl TokenHash {
    /// The hash of a secret, or nothing when this cannot be the secret of a token.
    #[must_use]
    pub fn of(secret: &Secret) -> Option<Self> {
        let text = secret.expose();
        let digits = text.strip_prefix(PREFIX)?;
        let well_formed = digits.len() == 2 * RANDOM_BYTES
            && digits
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        well_formed.then(|| Self::of_text(text))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    fn of_text(text: &str) -> Self {
        Self(hex::encode(Sha256::digest(text)))
    }
}

/// A hash lets nobody in, but it is nobody's business either.
impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Secret::STARS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_differ_and_have_a_hash() {
        let (first, first_hash) = generate_token_secret().unwrap();
        let (second, second_hash) = generate_token_secret().unwrap();
        assert_ne!(first.expose(), second.expose());
        assert_ne!(first_hash, second_hash);
        assert_eq!(TokenHash::of(&first), Some(first_hash));
    }

    #[test]
    fn what_is_no_secret_has_no_hash() {
        let (good, _) = generate_token_secret().unwrap();
        let good = good.expose();
        for bad in [
            "",
            "ay_",
            &good[3..],
            &good.to_uppercase(),
            &format!("{good}0"),
            &"a".repeat(1 << 20),
        ] {
            assert_eq!(TokenHash::of(&Secret::new(bad)), None);
        }
    }
}
