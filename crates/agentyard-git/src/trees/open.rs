//! Views are opened.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use rustix::fs::Mode;

use super::base::Base;
use super::base_name::BaseName;
use super::branch_settings::follow_namesake;
use super::checkout::{Target, check_out};
use super::layout::{check_name, failed, make_directory, open_root};
use super::overlay::Layers;
use super::registration::{git_file, make_branch, register, share_index, write_new};
use super::stale_locks::past_stale_locks;
use super::{Trees, Way, mount, reflink};
use crate::program::{Git, Trust};
use crate::{BranchName, Confined, Error, ObjectId, Progress, Repository, Roots, Work};

/// A view to be opened.
#[derive(Debug, Clone)]
pub struct NewView<'a> {
    /// The name of its directory.
    pub name: &'a str,
    /// The branch to check out.
    pub branch: &'a BranchName,
    /// The commit at which the branch begins, when it does not exist yet.
    pub start: ObjectId,
}

/// A working tree on a mirror.
#[derive(Debug, Clone)]
pub struct View {
    /// Its top.
    pub path: PathBuf,
    /// All that work in it may reach: the working tree and the mirror.
    pub roots: Roots,
    /// How it came to its files.
    pub way: Way,
    /// The base that it stands on, or was copied from.
    pub base: Option<ObjectId>,
}

/// The link in a view's own directory that names its base.
const BASE: &str = "base";

impl Trees {
    /// Opens a view. What is there under its name is removed first, be it half-made or whole: the caller knows that
    /// nobody works in it.
    ///
    /// A branch that exists is checked out as it is. It follows the branch of the same name on the remote.
    pub fn open_view(
        &self,
        git: &Git,
        key: &str,
        new: &NewView<'_>,
        cancel: &AtomicBool,
        report: &(dyn Fn(Progress) + Sync),
    ) -> Result<View, Error> {
        self.close_view(key, new.name, cancel)?;
        let opened = self.open_clean(git, key, new, cancel, report);
        if opened.is_err() {
            // Also when the call was cancelled. What cannot be removed now is found by its name later.
            let _ = self.close_view(key, new.name, &AtomicBool::new(false));
        }
        opened
    }

    /// Brings back a view that was opened before: mounts it when it is not, as after a restart of the machine.
    pub fn attach_view(
        &self,
        key: &str,
        name: &str,
        way: Way,
        base: Option<&ObjectId>,
    ) -> Result<View, Error> {
        check_name("repository", key)?;
        check_name("workspace", name)?;
        let mirror = self.open_mirror(key)?;
        let path = self.view_path(key, name);
        if self.registration(&mirror, name).is_err() || !path.is_dir() {
            return Err(not_whole(&path));
        }
        if way == Way::Overlay {
            let _lock = self.lock_registrations(key, &AtomicBool::new(false))?;
            if !mount::is_mounted(&path)? {
                self.may_mount()?;
                let stood_on = self.base_of(key, name);
                let stood_on = stood_on.filter(|found| base == Some(&found.name.commit));
                let stood_on = stood_on.ok_or_else(|| not_whole(&path))?;
                let layers = self.layers(key, name, &stood_on);
                if !layers.upper.join(".git").is_file() || !layers.work.is_dir() {
                    return Err(not_whole(&path));
                }
                layers.mount(&path)?;
            }
        }
        view(&mirror, path, way, base.copied())
    }

    fn open_clean(
        &self,
        git: &Git,
        key: &str,
        new: &NewView<'_>,
        cancel: &AtomicBool,
        report: &(dyn Fn(Progress) + Sync),
    ) -> Result<View, Error> {
        let mirror = self.open_mirror(key)?;
        let way = self.way()?;
        let path = self.view_path(key, new.name);
        let tip = Work::new(git, &mirror, Trust::Untrusted, cancel, report).tip(&new.branch.reference())?;
        let commit = tip.unwrap_or(new.start);
        let (base, registration, tip) = loop {
            let base = match way {
                Way::Checkout => None,
                Way::Overlay | Way::Reflink => {
                    Some(self.base_for(git, &mirror, key, &commit, cancel, report)?)
                }
            };
            let _lock = self.lock_registrations(key, cancel)?;
            // It may have been pruned since.
            if base
                .as_ref()
                .is_some_and(|base| self.base(key, &base.name).is_none())
            {
                continue;
            }
            let tip = past_stale_locks(git, &mirror, cancel, || {
                let tip = make_branch(git, &mirror, new.branch, &new.start, cancel)?;
                follow_namesake(&mirror, new.branch, cancel)?;
                Ok(tip)
            })?;
            if let Some(base) = base.as_ref().filter(|_| way == Way::Overlay) {
                self.make_layers(key, new.name, base)?;
            }
            break (base, register(&mirror, new.name, new.branch, &path)?, tip);
        };
        make_directory(&self.trees_path(key))?;
        make_tree(&path)?;
        let has = match (&base, way) {
            (Some(base), Way::Overlay) => {
                let layers = self.layers(key, new.name, base);
                let upper = open_root(&layers.upper)?;
                write_new(upper.directory(), ".git", &git_file(&registration))
                    .map_err(failed("made", &path))?;
                share_index(&registration, &base.index())?;
                layers.mount(&path)?;
                Some(base.name.commit)
            }
            (Some(base), Way::Reflink) => {
                let tree = open_root(&path)?;
                reflink::copy(base, &tree, &registration, reflink::Sharing::Blocks, cancel)?;
                write_git_file(&tree, &registration)?;
                Some(base.name.commit)
            }
            _ => {
                write_git_file(&open_root(&path)?, &registration)?;
                None
            }
        };
        if has != Some(tip) {
            let target = Target {
                tree: &open_root(&path)?,
                index_directory: &registration,
                index: "index",
            };
            check_out(git, &mirror, &target, (has.as_ref(), &tip), cancel, report)?;
        }
        view(&mirror, path, way, base.map(|base| base.name.commit))
    }

    /// The directories of a view's own, and the note which base it stands on.
    fn make_layers(&self, key: &str, name: &str, base: &Base) -> Result<(), Error> {
        let layers = self.layers(key, name, base);
        let own = self.layers_path(key, name);
        make_directory(&own)?;
        let target = Path::new("../../bases").join(base.name.to_string());
        rustix::fs::symlink(target, own.join(BASE)).map_err(failed("made", &own))?;
        // The top of the view has its rights from here.
        make_tree(&layers.upper)?;
        if let Some(owner) = base.name.owner {
            let upper = open_root(&layers.upper)?;
            owner
                .share_top(upper.directory())
                .map_err(failed("shared", &layers.upper))?;
        }
        make_directory(&layers.work)
    }

    fn layers(&self, key: &str, name: &str, base: &Base) -> Layers {
        let own = self.layers_path(key, name);
        Layers {
            lower: base.tree(),
            upper: own.join("upper"),
            work: own.join("work"),
        }
    }

    /// The bases that views on disk stand on, mounted or not.
    pub(super) fn used_bases(&self, key: &str) -> Result<Vec<BaseName>, Error> {
        let names = super::layout::entries(&self.views_path(key))?;
        Ok(names
            .iter()
            .filter_map(|name| self.base_name_of(key, name))
            .collect())
    }

    /// The base that a view stands on, whatever the settings were when it was opened.
    pub(super) fn base_of(&self, key: &str, name: &str) -> Option<Base> {
        self.base(key, &self.base_name_of(key, name)?)
    }

    fn base_name_of(&self, key: &str, name: &str) -> Option<BaseName> {
        let target = std::fs::read_link(self.layers_path(key, name).join(BASE)).ok()?;
        target.file_name()?.to_str()?.parse().ok()
    }
}

fn view(mirror: &Repository, path: PathBuf, way: Way, base: Option<ObjectId>) -> Result<View, Error> {
    Ok(View {
        roots: Roots::new([path.clone(), mirror.common_dir().to_owned()])?,
        path,
        way,
        base,
    })
}

fn make_tree(path: &Path) -> Result<(), Error> {
    rustix::fs::mkdir(path, Mode::from_raw_mode(0o755)).map_err(failed("made", path))
}

fn write_git_file(tree: &Confined, registration: &Confined) -> Result<(), Error> {
    write_new(tree.directory(), ".git", &git_file(registration)).map_err(failed("made", tree.path()))
}

fn not_whole(path: &Path) -> Error {
    Error::state(
        format!("there is no whole working tree at {}", crate::roots::shown(path)),
        "close the workspace and open it again; its branch and its checkpoints are in the repository",
    )
}
