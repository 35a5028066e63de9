//! What decides about a status besides the working tree, the index and the last commit.

use gix::bstr::{BStr, BString};

use crate::Repository;
use crate::descriptor::{open_child_directory, read_child_file};

/// The configuration, and the files of `info` that say what is ignored and how files are converted.
#[derive(PartialEq, Eq)]
pub(super) struct Rules {
    configuration: BString,
    exclude: Option<Vec<u8>>,
    attributes: Option<Vec<u8>>,
}

/// Files of the working tree that say something about others: which are ignored, and how they are converted.
pub(super) const RULES_FILES: [&str; 2] = [".gitignore", ".gitattributes"];

/// git's own limits are larger still.
const FILE_LIMIT: usize = 16 << 20;

impl Rules {
    pub(super) fn read(repository: &Repository) -> Self {
        Self {
            configuration: repository.configuration().to_owned(),
            exclude: info_file(repository, "exclude"),
            attributes: info_file(repository, "attributes"),
        }
    }
}

pub(super) fn is_rules_file(name: &BStr) -> bool {
    RULES_FILES.iter().any(|rules| name == *rules)
}

/// A file of the directory `info`. One that cannot be read counts as absent.
pub(crate) fn info_file(repository: &Repository, name: &str) -> Option<Vec<u8>> {
    let common_dir = repository.confined_common_dir();
    let info = open_child_directory(common_dir.directory(), b"info").ok()?;
    read_child_file(info, name.as_bytes(), FILE_LIMIT).ok().flatten()
}
