//! The small files by which git remembers an operation in progress.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;

use gix::bstr::{BStr, BString, ByteSlice as _};
use rustix::fs::{Dir, FileType};
use rustix::io::Errno;

use super::files::{Content, Files, Found};
use crate::descriptor::open_child_directory;
use crate::{Confined, Error};

/// Files of the git directory. What a search by bisection remembers is not among them: that is in references, too.
const FILES: [&str; 11] = [
    "AUTO_MERGE",
    "CHERRY_PICK_HEAD",
    "MERGE_AUTOSTASH",
    "MERGE_HEAD",
    "MERGE_MODE",
    "MERGE_MSG",
    "MERGE_RR",
    "ORIG_HEAD",
    "REBASE_HEAD",
    "REVERT_HEAD",
    "SQUASH_MSG",
];

/// Directories of the git directory.
const DIRECTORIES: [&str; 3] = ["rebase-apply", "rebase-merge", "sequencer"];

/// Files in which there are ids of commits that the operation rests upon.
const WITH_COMMITS: [&str; 15] = [
    "CHERRY_PICK_HEAD",
    "MERGE_AUTOSTASH",
    "MERGE_HEAD",
    "ORIG_HEAD",
    "REBASE_HEAD",
    "REVERT_HEAD",
    "rebase-apply/autostash",
    "rebase-apply/onto",
    "rebase-apply/orig-head",
    "rebase-merge/amend",
    "rebase-merge/autostash",
    "rebase-merge/onto",
    "rebase-merge/orig-head",
    "rebase-merge/stopped-sha",
    "sequencer/head",
];

/// The most that is held of one file, and of all of them, and how many there may be.
const FILE_LIMIT: u64 = 16 << 20;
const TOTAL_LIMIT: usize = 64 << 20;
const MAX_FILES: usize = 20_000;
const MAX_DEPTH: usize = 8;

/// The files that there are, by their paths in the git directory.
pub(super) type GitFiles = BTreeMap<BString, Vec<u8>>;

/// Reads them.
pub(super) fn read(git_dir: &Confined) -> Result<GitFiles, Error> {
    let mut files = Files::new(git_dir);
    let mut paths: Vec<BString> = FILES.iter().map(|name| BString::from(*name)).collect();
    for name in DIRECTORIES {
        if let Ok(directory) = open_child_directory(git_dir.directory(), name.as_bytes()) {
            list(&directory, &BString::from(name), 0, &mut paths).map_err(|errno| Error::ReadFile {
                path: name.to_owned(),
                source: errno.into(),
            })?;
        }
    }
    let mut found = GitFiles::new();
    let mut total = 0;
    for path in paths {
        if let Found::File { content, .. } = files.read(path.as_bstr(), FILE_LIMIT)? {
            total += content.len();
            if total > TOTAL_LIMIT || found.len() >= MAX_FILES {
                return Err(Error::state(
                    "the operation in progress is too large for a checkpoint",
                    "continue or abort it; git_status says what it is",
                ));
            }
            found.insert(path, content);
        }
    }
    Ok(found)
}

/// Whether a path is one of such a file.
pub(super) fn is_one(path: &BStr) -> bool {
    let first = path.split_str(b"/").next().unwrap_or_default();
    FILES.iter().any(|name| path == *name)
        || (path.contains(&b'/') && DIRECTORIES.iter().any(|name| first == name.as_bytes()))
}

/// Writes those that are wanted and removes the others.
pub(super) fn replace(git_dir: &Confined, present: &GitFiles, wanted: &GitFiles) -> Result<(), Error> {
    let mut files = Files::new(git_dir);
    for path in present.keys().filter(|path| !wanted.contains_key(*path)) {
        files.remove(path.as_bstr())?;
    }
    for (path, content) in wanted {
        if present.get(path) != Some(content) {
            let permissions = 0o644;
            files.write(path.as_bstr(), &Content::File { content, permissions })?;
        }
    }
    for name in DIRECTORIES {
        let prefix = format!("{name}/");
        if !wanted.keys().any(|path| path.starts_with(prefix.as_bytes())) {
            files.remove_empty_directory(name.into());
        }
    }
    Ok(())
}

/// The commits that the operation rests upon.
pub(super) fn commits(files: &GitFiles) -> impl Iterator<Item = gix::ObjectId> {
    let found = WITH_COMMITS
        .iter()
        .filter_map(|name| files.get(BStr::new(name)))
        .flat_map(|content| content.lines());
    found.filter_map(|line| gix::ObjectId::from_hex(line.trim()).ok())
}

/// The branch that is being rebased, by its full name.
pub(super) fn rebased_branch(files: &GitFiles) -> Option<String> {
    let names = ["rebase-merge/head-name", "rebase-apply/head-name"];
    let name = names.iter().find_map(|name| files.get(BStr::new(name)))?;
    let name = name.trim().to_str().ok()?;
    name.starts_with("refs/heads/").then(|| name.to_owned())
}

fn list(directory: &OwnedFd, path: &BString, depth: usize, paths: &mut Vec<BString>) -> Result<(), Errno> {
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if matches!(name, b"." | b"..") || paths.len() > MAX_FILES {
            continue;
        }
        let below = BString::from([path.as_slice(), b"/", name].concat());
        match entry.file_type() {
            FileType::RegularFile => paths.push(below),
            FileType::Directory if depth < MAX_DEPTH => {
                list(&open_child_directory(directory, name)?, &below, depth + 1, paths)?;
            }
            _ => {}
        }
    }
    Ok(())
}
