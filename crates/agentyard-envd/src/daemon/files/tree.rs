//! Directories: made, listed and removed.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::entries::entry;
use super::faults::{fault, refused};
use super::names::Names;
use super::paths::shown;
use crate::connect::{Code, Fault};
use crate::filesystem::Entry;

/// How many entries are listed at once.
const MOST_ENTRIES: usize = 10_000;

/// What is at this path.
pub(super) fn look(path: &Path) -> Result<Entry, Fault> {
    entry(path, &Names::read()).map_err(|error| fault("look at", path, &error))
}

/// Makes a directory, and those above it.
pub(super) fn make(path: &Path) -> Result<Entry, Fault> {
    match fs::metadata(path) {
        Ok(there) if there.is_dir() => {
            let message = format!("the directory {} exists already", shown(path));
            return Err(Fault::new(Code::AlreadyExists, message));
        }
        Ok(_) => {
            return Err(refused(
                "make the directory",
                path,
                "there is a file of this name",
            ));
        }
        // What is in the way is told when it is made.
        Err(_) => {}
    }
    fs::create_dir_all(path).map_err(|error| fault("make the directory", path, &error))?;
    look(path)
}

/// Removes a file, or a directory with all that is in it. What is not there needs no removing, as with E2B.
pub(super) fn remove(path: &Path) -> Result<(), Fault> {
    let removed = match fs::symlink_metadata(path) {
        Ok(there) if there.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Err(fault("remove", path, &error))
        }
        _ => Ok(()),
    }
}

/// What is in a directory, and in those below it down to this depth, each before what is in it. Links are not followed,
/// but for the directory itself.
pub(super) fn list(path: &Path, depth: u32) -> Result<Vec<Entry>, Fault> {
    let failed = |error| fault("list", path, &error);
    if !fs::metadata(path).map_err(failed)?.is_dir() {
        return Err(refused("list", path, "it is no directory"));
    }
    let names = Names::read();
    let mut entries = Vec::new();
    let mut waiting: Vec<(PathBuf, u32)> = Vec::new();
    let mut within = children(path, MOST_ENTRIES).map_err(failed)?;
    let mut level = 1;
    loop {
        if entries.len() + waiting.len() + within.len() > MOST_ENTRIES {
            return Err(Fault::new(
                Code::ResourceExhausted,
                format!(
                    "there are more than {MOST_ENTRIES} entries in {} down to depth {depth}: list less deep, list a \
                     directory further down, or run `find`",
                    shown(path)
                ),
            ));
        }
        // The first of them is looked at next.
        waiting.extend(within.drain(..).rev().map(|child| (child, level)));
        let Some((next, its_level)) = waiting.pop() else {
            return Ok(entries);
        };
        let Ok(found) = entry(&next, &names) else {
            // It is gone by now.
            continue;
        };
        let is_directory = found.permissions.starts_with('d');
        entries.push(found);
        if is_directory && its_level < depth {
            level = its_level + 1;
            // What may not be read is told of, but not what is in it.
            within = children(&next, MOST_ENTRIES).unwrap_or_default();
        }
    }
}

/// What is in a directory, by name; no more than one beyond the most.
fn children(directory: &Path, most: usize) -> std::io::Result<Vec<PathBuf>> {
    let mut children = Vec::new();
    for child in fs::read_dir(directory)?.take(most + 1) {
        children.push(child?.path());
    }
    children.sort_unstable();
    Ok(children)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn listed(root: &Path, depth: u32) -> Vec<String> {
        let entries = list(root, depth).unwrap();
        let below = |entry: Entry| {
            let path = Path::new(&entry.path).strip_prefix(root).unwrap();
            path.to_str().unwrap().to_owned()
        };
        entries.into_iter().map(below).collect()
    }

    #[test]
    fn directories_are_listed_as_deep_as_is_asked_for() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        fs::create_dir_all(root.join("b/c/d")).unwrap();
        fs::write(root.join("b/c/file"), "").unwrap();
        fs::write(root.join("a"), "").unwrap();
        symlink("b", root.join("z")).unwrap();
        assert_eq!(listed(root, 0), ["a", "b", "z"]);
        assert_eq!(listed(root, 1), ["a", "b", "z"]);
        assert_eq!(listed(root, 2), ["a", "b", "b/c", "z"]);
        assert_eq!(
            listed(root, u32::MAX),
            ["a", "b", "b/c", "b/c/d", "b/c/file", "z"]
        );
        assert_eq!(listed(&root.join("z"), 1), ["c"]);
        assert_eq!(list(&root.join("a"), 1).unwrap_err().code, Code::InvalidArgument);
        assert_eq!(list(&root.join("missing"), 1).unwrap_err().code, Code::NotFound);
    }

    #[test]
    fn a_directory_with_too_much_in_it_is_not_listed() {
        let directory = tempfile::tempdir().unwrap();
        let below = directory.path().join("below");
        fs::create_dir(&below).unwrap();
        for number in 0..MOST_ENTRIES {
            fs::write(below.join(number.to_string()), "").unwrap();
        }
        assert_eq!(list(&below, 1).unwrap().len(), MOST_ENTRIES);
        let fault = list(directory.path(), 2).unwrap_err();
        assert_eq!(fault.code, Code::ResourceExhausted);
        assert_eq!(list(directory.path(), 1).unwrap().len(), 1);
    }

    #[test]
    fn directories_are_made_once() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a/b");
        assert_eq!(make(&path).unwrap().name, "b");
        assert_eq!(make(&path).unwrap_err().code, Code::AlreadyExists);
        fs::write(path.join("file"), "").unwrap();
        assert_eq!(make(&path.join("file")).unwrap_err().code, Code::InvalidArgument);
        assert_eq!(
            make(&path.join("file/c")).unwrap_err().code,
            Code::InvalidArgument
        );
    }

    #[test]
    fn what_is_removed_is_gone_and_links_lead_nobody_astray() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::create_dir(root.join("kept")).unwrap();
        fs::write(root.join("kept/file"), "").unwrap();
        symlink("../kept", root.join("a/link")).unwrap();
        symlink("kept", root.join("link")).unwrap();
        for path in ["a", "link", "missing", "missing/below", "kept/file/below"] {
            remove(&root.join(path)).unwrap();
        }
        assert_eq!(listed(root, 2), ["kept", "kept/file"]);
    }
}
