//! What is left to do before a piece of work is done.

mod steps;

use std::collections::HashSet;
use std::io::Read as _;
use std::path::Path;

use agentyard_git::{
    self as git, Commit, LogQuery, LogStart, Object, ObjectName, Revision, Status, StatusOptions, TagQuery,
    TagSort, Work,
};
use agentyard_model::Caller;

use super::changelog::{CHANGELOGS, ids};
use super::{In, Repositories};
use crate::changes::{Bump, Described, areas, bump, next_version};
use crate::error::Result;
use steps::steps;

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
}
