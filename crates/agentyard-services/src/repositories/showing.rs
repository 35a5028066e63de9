//! Single objects, and who wrote the lines of a file.

use std::path::Path;

use agentyard_git::{
    Between, Blame, BlameQuery, CommitObject, DiffQuery, Moves, Object, ObjectId, ObjectName, RepositoryPath,
    Revision,
};
use agentyard_model::{Caller, Cursor};

use super::comparing::{DiffPage, page, place};
use super::{In, Repositories};
use crate::error::Result;

/// Which object to show, and what of it.
#[derive(Debug, Clone, Default)]
pub struct ShowRequest {
    /// A revision, or `revision:path`.
    pub object: String,
    /// A path in the revision.
    pub file_path: Option<String>,
    /// As it is stored.
    pub raw: bool,
    /// Whether the text of a commit's changes is wanted.
    pub text: bool,
    /// Where an earlier page of a commit's changes ended.
    pub cursor: Option<Cursor>,
}

/// An object.
#[derive(Debug)]
pub enum Shown {
    /// A commit and what it changed against its first parent.
    Commit(CommitObject, DiffPage),
    /// Anything else.
    Other(Object),
    /// As it is stored.
    Raw(ObjectId, String),
}

/// Which lines of which file.
#[derive(Debug, Clone, Default)]
pub struct BlameRequest {
    /// The file.
    pub file_path: String,
    /// The revision of the file; what is in the working tree when there is none.
    pub revision: Option<String>,
    /// The first line, counted from one.
    pub start_line: Option<usize>,
    /// The last line.
    pub end_line: Option<usize>,
    /// Changes of white space do not count.
    pub ignore_whitespace: bool,
    /// Where else lines may come from.
    pub moves: Moves,
}

impl Repositories {
    /// An object of a repository.
    ///
    /// # Errors
    /// When the caller may not look, or nothing has that name.
    pub async fn show(
        &self,
        caller: &Caller,
        path: Option<&Path>,
        request: ShowRequest,
    ) -> Result<In<Shown>> {
        let place = place(request.cursor.as_ref())?;
        self.ask(caller, path, move |work| {
            let name = ObjectName::new(&request.object, request.file_path.as_deref())?;
            if request.raw {
                let (id, text) = work.repository().raw_object(&name)?;
                return Ok(Shown::Raw(id, text));
            }
            match work.object(&name)? {
                Object::Commit(commit) => {
                    let query = DiffQuery {
                        between: Between::Objects(commit.base, commit.commit.id),
                        text: request.text,
                        ..DiffQuery::default()
                    };
                    let page = page(work, query, place)?;
                    Ok(Shown::Commit(commit, page))
                }
                other => Ok(Shown::Other(other)),
            }
        })
        .await
    }

    /// Who last changed the lines of a file.
    ///
    /// # Errors
    /// When the caller may not look, or there is no such file.
    pub async fn blame(
        &self,
        caller: &Caller,
        path: Option<&Path>,
        request: BlameRequest,
    ) -> Result<In<Blame>> {
        self.ask(caller, path, move |work| {
            let revision = request.revision.map(Revision::new).transpose()?;
            work.blame(&BlameQuery {
                path: RepositoryPath::new(&request.file_path)?,
                revision,
                first_line: request.start_line.unwrap_or(1),
                last_line: request.end_line,
                ignore_whitespace: request.ignore_whitespace,
                moves: request.moves,
            })
        })
        .await
    }
}
