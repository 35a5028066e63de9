//! What is left to do before a piece of work is done.

use std::collections::HashSet;
use std::io::Read as _;
use std::path::Path;

use agentyard_git::{
    self as git, Commit, LogQuery, LogStart, Object, ObjectName, Operation, Revision, Status, StatusOptions,
    TagQuery, TagSort, Work,
};
use agentyard_model::Caller;

use super::changelog::{CHANGELOGS, ids};
use super::{In, Repositories};
use crate::changes::{Bump, Described, areas, bump, next_version};
use crate::error::Result;

/// The state of a piece of work.
#[derive(Debug)]
pub struct Wrapup {
    /// What is checked out, and how far it is from its upstream.
    pub status: Status,
    /// The files that are not committed.
    pub uncommitted: Vec<String>,
    /// Where the work is counted from: the upstream, or the last tag; none for all of the history.
    pub since: Option<String>,
    /// The commits since then, newest first.
    pub commits: Vec<Commit>,
    /// Whether there are more.
    pub more: bool,
    /// Directories with how many changed files each has, the busiest first.
    pub areas: Vec<(String, usize)>,
    /// The documents that may have to change with the work.
    pub documents: Vec<Document>,
    /// The newest tag.
    pub last_tag: Option<String>,
    /// How much the version has to grow.
    pub bump: Option<Bump>,
    /// The next version, where the last tag is one.
    pub next_version: Option<String>,
    /// What to do, in order.
    pub steps: Vec<Step>,
    /// What the operator wants to be heeded.
    pub instructions: Option<String>,
}

/// A document that users or builds read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Its path.
    pub path: String,
    /// What it is: `changelog`, `readme`, `docs` or `version`.
    pub role: &'static str,
    /// Whether this work changed it.
    pub touched: bool,
}

/// Something to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// What, and why.
    pub text: String,
    /// The call that does it.
    pub call: Option<String>,
}

/// How many commits are looked at.
const MAX_COMMITS: usize = 50;

/// How many paths each list of the status may have.
const MAX_PATHS: usize = 1000;

/// How many paths a suggested call names.
const NAMED_PATHS: usize = 20;

/// How long the operator's instructions may be.
const MAX_INSTRUCTIONS: u64 = 64 * 1024;

const VERSION_FILES: &[&str] = &[
    "Cargo.toml",
    "package.json",
    "pyproject.toml",
    "setup.py",
    "pom.xml",
    "VERSION",
];

impl Repositories {
    /// What is left to do before a piece of work is done.
    ///
    /// # Errors
    /// When the caller may not look, or the operator's instructions cannot be read.
    pub async fn wrap_up(
        &self,
        caller: &Caller,
        path: Option<&Path>,
        create_tag: bool,
    ) -> Result<In<Wrapup>> {
        let file = self.wrapup_instructions.clone();
        self.ask(caller, path, move |work| {
            Ok(Wrapup {
                instructions: file.as_deref().map(read_instructions).transpose()?,
                ..wrapup(work, create_tag)?
            })
        })
        .await
    }
}

fn read_instructions(path: &Path) -> Result<String, git::Error> {
    let read = || -> std::io::Result<String> {
        let mut text = Vec::new();
        std::fs::File::open(path)?
            .take(MAX_INSTRUCTIONS)
            .read_to_end(&mut text)?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    };
    read().map_err(|error| git::Error::State {
        what: format!("the operator's instructions could not be read: {error}"),
        remedy: "tell whoever runs the server to look at `git.wrapup_instructions_path`".to_owned(),
    })
}

fn wrapup(work: &Work<'_>, create_tag: bool) -> Result<Wrapup, git::Error> {
    let repository = work.repository();
    let options = StatusOptions {
        limit: MAX_PATHS,
        ..StatusOptions::default()
    };
    let status = repository.status(&options, work.cancel())?;
    let tags = TagQuery {
        sort: TagSort::Newest,
        limit: 1,
        ..TagQuery::default()
    };
    let last_tag = repository
        .tags(&tags, work.cancel())?
        .tags
        .pop()
        .map(|tag| tag.name);
    let upstream = status
        .upstream
        .as_ref()
        .filter(|upstream| upstream.distance.is_some());
    let (since, range) = match (upstream, &last_tag) {
        (Some(upstream), _) => (Some(upstream.name.clone()), "@{u}..HEAD".to_owned()),
        (None, Some(tag)) if status.head.commit.is_some() => {
            (Some(tag.clone()), format!("refs/tags/{tag}..HEAD"))
        }
        _ => (None, "HEAD".to_owned()),
    };
    let query = LogQuery {
        start: LogStart::Revision(Revision::new(range)?),
        max_count: MAX_COMMITS,
        ..LogQuery::default()
    };
    let page = repository.log(&query, work.cancel())?;
    let touched = repository.touched(&ids(&page.commits), work.cancel())?;
    let uncommitted = uncommitted(&status);
    let mut files: HashSet<String> = uncommitted.iter().cloned().collect();
    files.extend(touched.into_iter().flat_map(|touched| touched.files));
    let described: Vec<Described> = page.commits.iter().map(Described::of).collect();
    let bump = bump(&described);
    let next_version = last_tag
        .as_deref()
        .zip(bump)
        .and_then(|(tag, bump)| next_version(tag, bump));
    let mut wrapup = Wrapup {
        since,
        commits: page.commits,
        more: page.more,
        areas: areas(&files),
        documents: documents(work, &files),
        bump,
        next_version,
        last_tag,
        status,
        uncommitted,
        steps: Vec::new(),
        instructions: None,
    };
    wrapup.steps = steps(&wrapup, create_tag);
    Ok(wrapup)
}

/// The files that differ from the last commit.
fn uncommitted(status: &Status) -> Vec<String> {
    let (staged, unstaged) = (&status.staged, &status.unstaged);
    let lists = [
        &staged.added,
        &staged.modified,
        &staged.deleted,
        &staged.type_changed,
        &unstaged.added,
        &unstaged.modified,
        &unstaged.deleted,
        &unstaged.type_changed,
        &status.untracked,
    ];
    let moved = staged
        .renamed
        .iter()
        .chain(&staged.copied)
        .map(|moved| moved.to.clone());
    let conflicted = status.conflicted.iter().map(|file| file.path.clone());
    let mut files: Vec<String> = lists
        .into_iter()
        .flatten()
        .cloned()
        .chain(moved)
        .chain(conflicted)
        .collect();
    files.sort();
    files.dedup();
    files
}

fn documents(work: &Work<'_>, files: &HashSet<String>) -> Vec<Document> {
    let tree = ObjectName::new("HEAD", Some(".")).and_then(|name| work.object(&name));
    let names: HashSet<String> = match tree {
        Ok(Object::Tree(tree)) => tree.entries.into_iter().map(|entry| entry.name).collect(),
        _ => HashSet::new(),
    };
    let there = |path: &str| names.contains(path) || files.contains(path);
    let document = |path: &str, role: &'static str| Document {
        touched: files.contains(path),
        path: path.to_owned(),
        role,
    };
    let mut documents = Vec::new();
    documents.extend(
        CHANGELOGS
            .iter()
            .find(|path| there(path))
            .map(|path| document(path, "changelog")),
    );
    documents.extend(there("README.md").then(|| document("README.md", "readme")));
    if names.contains("docs") {
        documents.push(Document {
            path: "docs/".to_owned(),
            role: "docs",
            touched: files.iter().any(|file| file.starts_with("docs/")),
        });
    }
    let versions = VERSION_FILES.iter().filter(|path| there(path));
    documents.extend(versions.map(|path| document(path, "version")));
    documents
}

fn steps(wrapup: &Wrapup, create_tag: bool) -> Vec<Step> {
    let status = &wrapup.status;
    let mut steps = Vec::new();
    let mut push = |text: String, call: Option<String>| steps.push(Step { text, call });
    let distance = status.upstream.as_ref().and_then(|upstream| upstream.distance);
    if !status.conflicted.is_empty() {
        let paths: Vec<&str> = status.conflicted.iter().map(|file| file.path.as_str()).collect();
        push(
            format!("Resolve the conflicts in {} files, then stage them.", paths.len()),
            Some(call("git_add", &[("paths", list(&paths))])),
        );
    }
    if let Some(operation) = status.operation {
        push(
            format!("Continue or abort the {} that is in progress.", name(operation)),
            None,
        );
    }
    let files = &wrapup.uncommitted;
    let not_staged = files.len() - staged_count(status).min(files.len());
    if !files.is_empty() {
        push(
            "Read what is not committed; take out what does not belong.".to_owned(),
            Some(call(
                "git_diff",
                &[
                    ("target", "\"HEAD\"".to_owned()),
                    ("include_untracked", "true".to_owned()),
                ],
            )),
        );
    }
    if !files.is_empty() || !wrapup.commits.is_empty() {
        for document in wrapup.documents.iter().filter(|document| !document.touched) {
            match document.role {
                "changelog" => push(format!("Add what users must know to {}.", document.path), None),
                "version" if create_tag => {
                    let version = wrapup.next_version.as_deref().unwrap_or("the next version");
                    push(
                        format!("Raise the version in {} to {version}.", document.path),
                        None,
                    );
                }
                "readme" | "docs" => push(
                    format!("See whether {} still tells the truth.", document.path),
                    None,
                ),
                _ => {}
            }
        }
    }
    if not_staged > 0 {
        let paths: Vec<&str> = files.iter().map(String::as_str).collect();
        let arguments = match paths.len() {
            count if count <= NAMED_PATHS => ("paths", list(&paths)),
            _ => ("all", "true".to_owned()),
        };
        push(
            "Stage what belongs together, one subject at a time.".to_owned(),
            Some(call("git_add", &[arguments])),
        );
    }
    if !files.is_empty() {
        push(
            "Commit: the subject says what, the body why.".to_owned(),
            Some(call("git_commit", &[("message", "\"…\"".to_owned())])),
        );
    }
    if distance.is_some_and(|distance| distance.behind > 0) {
        push(
            "Take in what the upstream has.".to_owned(),
            Some(call("git_pull", &[("rebase", "true".to_owned())])),
        );
    }
    if create_tag {
        let name = wrapup.next_version.as_deref().unwrap_or("…");
        push(
            "Tag the release.".to_owned(),
            Some(call(
                "git_tag",
                &[
                    ("mode", "\"create\"".to_owned()),
                    ("tag_name", text(name)),
                    ("message", text(&format!("Release {name}"))),
                ],
            )),
        );
    }
    let unpushed = distance.is_none_or(|distance| distance.ahead > 0) && status.head.commit.is_some();
    if (unpushed && !wrapup.commits.is_empty()) || !files.is_empty() {
        let mut arguments = Vec::new();
        if status.upstream.is_none() {
            arguments.push(("set_upstream", "true".to_owned()));
        }
        if create_tag {
            arguments.push(("tags", "true".to_owned()));
        }
        push(
            "Push, if that is wanted and a remote is set.".to_owned(),
            Some(call("git_push", &arguments)),
        );
    }
    steps
}

fn staged_count(status: &Status) -> usize {
    let staged = &status.staged;
    staged.added.len()
        + staged.modified.len()
        + staged.deleted.len()
        + staged.type_changed.len()
        + staged.renamed.len()
        + staged.copied.len()
}

fn name(operation: Operation) -> &'static str {
    match operation {
        Operation::Merge => "merge",
        Operation::Rebase => "rebase",
        Operation::CherryPick => "cherry-pick",
        Operation::Revert => "revert",
        Operation::Bisect => "bisection",
        Operation::ApplyMailbox => "application of a mailbox",
    }
}

/// A call as it is written: the tool's name and its arguments as JSON.
fn call(tool: &str, arguments: &[(&str, String)]) -> String {
    let arguments: Vec<String> = arguments
        .iter()
        .map(|(name, value)| format!("\"{name}\":{value}"))
        .collect();
    format!("{tool} {{{}}}", arguments.join(","))
}

fn list(paths: &[&str]) -> String {
    let paths: Vec<String> = paths.iter().map(|path| text(path)).collect();
    format!("[{}]", paths.join(","))
}

/// A text as JSON. Paths and names come without control characters.
fn text(value: &str) -> String {
    format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_read_up_to_a_bound() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("instructions");
        assert!(matches!(read_instructions(&path), Err(git::Error::State { .. })));
        std::fs::write(&path, "x".repeat(100_000)).unwrap();
        assert_eq!(read_instructions(&path).unwrap().len() as u64, MAX_INSTRUCTIONS);
    }

    #[test]
    fn calls_are_written_as_json() {
        assert_eq!(
            call("git_add", &[("paths", list(&["a", "\"b\\n\""]))]),
            r#"git_add {"paths":["a","\"b\\n\""]}"#
        );
    }
}
