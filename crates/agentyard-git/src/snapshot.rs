//! What somebody who enters a repository wants to see first.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use gix::bstr::{BStr, ByteSlice as _};
use jiff::Timestamp;

use crate::commit::Commit;
use crate::dates::timestamp;
use crate::{Error, LogQuery, ObjectId, Repository, display_path, remote_url};

/// The latest of a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// The last commits of what is checked out.
    pub recent_commits: Vec<Commit>,
    /// The last tags, newest first.
    pub recent_tags: Vec<Tag>,
    /// By name.
    pub remotes: Vec<Remote>,
}

/// A tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tag {
    pub name: String,
    /// The object that was tagged, mostly a commit.
    pub target: ObjectId,
    /// When the tag was made; for one without a message, when its commit was. None where neither is known.
    pub created_at: Option<Timestamp>,
}

/// Another repository that this one knows by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remote {
    pub name: String,
    /// Without credentials, as all URLs here.
    pub fetch_url: String,
    pub push_url: String,
}

/// How many commits and tags are recent.
const RECENT: usize = 5;

impl Repository {
    /// The remotes, by name.
    pub fn remotes(&self) -> Vec<Remote> {
        remotes(&self.local())
    }

    /// The last commits and tags, and the remotes.
    pub fn snapshot(&self, cancel: &AtomicBool) -> Result<Snapshot, Error> {
        let local = self.local();
        let query = LogQuery {
            max_count: RECENT,
            ..LogQuery::default()
        };
        Ok(Snapshot {
            recent_commits: self.log(&query, cancel)?.commits,
            recent_tags: recent_tags(&local, cancel)?,
            remotes: remotes(&local),
        })
    }
}

fn recent_tags(local: &gix::Repository, cancel: &AtomicBool) -> Result<Vec<Tag>, Error> {
    let references = local.references().map_err(Error::read("the references"))?;
    let mut tags = Vec::new();
    for reference in references
        .prefixed("refs/tags/")
        .map_err(Error::read("the tags"))?
    {
        if cancel.load(Ordering::Relaxed) {
            return Err(Error::Cancelled);
        }
        // One broken tag does not hide the others.
        let tag = reference.ok().and_then(|reference| {
            let name = display_path(reference.name().shorten());
            let id = reference.try_id()?.detach();
            let (target, created_at) = creation(local, id)?;
            Some(Tag {
                name,
                target: target.into(),
                created_at: created_at.map(timestamp),
            })
        });
        tags.extend(tag);
    }
    tags.sort_by(|one, other| {
        other
            .created_at
            .cmp(&one.created_at)
            .then_with(|| one.name.cmp(&other.name))
    });
    tags.truncate(RECENT);
    Ok(tags)
}

/// What a tag stands for in the end, and when it was made.
fn creation(local: &gix::Repository, id: gix::ObjectId) -> Option<(gix::ObjectId, Option<i64>)> {
    let object = local.find_object(id).ok()?;
    match object.kind {
        gix::objs::Kind::Tag => {
            let tag = object.into_tag();
            let tagger = tag.tagger().ok().flatten().map(|tagger| tagger.seconds());
            let target = gix::prelude::ObjectIdExt::attach(id, local)
                .object()
                .ok()?
                .peel_tags_to_end()
                .ok()?
                .id;
            Some((target, tagger))
        }
        gix::objs::Kind::Commit => {
            let time = object.into_commit().time().ok().map(|time| time.seconds);
            Some((id, time))
        }
        gix::objs::Kind::Tree | gix::objs::Kind::Blob => Some((id, None)),
    }
}

/// The remotes of the configuration. Rewriting rules (`url.*.insteadOf`) are not applied: nothing connects
/// from here.
fn remotes(local: &gix::Repository) -> Vec<Remote> {
    let config = local.config_snapshot();
    let mut remotes: BTreeMap<String, (Option<String>, Option<String>)> = BTreeMap::new();
    for section in config.sections_by_name("remote").into_iter().flatten() {
        let Some(name) = section.header().subsection_name() else {
            continue;
        };
        let (fetch, push) = remotes.entry(display_path(name)).or_default();
        let first = |key: &str| {
            section
                .values(key)
                .first()
                .map(|url| remote_url::without_credentials(shown(url.as_bstr())))
        };
        *fetch = fetch.take().or_else(|| first("url"));
        *push = push.take().or_else(|| first("pushurl"));
    }
    remotes
        .into_iter()
        .filter_map(|(name, (fetch, push))| {
            let fetch_url = fetch.or_else(|| push.clone())?;
            Some(Remote {
                name,
                push_url: push.unwrap_or_else(|| fetch_url.clone()),
                fetch_url,
            })
        })
        .collect()
}

fn shown(url: &BStr) -> String {
    url.to_str_lossy().into_owned()
}
