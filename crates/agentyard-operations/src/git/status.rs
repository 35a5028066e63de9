//! `git_status`: what changed since the last commit.

use std::path::{Path, PathBuf};

use agentyard_model::{Cursor, Permission, Toolset};
use agentyard_services::{Error, Moved, OperationInProgress, RepositoryStatus, Result, Status};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::changed_files::Shape as ChangedShape;
use super::conflicts::{conflict_name, finishing_calls};
use super::rebase::RebaseProgressView;
use crate::level::{Level, LevelledField};
use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::Output;

pub(super) struct GitStatus;

/// Show a repository's branch, its distance from its upstream, an operation in progress,
/// and staged, unstaged, untracked and conflicted files.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GitStatusInput {
    /// Repository: absolute path, workspace, or `.` (default).
    path: Option<PathBuf>,
    /// Whether to look for untracked files; true by default.
    include_untracked: Option<bool>,
    /// `next_cursor` of the answer before, for the files that did not fit into it.
    cursor: Option<Cursor>,
}

impl Operation for GitStatus {
    const NAME: &'static str = "git_status";
    const TOOLSET: Toolset = Toolset::Git;
    const EFFECT: Effect = Effect::Read;
    const ACCESS: Access = Access::Holds(Permission::ProjectRead);
    const ROUTE: Route = Route::get("/v1/git/status");
    type Input = GitStatusInput;
    type Output = StatusView;

    async fn call(context: Context<'_>, input: GitStatusInput) -> Result<StatusView> {
        let offset = input
            .cursor
            .map_or(Ok(0), |cursor| cursor.place::<usize>())
            .map_err(Error::from)?;
        let status = context
            .services
            .repositories
            .status(
                context.caller,
                input.path.as_deref(),
                input.include_untracked.unwrap_or(true),
            )
            .await?;
        Ok(StatusView::new(&status, offset))
    }
}

/// The state of a repository.
#[derive(Serialize, JsonSchema)]
pub(super) struct StatusView {
    /// The repository's directory.
    repository: String,
    /// Whether it has no working tree.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    bare: bool,
    /// The branch; left out when HEAD is detached.
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<String>,
    /// The commit that is checked out; left out before the first one.
    #[serde(skip_serializing_if = "Option::is_none")]
    head: Option<String>,
    /// The branch that this one follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    upstream: Option<String>,
    /// Commits that the upstream lacks.
    #[serde(skip_serializing_if = "Option::is_none")]
    ahead: Option<usize>,
    /// Commits that only the upstream has.
    #[serde(skip_serializing_if = "Option::is_none")]
    behind: Option<usize>,
    /// An operation that waits to be continued or aborted.
    #[serde(skip_serializing_if = "Option::is_none")]
    operation: Option<&'static str>,
    /// How far a rebase in progress is.
    #[serde(skip_serializing_if = "Option::is_none")]
    rebase: Option<RebaseProgressView>,
    /// The calls that finish the operation.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    next: &'static [&'static str],
    /// Whether there is nothing to commit, add or resolve.
    clean: bool,
    /// How many files there are of each sort.
    #[serde(skip_serializing_if = "Option::is_none")]
    counts: Option<Counts>,
    #[serde(flatten)]
    files: Files,
    /// Whether files were left out.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
    /// Where the rest of the files begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<Cursor>,
    #[serde(skip)]
    offset: usize,
}

/// How many files there are of each sort.
#[derive(Serialize, JsonSchema)]
struct Counts {
    conflicted: usize,
    staged: usize,
    unstaged: usize,
    untracked: usize,
}

impl Output for StatusView {
    const LEVELS: &'static [LevelledField] = &[
        ("head", Level::Standard),
        ("staged", Level::Standard),
        ("unstaged", Level::Standard),
        ("untracked", Level::Standard),
    ];

    fn item_count(&self) -> usize {
        self.files.0.len()
    }

    fn keep(&mut self, count: usize) {
        self.files.0.truncate(count);
        self.truncated = true;
        self.next_cursor = Some(Cursor::at(self.offset + count));
    }
}

impl StatusView {
    pub(super) fn new(found: &RepositoryStatus, offset: usize) -> Self {
        Self::of(&found.repository, &found.status, offset)
    }

    pub(super) fn of(repository: &Path, status: &Status, offset: usize) -> Self {
        let mut files = Files::of(status);
        let clean = status.is_clean();
        let counts = (!clean).then(|| files.counts());
        files.0.drain(..offset.min(files.0.len()));
        let distance = status.upstream.as_ref().and_then(|upstream| upstream.distance);
        Self {
            repository: repository.display().to_string(),
            bare: status.bare,
            branch: status.head.branch.clone(),
            head: status.head.commit.as_ref().map(ToString::to_string),
            upstream: status.upstream.as_ref().map(|upstream| upstream.name.clone()),
            ahead: distance.map(|distance| distance.ahead),
            behind: distance.map(|distance| distance.behind),
            operation: status.operation.map(operation_name),
            rebase: status.rebase.as_ref().map(Into::into),
            next: status.operation.map_or(&[], finishing_calls),
            clean,
            counts,
            files,
            truncated: status.truncated,
            next_cursor: None,
            offset,
        }
    }
}

pub(super) fn operation_name(operation: OperationInProgress) -> &'static str {
    match operation {
        OperationInProgress::Merge => "merge",
        OperationInProgress::Rebase => "rebase",
        OperationInProgress::CherryPick => "cherry_pick",
        OperationInProgress::Revert => "revert",
        OperationInProgress::Bisect => "bisect",
        OperationInProgress::ApplyMailbox => "am",
    }
}

/// Changed files, one after another so that the list can be cut anywhere, and grouped
/// when it is written.
#[derive(JsonSchema)]
struct Files(#[schemars(with = "FilesShape")] Vec<(Group, Value)>);

/// What [`Files`] looks like on the wire.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is of interest")]
struct FilesShape {
    /// Files with unresolved conflicts, and what each side did.
    conflicted: Option<Vec<ConflictedShape>>,
    /// Changes that the next commit will have.
    staged: Option<ChangedShape>,
    /// Changes that are not staged.
    unstaged: Option<UnstagedShape>,
    /// Files that git does not know; a directory without known files appears once.
    untracked: Option<Vec<String>>,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is of interest")]
struct ConflictedShape {
    path: String,
    conflict: String,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is of interest")]
struct UnstagedShape {
    modified: Option<Vec<String>>,
    deleted: Option<Vec<String>>,
    added: Option<Vec<String>>,
    type_changed: Option<Vec<String>>,
}

/// Where a file is listed: the outer name, and the inner one if there is one.
type Group = (&'static str, Option<&'static str>);

impl Files {
    /// The most pressing first, so that a list that is cut keeps them.
    fn of(status: &Status) -> Self {
        let mut files = Vec::new();
        let paths = |group: Group, paths: &[String]| -> Vec<(Group, Value)> {
            paths
                .iter()
                .map(|path| (group, Value::from(path.clone())))
                .collect()
        };
        let moves = |group: Group, moves: &[Moved]| -> Vec<(Group, Value)> {
            moves
                .iter()
                .map(|moved| (group, json!({ "from": moved.from, "to": moved.to })))
                .collect()
        };
        files.extend(status.conflicted.iter().map(|file| {
            let value = json!({ "path": file.path, "conflict": conflict_name(file.conflict) });
            (("conflicted", None), value)
        }));
        let (staged, unstaged) = (&status.staged, &status.unstaged);
        files.extend(paths(("staged", Some("added")), &staged.added));
        files.extend(paths(("staged", Some("modified")), &staged.modified));
        files.extend(paths(("staged", Some("deleted")), &staged.deleted));
        files.extend(moves(("staged", Some("renamed")), &staged.renamed));
        files.extend(moves(("staged", Some("copied")), &staged.copied));
        files.extend(paths(("staged", Some("type_changed")), &staged.type_changed));
        files.extend(paths(("unstaged", Some("modified")), &unstaged.modified));
        files.extend(paths(("unstaged", Some("deleted")), &unstaged.deleted));
        files.extend(paths(("unstaged", Some("added")), &unstaged.added));
        files.extend(paths(("unstaged", Some("type_changed")), &unstaged.type_changed));
        files.extend(paths(("untracked", None), &status.untracked));
        Self(files)
    }

    fn counts(&self) -> Counts {
        let of = |outer: &str| self.0.iter().filter(|((name, _), _)| *name == outer).count();
        Counts {
            conflicted: of("conflicted"),
            staged: of("staged"),
            unstaged: of("unstaged"),
            untracked: of("untracked"),
        }
    }
}

impl Serialize for Files {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut grouped = Map::new();
        for ((outer, inner), file) in &self.0 {
            let list = match inner {
                None => grouped.entry(*outer).or_insert_with(|| Value::Array(Vec::new())),
                Some(inner) => {
                    let group = grouped.entry(*outer).or_insert_with(|| Value::Object(Map::new()));
                    &mut group[*inner]
                }
            };
            match list {
                Value::Array(files) => files.push(file.clone()),
                empty => *empty = Value::Array(vec![file.clone()]),
            }
        }
        grouped.serialize(serializer)
    }
}
