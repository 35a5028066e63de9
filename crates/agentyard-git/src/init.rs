//! `git init`: new repositories.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use rustix::fs::{AtFlags, Dir, OFlags};

use crate::descriptor::open_beneath;
use crate::program::Invocation;
use crate::repository::looks_like_git_dir;
use crate::{BranchName, Confined, Error, Git, Repository, Roots};

/// What a new repository is to be like.
#[derive(Debug, Clone, Default)]
pub struct InitOptions {
    /// Its first branch; the person's `init.defaultBranch`, or `main`.
    pub initial_branch: Option<BranchName>,
    /// Without a working tree.
    pub bare: bool,
    /// How its objects are named.
    pub object_format: ObjectFormat,
}

/// How objects are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ObjectFormat {
    /// By SHA-1, as everywhere.
    #[default]
    Sha1,
    /// By SHA-256.
    Sha256,
}

/// A repository that was made, or was there before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Initialized {
    /// Its working tree, or its git directory when it has none.
    pub path: PathBuf,
    /// The branch that is checked out, or will be with the first commit.
    pub branch: Option<String>,
    pub bare: bool,
    pub object_format: ObjectFormat,
    /// It was there before, and nothing was changed.
    pub existing: bool,
}

impl Git {
    /// Makes a repository in a directory, which is made too where it does not exist. A repository that is there
    /// already is left as it is.
    pub fn init(
        &self,
        roots: &Roots,
        path: &Path,
        options: &InitOptions,
        cancel: &AtomicBool,
    ) -> Result<Initialized, Error> {
        if let Some(repository) = existing(roots, path, options)? {
            return describe(&repository, true);
        }
        let branch = match &options.initial_branch {
            Some(branch) => branch.clone(),
            None => self.default_branch(cancel)?,
        };
        let place = roots.make_directory(path)?;
        let made = Invocation::outside(self, cancel, &place.directory, "init")
            .words(&["--quiet", "--template="])
            .word_if(options.bare, "--bare")
            .word(match options.object_format {
                ObjectFormat::Sha1 => "--object-format=sha1",
                ObjectFormat::Sha256 => "--object-format=sha256",
            })
            .option("--initial-branch", &branch)
            .run();
        match made.and_then(|_| Repository::open(&place.directory)) {
            Ok(repository) => describe(&repository, false),
            Err(error) => {
                place.undo();
                Err(error)
            }
        }
    }
}

/// The repository that is in a directory already. Fails where something is in the way of a new one.
fn existing(roots: &Roots, path: &Path, options: &InitOptions) -> Result<Option<Repository>, Error> {
    let directory = match roots.resolve(path) {
        Ok(directory) => directory,
        Err(Error::NotFound { .. }) => return Ok(None),
        Err(error) => return Err(error),
    };
    if let Some(repository) = Repository::open_exactly(&directory)? {
        return Ok(Some(repository));
    }
    if looks_like_git_dir(directory.directory()) {
        return Repository::open(&directory).map(Some);
    }
    if rustix::fs::statat(directory.directory(), ".git", AtFlags::SYMLINK_NOFOLLOW).is_ok() {
        return Err(Error::state(
            format!("{} has a `.git` that is no repository", directory.shown()),
            "look at what it is, and remove it before making a repository there",
        ));
    }
    if options.bare && !is_empty(&directory)? {
        return Err(Error::state(
            format!(
                "{} is not empty, and a bare repository would be mixed with what is in it",
                directory.shown()
            ),
            "choose a directory that is empty or does not exist",
        ));
    }
    Ok(None)
}

pub(crate) fn is_empty(directory: &Confined) -> Result<bool, Error> {
    let unreadable = |errno: rustix::io::Errno| Error::OpenDirectory {
        path: directory.shown(),
        source: errno.into(),
    };
    let readable = open_beneath(
        directory.directory(),
        Path::new("."),
        OFlags::RDONLY | OFlags::DIRECTORY,
    )
    .map_err(unreadable)?;
    for entry in Dir::read_from(&readable).map_err(unreadable)? {
        if !matches!(entry.map_err(unreadable)?.file_name().to_bytes(), b"." | b"..") {
            return Ok(false);
        }
    }
    Ok(true)
}

fn describe(repository: &Repository, existing: bool) -> Result<Initialized, Error> {
    Ok(Initialized {
        path: repository.worktree().unwrap_or(repository.git_dir()).to_owned(),
        branch: repository.head()?.branch,
        bare: repository.worktree().is_none(),
        object_format: match repository.local().object_hash() {
            gix::hash::Kind::Sha1 => ObjectFormat::Sha1,
            _ => ObjectFormat::Sha256,
        },
        existing,
    })
}
