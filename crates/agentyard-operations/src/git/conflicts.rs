//! Conflicts on the wire, and the calls that come next.

use agentyard_services::{
    Conflict, ConflictContent, ConflictHunk, ConflictSide, ConflictedFile, Conflicts, OperationInProgress,
};
use schemars::JsonSchema;
use serde::Serialize;

/// Conflicts to resolve.
#[derive(Serialize, JsonSchema)]
pub(super) struct ConflictsView {
    files: Vec<ConflictedFileView>,
    /// How many more files there are.
    #[serde(skip_serializing_if = "is_zero")]
    files_left_out: usize,
}

#[derive(Serialize, JsonSchema)]
struct ConflictedFileView {
    path: String,
    /// What each side did.
    conflict: &'static str,
    /// Set for what is not text in the working tree: `binary`, `too_large`, `absent`.
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'static str>,
    /// Whether its lines end in CR LF.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    crlf: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hunks: Vec<HunkView>,
    #[serde(skip_serializing_if = "is_zero")]
    hunks_left_out: usize,
}

#[derive(Serialize, JsonSchema)]
struct HunkView {
    /// First and last line in the file, markers included.
    lines: [usize; 2],
    ours: SideView,
    #[serde(skip_serializing_if = "Option::is_none")]
    base: Option<SideView>,
    theirs: SideView,
}

#[derive(Serialize, JsonSchema)]
struct SideView {
    #[serde(skip_serializing_if = "String::is_empty")]
    label: String,
    text: String,
    /// Whether more follows in the file.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    cut: bool,
}

impl ConflictsView {
    /// Nothing where all is resolved.
    pub(super) fn of(conflicts: Conflicts) -> Option<Self> {
        (!conflicts.is_empty()).then(|| Self {
            files_left_out: conflicts.left_out,
            files: conflicts.files.into_iter().map(Into::into).collect(),
        })
    }

    /// How many files there are.
    pub(super) fn len(&self) -> usize {
        self.files.len()
    }

    /// Leaves out the files after so many.
    pub(super) fn keep(&mut self, count: usize) {
        self.files_left_out += self.files.len().saturating_sub(count);
        self.files.truncate(count);
    }

    /// The call that marks files as resolved, as many as can be named shortly.
    pub(super) fn staging_call(&self) -> String {
        const NAMED: usize = 5;
        let paths: Vec<&str> = self.files.iter().map(|file| file.path.as_str()).collect();
        if paths.len() > NAMED || self.files_left_out > 0 {
            return "resolve the files, then git_add {\"paths\":[…]}".to_owned();
        }
        format!(
            "resolve the files, then git_add {{\"paths\":{}}}",
            serde_json::Value::from(paths)
        )
    }
}

/// The calls that finish what stopped, given whether conflicts are left. Where git remembers no operation, a commit
/// concludes it.
pub(super) fn next_calls(
    operation: Option<OperationInProgress>,
    conflicts: Option<&ConflictsView>,
) -> Vec<String> {
    let staging = conflicts.map(ConflictsView::staging_call);
    staging
        .into_iter()
        .chain(
            operation
                .map_or(CONCLUDING, finishing_calls)
                .iter()
                .map(|call| (*call).to_owned()),
        )
        .collect()
}

const CONCLUDING: &[&str] = &[
    r#"git_commit {"message":"…"}"#,
    r#"git_reset {"mode":"merge"} to give up"#,
];

/// The calls that continue or give up an operation.
pub(super) fn finishing_calls(operation: OperationInProgress) -> &'static [&'static str] {
    match operation {
        OperationInProgress::Merge => &[
            r#"git_merge {"mode":"continue"}"#,
            r#"git_merge {"mode":"abort"}"#,
        ],
        OperationInProgress::Rebase => &[
            r#"git_rebase {"mode":"continue"}"#,
            r#"git_rebase {"mode":"skip"}"#,
            r#"git_rebase {"mode":"abort"}"#,
        ],
        OperationInProgress::CherryPick | OperationInProgress::Revert => &[
            r#"git_cherry_pick {"mode":"continue"}"#,
            r#"git_cherry_pick {"mode":"skip"}"#,
            r#"git_cherry_pick {"mode":"abort"}"#,
        ],
        OperationInProgress::Bisect => &["a person ends it with `git bisect reset`"],
        OperationInProgress::ApplyMailbox => {
            &["a person ends it with `git am --continue` or `git am --abort`"]
        }
    }
}

/// What each side did, as it is written.
pub(super) fn conflict_name(conflict: Conflict) -> &'static str {
    match conflict {
        Conflict::BothDeleted => "both_deleted",
        Conflict::AddedByUs => "added_by_us",
        Conflict::DeletedByThem => "deleted_by_them",
        Conflict::AddedByThem => "added_by_them",
        Conflict::DeletedByUs => "deleted_by_us",
        Conflict::BothAdded => "both_added",
        Conflict::BothModified => "both_modified",
    }
}

impl From<ConflictedFile> for ConflictedFileView {
    fn from(file: ConflictedFile) -> Self {
        let (content, crlf, hunks, hunks_left_out) = match file.content {
            ConflictContent::Text {
                hunks,
                hunks_left_out,
                crlf,
            } => (None, crlf, hunks, hunks_left_out),
            ConflictContent::Binary => (Some("binary"), false, Vec::new(), 0),
            ConflictContent::TooLarge => (Some("too_large"), false, Vec::new(), 0),
            ConflictContent::Absent => (Some("absent"), false, Vec::new(), 0),
        };
        Self {
            path: file.path,
            conflict: conflict_name(file.conflict),
            content,
            crlf,
            hunks: hunks.into_iter().map(Into::into).collect(),
            hunks_left_out,
        }
    }
}

impl From<ConflictHunk> for HunkView {
    fn from(hunk: ConflictHunk) -> Self {
        Self {
            lines: [hunk.first_line, hunk.last_line],
            ours: hunk.ours.into(),
            base: hunk.base.map(Into::into),
            theirs: hunk.theirs.into(),
        }
    }
}

impl From<ConflictSide> for SideView {
    fn from(side: ConflictSide) -> Self {
        Self {
            label: side.label,
            text: side.text,
            cut: side.cut,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
pub(super) fn is_zero(number: &usize) -> bool {
    *number == 0
}
