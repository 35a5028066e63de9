//! Masking: what was granted to an execution in confidence does not show in what it says.
//!
//! A program that wants to give a secret away can always find a spelling that nobody expects. This is against what
//! happens without any such will: a value in an error message, a trace, a URL, a header.

mod spellings;

use aho_corasick::{AhoCorasick, MatchKind};

use agentyard_model::{Secret, SecretName};

use crate::error::{Error, Result};
pub(crate) use spellings::SHORTEST;

/// What replaces a value, when its name would show another one.
const NAMELESS: &str = "***";

/// Replaces the values of secrets, in several spellings, by their names.
#[derive(Debug, Clone)]
pub struct Mask {
    /// None when there is nothing to mask.
    finder: Option<AhoCorasick>,
    /// What replaces each pattern.
    replacements: Vec<String>,
    /// The length of the longest pattern.
    longest: usize,
}

impl Mask {
    /// A mask for these secrets.
    ///
    /// # Errors
    /// When they are too many or too long for one.
    pub fn new(secrets: &[(SecretName, Secret)]) -> Result<Self> {
        let mut patterns = Vec::new();
        let mut replacements = Vec::new();
        for (name, value) in secrets {
            let replacement = replacement(name, secrets);
            for spelling in spellings::of(value.expose()) {
                patterns.push(spelling);
                replacements.push(replacement.clone());
            }
        }
        let longest = patterns.iter().map(String::len).max().unwrap_or_default();
        let finder = match patterns.is_empty() {
            true => None,
            false => Some(
                AhoCorasick::builder()
                    .match_kind(MatchKind::LeftmostLongest)
                    .build(&patterns)
                    .map_err(|error| Error::internal("preparing to mask secrets", error))?,
            ),
        };
        Ok(Self {
            finder,
            replacements,
            longest,
        })
    }

    /// A mask that hides nothing.
    #[must_use]
    pub fn nothing() -> Self {
        Self {
            finder: None,
            replacements: Vec::new(),
            longest: 0,
        }
    }

    /// A whole text, masked.
    #[must_use]
    pub fn text(&self, text: &str) -> String {
        let mut masking = self.stream();
        let mut masked = masking.push(text);
        masked.push_str(&masking.finish());
        masked
    }

    /// For a text that comes in pieces.
    #[must_use]
    pub fn stream(&self) -> Masking {
        Masking {
            mask: self.clone(),
            held: String::new(),
        }
    }
}

/// A text on its way through a mask. What may be the beginning of a value is held back until more is known, so that
/// a value is found wherever the text was cut into pieces.
#[derive(Debug)]
pub struct Masking {
    mask: Mask,
    held: String,
}

impl Masking {
    /// The next piece; gives what can be shown by now.
    #[must_use = "this is the text"]
    pub fn push(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        // What begins before this is known to its end, however long it is.
        let settled = (self.held.len() + 1).saturating_sub(self.mask.longest.max(1));
        self.release(settled)
    }

    /// There is no next piece; gives the rest.
    #[must_use = "this is the text"]
    pub fn finish(&mut self) -> String {
        let rest = self.held.len();
        self.release(rest)
    }

    /// Lets go of everything that begins before this position.
    fn release(&mut self, settled: usize) -> String {
        let Some(finder) = &self.mask.finder else {
            return std::mem::take(&mut self.held);
        };
        let mut shown = String::new();
        let mut position = 0;
        for found in finder.find_iter(&self.held) {
            if found.start() >= settled {
                break;
            }
            shown.push_str(&self.held[position..found.start()]);
            shown.push_str(&self.mask.replacements[found.pattern().as_usize()]);
            position = found.end();
        }
        // No value begins within a character, so one that begins before is settled, too.
        let end = self.held.ceil_char_boundary(settled.max(position));
        shown.push_str(&self.held[position..end]);
        self.held.drain(..end);
        shown
    }
}

/// What is shown in the place of a value: its name, unless a name is another secret's value.
fn replacement(name: &SecretName, secrets: &[(SecretName, Secret)]) -> String {
    let named = format!("***{name}***");
    let tells = secrets
        .iter()
        .any(|(_, value)| spellings::of(value.expose()).any(|spelling| named.contains(&spelling)));
    if tells { NAMELESS.to_owned() } else { named }
}

#[cfg(test)]
mod tests;
