//! `git fetch`: getting to know what is new on a remote.

use std::collections::BTreeMap;

use gix::bstr::{BStr, ByteSlice as _};

use crate::network::Way;
use crate::{BranchName, Error, ObjectId, RemoteName, Work};

/// What to fetch.
#[derive(Debug, Clone, Default)]
pub struct FetchOptions {
    /// From where; the remote that the current branch follows when left out.
    pub remote: Option<RemoteName>,
    /// Only this branch.
    pub branch: Option<BranchName>,
    /// Forgets branches that the remote has no more.
    pub prune: bool,
    /// All tags, not only those on what is fetched.
    pub tags: bool,
    /// So many commits of each branch's history.
    pub depth: Option<u32>,
    /// The rest of a history that was cut.
    pub unshallow: bool,
}

/// What a fetch changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// From where.
    pub remote: String,
    /// References that were made, moved, or forgotten, by name.
    pub changes: Vec<RefChange>,
}

/// A reference before and after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefChange {
    /// Its name without what all of its kind begin with: `origin/main`, `v1.0`.
    pub name: String,
    /// Where it was; `None` when it is new.
    pub old: Option<ObjectId>,
    /// Where it is; `None` when it is gone.
    pub new: Option<ObjectId>,
}

impl Work<'_> {
    /// Fetches from a remote.
    pub fn fetch(&self, options: &FetchOptions) -> Result<Fetched, Error> {
        if options.depth == Some(0) {
            return Err(Error::invalid("a `depth` of 0", "give at least 1"));
        }
        let current = self.current_branch();
        let remote = self.choose_remote(options.remote.as_ref(), current.as_ref())?;
        let connection = self.connect(&remote, Way::Fetch)?;
        let before = self.references_below("refs/")?;
        let mut call = connection
            .through(self.invoke("fetch"), Way::Fetch)
            .words(&[
                "--progress",
                "--atomic",
                "--no-write-fetch-head",
                "--no-auto-maintenance",
                "--no-recurse-submodules",
            ])
            .word_if(options.prune, "--prune")
            .word_if(options.tags, "--tags")
            .word_if(options.unshallow, "--unshallow")
            .reporting();
        if let Some(depth) = options.depth {
            call = call.option("--depth", depth.to_string());
        }
        call = call.end_of_options().operand(connection.url().as_str());
        for specification in self.fetch_specifications(&remote, options.branch.as_ref()) {
            call = call.operand(specification);
        }
        connection.run(&call, |_| false)?;
        let after = self.references_below("refs/")?;
        Ok(Fetched {
            remote: remote.to_string(),
            changes: ref_changes(&before, &after),
        })
    }

    /// Fetches one branch, and tells where it is.
    pub(crate) fn fetch_branch(&self, remote: &RemoteName, branch: &BranchName) -> Result<ObjectId, Error> {
        self.fetch(&FetchOptions {
            remote: Some(remote.clone()),
            branch: Some(branch.clone()),
            ..FetchOptions::default()
        })?;
        let tracking = self.tracking_reference(remote, branch);
        self.repository()
            .reference_target(&tracking)
            .ok_or_else(|| Error::Missing {
                what: format!("the remote {remote} has no branch {branch}"),
            })
    }

    /// Where the branch of a remote is noted here. A bare copy of all has no notes beside the branches.
    pub(crate) fn tracking_reference(&self, remote: &RemoteName, branch: &BranchName) -> String {
        if self.is_mirror_of(remote) {
            branch.reference()
        } else {
            format!("{}/{branch}", remote.reference())
        }
    }

    /// The branch that is checked out.
    pub(crate) fn current_branch(&self) -> Option<BranchName> {
        let name = self.repository().local().head_name().ok()??;
        let short = name
            .as_bstr()
            .strip_prefix(b"refs/heads/")?
            .to_str()
            .ok()?
            .to_owned();
        BranchName::new(short).ok()
    }

    /// Every reference whose name begins like this, with what it points to.
    pub(crate) fn references_below(&self, prefix: &str) -> Result<BTreeMap<String, ObjectId>, Error> {
        let local = self.repository().local();
        let references = local.references().map_err(Error::read("the references"))?;
        let mut found = BTreeMap::new();
        for reference in references.all().map_err(Error::read("the references"))? {
            // One broken reference does not hide the others.
            let Ok(reference) = reference else { continue };
            let name = reference.name().as_bstr();
            if let (true, Ok(name), Some(id)) = (
                name.starts_with(prefix.as_bytes()),
                name.to_str(),
                reference.try_id(),
            ) {
                found.insert(name.to_owned(), id.detach().into());
            }
        }
        Ok(found)
    }

    /// What to fetch into which references. What the repository's configuration says counts where it narrows what is
    /// fetched; it has no say about where that is put: it could name local branches.
    fn fetch_specifications(&self, remote: &RemoteName, branch: Option<&BranchName>) -> Vec<String> {
        if let Some(branch) = branch {
            let to = self.tracking_reference(remote, branch);
            return vec![format!("+{}:{to}", branch.reference())];
        }
        if self.is_mirror_of(remote) {
            return vec![
                "+refs/heads/*:refs/heads/*".to_owned(),
                "+refs/tags/*:refs/tags/*".to_owned(),
            ];
        }
        let own: Vec<String> = self
            .configured_specifications(remote)
            .into_iter()
            .filter(|specification| is_plain(specification, remote))
            .collect();
        if own.is_empty() {
            return vec![format!("+refs/heads/*:{}/*", remote.reference())];
        }
        own
    }

    /// Whether this is a bare copy of everything that the remote has.
    fn is_mirror_of(&self, remote: &RemoteName) -> bool {
        let is_bare = self.repository().worktree().is_none();
        is_bare
            && self
                .configured_specifications(remote)
                .iter()
                .any(|specification| specification == "+refs/*:refs/*")
    }

    fn configured_specifications(&self, remote: &RemoteName) -> Vec<String> {
        let local = self.repository().local();
        let config = local.config_snapshot();
        let name: &BStr = remote.as_str().into();
        let values = config
            .strings_by("remote", Some(name), "fetch")
            .unwrap_or_default();
        values
            .iter()
            .filter_map(|value| value.to_str().ok().map(ToOwned::to_owned))
            .collect()
    }
}

/// Whether branches go to where this remote's branches are noted, under their own names.
fn is_plain(specification: &str, remote: &RemoteName) -> bool {
    let Some((from, to)) = specification.trim_start_matches('+').split_once(':') else {
        return false;
    };
    let below = format!("{}/", remote.reference());
    let parts = from.strip_prefix("refs/heads/").zip(to.strip_prefix(&below));
    parts.is_some_and(|(from, to)| from == to && (from == "*" || BranchName::new(from).is_ok()))
}

pub(crate) fn ref_changes(
    before: &BTreeMap<String, ObjectId>,
    after: &BTreeMap<String, ObjectId>,
) -> Vec<RefChange> {
    let mut names: Vec<&String> = before.keys().chain(after.keys()).collect();
    names.sort();
    names.dedup();
    names
        .into_iter()
        .filter(|name| before.get(*name) != after.get(*name))
        .map(|name| RefChange {
            name: short(name).to_owned(),
            old: before.get(name).copied(),
            new: after.get(name).copied(),
        })
        .collect()
}

fn short(name: &str) -> &str {
    ["refs/heads/", "refs/remotes/", "refs/tags/"]
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix))
        .unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_specifications_of_the_repository_count() {
        let origin = RemoteName::new("origin").unwrap();
        for (specification, plain) in [
            ("+refs/heads/*:refs/remotes/origin/*", true),
            ("refs/heads/main:refs/remotes/origin/main", true),
            ("+refs/heads/*:refs/heads/*", false),
            ("+refs/heads/main:refs/heads/main", false),
            ("+refs/heads/*:refs/remotes/other/*", false),
            ("+refs/heads/evil:refs/remotes/origin/main", false),
            ("+refs/*:refs/*", false),
            ("--upload-pack=x", false),
            ("main", false),
        ] {
            assert_eq!(is_plain(specification, &origin), plain, "{specification}");
        }
    }
}
