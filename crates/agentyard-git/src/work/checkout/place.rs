//! What a name stands for, settled before git hears of it.

use std::fmt;

use super::{BranchName, CheckoutOptions, Error, ObjectId, Revision, Work};
use crate::program::Invocation;

/// Where HEAD is to go.
pub(super) enum Place {
    /// A branch that there is.
    Branch(BranchName),
    /// A branch that there is not yet.
    New { branch: BranchName, start: Start },
    /// A commit, without a branch.
    Commit { id: ObjectId, name: String },
}

/// Where a new branch begins.
pub(super) enum Start {
    Here,
    At(ObjectId),
    /// At a remote's branch, the whole name of which this is, and which it follows.
    Following(String),
}

impl Place {
    pub(super) fn creates(&self) -> bool {
        matches!(self, Self::New { .. })
    }

    pub(super) fn say<'a>(&self, invocation: Invocation<'a>) -> Invocation<'a> {
        match self {
            Self::Branch(branch) => invocation.operand(branch),
            Self::Commit { id, .. } => invocation.word("--detach").object(id),
            Self::New { branch, start } => {
                let invocation = invocation.option("--create", branch);
                match start {
                    Start::Here => invocation.word("--no-track"),
                    Start::At(id) => invocation.word("--no-track").object(id),
                    Start::Following(upstream) => invocation.word("--track").operand(upstream),
                }
            }
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Branch(branch) | Self::New { branch, .. } => write!(formatter, "{branch}"),
            Self::Commit { name, .. } => formatter.write_str(name),
        }
    }
}

impl Work<'_> {
    pub(super) fn place(&self, target: &str, options: &CheckoutOptions) -> Result<Place, Error> {
        if options.create_branch {
            return self.new_branch(target, options);
        }
        if options.start_point.is_some() {
            return Err(Error::invalid(
                "`start_point` without `create_branch`",
                "it says where a new branch begins",
            ));
        }
        let short = target.strip_prefix("refs/heads/").unwrap_or(target);
        if !options.detach
            && let Ok(branch) = BranchName::new(short)
            && self.has(&branch.reference())
        {
            return Ok(Place::Branch(branch));
        }
        if options.track == Some(true)
            && !options.detach
            && let Some((reference, name)) = self.tracking(target)
        {
            return Ok(Place::New {
                branch: BranchName::new(name)?,
                start: Start::Following(reference),
            });
        }
        let revision = Revision::new(target)?;
        match revision.resolve_commit(&self.repository().local()) {
            Ok(id) => Ok(Place::Commit {
                id: id.into(),
                name: revision.to_string(),
            }),
            Err(unknown @ Error::UnknownRevision { .. })
                if !options.detach && options.track != Some(false) =>
            {
                self.guess(target, unknown)
            }
            Err(error) => Err(error),
        }
    }

    fn new_branch(&self, name: &str, options: &CheckoutOptions) -> Result<Place, Error> {
        let branch = BranchName::new(name)?;
        if options.detach {
            return Err(Error::invalid(
                "`create_branch` together with `detach`",
                "choose one",
            ));
        }
        if self.has(&branch.reference()) {
            return Err(Error::state(
                format!("there is a branch {branch} already"),
                "leave `create_branch` out to check it out, or choose another name",
            ));
        }
        let start = match &options.start_point {
            None => Start::Here,
            Some(start) => match self.tracking(start.as_str()) {
                Some((reference, _)) if options.track != Some(false) => Start::Following(reference),
                _ => Start::At(start.resolve_commit(&self.repository().local())?.into()),
            },
        };
        Ok(Place::New { branch, start })
    }

    /// A branch that one remote has, and that is made here to follow it.
    fn guess(&self, target: &str, unknown: Error) -> Result<Place, Error> {
        let Ok(branch) = BranchName::new(target) else {
            return Err(unknown);
        };
        let mut found: Vec<String> = self
            .remote_names()
            .iter()
            .map(|remote| format!("refs/remotes/{remote}/{branch}"))
            .filter(|reference| self.has(reference))
            .collect();
        match found.len() {
            0 => Err(unknown),
            1 => Ok(Place::New {
                branch,
                start: Start::Following(found.remove(0)),
            }),
            _ => Err(Error::state(
                format!("several remotes have a branch {branch}"),
                "say which one is meant: `target` as `origin/NAME`, with `track: true`",
            )),
        }
    }

    /// The whole name of a remote's branch that is called `origin/name`, and its own name.
    fn tracking(&self, called: &str) -> Option<(String, String)> {
        let called = called.strip_prefix("refs/remotes/").unwrap_or(called);
        self.remote_names().iter().find_map(|remote| {
            let name = called.strip_prefix(remote.as_str())?.strip_prefix('/')?;
            // Checked, such that git takes it for nothing else.
            let branch = BranchName::new(name).ok()?;
            let reference = format!("refs/remotes/{remote}/{branch}");
            self.has(&reference).then(|| (reference, name.to_owned()))
        })
    }

    fn has(&self, reference: &str) -> bool {
        let local = self.repository().local();
        local
            .try_find_reference(reference)
            .is_ok_and(|found| found.is_some())
    }
}
