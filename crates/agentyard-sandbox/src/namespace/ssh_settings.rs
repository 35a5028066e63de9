//! The system's settings of ssh, for a user namespace.
//!
//! ssh refuses to include settings that belong neither to root nor to the user, and inside nothing belongs to root.
//! So copies of the user's own are mounted over the files that the system's settings include, in this mount namespace
//! alone.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::mount::mount_bind;

const DIRECTORY: &str = "/etc/ssh";

/// As deep as ssh itself follows them.
const MAX_DEPTH: usize = 16;

const MAX_FILES: usize = 64;

const MAX_BYTES: u64 = 256 * 1024;

/// Copies what is included, and mounts the copies.
pub(super) fn make_ours(locks: &Path) -> io::Result<()> {
    let user = rustix::process::geteuid().as_raw();
    let mut included = BTreeSet::new();
    collect(&Path::new(DIRECTORY).join("ssh_config"), 0, &mut included);
    let copies = locks.join("namespace-ssh");
    for (number, file) in included.iter().enumerate() {
        if fs::metadata(file)?.uid() == user {
            continue;
        }
        fs::create_dir_all(&copies)?;
        let copy = copies.join(number.to_string());
        fs::write(&copy, read(file)?)?;
        mount_bind(&copy, file)?;
    }
    Ok(())
}

fn collect(file: &Path, depth: usize, included: &mut BTreeSet<PathBuf>) {
    let Ok(text) = read(file) else { return };
    for pattern in text.lines().filter_map(patterns).flatten() {
        for path in matching(&pattern) {
            if depth < MAX_DEPTH && included.len() < MAX_FILES && included.insert(path.clone()) {
                collect(&path, depth + 1, included);
            }
        }
    }
}

/// What a line includes, if that is what it is for.
fn patterns(line: &str) -> Option<Vec<PathBuf>> {
    let (keyword, names) = line.trim().split_once([' ', '\t', '='])?;
    keyword.eq_ignore_ascii_case("include").then(|| {
        names
            .split([' ', '\t', '=', '"'])
            // Those of the user's own need no copies.
            .filter(|name| !name.is_empty() && !name.starts_with('~'))
            .map(|name| Path::new(DIRECTORY).join(name))
            .collect()
    })
}

/// The files that a pattern stands for. Only names have wildcards, in whatever is found in practice.
fn matching(pattern: &Path) -> Vec<PathBuf> {
    let name = pattern.file_name().unwrap_or_default().to_string_lossy();
    let Some((begin, end)) = name.split_once('*') else {
        return vec![pattern.to_owned()];
    };
    let entries = pattern
        .parent()
        .and_then(|directory| fs::read_dir(directory).ok());
    entries
        .into_iter()
        .flatten()
        .filter_map(Result::ok)
        .filter(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let middle = name.strip_prefix(begin).and_then(|name| name.strip_suffix(end));
            middle.is_some() && !name.starts_with('.')
        })
        .map(|entry| entry.path())
        .collect()
}

fn read(file: &Path) -> io::Result<String> {
    let file = fs::File::open(file)?;
    if !file.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut text = String::new();
    file.take(MAX_BYTES).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn included_files_are_found_where_ssh_finds_them() {
        let found = |line| patterns(line).unwrap_or_default();
        assert_eq!(
            found("  Include /etc/ssh/ssh_config.d/*.conf"),
            [PathBuf::from("/etc/ssh/ssh_config.d/*.conf")]
        );
        assert_eq!(
            found("INCLUDE=\"a.conf\" ~/own"),
            [PathBuf::from("/etc/ssh/a.conf")]
        );
        assert!(found("# Include /x").is_empty());
        assert!(found("Includes /x").is_empty());
    }

    #[test]
    fn a_pattern_stands_for_the_files_that_match() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["10-a.conf", "b.conf", "c.txt", ".hidden.conf"] {
            fs::write(directory.path().join(name), "").unwrap();
        }
        let mut found = matching(&directory.path().join("*.conf"));
        found.sort();
        assert_eq!(
            found,
            [
                directory.path().join("10-a.conf"),
                directory.path().join("b.conf")
            ]
        );
        assert_eq!(
            matching(&directory.path().join("gone")),
            [directory.path().join("gone")]
        );
    }

    #[test]
    fn files_that_include_each_other_are_taken_once() {
        let directory = tempfile::tempdir().unwrap();
        let (one, other) = (directory.path().join("one"), directory.path().join("other"));
        fs::write(&one, format!("Include {}", other.display())).unwrap();
        fs::write(&other, format!("Include {}\n", one.display())).unwrap();
        let mut included = BTreeSet::new();
        collect(&one, 0, &mut included);
        assert_eq!(included, BTreeSet::from([one, other]));
    }
}
