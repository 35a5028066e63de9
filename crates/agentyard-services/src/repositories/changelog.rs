//! Reviews of a repository's history.

use std::path::Path;

use agentyard_git::{
    self as git, Commit, LogQuery, LogStart, Object, ObjectName, Revision, TagQuery, TagSort, Work,
};
use agentyard_model::Caller;

use super::{In, Repositories};
use crate::changes::{Described, Material, Release, Review, ReviewKind, releases, review};
use crate::error::Result;

/// What to review.
#[derive(Debug, Clone, Default)]
pub struct ChangelogRequest {
    /// What to look for.
    pub reviews: Vec<ReviewKind>,
    /// How many commits at most.
    pub max_commits: usize,
    /// How many tags at most.
    pub max_tags: usize,
    /// Only what came after this tag.
    pub since_tag: Option<String>,
    /// Of this branch; of what is checked out when there is none.
    pub branch: Option<String>,
}

/// What reviews found.
#[derive(Debug, Clone, Default)]
pub struct ChangelogReviews {
    /// How many commits were looked at.
    pub commits: usize,
    /// Whether there are more.
    pub more: bool,
    /// The changelog, if there is one.
    pub changelog: Option<String>,
    /// Newest first.
    pub releases: Vec<Release>,
    /// One for each that was asked for.
    pub reviews: Vec<Review>,
}

/// Where changelogs are.
pub(super) const CHANGELOGS: &[&str] = &[
    "CHANGELOG.md",
    "CHANGELOG",
    "CHANGELOG.txt",
    "CHANGELOG.rst",
    "CHANGES.md",
    "CHANGES",
    "HISTORY.md",
    "NEWS.md",
    "NEWS",
    "docs/CHANGELOG.md",
];

impl Repositories {
    /// Looks through the history of a repository.
    ///
    /// # Errors
    /// When the caller may not look, or the tag or branch does not exist.
    pub async fn review_changelog(
        &self,
        caller: &Caller,
        path: Option<&Path>,
        request: ChangelogRequest,
    ) -> Result<In<ChangelogReviews>> {
        self.ask(caller, path, move |work| reviews(work, &request)).await
    }
}

fn reviews(work: &Work<'_>, request: &ChangelogRequest) -> Result<ChangelogReviews, git::Error> {
    let repository = work.repository();
    let branch = request.branch.as_deref().unwrap_or("HEAD");
    let revision = match &request.since_tag {
        // Each end on its own first, so that neither can widen the range.
        Some(tag) => {
            Revision::new(tag)?;
            Revision::new(format!("{tag}..{branch}"))?
        }
        None => Revision::new(branch)?,
    };
    let query = LogQuery {
        start: LogStart::Revision(revision),
        max_count: request.max_commits,
        ..LogQuery::default()
    };
    let page = repository.log(&query, work.cancel())?;
    let tags = TagQuery {
        sort: TagSort::Newest,
        limit: request.max_tags,
        ..TagQuery::default()
    };
    let material = Material {
        described: page.commits.iter().map(Described::of).collect(),
        touched: repository.touched(&ids(&page.commits), work.cancel())?,
        tags: repository.tags(&tags, work.cancel())?.tags,
        changelog: changelog(work, branch),
        commits: page.commits,
    };
    Ok(ChangelogReviews {
        commits: material.commits.len(),
        more: page.more,
        releases: releases(&material),
        reviews: request
            .reviews
            .iter()
            .map(|kind| review(*kind, &material))
            .collect(),
        changelog: material.changelog.map(|(path, _)| path),
    })
}

pub(super) fn ids(commits: &[Commit]) -> Vec<git::ObjectId> {
    commits.iter().map(|commit| commit.id).collect()
}

/// The first changelog that a revision has, and its text.
fn changelog(work: &Work<'_>, revision: &str) -> Option<(String, String)> {
    CHANGELOGS.iter().find_map(|path| {
        let name = ObjectName::new(revision, Some(path)).ok()?;
        match work.object(&name).ok()? {
            Object::Blob(blob) => Some(((*path).to_owned(), blob.text?)),
            _ => None,
        }
    })
}
