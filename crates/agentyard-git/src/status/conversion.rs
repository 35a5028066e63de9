//! The content of a file as it would be committed: line endings, `$Id$` and encodings converted as attributes
//! ask.
//!
//! Filters are the exception. They are programs that the repository or its user names, and none is ever run
//! here.

use std::fs::File;

use gix::attrs::Search;
use gix::attrs::search::MetadataCollection;
use gix::bstr::{BStr, BString, ByteSlice as _};
use gix::filter::plumbing::Pipeline;
use gix::filter::plumbing::pipeline::CrlfRoundTripCheck;
use gix::filter::plumbing::pipeline::convert::ToGitOutcome;
use gix::glob::pattern::Case;

use super::directory::Directory;
use super::rules::info_file;
use crate::descriptor::as_path;
use crate::{Error, Repository};

/// Converts files, for one thread.
pub(super) struct Conversion<'a> {
    index: &'a gix::index::State,
    pipeline: Pipeline,
    /// Grows only: the pipeline remembers attributes by their number in it.
    names: MetadataCollection,
    /// The content of `info/attributes`, which overrules every `.gitattributes`.
    info: Option<Vec<u8>>,
    case: Case,
    /// The attributes that hold in the directory looked at last.
    current: Option<(BString, Search)>,
}

/// git itself ignores attribute files beyond 100 MB.
const FILE_LIMIT: usize = 16 << 20;

impl<'a> Conversion<'a> {
    pub(super) fn new(
        repository: &Repository,
        objects: &gix::Repository,
        index: &'a gix::index::State,
    ) -> Result<Self, Error> {
        let mut options =
            gix::filter::Pipeline::options(objects).map_err(Error::read("the filter configuration"))?;
        // None can be here: gix takes drivers from trusted sections only. Should that ever change, they still
        // do not run.
        options.drivers.clear();
        options.crlf_roundtrip_check = CrlfRoundTripCheck::Skip;
        options.encodings_with_roundtrip_check.clear();

        Ok(Self {
            index,
            pipeline: Pipeline::new(Default::default(), objects.object_hash(), options),
            names: MetadataCollection::default(),
            info: info_file(repository, "attributes"),
            case: super::entry::pattern_case(objects),
            current: None,
        })
    }

    /// Converts the content of a file whose index entry holds `expected`, in the directory entered last.
    pub(super) fn convert(
        &mut self,
        file: File,
        path: &BStr,
        expected: &gix::oid,
        objects: &gix::Repository,
    ) -> Result<ToGitOutcome<'_, File>, gix::Error> {
        let Self {
            pipeline,
            names,
            case,
            current,
            ..
        } = self;
        pipeline.convert_to_git(
            file,
            as_path(path),
            &mut |path, attributes| {
                attributes.initialize(names);
                if let Some((_, search)) = current {
                    search.pattern_matching_relative_path(path, *case, Some(false), attributes);
                }
            },
            // Line endings that are in the index already are left alone.
            &mut |buffer| {
                let Ok(blob) = objects.find_blob(expected) else {
                    return Ok(None);
                };
                buffer.clear();
                buffer.extend_from_slice(&blob.data);
                Ok(Some(()))
            },
        )
    }

    /// Reads the attributes that hold in a directory.
    pub(super) fn enter(&mut self, directory: &Directory, objects: &gix::Repository) -> Result<(), Error> {
        if self
            .current
            .as_ref()
            .is_some_and(|(prefix, _)| *prefix == directory.prefix)
        {
            return Ok(());
        }
        let mut search = Search::default();
        let mut add = |content: &[u8], path: &BStr, with_macros: bool| {
            let root = as_path(b"");
            // The only failure is a path without a directory above it, which these are not.
            _ = search.add_patterns_buffer(
                content,
                as_path(path).to_owned(),
                Some(root),
                &mut self.names,
                with_macros,
            );
        };
        add(b"[attr]binary -diff -merge -text", b"[builtin]".as_bstr(), true);
        for directory in directory.chain() {
            let path = directory.path_of(b".gitattributes");
            let content = directory.read(b".gitattributes", FILE_LIMIT)?.or_else(|| {
                let entry = self.index.entry_by_path(path.as_bstr())?;
                Some(objects.find_blob(entry.id).ok()?.take_data())
            });
            if let Some(content) = content {
                // Only the top directory may define macros.
                add(&content, path.as_bstr(), directory.prefix.is_empty());
            }
        }
        if let Some(info) = &self.info {
            add(info, b"attributes".as_bstr(), true);
        }
        self.current = Some((directory.prefix.clone(), search));
        Ok(())
    }
}
