//! Revisions: what a caller writes to name a commit, or a range of them.

use std::fmt;
use std::str::FromStr;

use gix::revision::plumbing::Spec;

use crate::history::CommitRange;
use crate::upstream::expand_upstreams;
use crate::{Error, text};

/// A revision in git's own notation (`main`, `v1.0~3`, `HEAD@{1}`, `main..topic`, `main...topic`), checked
/// for form only.
///
/// It is resolved to object ids before anything else happens to it, and never becomes part of a command line.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Revision(String);

/// Longer than any branch name that a file system can hold.
const MAX_LENGTH: usize = 1024;

impl Revision {
    /// What is checked out.
    pub fn head() -> Self {
        Self("HEAD".to_owned())
    }

    /// Checks the form of a revision.
    pub fn new(text: impl Into<String>) -> Result<Self, Error> {
        let text = text.into();
        match fault(&text) {
            None => Ok(Self(text)),
            Some(reason) => Err(invalid(&text, reason)),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The object that the revision names, of whatever kind.
    pub(crate) fn resolve_object(&self, local: &gix::Repository) -> Result<gix::ObjectId, Error> {
        let unknown = |source| Error::UnknownRevision {
            revision: self.0.clone(),
            source,
        };
        let expanded = expand_upstreams(local, &self.0).ok_or_else(|| unknown(None))?;
        let spec = local
            .rev_parse(expanded.as_str())
            .map_err(|source| unknown(Some(Box::new(source))))?;
        match spec.detach() {
            Spec::Include(id) => Ok(id),
            _ => Err(invalid(&self.0, "name a single object, not a range")),
        }
    }

    /// The one commit that the revision names in a repository.
    pub(crate) fn resolve_commit(&self, local: &gix::Repository) -> Result<gix::ObjectId, Error> {
        let range = self.resolve(local)?;
        match range.include[..] {
            [commit] if range.exclude.is_empty() => Ok(commit),
            _ => Err(invalid(&self.0, "name one commit, not a range")),
        }
    }

    /// The commits that the revision names in a repository.
    pub(crate) fn resolve(&self, local: &gix::Repository) -> Result<CommitRange, Error> {
        let unknown = |source| Error::UnknownRevision {
            revision: self.0.clone(),
            source: Some(Box::new(source)),
        };
        let commit = |id: gix::ObjectId| {
            let object = local.find_object(id).map_err(unknown)?;
            Ok(object.peel_to_commit().map_err(unknown)?.id)
        };
        let expanded = expand_upstreams(local, &self.0).ok_or_else(|| Error::UnknownRevision {
            revision: self.0.clone(),
            source: None,
        })?;
        let (include, exclude) = match local.rev_parse(expanded.as_str()).map_err(unknown)?.detach() {
            Spec::Include(id) => (vec![commit(id)?], Vec::new()),
            Spec::Range { from, to } => (vec![commit(to)?], vec![commit(from)?]),
            Spec::Merge { theirs, ours } => {
                let (theirs, ours) = (commit(theirs)?, commit(ours)?);
                let cache = local.commit_graph_if_enabled().ok().flatten();
                let mut graph = local.revision_graph(cache.as_ref());
                let bases = local
                    .merge_bases_many_with_graph(theirs, &[ours], &mut graph)
                    .map_err(unknown)?;
                (
                    vec![theirs, ours],
                    bases.into_iter().map(gix::Id::detach).collect(),
                )
            }
            Spec::Exclude(_) | Spec::ExcludeParents(_) | Spec::IncludeOnlyParents(_) => {
                return Err(invalid(&self.0, "name a commit, or a range with `..` or `...`"));
            }
        };
        Ok(CommitRange {
            include,
            exclude,
            ..CommitRange::default()
        })
    }
}

impl FromStr for Revision {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::new(text)
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

fn fault(text: &str) -> Option<&'static str> {
    if text.is_empty() {
        Some("it is empty")
    } else if text.len() > MAX_LENGTH {
        Some("it is too long")
    } else if text.starts_with('-') {
        Some("it starts with a dash")
    } else if text.chars().any(char::is_control) {
        Some("it contains control characters")
    } else if text.contains(':') || text.contains("^{/") {
        // `main:path` is no commit, and `:/text` searches all of history for one.
        Some("it names a path or a search, not a commit")
    } else {
        None
    }
}

fn invalid(text: &str, reason: &'static str) -> Error {
    Error::InvalidRevision {
        revision: text::one_line(text).chars().take(MAX_LENGTH).collect(),
        reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revisions_that_can_name_a_commit_are_accepted() {
        for text in [
            "HEAD",
            "main",
            "feature/a-b",
            "v1.0^{commit}",
            "HEAD~3",
            "@{u}",
            "HEAD@{2 days ago}",
            "a..b",
            "a...b",
        ] {
            assert_eq!(Revision::new(text).unwrap().as_str(), text);
        }
    }

    #[test]
    fn revisions_that_cannot_are_refused() {
        let long = "x".repeat(MAX_LENGTH + 1);
        for text in [
            "",
            "-x",
            "--output=/tmp/x",
            "a\nb",
            "a\0b",
            "a\u{1b}[1m",
            "HEAD:file",
            ":/fix",
            "HEAD^{/fix}",
            &long,
        ] {
            assert!(
                matches!(Revision::new(text), Err(Error::InvalidRevision { .. })),
                "{text:?}"
            );
        }
    }
}
