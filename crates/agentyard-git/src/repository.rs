//! A repository, opened such that nothing in it can run a program or lead outside the roots.

mod alternates;
mod contents;
mod elsewhere;
mod kept;
mod locate;
mod owner;
mod stamp;

use std::fmt;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use gix::bstr::{BStr, BString, ByteSlice as _};

use rustix::fs::OFlags;

use crate::descriptor::{as_path, magic_path, open_beneath};
use crate::status::KeptStatus;
use crate::{Confined, Error};
use contents::Inventory;
pub use elsewhere::repository_elsewhere;
pub use kept::{KeepLimits, KeptRepositories};
use locate::Location;
pub(crate) use locate::{PATH_FILE_LIMIT, looks_like_git_dir, parse_git_file};

/// An open repository.
///
/// What a hostile repository might try, and why it does not work here:
///
/// - Its `.git` file or link, `commondir`, `core.worktree` or alternates name another directory: each is
///   looked up inside the roots, and the repository is refused when one leaves them. So are links and pipes
///   inside the git directory.
/// - Its configuration names programs (filters, textconv, external diffs, hooks, fsmonitor, ssh commands):
///   gix takes programs only from sections it is told to trust, and it is told to trust none of the
///   repository's; what gix could start even so is never asked for. Filters are dropped once more where
///   content is compared.
/// - Its configuration names files (`include.path`, `core.excludesFile`, `core.attributesFile`): includes are
///   not followed, and nobody asks for the others.
/// - An object is missing on purpose, to be fetched from a promisor: gix never fetches one; this build has no
///   network.
#[derive(Clone)]
pub struct Repository {
    inner: gix::ThreadSafeRepository,
    git_dir: Confined,
    common_dir: Confined,
    worktree: Option<Confined>,
    /// The configuration as text, made when first asked for.
    configuration: OnceLock<BString>,
    kept_status: Option<Arc<KeptStatus>>,
}

impl Repository {
    /// Opens the repository that contains the directory, looking upwards as far as its root.
    ///
    /// Linked worktrees and submodules are found by their `.git` file. A bare repository is opened only when
    /// the directory is that repository itself: one that lies inside another working tree may have been
    /// planted there.
    pub fn open(directory: &Confined) -> Result<Self, Error> {
        Ok(Self::open_at(locate::locate(directory)?)?.0)
    }

    /// Opens the repository whose top is the directory, if it is one.
    pub(crate) fn open_exactly(directory: &Confined) -> Result<Option<Self>, Error> {
        let opened = locate::locate_exactly(directory)?.map(Self::open_at);
        Ok(opened.transpose()?.map(|(repository, _)| repository))
    }

    /// The top of the working tree; none in a bare repository.
    pub fn worktree(&self) -> Option<&Path> {
        self.worktree.as_ref().map(Confined::path)
    }

    /// The directory with `HEAD` and the index: `.git`, or a linked worktree's own part of it.
    pub fn git_dir(&self) -> &Path {
        self.git_dir.path()
    }

    /// The directory with objects and references; the same as [`Repository::git_dir`] except in a linked
    /// worktree.
    pub fn common_dir(&self) -> &Path {
        self.common_dir.path()
    }

    /// A handle for one thread.
    pub(crate) fn local(&self) -> gix::Repository {
        self.inner.to_thread_local()
    }

    /// The whole configuration, for comparison with an earlier one.
    pub(crate) fn configuration(&self) -> &BStr {
        self.configuration
            .get_or_init(|| self.local().config_snapshot().plumbing().to_bstring())
            .as_bstr()
    }

    /// What is kept between one status and the next; none unless the repository itself is kept.
    pub(crate) fn kept_status(&self) -> Option<&KeptStatus> {
        self.kept_status.as_deref()
    }

    pub(crate) fn confined_worktree(&self) -> Option<&Confined> {
        self.worktree.as_ref()
    }

    pub(crate) fn confined_git_dir(&self) -> &Confined {
        &self.git_dir
    }

    pub(crate) fn confined_common_dir(&self) -> &Confined {
        &self.common_dir
    }

    /// The repository for messages: its working tree, or its git directory when it has none.
    pub(crate) fn shown(&self) -> String {
        self.worktree.as_ref().unwrap_or(&self.git_dir).shown()
    }

    /// Whether the repository has a hook of this name that git would run.
    pub(crate) fn has_hook(&self, name: &str) -> bool {
        let path = Path::new("hooks").join(name);
        open_beneath(self.common_dir.directory(), &path, OFlags::PATH)
            .and_then(rustix::fs::fstat)
            .is_ok_and(|stat| stat.st_mode & 0o111 != 0)
    }

    /// The hooks that git would run.
    pub(crate) fn hooks(&self) -> impl Iterator<Item = &'static str> {
        // Most repositories have none, and no directory for them either.
        let directory = open_beneath(self.common_dir.directory(), Path::new("hooks"), OFlags::PATH);
        let candidates = if directory.is_ok() { HOOKS } else { &[] };
        candidates.iter().copied().filter(|name| self.has_hook(name))
    }

    /// What of the repository git would run or follow, were it trusted: `hook pre-commit`, `filter.lfs.clean`.
    pub fn programs(&self) -> Vec<String> {
        crate::program::programs(self)
    }

    /// The object that a reference with this full name points to.
    pub fn reference_target(&self, name: &str) -> Option<crate::ObjectId> {
        let local = self.local();
        let mut reference = local.try_find_reference(name).ok()??;
        reference.peel_to_id().ok().map(|id| id.detach().into())
    }

    /// Which directory on which device holds its objects and references; another repository in the same place
    /// is told from this one by it.
    pub fn device_and_inode(&self) -> Result<(u64, u64), Error> {
        let stat = rustix::fs::fstat(self.common_dir.directory()).map_err(|errno| Error::OpenDirectory {
            path: self.common_dir.shown(),
            source: errno.into(),
        })?;
        Ok((stat.st_dev, stat.st_ino))
    }

    fn open_at(location: Location) -> Result<(Self, Checks), Error> {
        location.check_owners()?;
        let checks = Checks::make(&location)?;
        let Location {
            git_dir,
            common_dir,
            worktree,
        } = location;

        // The path leads through the descriptor that was checked, whatever happens to its name meanwhile.
        let inner = open_options(checks.databases)
            .open(magic_path(git_dir.directory()))
            .map_err(|source| Error::OpenRepository {
                path: git_dir.shown(),
                source: Box::new(source),
            })?;
        let mut repository = Self {
            inner,
            git_dir,
            common_dir,
            worktree,
            configuration: OnceLock::new(),
            kept_status: None,
        };
        repository.refuse_unsupported()?;
        repository.apply_configured_worktree()?;
        Ok((repository, checks))
    }

    /// gix reads references from files whatever the configuration says, and would take a reftable for an
    /// empty repository.
    fn refuse_unsupported(&self) -> Result<(), Error> {
        let local = self.local();
        let config = local.config_snapshot();
        match config.string("extensions.refStorage") {
            Some(storage) if !storage.eq_ignore_ascii_case(b"files") => Err(Error::UnsupportedRepository {
                path: self.git_dir.shown(),
                feature: "a reference storage other than files".to_owned(),
            }),
            _ => Ok(()),
        }
    }

    /// Applies `core.bare` and `core.worktree` as git does. Both describe the main worktree, not linked ones.
    fn apply_configured_worktree(&mut self) -> Result<(), Error> {
        if self.git_dir.path() != self.common_dir.path() {
            return Ok(());
        }
        let local = self.local();
        let config = local.config_snapshot();
        if let Some(configured) = config.string("core.worktree") {
            let target = self.git_dir.path().join(as_path(&configured));
            let worktree = self
                .git_dir
                .roots()
                .open_directory(&target)
                .map_err(|error| locate::part_error(&self.git_dir, "core.worktree setting", error))?;
            owner::check(&worktree)?;
            self.worktree = Some(worktree);
        }
        if config.boolean("core.bare") == Some(true) {
            self.worktree = None;
        }
        Ok(())
    }
}

/// What was found by checking a repository before it was opened.
struct Checks {
    inventories: Vec<Inventory>,
    /// How many object databases there are, its own included.
    databases: usize,
}

impl Checks {
    fn make(location: &Location) -> Result<Self, Error> {
        Ok(Self {
            inventories: contents::check(&location.git_dir, &location.common_dir)?,
            databases: alternates::check(&location.common_dir)?,
        })
    }
}

impl fmt::Debug for Repository {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Repository")
            .field("git_dir", &self.git_dir())
            .field("worktree", &self.worktree())
            .finish_non_exhaustive()
    }
}

/// Nothing outside the git directory is read, and no section of its configuration is trusted.
fn open_options(object_databases: usize) -> gix::open::Options {
    gix::open::Options::isolated()
        .with(gix::sec::Trust::Reduced)
        .filter_config_section(|section| section.source == gix::config::Source::Api)
        .open_path_as_is(true)
        .lossy_config(true)
        // Counting the packs beforehand would read through alternates that are not checked at that time.
        .object_store_slots(gix::odb::store::init::Slots::Given(
            PACK_SLOTS_PER_DATABASE.saturating_mul(u16::try_from(object_databases).unwrap_or(u16::MAX)),
        ))
}

/// The hooks that git runs on the side of a working tree.
const HOOKS: &[&str] = &[
    "applypatch-msg",
    "commit-msg",
    "fsmonitor-watchman",
    "post-applypatch",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "post-rewrite",
    "pre-applypatch",
    "pre-auto-gc",
    "pre-commit",
    "pre-merge-commit",
    "pre-push",
    "pre-rebase",
    "prepare-commit-msg",
    "reference-transaction",
    "sendemail-validate",
];

/// How many packs one object database may have. A slot costs a few dozen bytes; git repacks beyond 50 packs.
const PACK_SLOTS_PER_DATABASE: u16 = 512;
