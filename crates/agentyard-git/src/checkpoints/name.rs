//! How checkpoints are named, and what is noted about them.

use std::fmt;
use std::str::FromStr;

use crate::{Error, ObjectId, text};

/// The checkpoints of one working tree: its workspace's id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CheckpointSeries(String);

/// Which checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckpointName {
    /// By its number in the series.
    Number(u64),
    /// By a reference under `refs/agentyard/`, whole.
    Reference(String),
    /// By the id of its commit.
    Id(ObjectId),
}

/// Why a checkpoint is made, and by whom.
#[derive(Clone, Copy, Debug)]
pub struct CheckpointNote<'a> {
    pub operation: &'a str,
    pub by: &'a str,
}

const MAX_SERIES: usize = 64;

/// Where every reference of ours is.
pub(super) const OURS: &str = "refs/agentyard/";

impl CheckpointSeries {
    /// Checks the name of a series.
    pub fn new(text: impl Into<String>) -> Result<Self, Error> {
        let text = text.into();
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        if text.len() <= MAX_SERIES
            && text.bytes().all(is_plain)
            && text.starts_with(|first: char| first.is_ascii_alphanumeric())
        {
            return Ok(Self(text));
        }
        let shown: String = text::one_line(&text).chars().take(MAX_SERIES).collect();
        Err(Error::invalid(
            format!("the name {shown:?} for checkpoints"),
            "use up to 64 letters, digits, `_` and `-`, such as a workspace's id",
        ))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What the names of its references begin with.
    pub(crate) fn prefix(&self) -> String {
        format!("{OURS}checkpoints/{}/", self.0)
    }

    /// The reference of a checkpoint.
    pub(super) fn reference(&self, number: u64) -> String {
        format!("{}{number:06}", self.prefix())
    }
}

impl fmt::Display for CheckpointSeries {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl FromStr for CheckpointName {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        if let Ok(id) = text.parse() {
            return Ok(Self::Id(id));
        }
        if let Ok(number) = text.parse() {
            return Ok(Self::Number(number));
        }
        if text.starts_with(OURS) && gix::validate::reference::name(text.into()).is_ok() {
            return Ok(Self::Reference(text.to_owned()));
        }
        let shown: String = text::one_line(text).chars().take(200).collect();
        Err(Error::invalid(
            format!("the checkpoint {shown:?}"),
            "name one by its number, its reference (`refs/agentyard/…`) or the id of its commit",
        ))
    }
}

impl fmt::Display for CheckpointName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(formatter, "{number}"),
            Self::Reference(reference) => formatter.write_str(reference),
            Self::Id(id) => write!(formatter, "{id}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_is_a_plain_word() {
        for name in ["wsp_0197a", "a", "A-1_b"] {
            assert_eq!(CheckpointSeries::new(name).unwrap().as_str(), name);
        }
        for name in ["", "-a", "_a", "a/b", "a.lock", "..", "a b", "ä", &"a".repeat(65)] {
            assert!(CheckpointSeries::new(name).is_err(), "{name}");
        }
    }

    #[test]
    fn a_checkpoint_is_named_in_three_ways() {
        let id = "1".repeat(40);
        assert_eq!(
            "12".parse::<CheckpointName>().unwrap(),
            CheckpointName::Number(12)
        );
        assert_eq!(
            id.parse::<CheckpointName>().unwrap(),
            CheckpointName::Id(id.parse().unwrap())
        );
        let reference = "refs/agentyard/kept/20260101T000000-close-123";
        assert_eq!(
            reference.parse::<CheckpointName>().unwrap(),
            CheckpointName::Reference(reference.to_owned())
        );
        for name in [
            "",
            "-1",
            "refs/heads/main",
            "refs/agentyard/../heads/main",
            "HEAD",
        ] {
            assert!(name.parse::<CheckpointName>().is_err(), "{name}");
        }
    }
}
