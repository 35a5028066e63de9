//! What `git push --porcelain` says.

use crate::text;

/// What became of one reference of the remote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushedRef {
    /// Its name there, without what all of its kind begin with.
    pub name: String,
    /// What became of it.
    pub outcome: PushOutcome,
    /// What git adds: the range, or the reason.
    pub detail: String,
}

/// What became of a reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PushOutcome {
    /// It is new.
    Created,
    /// It moved ahead.
    Updated,
    /// It was replaced.
    Forced,
    /// It is gone.
    Deleted,
    /// It was there already.
    UpToDate,
    /// It stayed as it was, for a reason.
    Rejected,
}

impl PushedRef {
    /// Whether the remote has what is not here, or got it at the same moment.
    pub(super) fn is_behind(&self) -> bool {
        let says = |reason: &str| self.detail.contains(reason);
        let is_older = says("fetch first") || says("non-fast-forward");
        let has_lost = says("cannot lock ref") && (says("but expected") || says("reference already exists"));
        self.outcome == PushOutcome::Rejected && (is_older || has_lost)
    }

    /// Whether the remote is not what it was expected to be.
    pub(super) fn is_stale(&self) -> bool {
        self.outcome == PushOutcome::Rejected && self.detail.contains("stale info")
    }

    pub(super) fn rejection(&self) -> Option<(&str, &str)> {
        (self.outcome == PushOutcome::Rejected).then_some((self.name.as_str(), self.detail.as_str()))
    }
}

/// Whether git got so far as to tell what became of references.
pub(super) fn has_refs(output: &[u8]) -> bool {
    !parse(output, &[]).is_empty()
}

/// Lines such as `!\trefs/heads/a:refs/heads/b\t[rejected] (fetch first)`. What the remote's hooks said stands on
/// standard error.
pub(super) fn parse(output: &[u8], errors: &[u8]) -> Vec<PushedRef> {
    let output = String::from_utf8_lossy(output);
    let said = remote_lines(errors);
    output
        .lines()
        .filter_map(|line| {
            let mut parts = line.splitn(3, '\t');
            let (flag, names, summary) = (parts.next()?, parts.next()?, parts.next()?);
            let outcome = match flag {
                " " => PushOutcome::Updated,
                "+" => PushOutcome::Forced,
                "-" => PushOutcome::Deleted,
                "*" => PushOutcome::Created,
                "=" => PushOutcome::UpToDate,
                "!" => PushOutcome::Rejected,
                _ => return None,
            };
            let (_, name) = names.split_once(':')?;
            let mut detail = text::one_line(summary);
            if outcome == PushOutcome::Rejected && detail.starts_with("[remote rejected]") && !said.is_empty()
            {
                detail = format!("{detail}: {said}");
            }
            Some(PushedRef {
                name: text::one_line(short(name)),
                outcome,
                detail,
            })
        })
        .collect()
}

fn remote_lines(errors: &[u8]) -> String {
    let errors = String::from_utf8_lossy(errors);
    let lines: Vec<String> = errors
        .split(['\n', '\r'])
        .filter(|line| crate::Progress::parse(line.as_bytes()).is_none())
        .filter_map(|line| line.strip_prefix("remote:"))
        .map(|line| text::one_line(line).trim().to_owned())
        .filter(|line| !line.is_empty())
        .collect();
    lines.join("; ").chars().take(1000).collect()
}

fn short(name: &str) -> &str {
    ["refs/heads/", "refs/tags/"]
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix))
        .unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_race_that_was_lost_is_told_from_a_refusal() {
        let is_behind = |said: &str| {
            let output = "!\tabc:refs/heads/a\t[remote rejected] (failed to update ref)\n";
            parse(output.as_bytes(), format!("remote: error: {said}\n").as_bytes())[0].is_behind()
        };
        assert!(is_behind(
            "cannot lock ref 'refs/heads/a': is at 1 but expected 2"
        ));
        assert!(is_behind(
            "cannot lock ref 'refs/heads/a': reference already exists"
        ));
        assert!(!is_behind(
            "cannot lock ref 'refs/heads/a': 'refs/heads/a/b' exists"
        ));
    }

    #[test]
    fn every_outcome_is_told_apart() {
        let output = "To /srv/a\n \tabc:refs/heads/a\t1..2\n+\tabc:refs/heads/b\t1...2 (forced update)\n-\t:refs/heads/c\t[deleted]\n\
             *\tabc:refs/heads/d\t[new branch]\n=\tabc:refs/tags/v1\t[up to date]\n!\tabc:refs/heads/e\t[rejected] (fetch first)\n\
             !\tabc:refs/heads/f\t[remote rejected] (hook declined)\nDone\n";
        let parsed = parse(
            output.as_bytes(),
            b"remote: Resolving deltas: 100% (1/1)\rremote: no \x1b[1mfun\nfatal: x\n",
        );
        let told: Vec<_> = parsed
            .iter()
            .map(|pushed| (pushed.name.as_str(), pushed.outcome, pushed.detail.as_str()))
            .collect();
        assert_eq!(
            told,
            [
                ("a", PushOutcome::Updated, "1..2"),
                ("b", PushOutcome::Forced, "1...2 (forced update)"),
                ("c", PushOutcome::Deleted, "[deleted]"),
                ("d", PushOutcome::Created, "[new branch]"),
                ("v1", PushOutcome::UpToDate, "[up to date]"),
                ("e", PushOutcome::Rejected, "[rejected] (fetch first)"),
                (
                    "f",
                    PushOutcome::Rejected,
                    "[remote rejected] (hook declined): no [1mfun"
                ),
            ]
        );
        assert!(parsed[5].is_behind() && !parsed[6].is_behind());
        assert!(!has_refs(b"To /srv/a\nDone\n"));
    }
}
