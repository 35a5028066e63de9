//! Files as they were, in the index or in a commit.

use std::os::unix::ffi::OsStrExt as _;

use super::{CheckedOut, CheckoutOptions, Error, Loss, RepositoryPath, Revision, Work};
use crate::descriptor::as_path;
use crate::work::loss::unsaved;
use crate::{ObjectId, StatusOptions, text};

impl Work<'_> {
    /// Restores files of the working tree; from a commit, in the index too.
    pub(super) fn restore(&self, options: &CheckoutOptions) -> Result<CheckedOut, Error> {
        if options.create_branch || options.detach || options.start_point.is_some() {
            return Err(Error::invalid(
                "`paths` together with `create_branch`, `start_point` or `detach`",
                "with `paths`, files are restored and the branch stays",
            ));
        }
        let source: Option<ObjectId> = match &options.target {
            None => None,
            Some(target) => {
                let revision = Revision::new(target.as_str())?;
                Some(revision.resolve_commit(&self.repository().local())?.into())
            }
        };
        let head = self.repository().head()?;
        let (loss, ignored, restored) = self.what_restoring_loses(source, &options.paths)?;
        let mut kept = None;
        if !loss.files.is_empty() {
            loss.require(options.confirm, "restoring these files")?;
            kept = self.keep_changes("checkout", &ignored)?;
        }
        let mut invocation = self.invoke("checkout").paths_on_input(&options.paths);
        if let Some(source) = &source {
            invocation = invocation.object(source);
        }
        let finished = invocation.run()?;
        Ok(CheckedOut {
            previous: head.clone(),
            head,
            created: false,
            files_changed: updated_paths(&finished.said()).unwrap_or(restored),
            kept: kept.into_iter().collect(),
            left_out: self.left_out(&["post-checkout"]),
        })
    }

    /// Changes that are in no commit, which of them are in ignored files, and how many files differ from the index.
    fn what_restoring_loses(
        &self,
        source: Option<ObjectId>,
        paths: &[RepositoryPath],
    ) -> Result<(Loss, Vec<RepositoryPath>, usize), Error> {
        let options = StatusOptions {
            untracked: source.is_some(),
            ignored: source.is_some(),
            ..StatusOptions::default()
        };
        let mut status = self.repository().status(&options, self.cancel())?;
        let unstaged = &status.unstaged;
        let differing = unstaged
            .modified
            .iter()
            .chain(&unstaged.deleted)
            .chain(&unstaged.type_changed);
        let restored = differing.filter(|file| is_under(file, paths)).count();
        // What is gone cannot be lost, and what is only staged is touched by a commit's files alone.
        status.unstaged.deleted.clear();
        if source.is_none() {
            status.staged = crate::Staged::default();
        }
        let mut files: Vec<String> = unsaved(&status)
            .into_iter()
            .filter(|file| is_under(file, paths))
            .collect();
        let mut ignored = Vec::new();
        if let Some(source) = source {
            let local = self.repository().local();
            let tree = local
                .find_commit(gix::ObjectId::from(source))
                .and_then(|commit| commit.tree())
                .map_err(Error::read(format!("commit {source}")))?;
            let in_the_way = |file: &&String| {
                let bytes = text::parse_path(file.trim_end_matches('/'));
                touches(file, paths)
                    && tree
                        .lookup_entry_by_path(as_path(&bytes))
                        .is_ok_and(|entry| entry.is_some())
            };
            files.extend(status.untracked.iter().filter(in_the_way).cloned());
            for file in status.ignored.iter().filter(in_the_way) {
                files.push(file.clone());
                ignored.push(RepositoryPath::new(file)?);
            }
        }
        Ok((Loss { commits: 0, files }, ignored, restored))
    }
}

/// Whether a path, as it is shown, is one of these or below one.
fn is_under(shown: &str, paths: &[RepositoryPath]) -> bool {
    let file = text::parse_path(shown);
    paths.iter().any(|path| {
        let path = path.as_path().as_os_str().as_bytes();
        path == b"."
            || file
                .strip_prefix(path)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
    })
}

/// As [`is_under`], also for a directory that stands for all that is in it.
fn touches(shown: &str, paths: &[RepositoryPath]) -> bool {
    let directory = shown.ends_with('/').then(|| RepositoryPath::new(shown));
    is_under(shown, paths)
        || directory.is_some_and(|directory| {
            directory.is_ok_and(|directory| {
                let within = [directory];
                paths.iter().any(|path| is_under(&path.shown(), &within))
            })
        })
}

/// `Updated 2 paths from 1234567`; git says so for commits alone.
fn updated_paths(said: &str) -> Option<usize> {
    said.lines()
        .filter_map(|line| line.strip_prefix("Updated "))
        .filter_map(|rest| rest.split(' ').next()?.parse().ok())
        .next()
}
