//! Where everything is on the grounds.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{Mode, OFlags, RenameFlags, renameat_with};

use super::copying::{Notes, copy_tree};
use super::layers::{self, Layers};
use super::record::Record;
use super::{CopyWay, DIRECTORIES, GroundsError, GroundsSize, at, exists, removal, unknown};
use crate::command::{Access, Mount};
use crate::namespace::with_rights;
use crate::watch::held_bytes;

pub(super) const SANDBOXES: &str = "sandboxes";
pub(super) const SNAPSHOTS: &str = "snapshots";
pub(super) const LAYERS: &str = "layers";

/// What is being made or removed. Nobody looks there.
const ASIDE: &str = "aside";

/// Where, beside its directories, a sandbox on layers has what the kernel needs for its views, and the views themselves.
const WORK: &str = "work";
const VIEW: &str = "view";

const LONGEST_NAME: usize = 64;

#[derive(Debug)]
pub(super) struct Layout {
    root: PathBuf,
    /// To whom directories are given.
    owner: Option<(u32, u32)>,
    count: AtomicU64,
}

impl Layout {
    /// Makes what is missing, and removes what somebody began and did not end.
    pub(super) fn open(root: PathBuf, owner: Option<(u32, u32)>) -> Result<Self, GroundsError> {
        for name in ["", SANDBOXES, SNAPSHOTS, LAYERS, ASIDE] {
            make_directory(&root.join(name))?;
        }
        let layout = Self {
            root,
            owner,
            count: AtomicU64::new(0),
        };
        for entry in entries(&layout.root.join(ASIDE))? {
            layout.erase(&layout.root.join(ASIDE).join(entry))?;
        }
        Ok(layout)
    }

    /// The best way that works here, as was tried.
    pub(super) fn best_way(&self) -> Result<CopyWay, GroundsError> {
        let place = self.make(|_| Ok(()))?;
        let way = if layers::work_in(&place) {
            CopyWay::Layered
        } else if copying_shares_in(&place) {
            CopyWay::Reflinked
        } else {
            CopyWay::Copied
        };
        self.erase(&place)?;
        Ok(way)
    }

    /// Where a sandbox, a snapshot or a layer is.
    pub(super) fn path(&self, kind: &str, id: &str) -> Result<PathBuf, GroundsError> {
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if id.is_empty() || id.len() > LONGEST_NAME || !id.bytes().all(is_plain) {
            return Err(GroundsError::Name(id.chars().take(LONGEST_NAME).collect()));
        }
        Ok(self.root.join(kind).join(id))
    }

    pub(super) fn record(&self, kind: &str, id: &str) -> Result<Option<Record>, GroundsError> {
        Record::read(&self.path(kind, id)?)
    }

    pub(super) fn names(&self, kind: &str) -> Result<Vec<String>, GroundsError> {
        let mut names = entries(&self.root.join(kind))?;
        names.sort();
        Ok(names)
    }

    pub(super) fn size(&self, id: &str) -> Result<GroundsSize, GroundsError> {
        let record = self.record(SANDBOXES, id)?;
        let record = record.ok_or_else(|| unknown("sandbox", id))?;
        Ok(GroundsSize {
            own: self.bytes_in(&self.path(SANDBOXES, id)?)?,
            shared: record.bytes,
        })
    }

    /// How many bytes the three directories hold that are there.
    pub(super) fn bytes_in(&self, place: &Path) -> Result<u64, GroundsError> {
        let opened = DIRECTORIES
            .iter()
            .map(|(name, ..)| open(&place.join(name)))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(with_rights(|| held_bytes(&opened, usize::MAX)))
    }

    /// Makes a directory aside, with what is to be in it. When that fails, nothing of it stays.
    pub(super) fn make(
        &self,
        fill: impl FnOnce(&Path) -> Result<(), GroundsError>,
    ) -> Result<PathBuf, GroundsError> {
        let place = self.aside();
        make_directory(&place)?;
        match fill(&place) {
            Ok(()) => Ok(place),
            Err(error) => {
                // The first failure is what matters; the rest goes when the grounds are opened again.
                let _ = self.erase(&place);
                Err(error)
            }
        }
    }

    /// Puts what was made where it is seen.
    pub(super) fn show(
        &self,
        made: PathBuf,
        kind: &str,
        id: &str,
        what: &'static str,
    ) -> Result<(), GroundsError> {
        let path = self.path(kind, id)?;
        let current = rustix::fs::CWD;
        match renameat_with(current, &made, current, &path, RenameFlags::NOREPLACE) {
            Ok(()) => Ok(()),
            Err(errno) => {
                self.erase(&made)?;
                if errno == rustix::io::Errno::EXIST {
                    return Err(exists(what, id));
                }
                Err(at("renaming", &path)(errno))
            }
        }
    }

    /// Takes something away so that nobody sees it any more, and tells where it is; nothing if it was not there.
    pub(super) fn put_aside(&self, kind: &str, id: &str) -> Result<Option<PathBuf>, GroundsError> {
        let path = self.path(kind, id)?;
        let aside = self.aside();
        match fs::rename(&path, &aside) {
            Ok(()) => Ok(Some(aside)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(at("removing", &path)(error)),
        }
    }

    pub(super) fn discard(&self, kind: &str, id: &str) -> Result<(), GroundsError> {
        match self.put_aside(kind, id)? {
            Some(path) => self.erase(&path),
            None => Ok(()),
        }
    }

    pub(super) fn erase(&self, path: &Path) -> Result<(), GroundsError> {
        with_rights(|| removal::remove(path)).map_err(at("removing", path))
    }

    fn aside(&self) -> PathBuf {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}-{number}", std::process::id());
        self.root.join(ASIDE).join(name)
    }

    /// Makes the three directories, empty.
    pub(super) fn make_directories(&self, place: &Path) -> Result<(), GroundsError> {
        for (name, _, mode) in DIRECTORIES {
            let path = place.join(name);
            make_directory(&path)?;
            let given = || -> io::Result<()> {
                if let Some((user, group)) = self.owner {
                    std::os::unix::fs::lchown(&path, Some(user), Some(group))?;
                }
                fs::set_permissions(&path, fs::Permissions::from_mode(*mode))
            };
            given().map_err(at("making", &path))?;
        }
        Ok(())
    }

    pub(super) fn make_view_directories(&self, place: &Path) -> Result<(), GroundsError> {
        for (name, ..) in DIRECTORIES {
            make_directory(&place.join(WORK).join(name))?;
            make_directory(&place.join(VIEW).join(name))?;
        }
        Ok(())
    }

    /// The directories of a sandbox as they are to be shown.
    pub(super) fn mounts(&self, id: &str, record: &Record) -> Result<Vec<Mount>, GroundsError> {
        let sandbox = self.path(SANDBOXES, id)?;
        let mount = |(name, shown_at, _): &(&str, &str, u32)| {
            let (source, host_path) = if record.layers.is_empty() {
                (open(&sandbox.join(name))?, sandbox.join(name))
            } else {
                let view = sandbox.join(VIEW).join(name);
                let layers = Layers {
                    upper: Some((sandbox.join(name), sandbox.join(WORK).join(name))),
                    lower: self.lower(&record.layers, name)?,
                };
                (layers.shown(&view).map_err(at("mounting", &view))?, view)
            };
            Ok(Mount {
                source,
                host_path,
                at: PathBuf::from(shown_at),
                access: Access::ReadWrite,
            })
        };
        DIRECTORIES.iter().map(mount).collect()
    }

    /// Takes the views of a sandbox away where they were mounted at a path.
    pub(super) fn unmount_views(&self, id: &str) -> Result<(), GroundsError> {
        let view = self.path(SANDBOXES, id)?.join(VIEW);
        for (name, ..) in DIRECTORIES {
            layers::unmount(&view.join(name)).map_err(at("unmounting", &view))?;
        }
        Ok(())
    }

    fn lower(&self, layers: &[String], name: &str) -> Result<Vec<PathBuf>, GroundsError> {
        let path = |layer: &String| Ok(self.path(LAYERS, layer)?.join(name));
        layers.iter().map(path).collect()
    }

    /// Copies what is a sandbox's own, with the notes about what it hides of the layers below.
    pub(super) fn copy_own(
        &self,
        sandbox: &Path,
        is_on_layers: bool,
        place: &Path,
    ) -> Result<(), GroundsError> {
        self.make_directories(place)?;
        let notes = match is_on_layers {
            true => layers::notes(),
            false => Notes::None,
        };
        self.copy_each(place, notes, |name| open(&sandbox.join(name)))
    }

    /// Copies all that a sandbox on layers sees.
    pub(super) fn copy_view(
        &self,
        sandbox: &Path,
        layers: &[String],
        place: &Path,
    ) -> Result<(), GroundsError> {
        self.make_directories(place)?;
        self.copy_each(place, Notes::None, |name| {
            let mut lower = vec![sandbox.join(name)];
            lower.extend(self.lower(layers, name)?);
            let view = Layers { upper: None, lower };
            view.looked_at().map_err(at("mounting", &sandbox.join(name)))
        })
    }

    /// Copies what layers show together.
    pub(super) fn copy_merged(&self, layers: &[String], place: &Path) -> Result<(), GroundsError> {
        self.make_directories(place)?;
        self.copy_each(place, Notes::None, |name| {
            let lower = self.lower(layers, name)?;
            match lower.as_slice() {
                [only] => open(only),
                _ => {
                    let view = Layers { upper: None, lower };
                    view.looked_at().map_err(at("mounting", &self.root))
                }
            }
        })
    }

    fn copy_each(
        &self,
        place: &Path,
        notes: Notes,
        source: impl Fn(&str) -> Result<OwnedFd, GroundsError>,
    ) -> Result<(), GroundsError> {
        for (name, ..) in DIRECTORIES {
            let (from, to) = (source(name)?, open(&place.join(name))?);
            with_rights(|| copy_tree(notes, from.as_fd(), to.as_fd()))
                .map_err(at("copying to", &place.join(name)))?;
        }
        Ok(())
    }
}

fn make_directory(path: &Path) -> Result<(), GroundsError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(at("making", path))
}

fn entries(directory: &Path) -> Result<Vec<String>, GroundsError> {
    let failed = at("reading", directory);
    let read = || -> io::Result<Vec<String>> {
        let names = fs::read_dir(directory)?.map(|entry| Ok(entry?.file_name().into_string().ok()));
        names.filter_map(Result::transpose).collect()
    };
    read().map_err(failed)
}

/// Opens one of our own directories. Its content may be anybody's, its path is ours.
fn open(path: &Path) -> Result<OwnedFd, GroundsError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty()).map_err(at("opening", path))
}

/// Whether copies share their blocks here.
fn copying_shares_in(place: &Path) -> bool {
    let attempt = || -> io::Result<()> {
        let (original, copy) = (place.join("original"), place.join("copy"));
        fs::write(&original, [7; 4096])?;
        let copy = fs::File::create(copy)?;
        Ok(rustix::fs::ioctl_ficlone(&copy, &fs::File::open(original)?)?)
    };
    attempt().is_ok()
}
