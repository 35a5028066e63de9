//! What is installed in an environment. Nothing of it is run, and nothing is read but the names of directories: each
//! distribution has one that says its name and version.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Dir, Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::PythonVersion;

/// Nobody has more. What lies beyond is not told.
const MAX_DISTRIBUTIONS: usize = 10_000;

/// The longest name and version.
const MAX_TEXT: usize = 200;

/// Something that is installed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Distribution {
    /// Its name, as [`normalized_name`] has it.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// What is installed for this Python in the environment in this directory, in order of names.
///
/// The environment may have been filled by anybody: it is read by descriptor, and no link is followed.
///
/// # Errors
/// When it cannot be read. One that has no library yet has nothing installed.
pub fn distributions(environment: BorrowedFd<'_>, python: PythonVersion) -> io::Result<Vec<Distribution>> {
    let library = format!("lib/python{}.{}/site-packages", python.major, python.minor);
    let directory = match open_directory(environment, Path::new(&library)) {
        Ok(directory) => directory,
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(Vec::new()),
        Err(errno) => return Err(errno.into()),
    };
    let mut found = Vec::new();
    for entry in Dir::new(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_str().ok().and_then(distribution);
        found.extend(name);
        if found.len() == MAX_DISTRIBUTIONS {
            break;
        }
    }
    found.sort_unstable();
    found.dedup_by(|second, first| second.name == first.name);
    Ok(found)
}

/// The name by which a distribution is the same however it is written: PEP 503.
#[must_use]
pub fn normalized_name(name: &str) -> String {
    let words = name.split(['-', '_', '.']).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-").to_ascii_lowercase()
}

fn open_directory(top: BorrowedFd<'_>, path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    openat2(top, path, flags, Mode::empty(), resolve)
}

/// `Name_with.dots-1.2.dist-info`, and the older `name-1.2-py3.11.egg-info`.
fn distribution(entry: &str) -> Option<Distribution> {
    let stem = match entry.strip_suffix(".dist-info") {
        Some(stem) => stem,
        None => {
            let stem = entry.strip_suffix(".egg-info")?;
            match stem.rsplit_once("-py") {
                Some((stem, python)) if python.starts_with(|first: char| first.is_ascii_digit()) => stem,
                _ => stem,
            }
        }
    };
    let (name, version) = stem.rsplit_once('-')?;
    let is_plain = |text: &str, also: &str| {
        (1..=MAX_TEXT).contains(&text.len())
            && text
                .chars()
                .all(|character| character.is_ascii_alphanumeric() || also.contains(character))
    };
    let is_told = is_plain(name, "._-")
        && is_plain(version, "._+!")
        // What pip renames while it replaces something begins with `~`, and is no word here.
        && name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && version.starts_with(|first: char| first.is_ascii_alphanumeric());
    is_told.then(|| Distribution {
        name: normalized_name(name),
        version: version.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::fd::AsFd as _;
    use std::os::unix::fs::symlink;

    use super::*;

    const PYTHON: PythonVersion = PythonVersion {
        major: 3,
        minor: 11,
        patch: 7,
    };

    fn told(environment: &Path) -> Vec<String> {
        let directory = File::open(environment).unwrap();
        let found = distributions(directory.as_fd(), PYTHON).unwrap();
        found
            .into_iter()
            .map(|found| format!("{} {}", found.name, found.version))
            .collect()
    }

    #[test]
    fn names_of_directories_say_what_is_installed() {
        let environment = tempfile::tempdir().unwrap();
        let packages = environment.path().join("lib/python3.11/site-packages");
        fs::create_dir_all(&packages).unwrap();
        for name in [
            "Zope.Interface-5.0.1.dist-info",
            "typing_extensions-4.12.2.dist-info",
            "old-1.0-py3.11.egg-info",
            "local-1!2.0+cpu.1.dist-info",
            "~umpy-1.0.dist-info",
            "nothing.dist-info",
            "evil\u{1b}[m-1.0.dist-info",
            "name-1.0\n.dist-info",
            "numpy",
        ] {
            fs::create_dir(packages.join(name)).unwrap();
        }
        assert_eq!(
            told(environment.path()),
            [
                "local 1!2.0+cpu.1",
                "old 1.0",
                "typing-extensions 4.12.2",
                "zope-interface 5.0.1"
            ]
        );
    }

    #[test]
    fn no_link_leads_out_of_an_environment() {
        let (environment, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        assert_eq!(told(environment.path()), Vec::<String>::new());
        fs::create_dir(elsewhere.path().join("secret-1.0.dist-info")).unwrap();
        let library = environment.path().join("lib/python3.11");
        fs::create_dir_all(&library).unwrap();
        symlink(elsewhere.path(), library.join("site-packages")).unwrap();
        assert_eq!(told(environment.path()), Vec::<String>::new());
        fs::remove_file(library.join("site-packages")).unwrap();
        fs::write(library.join("site-packages"), "").unwrap();
        assert_eq!(told(environment.path()), Vec::<String>::new());
    }

    #[test]
    fn a_name_is_the_same_however_it_is_written() {
        for name in [
            "Zope.Interface",
            "zope-interface",
            "ZOPE_interface",
            "zope-._interface",
        ] {
            assert_eq!(normalized_name(name), "zope-interface");
        }
    }
}
