//! Object databases that a repository borrows from.

use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, statat};
use rustix::io::Errno;

use super::contents::check_objects;
use super::locate::part_error;
use crate::descriptor::{open_child_directory, read_child_file};
use crate::{Confined, Error};

const FILE_LIMIT: usize = 256 * 1024;

/// git gives up at a depth of five; a repository that needs more is not one that git made.
const MAX_DATABASES: usize = 16;

/// Follows `objects/info/alternates` like gix does, and refuses what leaves the roots. Gives the number of
/// databases, the repository's own included.
pub(super) fn check(common_dir: &Confined) -> Result<usize, Error> {
    let own = open_objects(common_dir, &common_dir.path().join("objects"))?;
    let mut seen = vec![own.path().to_owned()];
    let mut queue = vec![own.clone()];
    while let Some(objects) = queue.pop() {
        for target in listed(&objects)? {
            // gix takes every relative path from the repository's own database, also those of an alternate.
            let alternate = match open_objects(common_dir, &own.path().join(target)) {
                // A database that is gone has nothing to read.
                Err(Error::RepositoryMalformed { .. }) => continue,
                other => other?,
            };
            if seen.iter().any(|path| path == alternate.path()) {
                continue;
            }
            super::owner::check(&alternate)?;
            check_objects(&alternate)?;
            seen.push(alternate.path().to_owned());
            if seen.len() > MAX_DATABASES {
                return Err(Error::RepositoryMalformed {
                    path: common_dir.shown(),
                    part: "objects/info/alternates".to_owned(),
                    problem: "names too many directories",
                });
            }
            queue.push(alternate);
        }
    }
    Ok(seen.len())
}

fn open_objects(common_dir: &Confined, path: &Path) -> Result<Confined, Error> {
    let part = if path == common_dir.path().join("objects") {
        "objects directory"
    } else {
        "objects/info/alternates file"
    };
    common_dir
        .roots()
        .open_directory(path)
        .map_err(|error| part_error(common_dir, part, error))
}

fn listed(objects: &Confined) -> Result<Vec<PathBuf>, Error> {
    let read_error = |source| Error::ReadFile {
        path: objects.shown(),
        source,
    };
    let info = match open_child_directory(objects.directory(), b"info") {
        Ok(info) => info,
        Err(Errno::NOENT) => return Ok(Vec::new()),
        Err(Errno::LOOP | Errno::NOTDIR) => return Err(linked(objects, "objects/info")),
        Err(errno) => return Err(read_error(errno.into())),
    };
    match statat(&info, "alternates", AtFlags::SYMLINK_NOFOLLOW)
        .map(|stat| FileType::from_raw_mode(stat.st_mode))
    {
        Ok(FileType::RegularFile) => {}
        Err(Errno::NOENT) => return Ok(Vec::new()),
        // gix would follow a link to a list that is not the one read here.
        Ok(_) => return Err(linked(objects, "objects/info/alternates")),
        Err(errno) => return Err(read_error(errno.into())),
    }
    let content = read_child_file(&info, b"alternates", FILE_LIMIT).map_err(read_error)?;
    gix::odb::alternate::parse(&content.unwrap_or_default()).map_err(Error::read("objects/info/alternates"))
}

fn linked(objects: &Confined, part: &str) -> Error {
    Error::RepositoryMalformed {
        path: objects.shown(),
        part: part.to_owned(),
        problem: "is not a plain file or directory",
    }
}
