//! Fetching into a mirror.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use super::layout::{check_name, entries};
use super::mirror::state;
use super::stale_locks::past_stale_locks;
use super::{MirrorState, Trees};
use crate::network::{Connection, Way};
use crate::program::Git;
use crate::{BranchName, Error, ObjectId, Progress, RefChange, RemoteUrl, Roots, Trust, Work};

/// What a fetch into a mirror found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MirrorFetch {
    /// What is known of the remote now.
    pub state: MirrorState,
    /// The remote's branches and tags that are new, moved, or gone.
    pub changes: Vec<RefChange>,
}

/// What a remote says it has.
#[derive(Debug, Default)]
struct Advertised {
    /// The branch that its HEAD names.
    default_branch: Option<BranchName>,
    references: BTreeMap<String, ObjectId>,
}

/// With more packs than this, they are put together: each is looked at for every object that is asked for.
const MAX_PACKS: usize = 50;

/// Where the remote's branches are noted.
const TRACKED: &str = "refs/remotes/origin/";

impl Trees {
    /// Fetches what is new on the remote. Branches that it has no more are forgotten; those of workspaces, and tags,
    /// stay as they are.
    pub fn fetch_mirror(
        &self,
        git: &Git,
        key: &str,
        source: &RemoteUrl,
        source_roots: &Roots,
        cancel: &AtomicBool,
        report: &(dyn Fn(Progress) + Sync),
    ) -> Result<MirrorFetch, Error> {
        check_name("repository", key)?;
        let _lock = self.lock_mirror(key, cancel)?;
        let mirror = self.open_mirror(key)?;
        let work = Work::new(git, &mirror, Trust::Untrusted, cancel, report);
        let connection = Connection::open(git, source, Way::Fetch, source_roots, cancel)?;
        let advertised = advertised(&work, &connection)?;
        let before = work.references_below("refs/")?;
        if !advertised.is_known(&before) {
            let fetch = connection
                .through(work.invoke("fetch"), Way::Fetch)
                .words(&[
                    "--progress",
                    "--prune",
                    "--no-write-fetch-head",
                    "--no-auto-maintenance",
                    "--no-recurse-submodules",
                ])
                .reporting()
                .end_of_options()
                .operand(connection.url().as_str())
                .operand("+refs/heads/*:refs/remotes/origin/*");
            past_stale_locks(git, &mirror, cancel, || connection.run(&fetch, |_| false))?;
            self.put_packs_together(&work, key)?;
        }
        if let Some(branch) = &advertised.default_branch {
            past_stale_locks(git, &mirror, cancel, || follow_default(&work, branch))?;
        }
        let mirror = self.open_mirror(key)?;
        let after = Work::new(git, &mirror, Trust::Untrusted, cancel, report).references_below("refs/")?;
        Ok(MirrorFetch {
            state: state(&mirror)?,
            changes: changes_of_remote(before, after),
        })
    }

    /// Every fetch adds a pack. None of what they hold is dropped, whether or not anything names it.
    fn put_packs_together(&self, work: &Work<'_>, key: &str) -> Result<(), Error> {
        let packs = entries(&self.mirror_path(key).join("objects/pack"))?;
        if packs.iter().filter(|name| name.ends_with(".pack")).count() <= MAX_PACKS {
            return Ok(());
        }
        work.invoke("repack")
            .words(&["-d", "-l", "-q", "--geometric=2"])
            .run()
            .map(drop)
    }
}

/// Asks a remote what it has.
fn advertised(work: &Work<'_>, connection: &Connection) -> Result<Advertised, Error> {
    let call = connection
        .through(work.invoke("ls-remote"), Way::Fetch)
        .words(&["--symref", "--quiet"])
        .end_of_options()
        .operand(connection.url().as_str())
        .operand("HEAD")
        .operand("refs/heads/*")
        .operand("refs/tags/*");
    let finished = connection.run(&call, |_| false)?;
    if finished.truncated {
        return Err(Error::state(
            format!("{} has more references than are read here", connection.url()),
            "delete branches and tags there that nobody needs",
        ));
    }
    Ok(Advertised::parse(&finished.output))
}

impl Advertised {
    /// Reads lines such as `ref: refs/heads/main<tab>HEAD` and `<id><tab>refs/heads/main`.
    fn parse(output: &[u8]) -> Self {
        let mut found = Self::default();
        for line in String::from_utf8_lossy(output).lines() {
            let Some((value, name)) = line.split_once('\t') else {
                continue;
            };
            if let Some(target) = value.strip_prefix("ref: ") {
                if name == "HEAD" {
                    let branch = target.strip_prefix("refs/heads/");
                    found.default_branch = branch.and_then(|branch| BranchName::new(branch).ok());
                }
            } else if let (Ok(id), false, true) = (
                value.parse(),
                name.ends_with("^{}"),
                name.starts_with("refs/heads/") || name.starts_with("refs/tags/"),
            ) {
                found.references.insert(name.to_owned(), id);
            }
        }
        found
    }

    /// Whether the mirror has all of it, and no branch beside.
    fn is_known(&self, here: &BTreeMap<String, ObjectId>) -> bool {
        let branches = self.references.iter().filter_map(|(name, id)| {
            let branch = name.strip_prefix("refs/heads/")?;
            Some((format!("{TRACKED}{branch}"), *id))
        });
        let noted = here
            .iter()
            .filter(|(name, _)| name.starts_with(TRACKED) && *name != "refs/remotes/origin/HEAD")
            .map(|(name, id)| (name.clone(), *id));
        let mut tags = self
            .references
            .keys()
            .filter(|name| name.starts_with("refs/tags/"));
        branches.eq(noted) && tags.all(|name| here.contains_key(name))
    }
}

/// Notes the remote's default branch, when it is another one than before.
fn follow_default(work: &Work<'_>, branch: &BranchName) -> Result<(), Error> {
    if state(work.repository())?.default_branch.as_deref() == Some(branch.as_str()) {
        return Ok(());
    }
    work.invoke("symbolic-ref")
        .end_of_options()
        .operand(format!("{TRACKED}HEAD"))
        .operand(format!("{TRACKED}{branch}"))
        .run()
        .map(drop)
}

/// What the remote changed: agents may have changed their own branches meanwhile.
fn changes_of_remote(
    before: BTreeMap<String, ObjectId>,
    after: BTreeMap<String, ObjectId>,
) -> Vec<RefChange> {
    let of_remote = |references: BTreeMap<String, ObjectId>| -> BTreeMap<String, ObjectId> {
        let is_remote = |name: &str| {
            name.starts_with(TRACKED) && name != "refs/remotes/origin/HEAD" || name.starts_with("refs/tags/")
        };
        references
            .into_iter()
            .filter(|(name, _)| is_remote(name))
            .collect()
    };
    crate::work::ref_changes(&of_remote(before), &of_remote(after))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "9d3d7f27c49d8b30e4c40337f65e0fb99b886e8b";

    #[test]
    fn what_a_remote_says_is_read() {
        let said = format!(
            "ref: refs/heads/main\tHEAD\n{ID}\tHEAD\n{ID}\trefs/heads/main\n{ID}\trefs/tags/v1\n\
             {ID}\trefs/tags/v1^{{}}\nnonsense\n{ID}\trefs/pull/1/head\n"
        );
        let found = Advertised::parse(said.as_bytes());
        assert_eq!(
            found.default_branch.as_ref().map(BranchName::as_str),
            Some("main")
        );
        let names: Vec<&String> = found.references.keys().collect();
        assert_eq!(names, ["refs/heads/main", "refs/tags/v1"]);
    }

    #[test]
    fn a_fetch_is_needed_when_anything_differs() {
        let id: ObjectId = ID.parse().unwrap();
        let advertised = Advertised::parse(format!("{ID}\trefs/heads/main\n{ID}\trefs/tags/v1\n").as_bytes());
        let here = |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), id)).collect();
        let main = "refs/remotes/origin/main";
        let head = "refs/remotes/origin/HEAD";
        assert!(advertised.is_known(&here(&[
            main,
            head,
            "refs/tags/v1",
            "refs/tags/own",
            "refs/heads/x"
        ])));
        assert!(!advertised.is_known(&here(&[main, head])));
        assert!(!advertised.is_known(&here(&["refs/tags/v1"])));
        assert!(!advertised.is_known(&here(&[main, "refs/remotes/origin/gone", "refs/tags/v1"])));
    }
}
