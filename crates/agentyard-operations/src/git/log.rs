//! `git_log`: the history of a repository.

use std::path::PathBuf;

use agentyard_model::{Cursor, Permission, Toolset};
use agentyard_services::{
    Commit, CommitObject, CommitStat, DecorationKind, Diff, FileChange, FileStat, History, HistoryRequest,
    LineChange, LogOrder, Merges, Result,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{patch, show};
use crate::level::{Level, LevelledField};
use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::{Output, Presentation, Reply, Text};

/// How many commits a page has when nobody says.
const DEFAULT_COUNT: u32 = 10;

/// The most commits in a page.
const MAX_COUNT: u32 = 1000;

pub(super) struct GitLog;

/// List commits, newest first. Filters combine; text is matched literally, in any case.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GitLogInput {
    /// Repository: absolute path, workspace, or `.` (default).
    path: Option<PathBuf>,
    /// Branch, tag, commit or range `a..b`; default HEAD.
    revision: Option<String>,
    /// How many commits at most; 10 by default.
    #[schemars(range(min = 1, max = 1000))]
    max_count: Option<u32>,
    /// After `2026-11-01`, an RFC 3339 time, or `2 weeks ago`.
    since: Option<String>,
    /// Before this time.
    until: Option<String>,
    /// Text in the author's name or email.
    author: Option<String>,
    /// Text in the message.
    grep: Option<String>,
    /// Only commits that change this file or directory.
    file_path: Option<String>,
    /// `topo`: children first.
    order: Option<Order>,
    /// `all` by default.
    merges: Option<MergeFilter>,
    /// First parents only.
    #[serde(default)]
    first_parent: bool,
    /// All branches and tags.
    #[serde(default)]
    all: bool,
    /// Only commits that add or remove this text.
    pickaxe: Option<String>,
    /// Follow `file_path` over renames.
    #[serde(default)]
    follow: bool,
    /// Count changes.
    #[serde(default)]
    stat: bool,
    /// Text with diffs; at most 50 commits.
    #[serde(default)]
    patch: bool,
    /// Kind of signature, not verified.
    #[serde(default)]
    show_signature: bool,
    /// One line per commit.
    #[serde(default)]
    oneline: bool,
    /// `next_cursor` of the page before.
    cursor: Option<Cursor>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Order {
    Date,
    Topo,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum MergeFilter {
    All,
    Only,
    None,
}

impl Operation for GitLog {
    const NAME: &'static str = "git_log";
    const TOOLSET: Toolset = Toolset::Git;
    const EFFECT: Effect = Effect::Read;
    const ACCESS: Access = Access::Holds(Permission::ProjectRead);
    const ROUTE: Route = Route::get("/v1/git/log");
    type Input = GitLogInput;
    type Output = LogView;

    async fn call(context: Context<'_>, input: GitLogInput) -> Result<LogView> {
        let oneline = input.oneline;
        let request = HistoryRequest {
            revision: input.revision,
            max_count: input.max_count.unwrap_or(DEFAULT_COUNT).clamp(1, MAX_COUNT) as usize,
            since: input.since,
            until: input.until,
            author: input.author,
            grep: input.grep,
            file_path: input.file_path,
            order: match input.order {
                None | Some(Order::Date) => LogOrder::Date,
                Some(Order::Topo) => LogOrder::Topological,
            },
            merges: match input.merges {
                None | Some(MergeFilter::All) => Merges::All,
                Some(MergeFilter::Only) => Merges::Only,
                Some(MergeFilter::None) => Merges::None,
            },
            first_parent: input.first_parent,
            all: input.all,
            pickaxe: input.pickaxe,
            follow: input.follow,
            stat: input.stat,
            signatures: input.show_signature,
            cursor: input.cursor,
        };
        let repositories = &context.services.repositories;
        let path = input.path.as_deref();
        if input.patch {
            let (history, changes) = repositories
                .log_with_changes(context.caller, path, request)
                .await?;
            return Ok(LogView::with_changes(history, &changes));
        }
        let history = repositories.log(context.caller, path, request).await?;
        Ok(LogView::new(history, oneline))
    }
}

/// Commits, newest first.
#[derive(Serialize, JsonSchema)]
pub(super) struct LogView {
    /// The repository's directory.
    repository: String,
    /// The commits.
    commits: Vec<CommitView>,
    /// Whether this page was cut short to fit.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
    /// Where the next page begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<Cursor>,
    #[serde(skip)]
    cursor_stem: String,
    #[serde(skip)]
    offset: usize,
    /// The answer as text, one block per commit, when that was asked for.
    #[serde(skip)]
    blocks: Option<Vec<String>>,
}

/// A commit.
#[derive(Serialize, JsonSchema)]
pub(super) struct CommitView {
    /// Its id.
    id: String,
    /// The beginning of its id, as long as this repository needs it.
    #[serde(skip)]
    short_id: String,
    /// Who wrote it.
    author: String,
    /// The author's address.
    author_email: String,
    /// When it was written.
    authored_at: String,
    /// Who committed it.
    committer: String,
    /// When it was committed.
    committed_at: String,
    /// The first line of its message.
    subject: String,
    /// The rest of its message.
    #[serde(skip_serializing_if = "String::is_empty")]
    body: String,
    /// Its parents.
    parents: Vec<String>,
    /// Branches and tags that point to it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    refs: Vec<String>,
    /// How it is signed, when that was asked for; not verified.
    #[serde(skip_serializing_if = "Option::is_none")]
    signature: Option<&'static str>,
    /// What it changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    stat: Option<StatView>,
}

/// How much a commit changed.
#[derive(Serialize, JsonSchema)]
struct StatView {
    files_changed: usize,
    insertions: u64,
    deletions: u64,
    /// `M path +1 -2` for each file.
    files: Vec<String>,
    /// Whether files were left out.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

impl Output for LogView {
    const LEVELS: &'static [LevelledField] = &[
        ("commits.author", Level::Standard),
        ("commits.authored_at", Level::Standard),
        ("commits.refs", Level::Standard),
        ("commits.author_email", Level::Full),
        ("commits.committer", Level::Full),
        ("commits.committed_at", Level::Full),
        ("commits.body", Level::Full),
        ("commits.parents", Level::Full),
    ];

    fn item_count(&self) -> usize {
        self.commits.len()
    }

    fn keep(&mut self, count: usize) {
        self.commits.truncate(count);
        self.truncated = true;
        self.next_cursor = Some(Cursor::at(format!("{}{}", self.cursor_stem, self.offset + count)));
    }

    fn into_reply(self, presentation: Presentation) -> Result<Reply> {
        if self.blocks.is_none() {
            return self.into_structured(presentation);
        }
        let text = Text {
            blocks: self.blocks.unwrap_or_default(),
            offset: self.offset as u64,
            cursor: self.cursor_stem,
            more: self.next_cursor.is_some(),
        };
        Ok(text.into_reply(presentation))
    }
}

impl LogView {
    fn new(history: History, oneline: bool) -> Self {
        let next = history.more.then(|| history.cursor_after(history.commits.len()));
        let mut commits: Vec<CommitView> = history.commits.into_iter().map(CommitView::from).collect();
        for (commit, signature) in commits.iter_mut().zip(history.signatures) {
            commit.signature = Some(signature.unwrap_or("none"));
        }
        Self {
            repository: history.repository.display().to_string(),
            truncated: false,
            next_cursor: next,
            cursor_stem: history.cursor_stem,
            offset: history.offset,
            blocks: oneline.then(|| commits.iter().map(CommitView::line).collect()),
            commits,
        }
    }

    /// As text: each commit with its changes.
    fn with_changes(mut history: History, changes: &[(CommitObject, Diff)]) -> Self {
        let repository = history.repository.display().to_string();
        history.commits.truncate(changes.len());
        let block = |(commit, diff): &(CommitObject, Diff)| {
            format!(
                "{repository}: {}{}\n",
                show::commit_head(commit),
                patch::whole(diff)
            )
        };
        let blocks = changes.iter().map(block).collect();
        Self {
            blocks: Some(blocks),
            ..Self::new(history, true)
        }
    }
}

impl CommitView {
    fn line(&self) -> String {
        let date = self.authored_at.get(..10).unwrap_or(&self.authored_at);
        let refs = if self.refs.is_empty() {
            String::new()
        } else {
            format!(" ({})", self.refs.join(", "))
        };
        format!(
            "{} {date} {}: {}{refs}\n",
            self.short_id, self.author, self.subject
        )
    }
}

impl From<Commit> for CommitView {
    fn from(commit: Commit) -> Self {
        let refs = commit.refs.into_iter().map(|decoration| match decoration.kind {
            DecorationKind::Tag => format!("tag: {}", decoration.name),
            DecorationKind::Head | DecorationKind::Branch | DecorationKind::RemoteBranch => decoration.name,
        });
        Self {
            id: commit.id.to_string(),
            short_id: commit.short_id,
            author: commit.author.name,
            author_email: commit.author.email,
            authored_at: commit.author.at.to_string(),
            committer: commit.committer.name,
            committed_at: commit.committer.at.to_string(),
            subject: commit.subject,
            body: commit.body,
            parents: commit.parents.iter().map(ToString::to_string).collect(),
            refs: refs.collect(),
            signature: None,
            stat: commit.stat.map(StatView::from),
        }
    }
}

impl From<CommitStat> for StatView {
    fn from(stat: CommitStat) -> Self {
        Self {
            files_changed: stat.files_changed,
            insertions: stat.insertions,
            deletions: stat.deletions,
            files: stat.files.iter().map(file_line).collect(),
            truncated: stat.truncated,
        }
    }
}

fn file_line(file: &FileStat) -> String {
    let letter = match file.change {
        FileChange::Added => 'A',
        FileChange::Modified => 'M',
        FileChange::Deleted => 'D',
        FileChange::Renamed => 'R',
        FileChange::TypeChanged => 'T',
    };
    let from = file
        .from
        .as_ref()
        .map(|from| format!("{from} -> "))
        .unwrap_or_default();
    let lines = match file.lines {
        LineChange::Counted {
            insertions,
            deletions,
        } => format!("+{insertions} -{deletions}"),
        LineChange::Binary => "binary".to_owned(),
        _ => "not counted".to_owned(),
    };
    format!("{letter} {from}{} {lines}", file.path)
}
