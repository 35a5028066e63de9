//! Where a page of history goes on: the commits with which its first page began, so that
//! new commits do not shift it, and how many have been shown.

use std::fmt;
use std::str::FromStr;

use agentyard_git::{LogTips, ObjectId};

/// A place in a history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HistoryCursor {
    pub(crate) tips: LogTips,
    pub(crate) skip: usize,
}

impl fmt::Display for HistoryCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Tips(&self.tips))?;
        write!(f, "+{}", self.skip)
    }
}

impl FromStr for HistoryCursor {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (tips, skip) = text.rsplit_once('+').ok_or(())?;
        let (include, exclude) = tips.split_once('^').unwrap_or((tips, ""));
        let include = ids(include)?;
        if include.is_empty() {
            return Err(());
        }
        Ok(Self {
            tips: LogTips {
                include,
                exclude: ids(exclude)?,
            },
            skip: skip.parse().map_err(|_| ())?,
        })
    }
}

struct Tips<'a>(&'a LogTips);

impl fmt::Display for Tips<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, ids: &[ObjectId]| {
            ids.iter().enumerate().try_for_each(|(position, id)| {
                let separator = if position == 0 { "" } else { "," };
                write!(f, "{separator}{id}")
            })
        };
        list(f, &self.0.include)?;
        if !self.0.exclude.is_empty() {
            f.write_str("^")?;
            list(f, &self.0.exclude)?;
        }
        Ok(())
    }
}

fn ids(text: &str) -> Result<Vec<ObjectId>, ()> {
    text.split(',')
        .filter(|id| !id.is_empty())
        .map(|id| id.parse().map_err(|_| ()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_reads_back_as_itself() {
        let id = |digit: &str| digit.repeat(40).parse::<ObjectId>().unwrap();
        for tips in [
            LogTips {
                include: vec![id("a")],
                exclude: vec![],
            },
            LogTips {
                include: vec![id("a"), id("b")],
                exclude: vec![id("c")],
            },
        ] {
            let cursor = HistoryCursor { tips, skip: 40 };
            assert_eq!(cursor.to_string().parse(), Ok(cursor));
        }
        assert!("+3".parse::<HistoryCursor>().is_err());
        assert!("main+3".parse::<HistoryCursor>().is_err());
    }
}
