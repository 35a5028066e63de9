//! Where references pointed before.

use std::path::Path;

use agentyard_git::{ReflogPage, ReflogQuery};
use agentyard_model::{Caller, Cursor, Permission};

use super::arguments::offset;
use super::{In, Repositories, named};
use crate::error::Result;

/// Part of a reference's log.
#[derive(Debug)]
pub struct Reflog {
    /// The entries, newest first.
    pub page: ReflogPage,
    /// How many came before these.
    pub offset: usize,
}

impl Repositories {
    /// Where a reference, HEAD when left out, pointed before.
    ///
    /// # Errors
    /// When the caller may not look, or there is no such reference.
    pub async fn reflog(
        &self,
        caller: &Caller,
        path: Option<&Path>,
        reference: Option<String>,
        limit: usize,
        cursor: Option<Cursor>,
    ) -> Result<In<Reflog>> {
        caller.require(Permission::ProjectRead)?;
        let offset = offset(cursor.as_ref())?;
        self.read(caller, path, move |repository, cancel| {
            let query = ReflogQuery {
                reference: reference.unwrap_or_else(|| "HEAD".to_owned()),
                skip: offset,
                limit,
            };
            let page = repository.reflog(&query, cancel)?;
            Ok(In {
                repository: named(repository),
                result: Reflog { page, offset },
            })
        })
        .await
    }
}
