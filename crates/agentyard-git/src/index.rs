//! The index, read without a lock and without being refreshed.

use std::io::Read as _;

use rustix::fs::AtFlags;

use crate::descriptor::{magic_path, open_child_file};
use crate::{Error, Repository};

/// Larger than the index of any repository that git itself can still handle, and small enough to hold in
/// memory.
const SIZE_LIMIT: u64 = 2 << 30;

/// The index as it was at one moment. A repository without one has an empty index.
///
/// The file is read rather than mapped: somebody who truncates a mapped file ends our process.
pub(crate) fn load(repository: &Repository, local: &gix::Repository) -> Result<gix::index::State, Error> {
    let git_dir = repository.confined_git_dir();
    let read_error = |source| Error::ReadFile {
        path: git_dir.shown() + "/index",
        source,
    };
    let Some(file) = open_child_file(git_dir.directory(), b"index").map_err(read_error)? else {
        return if rustix::fs::statat(git_dir.directory(), "index", AtFlags::SYMLINK_NOFOLLOW).is_err() {
            Ok(gix::index::State::new(local.object_hash()))
        } else {
            Err(malformed(repository, "is not a plain file"))
        };
    };
    let metadata = file.metadata().map_err(read_error)?;
    if metadata.len() > SIZE_LIMIT {
        return Err(malformed(repository, "is too large"));
    }
    let mut content = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or_default());
    file.take(SIZE_LIMIT)
        .read_to_end(&mut content)
        .map_err(read_error)?;

    let written_at = metadata.modified().map_err(read_error)?.into();
    let options = gix::index::decode::Options::default();
    let (state, _checksum) =
        gix::index::State::from_bytes(&content, written_at, local.object_hash(), options)
            .map_err(Error::read("the index"))?;
    if state.link().is_none() {
        return Ok(state);
    }
    // A split index: gix joins the two files only when it reads them itself.
    let path = magic_path(git_dir.directory()).join("index");
    gix::index::File::at(path, local.object_hash(), true, options)
        .map(gix::index::State::from)
        .map_err(Error::read("the split index"))
}

pub(crate) fn malformed(repository: &Repository, problem: &'static str) -> Error {
    Error::RepositoryMalformed {
        path: repository.confined_git_dir().shown(),
        part: "index".to_owned(),
        problem,
    }
}
