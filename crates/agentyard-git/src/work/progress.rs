//! How far git says it is.

/// How far git is with a part of its work, such as `Receiving objects`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// The part.
    pub stage: String,
    /// So much of it is done.
    pub done: u64,
    /// Of so much, when git knows.
    pub total: Option<u64>,
}

impl Progress {
    /// Reads a line such as `remote: Compressing objects:  45% (9/20)` or `remote: Enumerating objects: 7, done.`
    pub(crate) fn parse(line: &[u8]) -> Option<Self> {
        let line = std::str::from_utf8(line).ok()?;
        let line = line.trim_start_matches("remote: ");
        let (stage, rest) = line.split_once(": ")?;
        let is_stage = stage.len() < 40
            && stage
                .chars()
                .all(|character| character.is_ascii_alphabetic() || character == ' ');
        if !is_stage {
            return None;
        }
        let rest = rest.trim_start();
        let (done, total) = match rest.split_once("% (") {
            Some((_, counts)) => {
                let (done, counts) = counts.split_once('/')?;
                let total = counts.split(')').next()?;
                (done.parse().ok()?, Some(total.parse().ok()?))
            }
            None => (rest.split([',', ' ']).next()?.parse().ok()?, None),
        };
        Some(Self {
            stage: stage.to_owned(),
            done,
            total,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: Option<(&str, u64, Option<u64>)>) {
        let parsed = Progress::parse(line.as_bytes());
        assert_eq!(
            parsed
                .as_ref()
                .map(|progress| (progress.stage.as_str(), progress.done, progress.total)),
            expected
        );
    }

    #[test]
    fn gits_lines_are_understood_and_others_are_not() {
        check(
            "Receiving objects:  45% (9/20), 1.00 MiB | 2 MiB/s",
            Some(("Receiving objects", 9, Some(20))),
        );
        check(
            "remote: Compressing objects: 100% (3/3), done.",
            Some(("Compressing objects", 3, Some(3))),
        );
        check(
            "remote: Enumerating objects: 7, done.",
            Some(("Enumerating objects", 7, None)),
        );
        check(
            "Updating files:   1% (1/100)",
            Some(("Updating files", 1, Some(100))),
        );
        check("fatal: unable to access 'https://x': nope", None);
        check("hint: 3% (of/you)", None);
    }
}
