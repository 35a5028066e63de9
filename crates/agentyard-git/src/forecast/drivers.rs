//! How a file is to be merged, as the attribute `merge` says.

use std::collections::HashMap;

use gix::attrs::search::{MetadataCollection, Outcome};
use gix::attrs::{Search, StateRef};
use gix::bstr::{BStr, BString, ByteSlice as _};
use gix::glob::pattern::Case;

use crate::descriptor::as_path;
use crate::renames::is_regular;
use crate::status::{info_file, pattern_case};
use crate::{Error, Repository};

/// What is built into git. What the configuration defines is a program, and none is ever run here; git takes a name
/// that it does not know for text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Driver {
    Text,
    Binary,
    Union,
}

/// The drivers of one repository, for one thread.
pub(super) struct Drivers<'repo> {
    local: &'repo gix::Repository,
    /// The content of `info/attributes`, which overrules every `.gitattributes`.
    info: Option<Vec<u8>>,
    /// What `merge.default` says.
    default: Driver,
    case: Case,
    /// By the attribute files that hold.
    known: HashMap<Vec<AttributeFile>, Rules>,
}

/// A `.gitattributes`: its path and its content.
type AttributeFile = (BString, gix::ObjectId);

struct Rules {
    search: Search,
    names: MetadataCollection,
}

/// git ignores larger ones.
const MAX_ATTRIBUTES: u64 = 16 << 20;

/// How many combinations of attribute files are remembered.
const MAX_KNOWN: usize = 1000;

impl<'repo> Drivers<'repo> {
    pub(super) fn new(repository: &Repository, local: &'repo gix::Repository) -> Self {
        let default = local.config_snapshot().string("merge.default");
        Self {
            local,
            info: info_file(repository, "attributes"),
            default: default.map_or(Driver::Text, |name| Driver::named(name.as_bstr())),
            case: pattern_case(local),
            known: HashMap::new(),
        }
    }

    /// The driver for a file, by the attribute files of a tree.
    pub(super) fn of(&mut self, tree: gix::ObjectId, path: &BStr) -> Result<Driver, Error> {
        let files = self.attribute_files(tree, path)?;
        if files.is_empty() && self.info.is_none() {
            return Ok(self.default);
        }
        if self.known.len() >= MAX_KNOWN {
            self.known.clear();
        }
        let rules = match self.known.entry(files) {
            std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::hash_map::Entry::Vacant(new) => {
                let rules = Rules::read(self.local, new.key(), self.info.as_deref());
                new.insert(rules)
            }
        };
        let mut found = Outcome::default();
        found.initialize_with_selection(&rules.names, ["merge"]);
        rules
            .search
            .pattern_matching_relative_path(path, self.case, Some(false), &mut found);
        let state = found.iter_selected().next().map(|found| found.assignment.state);
        Ok(match state {
            Some(StateRef::Set) => Driver::Text,
            Some(StateRef::Unset) => Driver::Binary,
            Some(StateRef::Value(name)) => Driver::named(name.as_bstr()),
            Some(StateRef::Unspecified) | None => self.default,
        })
    }

    /// The attribute files from the top to the directory of the file.
    fn attribute_files(&self, tree: gix::ObjectId, path: &BStr) -> Result<Vec<AttributeFile>, Error> {
        let mut files = Vec::new();
        let mut tree = tree;
        let mut prefix = 0;
        loop {
            let failed = |source| Error::read(format!("tree {tree}"))(source);
            let object = self.local.find_tree(tree).map_err(failed)?;
            let rest = path[prefix..].as_bstr();
            let next = rest.find_byte(b'/');
            let mut below = None;
            for entry in object.iter() {
                let entry = entry.map_err(failed)?;
                let name = entry.filename();
                if name == ".gitattributes" && is_regular(entry.mode().kind()) {
                    let mut path = path[..prefix].to_owned();
                    path.extend_from_slice(name);
                    files.push((path, entry.object_id()));
                }
                if next.is_some_and(|slash| name == &rest[..slash]) && entry.mode().is_tree() {
                    below = Some(entry.object_id());
                }
            }
            // Where our side has no such directory, no rules are in it either.
            let (Some(slash), Some(below)) = (next, below) else {
                return Ok(files);
            };
            prefix += slash + 1;
            tree = below;
        }
    }
}

impl Rules {
    fn read(local: &gix::Repository, files: &[AttributeFile], info: Option<&[u8]>) -> Self {
        let mut rules = Self {
            search: Search::default(),
            names: MetadataCollection::default(),
        };
        rules.add(b"[attr]binary -diff -merge -text", b"[builtin]".as_bstr(), true);
        for (path, id) in files {
            let is_small = |header: &gix::odb::find::Header| header.size() <= MAX_ATTRIBUTES;
            let header = local.find_header(*id).ok().filter(is_small);
            if let Some(blob) = header.and_then(|_| local.find_blob(*id).ok()) {
                // Only the top directory may define macros.
                rules.add(&blob.data, path.as_bstr(), path == ".gitattributes");
            }
        }
        if let Some(info) = info {
            rules.add(info, b"attributes".as_bstr(), true);
        }
        rules
    }

    fn add(&mut self, content: &[u8], path: &BStr, with_macros: bool) {
        let path = as_path(path).to_owned();
        let root = as_path(b"");
        // The only failure is a path without a directory above it, which these are not.
        _ = self
            .search
            .add_patterns_buffer(content, path, Some(root), &mut self.names, with_macros);
    }
}

impl Driver {
    fn named(name: &BStr) -> Self {
        match name.as_bytes() {
            b"binary" => Self::Binary,
            b"union" => Self::Union,
            _ => Self::Text,
        }
    }
}
