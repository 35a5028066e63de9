//! A state that was written down, read back.

use gix::bstr::{BString, ByteSlice as _};
use gix::objs::tree::{Entry, EntryKind};
use jiff::Timestamp;

use super::git_files::{self, GitFiles};
use super::objects::Objects;
use super::state::State;
use super::{Checkpoint, CheckpointName, CheckpointSeries, references};
use crate::raw_commit::RawCommit;
use crate::tree_diff::TreeDiff;
use crate::{Error, ObjectId, text};

/// A state by its parts, which are trees unless said otherwise.
#[derive(Clone, Debug)]
pub(super) struct Recorded {
    /// All of it.
    pub(super) tree: gix::ObjectId,
    pub(super) index: gix::ObjectId,
    pub(super) changed: Option<gix::ObjectId>,
    pub(super) stages: Option<gix::ObjectId>,
    pub(super) git: Option<gix::ObjectId>,
    pub(super) auto_merge: Option<gix::ObjectId>,
    pub(super) state: State,
}

/// The most that is read of a `state`.
const STATE_LIMIT: u64 = 64 << 20;

impl Recorded {
    /// Writes the tree that holds all parts.
    pub(super) fn write(mut self, objects: &mut Objects<'_>) -> Result<Self, Error> {
        let state = objects.blob(&self.state.to_json()?)?;
        let parts = [
            ("auto-merge", self.auto_merge, EntryKind::Tree),
            ("changed", self.changed, EntryKind::Tree),
            ("git", self.git, EntryKind::Tree),
            ("index", Some(self.index), EntryKind::Tree),
            ("stages", self.stages, EntryKind::Tree),
            ("state", Some(state), EntryKind::Blob),
        ];
        let entries = parts.into_iter().filter_map(|(name, id, kind)| {
            Some(Entry {
                mode: kind.into(),
                filename: name.into(),
                oid: id?,
            })
        });
        self.tree = objects.tree(entries.collect())?;
        Ok(self)
    }

    /// Reads the state of a checkpoint, which anybody may have written.
    pub(super) fn read(local: &gix::Repository, commit: gix::ObjectId) -> Result<Self, Error> {
        let tree = tree_of(local, commit)?;
        let object = local
            .find_tree(tree)
            .map_err(Error::read(format!("tree {tree}")))?;
        let part = |name: &str, kind: EntryKind| {
            let mut entries = object.iter().flatten();
            let entry = entries.find(|entry| entry.filename() == name)?;
            (entry.mode().kind() == kind).then(|| entry.oid().to_owned())
        };
        let (Some(index), Some(state)) = (part("index", EntryKind::Tree), part("state", EntryKind::Blob))
        else {
            return Err(no_checkpoint(commit, "it is another commit"));
        };
        Ok(Self {
            tree,
            index,
            changed: part("changed", EntryKind::Tree),
            stages: part("stages", EntryKind::Tree),
            git: part("git", EntryKind::Tree),
            auto_merge: part("auto-merge", EntryKind::Tree),
            state: read_state(local, state).map_err(|reason| no_checkpoint(commit, &reason))?,
        })
    }

    /// The files of the operation in progress.
    pub(super) fn git_files(&self, local: &gix::Repository) -> Result<GitFiles, Error> {
        let never = std::sync::atomic::AtomicBool::new(false);
        let listed = TreeDiff::new(local, None, self.git, &[], &never)?;
        let mut files = GitFiles::new();
        for file in listed.changes.into_iter().filter_map(|change| change.after) {
            if git_files::is_one(file.path.as_bstr()) && super::files::is_safe(file.path.as_bstr()) {
                files.insert(file.path, read_blob(local, file.id)?);
            }
        }
        Ok(files)
    }

    /// The sides of unresolved conflicts: the stage, the path, and what the index has there.
    pub(super) fn conflict_sides(
        &self,
        local: &gix::Repository,
    ) -> Result<Vec<(u8, BString, EntryKind, gix::ObjectId)>, Error> {
        let never = std::sync::atomic::AtomicBool::new(false);
        let listed = TreeDiff::new(local, None, self.stages, &[], &never)?;
        let sides = listed.changes.into_iter().filter_map(|change| {
            let file = change.after?;
            let (stage, path) = file.path.split_once_str(b"/")?;
            let stage = match stage {
                b"1" => 1,
                b"2" => 2,
                b"3" => 3,
                _ => return None,
            };
            Some((stage, BString::from(path), file.kind, file.id))
        });
        Ok(sides.collect())
    }
}

/// Finds a checkpoint.
pub(super) fn find(
    local: &gix::Repository,
    series: &CheckpointSeries,
    name: &CheckpointName,
) -> Result<(Checkpoint, Recorded), Error> {
    let missing = || Error::Missing {
        what: format!("there is no checkpoint {name} of {series}; it may have been pruned"),
    };
    let id = match name {
        CheckpointName::Number(number) => references::find(local, &series.reference(*number))?,
        CheckpointName::Reference(reference) => references::find(local, reference)?,
        CheckpointName::Id(id) => Some(gix::ObjectId::from(*id)).filter(|id| local.has_object(id)),
    };
    let id = id.ok_or_else(missing)?;
    let numbered = match name {
        CheckpointName::Number(number) => Some((series, *number)),
        CheckpointName::Reference(_) | CheckpointName::Id(_) => None,
    };
    let recorded = Recorded::read(local, id)?;
    let mut checkpoint = checkpoint_of(local, id, numbered, &recorded.state)?;
    if let CheckpointName::Reference(reference) = name {
        checkpoint.number = reference
            .strip_prefix(&series.prefix())
            .and_then(|number| number.parse().ok());
        checkpoint.reference = Some(reference.clone());
    }
    Ok((checkpoint, recorded))
}

/// The checkpoint that a commit is.
pub(super) fn checkpoint(
    local: &gix::Repository,
    commit: gix::ObjectId,
    numbered: Option<(&CheckpointSeries, u64)>,
) -> Result<Checkpoint, Error> {
    let recorded = Recorded::read(local, commit)?;
    checkpoint_of(local, commit, numbered, &recorded.state)
}

/// The tree of a commit.
pub(super) fn tree_of(local: &gix::Repository, commit: gix::ObjectId) -> Result<gix::ObjectId, Error> {
    let object = local
        .find_object(commit)
        .map_err(Error::read(format!("commit {commit}")))?;
    let id = ObjectId::from(commit);
    let is_commit = object.kind == gix::objs::Kind::Commit;
    let parsed = RawCommit::parse(&object.data).filter(|_| is_commit);
    Ok(parsed.ok_or(Error::NotACommit { id })?.tree)
}

/// The content of a file.
pub(super) fn read_blob(local: &gix::Repository, id: gix::ObjectId) -> Result<Vec<u8>, Error> {
    let blob = local.find_blob(id).map_err(Error::read(format!("blob {id}")))?;
    Ok(blob.detach().data)
}

fn checkpoint_of(
    local: &gix::Repository,
    commit: gix::ObjectId,
    numbered: Option<(&CheckpointSeries, u64)>,
    state: &State,
) -> Result<Checkpoint, Error> {
    let id = ObjectId::from(commit);
    let object = local
        .find_object(commit)
        .map_err(Error::read(format!("commit {id}")))?;
    let parsed = RawCommit::parse(&object.data).ok_or(Error::NotACommit { id })?;
    let noted = |key: &str| {
        let lines = parsed.message.lines();
        let value = lines.filter_map(|line| line.strip_prefix(key.as_bytes())).next();
        text::one_line(&value.unwrap_or_default().to_str_lossy())
    };
    Ok(Checkpoint {
        number: numbered.map(|(_, number)| number),
        id,
        reference: numbered.map(|(series, number)| series.reference(number)),
        at: Timestamp::from_second(parsed.time()).unwrap_or_default(),
        operation: noted("Operation: "),
        by: noted("By: "),
        head: state.head(),
        left_out: state.left_out(),
    })
}

fn read_state(local: &gix::Repository, id: gix::ObjectId) -> Result<State, String> {
    let header = local.find_header(id).map_err(|error| error.to_string())?;
    if header.size() > STATE_LIMIT {
        return Err("its state is too large".to_owned());
    }
    let blob = local.find_blob(id).map_err(|error| error.to_string())?;
    State::from_json(&blob.data)
}

fn no_checkpoint(commit: gix::ObjectId, reason: &str) -> Error {
    Error::invalid(
        format!("the commit {commit}"),
        format!("it is no checkpoint: {reason}"),
    )
}
