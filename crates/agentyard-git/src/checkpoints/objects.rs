//! Objects, written as loose files.

use gix::bstr::{BStr, BString, ByteSlice as _};
use gix::objs::tree::{Editor, Entry, EntryKind};
use gix::objs::{Kind, Tree, Write as _, WriteTo as _};
use jiff::Timestamp;

use crate::Error;

/// Writes objects, and remembers which were new.
pub(crate) struct Objects<'a> {
    local: &'a gix::Repository,
    pub(super) written: Vec<gix::ObjectId>,
}

impl<'a> Objects<'a> {
    pub(crate) fn new(local: &'a gix::Repository) -> Self {
        Self {
            local,
            written: Vec::new(),
        }
    }

    pub(crate) fn blob(&mut self, content: &[u8]) -> Result<gix::ObjectId, Error> {
        self.write(Kind::Blob, content)
    }

    pub(super) fn commit(&mut self, commit: &gix::objs::Commit) -> Result<gix::ObjectId, Error> {
        let mut buffer = Vec::new();
        commit
            .write_to(&mut buffer)
            .map_err(|source| unwritten(Kind::Commit, source.to_string()))?;
        self.write(Kind::Commit, &buffer)
    }

    /// A tree of these entries, which come in order.
    pub(super) fn tree(&mut self, entries: Vec<Entry>) -> Result<gix::ObjectId, Error> {
        self.write_tree(&Tree { entries })
    }

    /// The tree `base`, with some of its files replaced, and some gone. Only directories that differ are written.
    pub(crate) fn edited(
        &mut self,
        base: Option<gix::ObjectId>,
        files: &[(BString, Option<(EntryKind, gix::ObjectId)>)],
    ) -> Result<gix::ObjectId, Error> {
        let hash = self.local.object_hash();
        let empty = gix::ObjectId::empty_tree(hash);
        let base = base.unwrap_or(empty);
        if files.is_empty() && base != empty {
            return Ok(base);
        }
        let root = if base == empty {
            Tree::default()
        } else {
            let tree = self
                .local
                .find_tree(base)
                .map_err(Error::read(format!("tree {base}")))?;
            let decoded = tree.decode().map_err(Error::read(format!("tree {base}")))?;
            decoded.into()
        };
        let local = self.local;
        let mut editor = Editor::new(root, &local.objects, hash);
        let failed = |_| unwritten(Kind::Tree, "a part of it could not be read".to_owned());
        // What goes makes room for what comes: a file may take a directory's place.
        for (path, _) in files.iter().filter(|(_, file)| file.is_none()) {
            editor.remove_if_leaf(names(path)).map_err(failed)?;
        }
        for (path, file) in files {
            if let Some((kind, id)) = file {
                editor.upsert(names(path), *kind, *id).map_err(failed)?;
            }
        }
        editor.write(|tree| self.write_tree(tree))
    }

    fn write_tree(&mut self, tree: &Tree) -> Result<gix::ObjectId, Error> {
        let mut buffer = Vec::new();
        tree.write_to(&mut buffer)
            .map_err(|source| unwritten(Kind::Tree, source.to_string()))?;
        self.write(Kind::Tree, &buffer)
    }

    fn write(&mut self, kind: Kind, content: &[u8]) -> Result<gix::ObjectId, Error> {
        let objects = &self.local.objects;
        let id = gix::objs::compute_hash(self.local.object_hash(), kind, content)
            .map_err(|source| unwritten(kind, source.to_string()))?;
        if !objects.exists_without_refresh(&id) {
            objects
                .write_buf_with_known_id(kind, content, id)
                .map_err(|source| unwritten(kind, source.to_string()))?;
            self.written.push(id);
        }
        Ok(id)
    }
}

/// Who makes commits and references, whoever works: they are the machine's own notes.
pub(super) fn maker() -> gix::actor::Signature {
    gix::actor::Signature {
        name: "Agentyard".into(),
        email: "agentyard@localhost".into(),
        time: gix::date::Time::new(Timestamp::now().as_second(), 0),
    }
}

/// The id that a file's content has as a blob.
pub(super) fn blob_id(local: &gix::Repository, content: &[u8]) -> Option<gix::ObjectId> {
    gix::objs::compute_hash(local.object_hash(), Kind::Blob, content).ok()
}

fn names(path: &BString) -> impl Iterator<Item = &BStr> {
    path.split_str(b"/").map(BStr::new)
}

fn unwritten(kind: Kind, reason: String) -> Error {
    Error::state(
        format!("a {kind} of the checkpoint could not be written: {reason}"),
        "see whether the disk is full, and whether the repository may be written to",
    )
}
