//! Tags.

use std::path::Path;

use agentyard_git::{
    self as git, Revision, TagChange, TagCreation, TagName, TagPage, TagQuery, TagSort, TagVerification, Work,
};
use agentyard_model::{Caller, Cursor, Permission};

use super::arguments::{needed, offset};
use super::{In, Repositories, named};
use crate::error::Result;
use crate::progress::Progress;

/// What to do with tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TagMode {
    /// List them.
    #[default]
    List,
    /// Make one, or move it.
    Create,
    /// Delete one.
    Delete,
    /// Check the signature of one.
    Verify,
}

/// What to do with which tags.
#[derive(Debug, Clone, Default)]
pub struct TagRequest {
    /// What to do.
    pub mode: TagMode,
    /// With which tag.
    pub name: Option<String>,
    /// What a new one stands for, HEAD when left out; in a list, only tags with this commit in their history.
    pub commit: Option<String>,
    /// The message of a new one.
    pub message: Option<String>,
    /// A new one is an object of its own.
    pub annotated: bool,
    /// A new one is signed; as the settings say, when left out.
    pub sign: Option<bool>,
    /// Move a tag that exists.
    pub force: bool,
    /// The caller knows what is thrown away.
    pub confirm: bool,
    /// Only those whose name contains this text.
    pub pattern: Option<String>,
    /// The order of a list.
    pub sort: TagSort,
    /// How many at most.
    pub limit: usize,
    /// Where an earlier page ended.
    pub cursor: Option<Cursor>,
}

/// What came of it.
#[derive(Debug)]
pub enum TagAnswer {
    /// Some tags.
    List {
        /// The tags.
        page: TagPage,
        /// How many came before these.
        offset: usize,
        /// How many came before the next page, when there is one.
        next: Option<usize>,
    },
    /// What became of a tag.
    Changed(TagChange),
    /// What is known of a tag's signature.
    Verified(TagVerification),
}

impl Repositories {
    /// Lists tags, changes one, or checks its signature.
    ///
    /// # Errors
    /// When the caller may not, or the tag or the repository is not in a state for it.
    pub async fn tag(
        &self,
        caller: &Caller,
        path: Option<&Path>,
        request: TagRequest,
        progress: &Progress,
    ) -> Result<In<TagAnswer>> {
        match request.mode {
            TagMode::List => {
                caller.require(Permission::ProjectRead)?;
                let offset = offset(request.cursor.as_ref())?;
                self.read(caller, path, move |repository, cancel| {
                    let query = TagQuery {
                        pattern: request.pattern,
                        contains: request.commit.map(Revision::new).transpose()?,
                        sort: request.sort,
                        skip: offset,
                        limit: request.limit,
                    };
                    let page = repository.tags(&query, cancel)?;
                    Ok(In {
                        repository: named(repository),
                        result: TagAnswer::List {
                            next: page.more.then(|| offset + query.limit),
                            page,
                            offset,
                        },
                    })
                })
                .await
            }
            TagMode::Verify => {
                self.ask(caller, path, move |work| {
                    let name = TagName::new(needed(request.name, "tag_name", "verify")?)?;
                    work.verify_tag(&name).map(TagAnswer::Verified)
                })
                .await
            }
            TagMode::Create | TagMode::Delete => {
                self.change(caller, path, "git_tag", progress, move |work| {
                    change(work, request).map(TagAnswer::Changed)
                })
                .await
            }
        }
    }
}

fn change(work: &Work<'_>, request: TagRequest) -> Result<TagChange, git::Error> {
    if request.mode == TagMode::Delete {
        let name = TagName::new(needed(request.name, "tag_name", "delete")?)?;
        return work.delete_tag(&name, request.confirm);
    }
    work.create_tag(&TagCreation {
        name: TagName::new(needed(request.name, "tag_name", "create")?)?,
        target: request.commit.map(Revision::new).transpose()?,
        message: request.message,
        annotated: request.annotated,
        sign: request.sign,
        force: request.force,
        confirm: request.confirm,
    })
}
