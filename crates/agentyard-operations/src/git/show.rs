//! `git_show`: one object.

use std::fmt::Write as _;
use std::path::PathBuf;

use agentyard_model::{Cursor, Permission, Toolset};
use agentyard_services::{
    BlobObject, CommitObject, In, Object, Result, ShowRequest, Shown as Found, TagObject, TreeObject,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::lines::Lines;
use super::patch::{Patch, Shown};
use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::{Output, Presentation, Reply};

pub(super) struct GitShow;

/// Show one object: a commit with its changes, a tag, a directory, or a file as of any revision.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GitShowInput {
    /// Repository: absolute path, workspace, or `.` (default).
    path: Option<PathBuf>,
    /// Commit, branch or tag; `revision:path` for a file or directory in it.
    object: String,
    /// File or directory to show as of `object`.
    file_path: Option<String>,
    /// `raw`: the object as it is stored.
    format: Option<Format>,
    /// Of a commit's changes, files and counts alone.
    #[serde(default)]
    stat: bool,
    /// First line of a file to show.
    #[schemars(range(min = 1))]
    start_line: Option<usize>,
    /// Last line of a file to show.
    #[schemars(range(min = 1))]
    end_line: Option<usize>,
    /// Cursor of the page before.
    cursor: Option<Cursor>,
}

#[derive(Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Format {
    Raw,
}

impl Operation for GitShow {
    const NAME: &'static str = "git_show";
    const TOOLSET: Toolset = Toolset::Git;
    const EFFECT: Effect = Effect::Read;
    const ACCESS: Access = Access::Holds(Permission::ProjectRead);
    const ROUTE: Route = Route::get("/v1/git/show");
    type Input = GitShowInput;
    type Output = ShowView;

    async fn call(context: Context<'_>, input: GitShowInput) -> Result<ShowView> {
        let shown = Shown::of(false, input.stat);
        let request = ShowRequest {
            object: input.object,
            file_path: input.file_path,
            raw: input.format == Some(Format::Raw),
            text: shown == Shown::Text,
            cursor: input.cursor,
        };
        let found = context
            .services
            .repositories
            .show(context.caller, input.path.as_deref(), request)
            .await?;
        Ok(ShowView::new(found, shown, (input.start_line, input.end_line)))
    }
}

/// An object, as text.
#[derive(Serialize, JsonSchema)]
pub(super) struct ShowView {
    /// The repository's directory.
    repository: String,
    #[serde(skip)]
    content: Content,
}

enum Content {
    Patch(Box<Patch>),
    Lines(Lines),
}

impl Output for ShowView {
    fn into_reply(self, presentation: Presentation) -> Result<Reply> {
        Ok(match self.content {
            Content::Patch(patch) => patch.into_reply(presentation),
            Content::Lines(lines) => lines.into_reply(presentation),
        })
    }
}

impl ShowView {
    fn new(found: In<Found>, shown: Shown, (first, last): (Option<usize>, Option<usize>)) -> Self {
        let repository = found.repository.display().to_string();
        let lines = |head: String, text: String| {
            Content::Lines(Lines {
                head: format!("{repository}: {head}"),
                text,
                first,
                last,
            })
        };
        let content = match found.result {
            Found::Commit(commit, page) => Content::Patch(Box::new(Patch {
                head: format!("{repository}: {}", commit_head(&commit)),
                page,
                shown,
            })),
            Found::Raw(id, text) => lines(format!("{id}\n"), text),
            Found::Other(Object::Tag(tag)) => lines(tag_head(&tag), tag.message),
            Found::Other(Object::Tree(tree)) => lines(format!("tree {}\n", tree.id), entries(&tree)),
            Found::Other(Object::Blob(blob)) => lines(blob_head(&blob), blob.text.unwrap_or_default()),
            Found::Other(Object::Commit(commit)) => lines(commit_head(&commit), String::new()),
        };
        Self { repository, content }
    }
}

pub(super) fn commit_head(shown: &CommitObject) -> String {
    let commit = &shown.commit;
    let mut head = format!("commit {}\n", commit.id);
    if !commit.refs.is_empty() {
        let refs: Vec<&str> = commit
            .refs
            .iter()
            .map(|reference| reference.name.as_str())
            .collect();
        let _ = writeln!(head, "refs: {}", refs.join(", "));
    }
    if commit.parents.len() > 1 {
        let parents: Vec<String> = commit.parents.iter().map(ToString::to_string).collect();
        let _ = writeln!(head, "merge of: {} (compared with the first)", parents.join(" "));
    }
    let (author, committer) = (&commit.author, &commit.committer);
    let _ = writeln!(head, "author: {} <{}> {}", author.name, author.email, author.at);
    if (&author.name, &author.email, author.at) != (&committer.name, &committer.email, committer.at) {
        let _ = writeln!(
            head,
            "committer: {} <{}> {}",
            committer.name, committer.email, committer.at
        );
    }
    if let Some(signature) = shown.signature {
        let _ = writeln!(head, "signed: {signature}, not verified");
    }
    let _ = writeln!(head, "\n{}", commit.subject);
    if !commit.body.is_empty() {
        let _ = writeln!(head, "\n{}", commit.body);
    }
    head.push('\n');
    head
}

fn tag_head(tag: &TagObject) -> String {
    let mut head = format!(
        "tag {} {}\n{}: {}\n",
        tag.name, tag.id, tag.target_kind, tag.target
    );
    if let Some(tagger) = &tag.tagger {
        let _ = writeln!(head, "tagger: {} <{}> {}", tagger.name, tagger.email, tagger.at);
    }
    if tag.signed {
        head.push_str("signed: yes, not verified\n");
    }
    head.push('\n');
    head
}

fn entries(tree: &TreeObject) -> String {
    let mut text = String::new();
    for entry in &tree.entries {
        let _ = match entry.size {
            Some(size) => writeln!(text, "{} {} {size} {}", entry.mode, entry.kind, entry.name),
            None => writeln!(text, "{} {} - {}", entry.mode, entry.kind, entry.name),
        };
    }
    if tree.truncated {
        text.push_str("[more entries than can be listed]\n");
    }
    text
}

fn blob_head(blob: &BlobObject) -> String {
    let note = if blob.text.is_some() {
        ""
    } else {
        ", binary or too large to show"
    };
    format!("blob {}, {} bytes{note}\n", blob.id, blob.size)
}
