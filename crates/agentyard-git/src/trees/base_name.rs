//! What bases are called.

use std::fmt;
use std::str::FromStr;

use super::TreeOwner;
use crate::ObjectId;

/// The name of a base's directory: `<commit>`, or `<commit>-<uid>-<gid>` when its files were given to somebody. So a
/// base never comes to belong to somebody else, whatever the settings of the process that finds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BaseName {
    pub(super) commit: ObjectId,
    pub(super) owner: Option<TreeOwner>,
}

impl fmt::Display for BaseName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.owner {
            None => write!(formatter, "{}", self.commit),
            Some(TreeOwner { uid, gid }) => write!(formatter, "{}-{uid}-{gid}", self.commit),
        }
    }
}

impl FromStr for BaseName {
    type Err = NotABase;

    fn from_str(text: &str) -> Result<Self, NotABase> {
        let mut parts = text.split('-');
        let mut next = || parts.next();
        let commit = next().and_then(|part| part.parse().ok()).ok_or(NotABase)?;
        let owner = match (next(), next(), next()) {
            (None, None, None) => None,
            (Some(uid), Some(gid), None) => Some(TreeOwner {
                uid: uid.parse().map_err(|_| NotABase)?,
                gid: gid.parse().map_err(|_| NotABase)?,
            }),
            _ => return Err(NotABase),
        };
        let name = Self { commit, owner };
        // One name for one base: numbers can be written in several ways.
        if name.to_string() == text {
            Ok(name)
        } else {
            Err(NotABase)
        }
    }
}

/// Nothing of ours is called so.
#[derive(Debug)]
pub(super) struct NotABase;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        let commit = "1".repeat(40);
        for name in [commit.clone(), format!("{commit}-61184-0")] {
            assert_eq!(name.parse::<BaseName>().unwrap().to_string(), name);
        }
        for name in [
            "",
            "1-2-3",
            &format!("{commit}-1"),
            &format!("{commit}-1-2-3"),
            &format!("{commit}-+1-2"),
            &format!("{commit}-01-2"),
            &format!("{commit}-4294967296-2"),
            &format!("{commit}--"),
        ] {
            assert!(name.parse::<BaseName>().is_err(), "{name}");
        }
    }
}
