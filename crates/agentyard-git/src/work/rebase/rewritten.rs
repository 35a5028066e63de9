//! A commit made anew with another message.

use crate::work::keep::object_in;
use crate::{Error, ObjectId, Repository, Work};

/// What a commit has, as far as another one is made of it.
pub(super) struct Original {
    tree: ObjectId,
    parents: Vec<ObjectId>,
    author: Author,
    pub(super) message: String,
}

struct Author {
    name: String,
    email: String,
    date: String,
}

impl Original {
    pub(super) fn read(repository: &Repository, id: &ObjectId) -> Result<Self, Error> {
        let local = repository.local();
        let damaged = || Error::NotACommit { id: *id };
        let commit = local.find_commit(*id).map_err(|_| damaged())?;
        let decoded = commit.decode().map_err(|_| damaged())?;
        let parents: Vec<ObjectId> = commit.parent_ids().map(|id| id.detach().into()).collect();
        if parents.len() > 1 {
            return Err(Error::invalid(
                "a plan with merges",
                format!("{id} is a merge; use `rebase_merges` instead of `plan`, or a later `upstream`"),
            ));
        }
        let author = decoded.author().map_err(|_| damaged())?;
        Ok(Self {
            tree: commit.tree_id().map_err(|_| damaged())?.detach().into(),
            parents,
            author: Author {
                name: author.name.to_string(),
                email: author.email.to_string(),
                date: author.time.to_owned(),
            },
            message: decoded.message.to_string(),
        })
    }

    pub(super) fn subject(&self) -> String {
        self.message
            .lines()
            .next()
            .unwrap_or_default()
            .chars()
            .take(100)
            .collect()
    }
}

impl Work<'_> {
    /// A commit that differs from the original in its message alone.
    pub(super) fn with_message(&self, original: &Original, message: &str) -> Result<ObjectId, Error> {
        let message = format!("{}\n", message.trim_end());
        let mut call = self
            .invoke("commit-tree")
            .variable("GIT_AUTHOR_NAME", &original.author.name)
            .variable("GIT_AUTHOR_EMAIL", &original.author.email)
            .variable("GIT_AUTHOR_DATE", format!("@{}", original.author.date))
            .words(&["-F", "-"])
            .input(message);
        for parent in &original.parents {
            call = call.word("-p").object(parent);
        }
        let made = call.object(&original.tree).run()?;
        object_in(&made.output)
    }
}
