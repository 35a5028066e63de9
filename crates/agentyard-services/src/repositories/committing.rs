//! Committing.

use std::path::Path;

use agentyard_git::{Author, CommitOptions, Committed, Message, RepositoryPath, Trailer};
use agentyard_model::Caller;

use super::{In, Repositories};
use crate::error::Result;
use crate::progress::Progress;

/// What to commit, and how.
#[derive(Debug, Clone, Default)]
pub struct CommitRequest {
    /// The message; needed unless there is one already.
    pub message: Option<String>,
    /// Lines to add at the end of the message, as `Key: value`.
    pub trailers: Vec<String>,
    /// Add a `Signed-off-by` line.
    pub signoff: bool,
    /// Who wrote it, as `Name <address>`.
    pub author: Option<String>,
    /// Replace the last commit.
    pub amend: bool,
    /// Commit even when nothing changes.
    pub allow_empty: bool,
    /// Leave out the hooks that could refuse it.
    pub no_verify: bool,
    /// Whether to sign.
    pub sign: Option<bool>,
    /// Stage these before.
    pub files_to_stage: Vec<String>,
}

impl Repositories {
    /// Commits what is staged.
    ///
    /// # Errors
    /// When the caller may not write, or the commit cannot be made. The index is then as it was.
    pub async fn commit(
        &self,
        caller: &Caller,
        path: Option<&Path>,
        request: CommitRequest,
        progress: &Progress,
    ) -> Result<In<Committed>> {
        self.change(caller, path, "git_commit", progress, move |work| {
            work.commit(&CommitOptions {
                message: request.message.as_deref().map(Message::new).transpose()?,
                trailers: Trailer::list(&request.trailers)?,
                signoff: request.signoff,
                author: request.author.as_deref().map(Author::new).transpose()?,
                amend: request.amend,
                allow_empty: request.allow_empty,
                no_verify: request.no_verify,
                sign: request.sign,
                files_to_stage: RepositoryPath::list(&request.files_to_stage)?,
            })
        })
        .await
    }
}
