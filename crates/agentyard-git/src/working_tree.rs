//! The files as they are, work that nobody committed included, as a tree in memory.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::AtomicBool;

use gix::bstr::{BStr, BString, ByteSlice as _};
use gix::objs::tree::EntryKind;
use gix::odb::memory::Storage;

use crate::checkpoints::Objects;
use crate::forecast::MAX_MERGED_FILE;
use crate::status::{IgnoreRules, WorkingFile, WorkingFiles, staged_files};
use crate::text::parse_path;
use crate::{Error, ObjectId, Repository, Status, StatusOptions};

/// What `git add --all` and `git write-tree` would make of a working tree. Its new objects are in memory; nothing
/// is written.
///
/// Ignored files are not in it, nor are repositories that nobody made a submodule. Files with a `filter` attribute
/// are taken as they are.
pub struct WorkingTree {
    /// What is checked out; none before the first commit.
    pub head: Option<ObjectId>,
    pub tree: ObjectId,
    /// What the object database does not have.
    pub(crate) objects: Storage,
}

/// A tree with more changes is not looked at.
const MAX_CHANGES: usize = 100_000;

/// How many files a directory without tracked files may have.
const MAX_UNTRACKED: usize = 50_000;

/// Of files too large to be merged, and of what is beyond this in all, only the name is worked out. Whoever needs the
/// content finds it missing, as in a partial clone.
const MAX_TOTAL: u64 = 64 << 20;

/// What the tree has at a path; none where it has nothing.
type Files = BTreeMap<BString, Option<(EntryKind, gix::ObjectId)>>;

impl Repository {
    /// The files as they are. Only those that differ from what is checked out are read.
    pub fn working_tree(&self, cancel: &AtomicBool) -> Result<WorkingTree, Error> {
        let options = StatusOptions {
            limit: MAX_CHANGES,
            ..StatusOptions::default()
        };
        self.status_and_index(&options, cancel, |status, index| {
            self.tree_of(&status, index, cancel)
        })
    }

    fn tree_of(
        &self,
        status: &Status,
        index: &gix::index::State,
        cancel: &AtomicBool,
    ) -> Result<WorkingTree, Error> {
        let Some(worktree) = self.confined_worktree() else {
            return Err(Error::Missing {
                what: "there is no working tree".to_owned(),
            });
        };
        if status.truncated {
            return Err(too_many());
        }
        let mut local = self.local().with_object_memory();
        let (head_tree, staged) = staged_files(self, &local, index, status.head.commit, cancel)?;
        let mut files: Files = staged.into_iter().collect();
        let rules = IgnoreRules::new(self, worktree, &local, index, cancel);
        let paths = differing(status, &rules)?;
        let mut working_files = WorkingFiles::new(self, worktree, &local, index, cancel)?;
        let mut objects = Objects::new(&local);
        let mut left = MAX_TOTAL;
        for path in paths {
            let file = match working_files.read(path.as_bstr(), MAX_MERGED_FILE.min(left))? {
                WorkingFile::Nothing => None,
                WorkingFile::Known(kind, id) => Some((kind, id)),
                WorkingFile::Content(kind, content) => {
                    left = left.saturating_sub(content.len() as u64);
                    Some((kind, objects.blob(&content)?))
                }
            };
            files.insert(path, file);
        }
        let files: Vec<_> = files.into_iter().collect();
        let tree = objects.edited(head_tree, &files)?;
        drop((working_files, rules));
        Ok(WorkingTree {
            head: status.head.commit,
            tree: tree.into(),
            objects: local.objects.take_object_memory().unwrap_or_default(),
        })
    }
}

/// The paths at which the working tree may differ from the index.
fn differing(status: &Status, rules: &IgnoreRules<'_>) -> Result<Vec<BString>, Error> {
    let unstaged = &status.unstaged;
    let tracked = [
        &unstaged.modified,
        &unstaged.type_changed,
        &unstaged.added,
        &unstaged.deleted,
    ];
    let tracked = tracked.into_iter().flatten();
    let conflicted = status.conflicted.iter().map(|conflicted| &conflicted.path);
    let mut paths: Vec<BString> = tracked.chain(conflicted).map(|shown| parse_path(shown)).collect();
    let add_below = |paths: &mut Vec<BString>, directory: &BStr| {
        let found = rules.files_below(directory, MAX_UNTRACKED)?;
        if found.truncated || paths.len() > MAX_CHANGES {
            return Err(too_many());
        }
        paths.extend(found.files);
        Ok(())
    };
    // Whatever took the place of a file, the status says no more than that it is gone.
    for gone in unstaged.deleted.iter().map(|shown| parse_path(shown)) {
        add_below(&mut paths, gone.as_bstr())?;
    }
    for shown in &status.untracked {
        let path = parse_path(shown);
        match path.strip_suffix(b"/") {
            Some(directory) => add_below(&mut paths, directory.as_bstr())?,
            None => paths.push(path),
        }
    }
    Ok(paths)
}

fn too_many() -> Error {
    Error::state(
        format!("more than {MAX_CHANGES} files differ from what is checked out"),
        "commit them, or put what is built into .gitignore",
    )
}

impl fmt::Debug for WorkingTree {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("WorkingTree")
            .field("head", &self.head)
            .field("tree", &self.tree)
            .finish_non_exhaustive()
    }
}
