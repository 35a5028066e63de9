//! Removing files that git does not know.

mod removal;

use std::collections::{BTreeSet, HashMap};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use gix::bstr::ByteSlice as _;
use rustix::fs::{AtFlags, FileType};

use super::commit::some_of;
use crate::descriptor::as_path;
use crate::repository::looks_like_git_dir;
use crate::{Confined, Error, Kept, RepositoryPath, Work, display_path};
use removal::directory_of;

/// What to remove.
#[derive(Debug, Clone, Default)]
pub struct CleanOptions {
    /// Only say what would be removed.
    pub dry_run: bool,
    /// Also in directories of which git knows no file, and those directories.
    pub directories: bool,
    /// Ignored files too.
    pub ignored: bool,
    /// Only what is here.
    pub paths: Vec<RepositoryPath>,
    /// What is lost may be lost.
    pub confirm: bool,
}

/// What was removed, or would be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// By path.
    pub files: Vec<String>,
    /// Directories that were empty then, by path; not known beforehand.
    pub directories: Vec<String>,
    /// Repositories inside the working tree, which are never removed.
    pub repositories: Vec<String>,
    /// Where the files are kept.
    pub kept: Option<Kept>,
}

/// So much is kept at most; more is not removed.
const MAX_BYTES: u64 = 200 << 20;
const MAX_FILES: usize = 50_000;

/// No call names more paths.
const MAX_PATHS: usize = 1000;

/// What was found.
#[derive(Default)]
struct Found {
    files: Vec<File>,
    /// Directories without any file.
    empty: Vec<PathBuf>,
    repositories: BTreeSet<PathBuf>,
    bytes: u64,
}

struct File {
    path: PathBuf,
    /// A file or a link; pipes and sockets have no content.
    has_content: bool,
}

impl Work<'_> {
    /// Removes files that git does not know, and keeps them first.
    pub fn clean(&self, options: &CleanOptions) -> Result<Cleaned, Error> {
        self.require_worktree("to clean")?;
        let Some(worktree) = self.repository().confined_worktree() else {
            return Ok(Cleaned::default());
        };
        let found = self.find_unknown(worktree, options)?;
        let mut cleaned = Cleaned {
            files: found.files.iter().map(|file| shown(&file.path)).collect(),
            repositories: found.repositories.iter().map(|path| shown(path)).collect(),
            ..Cleaned::default()
        };
        if options.dry_run || found.files.is_empty() && found.empty.is_empty() {
            cleaned.directories = found.empty.iter().map(|path| shown(path)).collect();
            return Ok(cleaned);
        }
        found.check_limits()?;
        if !options.confirm {
            return Err(Error::refused(
                format!("cleaning would remove {}", some_of(&found.names())),
                "if that is meant, repeat the call with `confirm: true`: what is removed is first kept under \
                 refs/agentyard/kept/",
            ));
        }
        cleaned.kept = self.keep_unknown(&found)?;
        cleaned.directories = found.remove(worktree, options.directories, cleaned.kept.as_ref())?;
        Ok(cleaned)
    }

    fn find_unknown(&self, worktree: &Confined, options: &CleanOptions) -> Result<Found, Error> {
        if options.paths.len() > MAX_PATHS {
            return Err(Error::invalid(
                format!("a list of {} paths", options.paths.len()),
                format!("{MAX_PATHS} are allowed"),
            ));
        }
        let mut found = Found::default();
        let mut nested = Nested::new(worktree);
        for path in self.list_unknown(options, !options.directories)? {
            // A slash at the end: a directory that is not asked for, or another repository.
            let (path, is_directory) = match path.strip_suffix(b"/") {
                Some(path) => (as_path(path).to_owned(), true),
                None => (as_path(&path).to_owned(), false),
            };
            if let Some(repository) = nested.around(&path, is_directory) {
                found.repositories.insert(repository);
            } else if !is_directory {
                found.add(worktree, path);
            }
        }
        if options.directories {
            for path in self.list_unknown(options, true)? {
                if let Some(path) = path.strip_suffix(b"/") {
                    let path = as_path(path).to_owned();
                    let has_file = found.files.iter().any(|file| file.path.starts_with(&path));
                    if !has_file && nested.around(&path, true).is_none() {
                        found.empty.push(path);
                    }
                }
            }
        }
        Ok(found)
    }

    /// Files that git does not know, relative to the top; with `collapsed`, directories of which it knows no file
    /// instead of the files in them.
    fn list_unknown(&self, options: &CleanOptions, collapsed: bool) -> Result<Vec<Vec<u8>>, Error> {
        let finished = self
            .invoke("ls-files")
            .words(&["--others", "-z"])
            .word_if(collapsed, "--directory")
            .word_if(!options.ignored, "--exclude-standard")
            .paths(&options.paths)
            .run()?;
        if finished.truncated {
            return Err(too_much(MAX_FILES, 0));
        }
        Ok(finished
            .output
            .split(|byte| *byte == 0)
            .filter(|path| !path.is_empty())
            .map(<[u8]>::to_vec)
            .collect())
    }

    fn keep_unknown(&self, found: &Found) -> Result<Option<Kept>, Error> {
        let paths: Vec<RepositoryPath> = found
            .files
            .iter()
            .filter(|file| file.has_content)
            .map(|file| RepositoryPath::new(&shown(&file.path)))
            .collect::<Result<_, _>>()?;
        if paths.is_empty() {
            return Ok(None);
        }
        self.keep_files("clean", &paths).map(Some)
    }
}

impl Found {
    fn add(&mut self, worktree: &Confined, path: PathBuf) {
        let stat = directory_of(worktree, &path).and_then(|directory| {
            let name = path.file_name().unwrap_or_default();
            rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)
        });
        // What is gone by now needs no removal.
        let Ok(stat) = stat else { return };
        let kind = FileType::from_raw_mode(stat.st_mode);
        let has_content = matches!(kind, FileType::RegularFile | FileType::Symlink);
        if has_content {
            self.bytes += u64::try_from(stat.st_size).unwrap_or_default();
        }
        self.files.push(File { path, has_content });
    }

    fn check_limits(&self) -> Result<(), Error> {
        if self.bytes > MAX_BYTES || self.files.len() > MAX_FILES {
            return Err(too_much(self.files.len(), self.bytes));
        }
        Ok(())
    }

    fn names(&self) -> Vec<String> {
        let directories = self.empty.iter().map(|path| format!("{}/", shown(path)));
        let files = self.files.iter().map(|file| shown(&file.path));
        files.chain(directories).collect()
    }
}

/// Finds out which directories are repositories of their own, each once.
struct Nested<'a> {
    worktree: &'a Confined,
    known: HashMap<PathBuf, bool>,
}

impl<'a> Nested<'a> {
    fn new(worktree: &'a Confined) -> Self {
        Self {
            worktree,
            known: HashMap::new(),
        }
    }

    /// The repository that a path is in or, for a directory, that it is.
    fn around(&mut self, path: &Path, is_directory: bool) -> Option<PathBuf> {
        let own = is_directory.then_some(path);
        let above = path
            .ancestors()
            .skip(1)
            .filter(|path| !path.as_os_str().is_empty());
        let mut directories: Vec<&Path> = own.into_iter().chain(above).collect();
        directories.reverse();
        directories
            .into_iter()
            .find(|directory| self.is_repository(directory))
            .map(Path::to_owned)
    }

    fn is_repository(&mut self, directory: &Path) -> bool {
        if let Some(known) = self.known.get(directory) {
            return *known;
        }
        let inside = directory.join("x");
        let is_repository = directory_of(self.worktree, &inside).is_ok_and(|opened| {
            rustix::fs::statat(&opened, ".git", AtFlags::SYMLINK_NOFOLLOW).is_ok()
                || looks_like_git_dir(&opened)
        });
        self.known.insert(directory.to_owned(), is_repository);
        is_repository
    }
}

fn too_much(files: usize, bytes: u64) -> Error {
    Error::refused(
        format!(
            "{files} files with {} MB would have to be kept before they are removed; {} MB and {MAX_FILES} files are \
             the limit",
            bytes >> 20,
            MAX_BYTES >> 20
        ),
        "clean less at a time with `paths`, or have a person remove the large ones",
    )
}

fn shown(path: &Path) -> String {
    display_path(path.as_os_str().as_bytes().as_bstr())
}
