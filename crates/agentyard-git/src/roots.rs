//! The directories a caller may use, and paths proven to be inside them.

use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, OnceLock};

use gix::bstr::ByteSlice as _;
use rustix::fs::{FileType, OFlags};
use rustix::io::Errno;

use crate::descriptor::{file_type, open_beneath, real_path};
use crate::{Error, display_path};

/// The directories a caller may use. Cheap to clone.
///
/// Each root is opened once; what happens to its path afterwards has no effect.
#[derive(Clone)]
pub struct Roots {
    roots: Arc<[Root]>,
    except: Option<Arc<Exception>>,
}

/// A directory that nobody may use although it may lie in a root.
struct Exception {
    given: PathBuf,
    /// As the kernel names it, once it is there.
    real: OnceLock<PathBuf>,
}

/// A directory inside a root, held by its descriptor: renaming or replacing it changes nothing for the
/// holder.
#[derive(Clone)]
pub struct Confined {
    roots: Roots,
    root: usize,
    directory: Arc<OwnedFd>,
    path: PathBuf,
}

struct Root {
    directory: OwnedFd,
    /// As configured, possibly through links.
    given: PathBuf,
    /// As the kernel names it.
    real: PathBuf,
}

/// What a path led to, of any kind.
pub(crate) struct Found {
    pub(crate) descriptor: OwnedFd,
    root: usize,
}

/// As many links as the kernel itself would follow.
const MAX_LINKS: usize = 40;

impl Roots {
    /// Opens the given directories, which must be absolute paths.
    pub fn new(paths: impl IntoIterator<Item = PathBuf>) -> Result<Self, Error> {
        paths
            .into_iter()
            .map(Root::open)
            .collect::<Result<Vec<_>, _>>()
            .map(|roots| Self {
                roots: roots.into(),
                except: None,
            })
    }

    /// The same roots without this directory and what is in it. It need not exist yet.
    #[must_use]
    pub fn except(self, directory: PathBuf) -> Self {
        let except = Exception {
            given: directory,
            real: OnceLock::new(),
        };
        Self {
            except: Some(Arc::new(except)),
            ..self
        }
    }

    /// Whether an open directory is the one that is left out.
    pub(crate) fn leave_out(&self, directory: BorrowedFd<'_>) -> bool {
        let Some(except) = &self.except else {
            return false;
        };
        let (Ok(ours), Ok(theirs)) = (rustix::fs::stat(&except.given), rustix::fs::fstat(directory)) else {
            return false;
        };
        (ours.st_dev, ours.st_ino) == (theirs.st_dev, theirs.st_ino)
    }

    /// Whether a path, free of links, leads to what is left out.
    fn leave_out_path(&self, path: &Path) -> bool {
        let Some(except) = &self.except else {
            return false;
        };
        let real = except.real.get().cloned().or_else(|| {
            let real = except.given.canonicalize().ok()?;
            Some(except.real.get_or_init(|| real).clone())
        });
        real.is_some_and(|real| path.starts_with(real))
    }

    /// Opens a directory inside one of the roots.
    ///
    /// Links on the way are followed as long as they stay in the roots. Whatever leaves them is refused in
    /// the same words, so that an answer never tells whether something exists outside.
    pub fn resolve(&self, path: &Path) -> Result<Confined, Error> {
        check_form(path)?;
        if !path.is_absolute() {
            return Err(invalid(path, "it must be absolute"));
        }
        self.open_directory(path)
    }

    /// As [`Roots::resolve`], with relative paths taken from `base`.
    pub fn resolve_from(&self, base: &Confined, path: &Path) -> Result<Confined, Error> {
        self.resolve(&base.path.join(path))
    }

    /// Whether these are clones of one another, and so stand for the same directories.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.roots, &other.roots)
    }

    /// As [`Roots::resolve`], for paths that come from a repository and may hold any bytes.
    pub(crate) fn open_directory(&self, path: &Path) -> Result<Confined, Error> {
        let found = self.find(path)?;
        let open_error = |source: io::Error| Error::OpenDirectory {
            path: shown(path),
            source,
        };
        if file_type(&found.descriptor).map_err(|errno| open_error(errno.into()))? != FileType::Directory {
            return Err(Error::NotADirectory { path: shown(path) });
        }
        let real = real_path(&found.descriptor).map_err(open_error)?;
        // A directory that was moved out of its root while it was being looked up is no longer the caller's.
        if !real.starts_with(&self.roots[found.root].real) || self.leave_out_path(&real) {
            return Err(Error::OutsideRoots { path: shown(path) });
        }
        Ok(Confined {
            roots: self.clone(),
            root: found.root,
            directory: Arc::new(found.descriptor),
            path: real,
        })
    }

    /// Opens whatever an absolute path leads to, without access to its content.
    pub(crate) fn find(&self, path: &Path) -> Result<Found, Error> {
        let mut target = path.to_owned();
        for _ in 0..MAX_LINKS {
            let (index, rest) = self
                .split(&target)
                .ok_or_else(|| Error::OutsideRoots { path: shown(path) })?;
            let root = &self.roots[index];
            match open_beneath(&root.directory, rest, OFlags::PATH) {
                Ok(descriptor) => {
                    return Ok(Found {
                        descriptor,
                        root: index,
                    });
                }
                // The kernel stops at every absolute link, also at one that leads back into a root.
                Err(Errno::XDEV) => match root.follow_first_link(rest) {
                    Some(next) => target = next,
                    None => return Err(Error::OutsideRoots { path: shown(path) }),
                },
                Err(errno) => return Err(lookup_error(path, errno)),
            }
        }
        Err(Error::OutsideRoots { path: shown(path) })
    }

    /// The outermost root that holds `path` by its name, and the rest of the name.
    fn split<'path>(&self, path: &'path Path) -> Option<(usize, &'path Path)> {
        self.roots
            .iter()
            .enumerate()
            .flat_map(|(index, root)| {
                [&root.real, &root.given].map(|prefix| Some((index, path.strip_prefix(prefix).ok()?)))
            })
            .flatten()
            .max_by_key(|(_, rest)| rest.as_os_str().len())
    }
}

impl Confined {
    /// Where the directory was when it was opened, free of links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The directory itself; opened without read access, as a starting point for lookups.
    pub fn directory(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }

    /// A directory below this one, by a relative path. Links are followed while they stay below.
    pub fn beneath(&self, path: &Path) -> Result<Self, Error> {
        check_form(path)?;
        if path.is_absolute() || path.components().any(|part| part == Component::ParentDir) {
            return Err(invalid(path, "it must be relative, and without `..`"));
        }
        let joined = self.path.join(path);
        let directory = open_beneath(&self.directory, path, OFlags::PATH | OFlags::DIRECTORY).map_err(
            |errno| match errno {
                Errno::XDEV => Error::OutsideRoots { path: shown(&joined) },
                errno => lookup_error(&joined, errno),
            },
        )?;
        let real = real_path(&directory).map_err(|source| Error::OpenDirectory {
            path: shown(&joined),
            source,
        })?;
        // One that was moved away while it was being looked up is no longer below.
        if !real.starts_with(&self.path) {
            return Err(Error::OutsideRoots { path: shown(&joined) });
        }
        Ok(Self {
            directory: Arc::new(directory),
            path: real,
            ..self.clone()
        })
    }

    pub(crate) fn roots(&self) -> &Roots {
        &self.roots
    }

    /// The directory above, unless that is outside the root.
    pub(crate) fn parent(&self) -> Result<Option<Self>, Error> {
        if self.path == self.roots.roots[self.root].real {
            return Ok(None);
        }
        self.path
            .parent()
            .map(|parent| self.roots.open_directory(parent))
            .transpose()
    }

    /// A directory in this one, which is not a link.
    pub(crate) fn child(&self, name: &OsStr) -> Result<Self, Error> {
        let path = self.path.join(name);
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory = rustix::fs::openat(&self.directory, name, flags, rustix::fs::Mode::empty())
            .map_err(|errno| lookup_error(&path, errno))?;
        let real = real_path(&directory).map_err(|source| Error::OpenDirectory {
            path: shown(&path),
            source,
        })?;
        if !real.starts_with(&self.roots.roots[self.root].real) || self.roots.leave_out_path(&real) {
            return Err(Error::OutsideRoots { path: shown(&path) });
        }
        Ok(Self {
            directory: Arc::new(directory),
            path: real,
            ..self.clone()
        })
    }

    /// The path for messages.
    pub(crate) fn shown(&self) -> String {
        shown(&self.path)
    }
}

impl Root {
    fn open(given: PathBuf) -> Result<Self, Error> {
        if !given.is_absolute() {
            return Err(invalid(&given, "a root must be absolute"));
        }
        let open_error = |source: io::Error| Error::OpenRoot {
            path: shown(&given),
            source,
        };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = rustix::fs::open(&given, flags, rustix::fs::Mode::empty())
            .map_err(|errno| open_error(errno.into()))?;
        let real = real_path(&directory).map_err(open_error)?;
        Ok(Self {
            directory,
            given,
            real,
        })
    }

    /// Replaces the first link in `rest` by its target. `None` when there is no link, or `rest` itself climbs
    /// out.
    fn follow_first_link(&self, rest: &Path) -> Option<PathBuf> {
        let mut walked = PathBuf::new();
        let mut components = rest.components();
        while let Some(component) = components.next() {
            let here = walked.join(component);
            let descriptor = open_beneath(&self.directory, &here, OFlags::PATH | OFlags::NOFOLLOW).ok()?;
            if file_type(&descriptor).ok()? == FileType::Symlink {
                let target = rustix::fs::readlinkat(&descriptor, "", Vec::new()).ok()?;
                let target = PathBuf::from(std::ffi::OsString::from_vec(target.into_bytes()));
                return Some(self.real.join(walked).join(target).join(components.as_path()));
            }
            walked = here;
        }
        None
    }
}

impl fmt::Debug for Roots {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_list()
            .entries(self.roots.iter().map(|root| &root.real))
            .finish()
    }
}

impl fmt::Debug for Confined {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Confined").field(&self.path).finish()
    }
}

/// A path for messages, quoted when it holds anything unusual.
pub(crate) fn shown(path: &Path) -> String {
    display_path(path.as_os_str().as_bytes().as_bstr())
}

pub(crate) fn check_form(path: &Path) -> Result<(), Error> {
    let os: &OsStr = path.as_os_str();
    if os.is_empty() {
        return Err(invalid(path, "it is empty"));
    }
    if os.to_str().is_none() {
        return Err(invalid(path, "it is not valid UTF-8"));
    }
    if os.as_bytes().contains(&0) {
        return Err(invalid(path, "it contains a NUL character"));
    }
    Ok(())
}

pub(crate) fn invalid(path: &Path, reason: &'static str) -> Error {
    Error::InvalidPath {
        path: shown(path),
        reason,
    }
}

/// The kernel's refusal of a lookup that stayed inside the roots.
fn lookup_error(path: &Path, errno: Errno) -> Error {
    let path = shown(path);
    match errno {
        Errno::NOENT => Error::NotFound { path },
        Errno::NOTDIR => Error::NotADirectory { path },
        Errno::NAMETOOLONG => Error::InvalidPath {
            path,
            reason: "it is too long",
        },
        errno => Error::OpenDirectory {
            path,
            source: errno.into(),
        },
    }
}
