//! What is shown of tags.

use agentyard_model::Cursor;
use agentyard_services::{In, SignatureKind, TagAnswer, TagChange, TagDetails, TagTarget, TagVerification};
use schemars::JsonSchema;
use serde::Serialize;

use crate::git::short_id::short_id;
use crate::level::{Level, LevelledField};
use crate::output::Output;

/// Tags, or what became or is known of one.
#[derive(Serialize, JsonSchema, Default)]
pub(in crate::git) struct TagsView {
    /// The repository's directory.
    repository: String,
    /// The tags.
    #[serde(skip_serializing_if = "Option::is_none")]
    tags: Option<Vec<TagRow>>,
    /// How many there are on all pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<usize>,
    /// Whether this page was cut short to fit.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
    /// Where the next page begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<Cursor>,
    /// The tag that was changed or verified.
    #[serde(skip_serializing_if = "Option::is_none")]
    tag: Option<String>,
    /// The commit that it stands for, or stood for.
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<String>,
    /// It is an object of its own.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    annotated: bool,
    /// It was signed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    signed: bool,
    /// The reference under which is kept what the tag stood for.
    #[serde(skip_serializing_if = "Option::is_none")]
    kept: Option<String>,
    /// The signature is good, by the person's own keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    verified: Option<bool>,
    /// How it is signed: `gpg`, `ssh` or `x509`.
    #[serde(skip_serializing_if = "Option::is_none")]
    signature_type: Option<&'static str>,
    /// Who signed.
    #[serde(skip_serializing_if = "Option::is_none")]
    signer_identity: Option<String>,
    /// With which key.
    #[serde(skip_serializing_if = "Option::is_none")]
    signer_key: Option<String>,
    /// Why it is not verified, or what else to mind.
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
    #[serde(skip)]
    offset: usize,
}

/// A tag.
#[derive(Serialize, JsonSchema)]
struct TagRow {
    /// Its name.
    name: String,
    /// What it stands for.
    commit: String,
    /// What that is, when no commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    target_type: Option<&'static str>,
    /// The first line of its message, when it has one.
    #[serde(skip_serializing_if = "String::is_empty")]
    subject: String,
    /// It is signed; verify tells by whom.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    signed: bool,
    /// When it was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    created_at: Option<String>,
    /// The rest of its message.
    #[serde(skip_serializing_if = "String::is_empty")]
    body: String,
    /// Who made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    tagger: Option<String>,
}

impl Output for TagsView {
    const LEVELS: &'static [LevelledField] = &[
        ("tags.subject", Level::Standard),
        ("tags.created_at", Level::Standard),
        ("tags.body", Level::Full),
        ("tags.tagger", Level::Full),
    ];

    fn item_count(&self) -> usize {
        self.tags.as_ref().map_or(0, Vec::len)
    }

    fn keep(&mut self, count: usize) {
        if let Some(tags) = &mut self.tags {
            tags.truncate(count);
        }
        self.truncated = true;
        self.next_cursor = Some(Cursor::at(self.offset + count));
    }
}

impl TagsView {
    pub(super) fn new(answer: In<TagAnswer>, name: Option<String>) -> Self {
        let view = match answer.result {
            TagAnswer::List { page, offset, next } => Self {
                total: page.more.then_some(page.total),
                next_cursor: next.map(Cursor::at),
                offset,
                tags: Some(page.tags.into_iter().map(TagRow::from).collect()),
                ..Self::default()
            },
            TagAnswer::Changed(change) => Self::of_change(change),
            TagAnswer::Verified(verification) => Self {
                tag: name,
                ..Self::of_verification(verification)
            },
        };
        Self {
            repository: answer.repository.display().to_string(),
            ..view
        }
    }

    fn of_change(change: TagChange) -> Self {
        Self {
            tag: Some(change.name),
            commit: Some(change.commit.to_string()),
            annotated: change.annotated,
            signed: change.signed,
            kept: change.kept.map(|kept| kept.reference),
            ..Self::default()
        }
    }

    fn of_verification(verification: TagVerification) -> Self {
        Self {
            verified: Some(verification.verified),
            signature_type: verification.kind.map(|kind| match kind {
                SignatureKind::Gpg => "gpg",
                SignatureKind::Ssh => "ssh",
                SignatureKind::X509 => "x509",
            }),
            signer_identity: verification.signer,
            signer_key: verification.key,
            warning: verification.warning,
            ..Self::default()
        }
    }
}

impl From<TagDetails> for TagRow {
    fn from(tag: TagDetails) -> Self {
        let annotation = tag.annotation;
        let tagger = annotation
            .as_ref()
            .and_then(|annotation| annotation.tagger.as_ref());
        Self {
            name: tag.name,
            commit: short_id(tag.target),
            target_type: match tag.target_kind {
                TagTarget::Commit => None,
                TagTarget::Tree => Some("tree"),
                TagTarget::Blob => Some("blob"),
            },
            created_at: tag.created_at.map(|at| at.to_string()),
            tagger: tagger.map(|tagger| format!("{} <{}>", tagger.name, tagger.email)),
            signed: annotation.as_ref().is_some_and(|annotation| annotation.signed),
            subject: annotation
                .as_ref()
                .map_or_else(String::new, |annotation| annotation.subject.clone()),
            body: annotation.map_or_else(String::new, |annotation| annotation.body),
        }
    }
}
