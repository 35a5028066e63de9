//! Which files a merge would leave in conflict, told from what both sides changed.
//!
//! This follows git's own merge (`merge-ort`) step by step: files that one side added into directories which
//! the other renamed, then renamed files, then every path by itself, then files in the way of directories.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use gix::bstr::{BStr, BString, ByteSlice as _};
use gix::objs::tree::EntryKind;

use super::CollisionKind;
use super::contents::Content;
use super::directories::{Follows, parent};
use super::side::{Entry, Side};
use crate::Error;
use crate::renames::is_regular;

/// Files in conflict, by path.
pub(super) type Judgement = BTreeMap<BString, CollisionKind>;

/// Merges the content of a file: base, ours, theirs.
pub(super) trait MergeContents {
    fn merge(
        &mut self,
        path: &BStr,
        base: Option<gix::ObjectId>,
        sides: [gix::ObjectId; 2],
    ) -> Result<Content, Error>;
}

/// Judges a merge of two sides.
pub(super) fn judge(sides: [&Side; 2], contents: &mut impl MergeContents) -> Result<Judgement, Error> {
    let mut merge = Merge {
        sides,
        paths: BTreeMap::new(),
        moved: BTreeMap::new(),
    };
    merge.list();
    for side in 0..2 {
        merge.follow_directories(side);
    }
    for side in 0..2 {
        merge.follow_renames(side);
    }
    merge.settle(contents)
}

struct Merge<'a> {
    sides: [&'a Side; 2],
    paths: BTreeMap<BString, Versions>,
    /// Files that went along with a renamed directory: where they were added, and where they are now.
    moved: BTreeMap<&'a BString, BString>,
}

/// What a path leads to in the base and on both sides.
#[derive(Clone, Copy, Default)]
struct Versions {
    base: Option<Entry>,
    sides: [Option<Entry>; 2],
    /// It is in conflict, whatever its content is.
    known: Option<CollisionKind>,
}

impl<'a> Merge<'a> {
    fn list(&mut self) {
        for side in self.sides {
            for (path, changed) in &side.files {
                let base = changed.before;
                let versions = Versions {
                    base,
                    sides: self.sides.map(|side| side.entry(path, base)),
                    known: None,
                };
                self.paths.insert(path.clone(), versions);
            }
        }
    }

    /// Files that this side added to directories which the other one renamed. Whether they should follow is for
    /// a person to say.
    fn follow_directories(&mut self, side: usize) {
        let (ours, theirs) = (self.sides[side], self.sides[1 - side]);
        if theirs.moved_directories.is_empty() {
            return;
        }
        let added_to = ours.added().map(|path| parent(path.as_bstr())).collect();
        for path in ours.added() {
            let moved = &theirs.moved_directories;
            let Some(follows) = moved.follow(path.as_bstr(), &ours.moved_directories, &added_to) else {
                continue;
            };
            let place = match follows {
                // Where this side has another file already, nothing can follow.
                Follows::To(new) if self.at(&new).sides[side].is_none() => {
                    let added = self.paths.remove(path).and_then(|versions| versions.sides[side]);
                    self.at(&new).sides[side] = added;
                    self.moved.insert(path, new.clone());
                    new
                }
                Follows::To(_) | Follows::Unclear => path.clone(),
            };
            self.at(&place).known = Some(CollisionKind::DirectoryRenamed);
        }
    }

    fn follow_renames(&mut self, side: usize) {
        let (ours, theirs) = (self.sides[side], self.sides[1 - side]);
        for (from, to) in &ours.renamed {
            let to = self.place(to);
            match theirs.renamed.get(from) {
                // Each pair once.
                Some(_) if side == 1 => {}
                Some(other) => {
                    let other = self.place(other);
                    self.both_renamed(from, [to, other]);
                }
                None => self.one_renamed(side, from, &to),
            }
        }
    }

    /// Where a file is that was added here.
    fn place(&self, added: &BString) -> BString {
        self.moved.get(added).unwrap_or(added).clone()
    }

    fn both_renamed(&mut self, from: &BString, to: [BString; 2]) {
        if to[0] == to[1] {
            let base = self.paths.remove(from).and_then(|versions| versions.base);
            self.at(&to[0]).base = base;
            return;
        }
        for path in [from, &to[0], &to[1]] {
            self.at(path).known = Some(CollisionKind::Renamed);
        }
    }

    fn one_renamed(&mut self, side: usize, from: &BString, to: &BString) {
        let other = 1 - side;
        let old = *self.at(from);
        let Some(base) = old.base else { return };
        match old.sides[other] {
            None => {
                self.paths.remove(from);
                self.at(to).known = Some(CollisionKind::Renamed);
            }
            Some(theirs) if !theirs.is_like(base) => {
                let versions = self.at(from);
                versions.base = None;
                versions.sides[side] = None;
                let versions = self.at(to);
                // Where both sides have the same at the new path, git has settled that path before it gets here. Where
                // they have different files there, git takes one and loses the other: that is a conflict to us.
                if versions.sides[0] != versions.sides[1] {
                    versions.known = Some(CollisionKind::Mode);
                }
            }
            Some(theirs) => {
                self.paths.remove(from);
                let versions = self.at(to);
                if versions.sides[other].is_none() {
                    versions.base = Some(base);
                    versions.sides[other] = Some(theirs);
                } else if theirs != base && versions.sides[0] != versions.sides[1] {
                    // Their change belongs into the renamed file, which stands where they have another. If both
                    // are equal, git has settled that path before it gets here, and forgets the change.
                    versions.known = Some(CollisionKind::Renamed);
                }
            }
        }
    }

    fn at(&mut self, path: &BString) -> &mut Versions {
        self.paths.entry(path.clone()).or_default()
    }

    fn settle(self, contents: &mut impl MergeContents) -> Result<Judgement, Error> {
        let mut judgement = Judgement::new();
        // What is there in the end.
        let mut present: BTreeSet<&BStr> = BTreeSet::new();
        for (path, versions) in &self.paths {
            let (is_present, conflict) = versions.settle(path.as_bstr(), contents)?;
            if let Some(kind) = conflict {
                judgement.insert(path.clone(), kind);
            }
            if is_present {
                present.insert(path.as_bstr());
            }
        }
        for path in &present {
            let mut below = (*path).to_owned();
            below.push(b'/');
            let from = (Bound::Included(below.as_bstr()), Bound::Unbounded);
            let next = present.range::<BStr, _>(from).next();
            if next.is_some_and(|next| next.starts_with(&below)) {
                judgement.insert((*path).to_owned(), CollisionKind::DirectoryAndFile);
            }
        }
        Ok(judgement)
    }
}

impl Versions {
    /// Whether a file is there in the end, and why it is in conflict.
    fn settle(
        &self,
        path: &BStr,
        contents: &mut impl MergeContents,
    ) -> Result<(bool, Option<CollisionKind>), Error> {
        if self.known.is_some() {
            let is_present = self.sides.iter().any(Option::is_some);
            return Ok((is_present, self.known));
        }
        Ok(match self.sides {
            [None, None] => (false, None),
            [Some(ours), Some(theirs)] => (true, self.settle_both(path, [ours, theirs], contents)?),
            [Some(kept), None] | [None, Some(kept)] => match self.base {
                None => (true, None),
                Some(base) if base == kept => (false, None),
                Some(_) => (true, Some(CollisionKind::DeletedAndChanged)),
            },
        })
    }

    fn settle_both(
        &self,
        path: &BStr,
        sides: [Entry; 2],
        contents: &mut impl MergeContents,
    ) -> Result<Option<CollisionKind>, Error> {
        let [ours, theirs] = sides;
        if ours == theirs || sides.iter().any(|side| Some(*side) == self.base) {
            return Ok(None);
        }
        if !ours.is_like(theirs) {
            return Ok(Some(CollisionKind::Mode));
        }
        let base = self.base.filter(|base| base.is_like(ours));
        if let Some(kind) = self.settle_content(path, base, sides, contents)? {
            return Ok(Some(kind));
        }
        let kinds = sides.map(|side| side.kind);
        let base = self.base.map(|base| base.kind);
        let agree = kinds[0] == kinds[1] || kinds.iter().any(|kind| Some(*kind) == base);
        Ok((!agree).then_some(CollisionKind::Mode))
    }

    fn settle_content(
        &self,
        path: &BStr,
        base: Option<Entry>,
        [ours, theirs]: [Entry; 2],
        contents: &mut impl MergeContents,
    ) -> Result<Option<CollisionKind>, Error> {
        let ids = [ours.id, theirs.id];
        let base_id = base.map(|base| base.id);
        if ours.id == theirs.id || ids.iter().any(|id| Some(*id) == base_id) {
            return Ok(None);
        }
        if ours.kind == EntryKind::Commit {
            return Ok(Some(CollisionKind::Submodule));
        }
        let content = if is_regular(ours.kind) {
            contents.merge(path, base_id, ids)?
        } else {
            Content::Conflict
        };
        Ok(match content {
            Content::Merged => None,
            Content::Conflict if base.is_none() => Some(CollisionKind::BothAdded),
            Content::Conflict => Some(CollisionKind::Content),
            Content::Unmergeable => Some(CollisionKind::Binary),
        })
    }
}
