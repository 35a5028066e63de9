//! The tags of a repository.

mod version;

use std::cmp::Reverse;
use std::sync::atomic::AtomicBool;

use gix::bstr::ByteSlice as _;
use gix::filter::plumbing::encoding::UTF_8;
use gix::objs::Kind;
use gix::refs::FullName;
use jiff::Timestamp;

use crate::commit::{self, CommitText, Person};
use crate::error::check_cancelled;
use crate::history::{Containing, History};
use crate::raw_tag::RawTag;
use crate::{Error, ObjectId, Repository, Revision, display_path};

/// Which tags to list.
#[derive(Clone, Debug)]
pub struct TagQuery {
    /// Only tags whose name contains this text.
    pub pattern: Option<String>,
    /// Only tags with this commit in their history.
    pub contains: Option<Revision>,
    pub sort: TagSort,
    /// How many tags to pass over first.
    pub skip: usize,
    /// How many tags at most; no more than [`MAX_TAGS`].
    pub limit: usize,
}

/// The order of tags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TagSort {
    #[default]
    Name,
    /// By the numbers in their names, highest first: `v1.10` before `v1.9`.
    Version,
    /// By when they were made, newest first.
    Newest,
}

/// A part of the tags.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TagPage {
    /// Tags that cannot be read are left out.
    pub tags: Vec<TagDetails>,
    /// How many tags there are on all pages.
    pub total: usize,
    /// Whether another tag follows.
    pub more: bool,
}

/// A tag and what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TagDetails {
    pub name: String,
    /// What it stands for in the end; a tag of a tag stands for what that one does.
    pub target: ObjectId,
    pub target_kind: TagTarget,
    /// When the tag was made; for one that is only a name, when its commit was. None where neither is known.
    pub created_at: Option<Timestamp>,
    /// What the tag itself says; none when it is only a name.
    pub annotation: Option<Annotation>,
}

/// What a tag can stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TagTarget {
    Commit,
    Tree,
    Blob,
}

/// What an annotated tag says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotation {
    /// The tag object.
    pub id: ObjectId,
    /// Who made it and when; very old tags do not tell.
    pub tagger: Option<Person>,
    /// The first paragraph of the message, on one line.
    pub subject: String,
    /// The rest of the message, without the signature, at most [`MAX_BODY`](crate::MAX_BODY) bytes of it.
    pub body: String,
    /// It carries a signature, which was not checked.
    pub signed: bool,
}

/// The longest page.
pub const MAX_TAGS: usize = 1000;

/// Tags of tags of tags; git itself makes one level, and more on request.
const MAX_DEPTH: usize = 16;

impl Default for TagQuery {
    fn default() -> Self {
        Self {
            pattern: None,
            contains: None,
            sort: TagSort::Name,
            skip: 0,
            limit: 100,
        }
    }
}

impl Repository {
    /// Lists tags, like `git tag`.
    pub fn tags(&self, query: &TagQuery, cancel: &AtomicBool) -> Result<TagPage, Error> {
        let local = self.local();
        let mut names = names(&local, query, cancel)?;
        names.sort_by(|one, other| one.0.cmp(&other.0));
        if query.sort == TagSort::Version {
            names.sort_by(|one, other| version::compare(other.0.as_bstr(), one.0.as_bstr()));
        }
        let needs_all = query.sort == TagSort::Newest || query.contains.is_some();
        let limit = query.limit.min(MAX_TAGS);
        if !needs_all {
            let total = names.len();
            let mut tags = Vec::new();
            for (name, id) in names.iter().skip(query.skip).take(limit) {
                check_cancelled(cancel)?;
                tags.extend(details(&local, name, *id));
            }
            return Ok(TagPage {
                tags,
                total,
                more: query.skip.saturating_add(limit) < total,
            });
        }

        let mut tags = Vec::new();
        for (name, id) in &names {
            check_cancelled(cancel)?;
            tags.extend(details(&local, name, *id));
        }
        if let Some(revision) = &query.contains {
            tags = containing(&local, tags, revision, cancel)?;
        }
        if query.sort == TagSort::Newest {
            // Stable: among equals by name.
            tags.sort_by_key(|tag| Reverse(tag.created_at));
        }
        let total = tags.len();
        Ok(TagPage {
            tags: tags.into_iter().skip(query.skip).take(limit).collect(),
            total,
            more: query.skip.saturating_add(limit) < total,
        })
    }
}

fn names(
    local: &gix::Repository,
    query: &TagQuery,
    cancel: &AtomicBool,
) -> Result<Vec<(FullName, gix::ObjectId)>, Error> {
    let references = local.references().map_err(Error::read("the references"))?;
    let mut names = Vec::new();
    let found = references
        .prefixed("refs/tags/")
        .map_err(Error::read("the tags"))?;
    // One broken tag does not hide the others.
    for reference in found.flatten() {
        check_cancelled(cancel)?;
        let short = display_path(reference.name().shorten());
        let is_wanted = query
            .pattern
            .as_ref()
            .is_none_or(|pattern| short.contains(pattern));
        if let Some(id) = reference.try_id().filter(|_| is_wanted) {
            names.push((reference.name().to_owned(), id.detach()));
        }
    }
    Ok(names)
}

/// Leaves the tags that have a commit in their history.
fn containing(
    local: &gix::Repository,
    tags: Vec<TagDetails>,
    revision: &Revision,
    cancel: &AtomicBool,
) -> Result<Vec<TagDetails>, Error> {
    let mut history = History::new(local)?;
    let mut containing = Containing::new(&mut history, revision.resolve_commit(local)?)?;
    let mut kept = Vec::new();
    for tag in tags {
        if tag.target_kind == TagTarget::Commit
            && containing.is_in(&mut history, tag.target.into(), cancel)?
        {
            kept.push(tag);
        }
    }
    Ok(kept)
}

/// None when the tag cannot be read.
fn details(local: &gix::Repository, name: &FullName, id: gix::ObjectId) -> Option<TagDetails> {
    let (mut target, mut annotation, mut tagged_at) = (id, None, None);
    let mut kind = local.find_header(target).ok()?.kind();
    for _ in 0..MAX_DEPTH {
        if kind != Kind::Tag {
            break;
        }
        let object = local.find_object(target).ok()?;
        let tag = RawTag::parse(&object.data)?;
        if annotation.is_none() {
            let described = annotate(id, &tag);
            tagged_at = described.tagger.as_ref().map(|tagger| tagger.at);
            annotation = Some(described);
        }
        target = tag.target;
        kind = local.find_header(target).ok()?.kind();
    }
    let target_kind = match kind {
        Kind::Commit => TagTarget::Commit,
        Kind::Tree => TagTarget::Tree,
        Kind::Blob => TagTarget::Blob,
        Kind::Tag => return None,
    };
    let created_at = match (&annotation, target_kind) {
        (Some(_), _) => tagged_at,
        (None, TagTarget::Commit) => {
            let object = local.find_object(target).ok()?;
            Some(CommitText::decode(target, &object.data).ok()?.committer.at)
        }
        (None, _) => None,
    };
    Some(TagDetails {
        name: display_path(name.shorten()),
        target: target.into(),
        target_kind,
        created_at,
        annotation,
    })
}

fn annotate(id: gix::ObjectId, tag: &RawTag<'_>) -> Annotation {
    let (subject, body) = commit::subject_and_body(&tag.message.to_str_lossy());
    Annotation {
        id: id.into(),
        tagger: tag.tagger.map(|tagger| commit::person(tagger, UTF_8)),
        subject,
        body,
        signed: tag.signed,
    }
}
