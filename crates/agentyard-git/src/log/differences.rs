//! What commits changed, for those parts of a log that depend on it.

use std::sync::atomic::AtomicBool;

use gix::bstr::BString;

use super::follow::Follow;
use super::path_filter::PathFilter;
use super::pickaxe::Pickaxe;
use super::{LogQuery, stat};
use crate::history::{History, Node};
use crate::tree_diff::TreeDiff;
use crate::{CommitStat, Error};

/// Compares commits with their parents, if anything in the query asks for it.
pub(super) struct Differences<'a> {
    local: &'a gix::Repository,
    cancel: &'a AtomicBool,
    first_parent: bool,
    wants_stat: bool,
    pickaxe: Option<Pickaxe<'a>>,
    follow: Option<Follow<'a>>,
    /// The parts of the path that the log is about.
    under: Vec<BString>,
    /// What the file that is followed became in the commit asked about last.
    followed: Option<(Node, TreeDiff)>,
}

/// What a commit is compared with.
enum Base {
    Tree(Option<gix::ObjectId>),
    /// A merge has several parents, and none of them alone tells what it changed.
    None,
}

impl<'a> Differences<'a> {
    pub(super) fn new(
        local: &'a gix::Repository,
        query: &LogQuery,
        path: Option<&PathFilter<'a>>,
        cancel: &'a AtomicBool,
    ) -> Result<Self, Error> {
        let follow = match (path, query.follow) {
            (Some(path), true) => Some(Follow::new(local, path.clone())),
            (None, true) => {
                return Err(Error::InvalidPath {
                    path: query.path.clone().unwrap_or_default(),
                    reason: "to follow renames takes the path of a file",
                });
            }
            (_, false) => None,
        };
        let pickaxe = query.pickaxe.as_deref().filter(|text| !text.is_empty());
        Ok(Self {
            local,
            cancel,
            first_parent: query.first_parent,
            wants_stat: query.stat,
            pickaxe: pickaxe.map(|text| Pickaxe::new(local, text)),
            follow,
            under: path.map_or(Vec::new(), |path| path.components().to_vec()),
            followed: None,
        })
    }

    /// Whether a commit is to be shown, judging by what it changed. Commits are asked about in the order of the log.
    pub(super) fn matches(&mut self, history: &mut History<'_>, node: Node) -> Result<bool, Error> {
        if self.pickaxe.is_none() && self.follow.is_none() {
            return Ok(true);
        }
        let Base::Tree(before) = self.base(history, node)? else {
            return Ok(false);
        };
        let after = history.commit(node).tree;
        let differences = match &mut self.follow {
            Some(follow) => {
                let differences = follow.change(before, after, self.cancel)?;
                if differences.changes.is_empty() {
                    return Ok(false);
                }
                if self.wants_stat {
                    self.followed = Some((node, differences.clone()));
                }
                differences
            }
            None => TreeDiff::new(self.local, before, Some(after), &self.under, self.cancel)?,
        };
        match &mut self.pickaxe {
            Some(pickaxe) => pickaxe.matches(differences, self.cancel),
            None => Ok(true),
        }
    }

    /// How much a commit changed, if that was asked for.
    pub(super) fn stat(
        &mut self,
        history: &mut History<'_>,
        node: Node,
    ) -> Result<Option<CommitStat>, Error> {
        if !self.wants_stat {
            return Ok(None);
        }
        let differences = match self.followed.take() {
            Some((followed, differences)) if followed == node => differences,
            _ => {
                let Base::Tree(before) = self.base(history, node)? else {
                    return Ok(None);
                };
                let after = history.commit(node).tree;
                TreeDiff::new(self.local, before, Some(after), &self.under, self.cancel)?
                    .find_renames(self.local, self.cancel)?
            }
        };
        stat::count(self.local, &differences, self.cancel).map(Some)
    }

    /// What git compares a commit with.
    fn base(&self, history: &mut History<'_>, node: Node) -> Result<Base, Error> {
        let parents = &history.commit(node).parents;
        let parent = match parents[..] {
            [] => return Ok(Base::Tree(None)),
            [parent] => parent,
            [first, ..] if self.first_parent => first,
            _ => return Ok(Base::None),
        };
        let id = history.commit(parent).id;
        let parent = history.load(id)?;
        Ok(Base::Tree(Some(history.commit(parent).tree)))
    }
}
