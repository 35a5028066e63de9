//! What changed in the working tree of a sandbox, line by line.

use agentyard_model::{Caller, SandboxId};

use super::SandboxGit;
use super::status::plain;
use crate::error::{Error, Result};

/// How much of a patch is told.
const MAX_PATCH_BYTES: usize = 256 * 1024;

/// How many files are told.
const MAX_FILES: usize = 1000;

/// Which changes.
#[derive(Debug, Clone, Default)]
pub struct SandboxDiffRequest {
    /// Those in the index; else those in the working tree, against the last commit.
    pub staged: bool,
    /// All since the branch left its base.
    pub against_base: bool,
    /// Those of these files only.
    pub files: Vec<String>,
}

/// What changed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SandboxDiff {
    /// The files.
    pub files: Vec<SandboxDiffFile>,
    /// Lines that are new, in all.
    pub additions: u64,
    /// Lines that are gone, in all.
    pub deletions: u64,
    /// The patch.
    pub patch: String,
    /// Whether there is more than is told.
    pub is_cut: bool,
}

/// A file that changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxDiffFile {
    /// Which one.
    pub path: String,
    /// Lines that are new; none of a file that has no lines.
    pub additions: Option<u64>,
    /// Lines that are gone.
    pub deletions: Option<u64>,
}

impl SandboxGit {
    /// What changed in the working tree.
    ///
    /// # Errors
    /// When the caller may not, or the sandbox or its repository is gone.
    pub async fn diff(
        &self,
        caller: &Caller,
        id: SandboxId,
        request: SandboxDiffRequest,
    ) -> Result<SandboxDiff> {
        self.counted("diff", caller, async {
            if request.staged && request.against_base {
                return Err(Error::invalid("`staged` and `against_base` exclude each other"));
            }
            let session = self.session(caller, id).await?;
            let inside = session.inside();
            let base = format!("refs/remotes/origin/{}", session.checkout.base.as_str());
            let from = if request.against_base {
                let words = ["merge-base", "HEAD", &base];
                inside
                    .git("looking for where the branch began", &words)
                    .await?
                    .line()
            } else {
                "HEAD".to_owned()
            };
            let common = ["diff", "--no-ext-diff", "--no-textconv", "--no-renames"];
            let words = |kind: &[&'static str]| {
                let mut words: Vec<&str> = common.to_vec();
                words.extend(kind);
                if request.staged {
                    words.push("--cached");
                }
                words.push(&from);
                words.push("--");
                words.extend(request.files.iter().map(String::as_str));
                words
            };
            let counted = inside.git("counting lines", &words(&["--numstat", "-z"])).await?;
            let mut diff = parse(&counted.stdout, counted.is_cut);
            let patch = inside
                .bounded(&words(&["--patch"]), None, MAX_PATCH_BYTES)
                .await?;
            let patch = patch.succeeded("reading the changes")?;
            diff.is_cut |= patch.is_cut;
            let text = String::from_utf8_lossy(&patch.stdout);
            let text = session.masked(&text);
            diff.patch = text
                .chars()
                .filter(|c| !c.is_control() || matches!(c, '\n' | '\t'))
                .collect();
            Ok(diff)
        })
        .await
    }
}

/// Reads what `git diff --numstat -z` says.
fn parse(text: &[u8], is_cut: bool) -> SandboxDiff {
    let mut diff = SandboxDiff {
        is_cut,
        ..SandboxDiff::default()
    };
    let mut records: Vec<&[u8]> = text.split(|byte| *byte == 0).collect();
    records.pop();
    for record in records {
        let record = String::from_utf8_lossy(record);
        let mut parts = record.splitn(3, '\t');
        let (Some(additions), Some(deletions), Some(path)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        if diff.files.len() == MAX_FILES {
            diff.is_cut = true;
            break;
        }
        let file = SandboxDiffFile {
            path: plain(path),
            additions: additions.parse().ok(),
            deletions: deletions.parse().ok(),
        };
        diff.additions = diff.additions.saturating_add(file.additions.unwrap_or_default());
        diff.deletions = diff.deletions.saturating_add(file.deletions.unwrap_or_default());
        diff.files.push(file);
    }
    diff
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted() {
        let diff = parse(b"3\t1\tsrc/a b.rs\0-\t-\tpicture.png\0nonsense\0", false);
        assert_eq!((diff.additions, diff.deletions, diff.files.len()), (3, 1, 2));
        assert_eq!(diff.files[1].additions, None);
        let many = "1\t0\tx\0".repeat(MAX_FILES + 1);
        assert!(parse(many.as_bytes(), false).is_cut);
    }
}
