//! What is about to be thrown away is kept first, under `refs/agentyard/kept/`.

use std::fs::File;
use std::path::PathBuf;

use crate::descriptor::{open_child_file, read_child_file};
use crate::{Error, ObjectId, RepositoryPath, Work};

/// Where something that was thrown away is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// The reference that holds it.
    pub reference: String,
    /// The commit, or other object, that it points to.
    pub id: ObjectId,
}

/// Unsaved work, as commits that no reference holds yet.
pub(super) struct Changes {
    /// Its tree is the working tree.
    pub(super) commit: ObjectId,
    /// Its tree is the index.
    pub(super) index: ObjectId,
}

/// Who makes the commits that hold unsaved work, whoever works: they are the machine's own notes.
const KEEPER: (&str, &str) = ("Agentyard", "agentyard@localhost");

/// No index is larger.
pub(super) const INDEX_LIMIT: usize = 1 << 30;

impl Work<'_> {
    /// Keeps an object that is about to lose its last name. `label` says why, in one word.
    pub(crate) fn keep(&self, label: &'static str, id: &ObjectId) -> Result<Kept, Error> {
        let now = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%S");
        let id_text = id.to_string();
        let reference = format!(
            "refs/agentyard/kept/{now}-{label}-{}",
            &id_text[..12.min(id_text.len())]
        );
        self.invoke("update-ref")
            .word("--create-reflog")
            .value("-m", "kept by agentyard")
            .end_of_options()
            .operand(&reference)
            .object(id)
            .run()?;
        Ok(Kept { reference, id: *id })
    }

    /// Keeps everything that is in the working tree and not in HEAD, untracked files included: a commit whose
    /// tree is the working tree, whose first parent is HEAD, and whose second holds the index. With `ignored`,
    /// these paths are kept even where they are ignored.
    ///
    /// `None` when there is nothing to keep.
    pub(crate) fn keep_changes(
        &self,
        label: &'static str,
        ignored: &[RepositoryPath],
    ) -> Result<Option<Kept>, Error> {
        match self.changes(label, ignored)? {
            Some(changes) => self.keep(label, &changes.commit).map(Some),
            None => Ok(None),
        }
    }

    /// Everything that is in the working tree and not in HEAD, as [`Work::keep_changes`] keeps it.
    pub(super) fn changes(
        &self,
        label: &'static str,
        ignored: &[RepositoryPath],
    ) -> Result<Option<Changes>, Error> {
        let head = self.head()?;
        let scratch = Scratch::copy_of_index(self)?;
        let staged = self.tree_of(&scratch)?;
        // Changes of tracked files must be kept, or nothing goes on. Of the others, what cannot be read is left
        // alone by whatever comes next.
        self.invoke("add")
            .word("--update")
            .variable("GIT_INDEX_FILE", &scratch.path)
            .run()?;
        self.invoke("add")
            .words(&["--all", "--ignore-errors"])
            .variable("GIT_INDEX_FILE", &scratch.path)
            .run_whatever_it_answers()?;
        if !ignored.is_empty() {
            self.invoke("add")
                .words(&["--force", "--ignore-errors"])
                .paths_on_input(ignored)
                .variable("GIT_INDEX_FILE", &scratch.path)
                .run_whatever_it_answers()?;
        }
        let found = self.tree_of(&scratch)?;
        let head_tree = head.as_ref().map(|head| self.tree_of_commit(head)).transpose()?;
        if head_tree.as_ref() == Some(&found) && head_tree.as_ref() == Some(&staged) {
            return Ok(None);
        }
        let index = self.note("index", &staged, head.iter())?;
        let parents: Vec<&ObjectId> = head.iter().chain([&index]).collect();
        let commit = self.note(label, &found, parents)?;
        Ok(Some(Changes { commit, index }))
    }

    /// Keeps these files byte for byte, ignored or not: a commit that has nothing else. When one of them cannot
    /// be kept, that is an error.
    pub(crate) fn keep_files(&self, label: &'static str, paths: &[RepositoryPath]) -> Result<Kept, Error> {
        let scratch = Scratch::empty(self);
        let no_attributes = gix::ObjectId::empty_tree(self.repository().local().object_hash());
        self.invoke("add")
            .words(&["--force", "--sparse"])
            .paths_on_input(paths)
            .setting("core.autocrlf", "false")
            .variable("GIT_ATTR_SOURCE", no_attributes.to_string())
            .variable("GIT_INDEX_FILE", &scratch.path)
            .run()?;
        let tree = self.tree_of(&scratch)?;
        let commit = self.note(label, &tree, [])?;
        self.keep(label, &commit)
    }

    /// The commit that is checked out, before the first one none.
    pub(crate) fn head(&self) -> Result<Option<ObjectId>, Error> {
        let local = self.repository().local();
        let id = local.head_id().ok().map(|id| ObjectId::from(id.detach()));
        Ok(id)
    }

    pub(crate) fn tree_of_commit(&self, commit: &ObjectId) -> Result<ObjectId, Error> {
        let finished = self
            .invoke("rev-parse")
            .words(&["--verify", "--quiet"])
            .end_of_options()
            .operand(format!("{commit}^{{tree}}"))
            .run()?;
        object_in(&finished.output)
    }

    fn tree_of(&self, scratch: &Scratch) -> Result<ObjectId, Error> {
        let finished = self
            .invoke("write-tree")
            .variable("GIT_INDEX_FILE", &scratch.path)
            .run();
        match finished {
            Ok(finished) => object_in(&finished.output),
            // An index with conflicts has no tree; the working tree still has, and that is taken next.
            Err(Error::GitFailed { .. }) => {
                let finished = self
                    .invoke("hash-object")
                    .words(&["-t", "tree", "-w", "--stdin"])
                    .run()?;
                object_in(&finished.output)
            }
            Err(error) => Err(error),
        }
    }

    /// A commit of the machine's own, which nobody need ever see.
    pub(crate) fn note<'b>(
        &self,
        message: &str,
        tree: &ObjectId,
        parents: impl IntoIterator<Item = &'b ObjectId>,
    ) -> Result<ObjectId, Error> {
        let mut invocation = self
            .invoke("commit-tree")
            .value("-m", format!("agentyard: {message}"))
            .variable("GIT_AUTHOR_NAME", KEEPER.0)
            .variable("GIT_AUTHOR_EMAIL", KEEPER.1)
            .variable("GIT_COMMITTER_NAME", KEEPER.0)
            .variable("GIT_COMMITTER_EMAIL", KEEPER.1);
        for parent in parents {
            invocation = invocation.word("-p").object(parent);
        }
        let finished = invocation.object(tree).run()?;
        object_in(&finished.output)
    }
}

/// An index of its own, which goes away when dropped.
struct Scratch {
    path: PathBuf,
}

impl Scratch {
    fn empty(work: &Work<'_>) -> Self {
        Self {
            path: work.repository().git_dir().join(scratch_name()),
        }
    }

    fn copy_of_index(work: &Work<'_>) -> Result<Self, Error> {
        let git_dir = work.repository().confined_git_dir();
        let unreadable = |source| Error::ReadFile {
            path: git_dir.shown(),
            source,
        };
        let path = git_dir.path().join(scratch_name());
        // Taken first: an index that is replaced in between seems older than it is, which is only slower.
        let written = open_child_file(git_dir.directory(), b"index")
            .and_then(|file| file.map(|file| file.metadata()?.modified()).transpose())
            .map_err(unreadable)?;
        let index = read_child_file(git_dir.directory(), b"index", INDEX_LIMIT).map_err(unreadable)?;
        if let (Some(index), Some(written)) = (index, written) {
            std::fs::write(&path, index).map_err(unreadable)?;
            // git hashes files again that are as young as the index, in seconds. From a younger copy it would take
            // what was changed in that second for unchanged.
            let copy = File::options().write(true).open(&path);
            copy.and_then(|copy| copy.set_modified(written))
                .map_err(unreadable)?;
        }
        Ok(Self { path })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
        let mut lock = self.path.clone().into_os_string();
        lock.push(".lock");
        let _ = std::fs::remove_file(lock);
    }
}

/// A name for an index of our own, which nobody else has.
pub(super) fn scratch_name() -> String {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("agentyard-index-{}-{number:x}", std::process::id())
}

/// The object id that git printed.
pub(crate) fn object_in(output: &[u8]) -> Result<ObjectId, Error> {
    let text = String::from_utf8_lossy(output);
    text.trim().parse().map_err(|_| Error::Missing {
        what: "git printed no object id where it should have".to_owned(),
    })
}
