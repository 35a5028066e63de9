//! What is new in the working tree of a sandbox.

use agentyard_model::{Caller, SandboxId};

use super::SandboxGit;
use crate::error::{Error, ErrorKind, Result};

/// How many changes are told.
const MAX_CHANGES: usize = 1000;

/// How a working tree stands.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SandboxStatus {
    /// The branch that is checked out, if one is.
    pub branch: Option<String>,
    /// The commit that is checked out, if there is one.
    pub head: Option<String>,
    /// The branch that the agent's began at.
    pub base: String,
    /// How many commits it has that the base has not, as far as was fetched.
    pub ahead: u64,
    /// How many commits the base has that it has not.
    pub behind: u64,
    /// What changed.
    pub changes: Vec<SandboxChange>,
    /// Whether more changed than is told.
    pub is_cut: bool,
}

/// A file that changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxChange {
    /// Which one.
    pub path: String,
    /// Where it was before, if it was moved.
    pub from: Option<String>,
    /// What the index has of it: `M`, `A`, `D`, `R`, `C`, `T`, or nothing.
    pub staged: Option<char>,
    /// What the working tree has of it: the same, or `?` for one that git does not know.
    pub unstaged: Option<char>,
    /// Whether it is in conflict.
    pub is_conflicted: bool,
}

impl SandboxGit {
    /// What is new in the working tree.
    ///
    /// # Errors
    /// When the caller may not, or the sandbox or its repository is gone.
    pub async fn status(&self, caller: &Caller, id: SandboxId) -> Result<SandboxStatus> {
        self.counted("status", caller, async {
            let session = self.session(caller, id).await?;
            let inside = session.inside();
            let words = [
                "status",
                "--porcelain=v2",
                "-z",
                "--branch",
                "--untracked-files=all",
            ];
            let told = inside.git("reading the status", &words).await?;
            let mut status = parse(&told.stdout, told.is_cut)?;
            let base = session.checkout.base.as_str();
            let range = format!("HEAD...refs/remotes/origin/{base}");
            let words = ["rev-list", "--left-right", "--count", &range, "--"];
            // A repository without commits has nothing to count.
            if let Ok(counted) = inside.git("counting commits", &words).await {
                let line = counted.line();
                let mut counts = line
                    .split_whitespace()
                    .map(|count| count.parse().unwrap_or_default());
                (status.ahead, status.behind) = (
                    counts.next().unwrap_or_default(),
                    counts.next().unwrap_or_default(),
                );
            }
            status.base = base.to_owned();
            Ok(status)
        })
        .await
    }
}

/// Reads what `git status --porcelain=v2 -z --branch` says.
fn parse(text: &[u8], is_cut: bool) -> Result<SandboxStatus> {
    let unreadable = || {
        Error::new(
            ErrorKind::Conflict,
            "what git says in the sandbox about the status cannot be understood",
        )
        .hint("look at the repository there with `sandbox_run`: `git status`")
    };
    let mut status = SandboxStatus {
        is_cut,
        ..SandboxStatus::default()
    };
    let mut fields = text.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    // The last one is cut, or empty.
    let mut records: Vec<String> = fields.by_ref().map(|field| plain(&field)).collect();
    records.pop();
    let mut records = records.into_iter();
    while let Some(record) = records.next() {
        let (kind, rest) = record.split_once(' ').ok_or_else(unreadable)?;
        let change = match kind {
            "#" => {
                match rest.split_once(' ') {
                    Some(("branch.oid", "(initial)")) | Some(("branch.head", "(detached)")) => {}
                    Some(("branch.oid", id)) => status.head = Some(id.to_owned()),
                    Some(("branch.head", name)) => status.branch = Some(name.to_owned()),
                    _ => {}
                }
                continue;
            }
            "1" => change(rest, 7).ok_or_else(unreadable)?,
            "2" => {
                let mut change = change(rest, 8).ok_or_else(unreadable)?;
                change.from = records.next();
                change
            }
            "u" => SandboxChange {
                is_conflicted: true,
                ..change(rest, 9).ok_or_else(unreadable)?
            },
            "?" => SandboxChange {
                path: rest.to_owned(),
                from: None,
                staged: None,
                unstaged: Some('?'),
                is_conflicted: false,
            },
            _ => continue,
        };
        if status.changes.len() == MAX_CHANGES {
            status.is_cut = true;
            break;
        }
        status.changes.push(change);
    }
    Ok(status)
}

/// A record with so many fields before its path, of which the first are two letters.
fn change(record: &str, before: usize) -> Option<SandboxChange> {
    let path = record.splitn(before + 1, ' ').nth(before)?;
    let mut letters = record.chars();
    let mut letter = || letters.next().filter(char::is_ascii_uppercase);
    Some(SandboxChange {
        path: path.to_owned(),
        from: None,
        staged: letter(),
        unstaged: letter(),
        is_conflicted: false,
    })
}

/// A name without what would do something to whoever reads it.
pub(super) fn plain(name: &str) -> String {
    name.chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_says_is_read() {
        let text = concat!(
            "# branch.oid abc\0# branch.head agent-a-1\0",
            "1 .M N... 100644 100644 100644 aaa bbb src/a b.rs\0",
            "2 R. N... 100644 100644 100644 aaa bbb R100 new name\0old name\0",
            "u UU N... 100644 100644 100644 100644 aaa bbb ccc both.rs\0",
            "? \x1b[2Jnew\0! ignored\0",
        );
        let status = parse(text.as_bytes(), false).unwrap();
        assert_eq!(
            (status.head.as_deref(), status.branch.as_deref()),
            (Some("abc"), Some("agent-a-1"))
        );
        let told: Vec<_> = status
            .changes
            .iter()
            .map(|change| {
                (
                    change.path.as_str(),
                    change.staged,
                    change.unstaged,
                    change.is_conflicted,
                )
            })
            .collect();
        assert_eq!(
            told,
            [
                ("src/a b.rs", None, Some('M'), false),
                ("new name", Some('R'), None, false),
                ("both.rs", Some('U'), Some('U'), true),
                ("\u{fffd}[2Jnew", None, Some('?'), false),
            ]
        );
        assert_eq!(status.changes[1].from.as_deref(), Some("old name"));
    }

    #[test]
    fn nonsense_is_refused_and_much_is_cut() {
        assert!(parse(b"1 short\0", false).is_err());
        assert!(parse(b"nonsense\0", false).is_err());
        assert_eq!(parse(b"", false).unwrap(), SandboxStatus::default());
        let many = "? x\0".repeat(MAX_CHANGES + 5);
        let status = parse(many.as_bytes(), false).unwrap();
        assert_eq!((status.changes.len(), status.is_cut), (MAX_CHANGES, true));
        assert!(parse(b"? a\0? b", true).unwrap().is_cut);
    }
}
