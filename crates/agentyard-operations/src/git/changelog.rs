//! `git_changelog_analyze`: reviews of a history.

use std::collections::BTreeMap;
use std::path::PathBuf;

use agentyard_model::{Permission, Toolset};
use agentyard_services::{
    ChangelogRequest, ChangelogReviews, Finding, In, Release, Result, Review, ReviewKind,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::Output;

pub(super) struct GitChangelogAnalyze;

/// Review the history for a changelog: releases, kinds of changes, and findings for each review type.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GitChangelogAnalyzeInput {
    /// Repository: absolute path, workspace, or `.` (default).
    path: Option<PathBuf>,
    /// What to look for.
    #[schemars(length(min = 1, max = 6))]
    review_types: Vec<ReviewType>,
    /// How many commits; 200 by default.
    #[schemars(range(min = 1, max = 1000))]
    max_commits: Option<usize>,
    /// How many tags; 100 by default.
    #[schemars(range(min = 1, max = 1000))]
    max_tags: Option<usize>,
    /// Only what came after this tag.
    since_tag: Option<String>,
    /// Branch; HEAD by default.
    branch: Option<String>,
}

#[derive(Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum ReviewType {
    Security,
    Features,
    Storyline,
    Gaps,
    BreakingChanges,
    Quality,
}

impl Operation for GitChangelogAnalyze {
    const NAME: &'static str = "git_changelog_analyze";
    const TOOLSET: Toolset = Toolset::Git;
    const EFFECT: Effect = Effect::Read;
    const ACCESS: Access = Access::Holds(Permission::ProjectRead);
    const ROUTE: Route = Route::get("/v1/git/changelog");
    type Input = GitChangelogAnalyzeInput;
    type Output = ChangelogView;

    async fn call(context: Context<'_>, input: GitChangelogAnalyzeInput) -> Result<ChangelogView> {
        let request = ChangelogRequest {
            reviews: input.review_types.into_iter().map(ReviewKind::from).collect(),
            max_commits: input.max_commits.unwrap_or(200).clamp(1, 1000),
            max_tags: input.max_tags.unwrap_or(100).clamp(1, 1000),
            since_tag: input.since_tag,
            branch: input.branch,
        };
        let reviews = context
            .services
            .repositories
            .review_changelog(context.caller, input.path.as_deref(), request)
            .await?;
        Ok(reviews.into())
    }
}

/// What reviews found.
#[derive(Serialize, JsonSchema)]
pub(super) struct ChangelogView {
    /// The repository's directory.
    repository: String,
    /// How many commits were looked at.
    commits: usize,
    /// Whether there are more.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    more: bool,
    /// The changelog's path.
    #[serde(skip_serializing_if = "Option::is_none")]
    changelog: Option<String>,
    /// Commits by the tag they were released under, newest first.
    #[schemars(length(max = 1000))]
    releases: Vec<ReleaseView>,
    /// One for each type.
    #[schemars(length(max = 6))]
    reviews: Vec<ReviewView>,
    /// Whether findings were left out.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

/// Commits up to a tag.
#[derive(Serialize, JsonSchema)]
struct ReleaseView {
    /// Left out for what is not released.
    #[serde(skip_serializing_if = "Option::is_none")]
    tag: Option<String>,
    date: String,
    commits: usize,
    kinds: BTreeMap<&'static str, usize>,
    /// The busiest directories.
    areas: Vec<String>,
}

/// What a review found.
#[derive(Serialize, JsonSchema)]
struct ReviewView {
    review_type: ReviewType,
    /// What to make of it.
    instruction: &'static str,
    /// How many findings there are.
    total: usize,
    findings: Vec<FindingView>,
}

/// Something worth a look.
#[derive(Serialize, JsonSchema)]
struct FindingView {
    /// The commit's short id.
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<String>,
    subject: String,
    note: String,
}

impl Output for ChangelogView {
    fn item_count(&self) -> usize {
        let findings: usize = self.reviews.iter().map(|review| review.findings.len()).sum();
        findings + self.releases.len()
    }

    /// Each review keeps the same share, and the releases theirs.
    fn keep(&mut self, count: usize) {
        let all = self.item_count().max(1);
        for review in &mut self.reviews {
            review.findings.truncate(review.findings.len() * count / all);
        }
        self.releases.truncate(self.releases.len() * count / all);
        self.truncated = true;
    }
}

impl From<In<ChangelogReviews>> for ChangelogView {
    fn from(found: In<ChangelogReviews>) -> Self {
        let reviews = found.result;
        Self {
            repository: found.repository.display().to_string(),
            commits: reviews.commits,
            more: reviews.more,
            changelog: reviews.changelog,
            releases: reviews.releases.into_iter().map(ReleaseView::from).collect(),
            reviews: reviews.reviews.into_iter().map(ReviewView::from).collect(),
            truncated: false,
        }
    }
}

impl From<Release> for ReleaseView {
    fn from(release: Release) -> Self {
        Self {
            tag: release.tag,
            date: release.date,
            commits: release.commits,
            kinds: release.kinds,
            areas: release.areas,
        }
    }
}

impl From<Review> for ReviewView {
    fn from(review: Review) -> Self {
        Self {
            review_type: review.kind.into(),
            instruction: review.instruction,
            total: review.total,
            findings: review.findings.into_iter().map(FindingView::from).collect(),
        }
    }
}

impl From<Finding> for FindingView {
    fn from(finding: Finding) -> Self {
        Self {
            commit: finding.commit,
            subject: finding.subject,
            note: finding.note,
        }
    }
}

impl From<ReviewType> for ReviewKind {
    fn from(review: ReviewType) -> Self {
        match review {
            ReviewType::Security => Self::Security,
            ReviewType::Features => Self::Features,
            ReviewType::Storyline => Self::Storyline,
            ReviewType::Gaps => Self::Gaps,
            ReviewType::BreakingChanges => Self::BreakingChanges,
            ReviewType::Quality => Self::Quality,
        }
    }
}

impl From<ReviewKind> for ReviewType {
    fn from(kind: ReviewKind) -> Self {
        match kind {
            ReviewKind::Security => Self::Security,
            ReviewKind::Features => Self::Features,
            ReviewKind::Storyline => Self::Storyline,
            ReviewKind::Gaps => Self::Gaps,
            ReviewKind::BreakingChanges => Self::BreakingChanges,
            ReviewKind::Quality => Self::Quality,
        }
    }
}
