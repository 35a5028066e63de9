//! Whether a file still has the content that the index knows.

use std::ffi::CStr;
use std::fs::File;
use std::sync::atomic::AtomicBool;
use std::{io, mem};

use gix::bstr::BStr;
use gix::filter::plumbing::pipeline::convert::ToGitOutcome;
use gix::objs::Kind;

use super::conversion::Conversion;
use super::directory::Directory;
use crate::descriptor::open_child_file;
use crate::{Error, Repository, display_path};

/// Compares content, for one thread.
pub(super) struct Contents<'a> {
    repository: &'a Repository,
    objects: gix::Repository,
    index: &'a gix::index::State,
    cancel: &'a AtomicBool,
    /// Made when first needed; in most working trees, most of the time, no file needs to be read.
    conversion: Option<Conversion<'a>>,
    has_read: bool,
}

/// Beyond this size files are taken as they are, as git does: converting one takes it into memory.
const CONVERSION_LIMIT: u64 = 512 << 20;

impl<'a> Contents<'a> {
    pub(super) fn new(
        repository: &'a Repository,
        index: &'a gix::index::State,
        cancel: &'a AtomicBool,
    ) -> Self {
        Self {
            repository,
            objects: repository.local(),
            index,
            cancel,
            conversion: None,
            has_read: false,
        }
    }

    /// Whether anything was compared since the last time this was asked.
    pub(super) fn has_read_since(&mut self) -> bool {
        mem::take(&mut self.has_read)
    }

    /// A handle to the object database, for this thread.
    pub(super) fn objects(&self) -> &gix::Repository {
        &self.objects
    }

    /// Whether the regular file differs from `expected`. A file that is gone, closed to us, or turned into
    /// something else, does.
    pub(super) fn file_differs(
        &mut self,
        directory: &Directory,
        name: &CStr,
        path: &BStr,
        expected: &gix::oid,
    ) -> Result<bool, Error> {
        self.has_read = true;
        let read_error = |source| Error::ReadFile {
            path: display_path(path),
            source,
        };
        let file = match open_child_file(directory.descriptor(), name.to_bytes()) {
            Ok(Some(file)) => file,
            Ok(None) => return Ok(true),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(true),
            Err(error) => return Err(read_error(error)),
        };
        let size = file.metadata().map_err(read_error)?.len();
        let hash_kind = self.objects.object_hash();
        let actual = if size > CONVERSION_LIMIT {
            hash(hash_kind, file, size, self.cancel)
        } else {
            let conversion = match &mut self.conversion {
                Some(conversion) => conversion,
                none => none.insert(Conversion::new(self.repository, &self.objects, self.index)?),
            };
            conversion.enter(directory, &self.objects)?;
            match conversion.convert(file, path, expected, &self.objects) {
                Ok(ToGitOutcome::Buffer(content)) => gix::objs::compute_hash(hash_kind, Kind::Blob, content),
                Ok(ToGitOutcome::Unchanged(file)) => hash(hash_kind, file, size, self.cancel),
                // No filter was started, for there is none; and what cannot be converted was not committed
                // like this.
                Ok(ToGitOutcome::Process(_)) | Err(_) => return Ok(true),
            }
        };
        super::check_cancelled(self.cancel)?;
        // A file that shrank while it was read cannot be hashed; it has changed.
        Ok(actual.map_or(true, |actual| actual != expected))
    }

    /// Whether the link's target differs from `expected`.
    pub(super) fn link_differs(&mut self, directory: &Directory, name: &CStr, expected: &gix::oid) -> bool {
        self.has_read = true;
        let target = rustix::fs::readlinkat(directory.descriptor(), name, Vec::new());
        let actual = target.ok().and_then(|target| {
            gix::objs::compute_hash(self.objects.object_hash(), Kind::Blob, target.as_bytes()).ok()
        });
        actual.is_none_or(|actual| actual != expected)
    }
}

pub(super) fn hash(
    kind: gix::hash::Kind,
    mut file: File,
    size: u64,
    cancel: &AtomicBool,
) -> Result<gix::ObjectId, gix::Error> {
    gix::objs::compute_stream_hash(
        kind,
        Kind::Blob,
        &mut file,
        size,
        &mut gix::progress::Discard,
        cancel,
    )
}
