//! The files of a checkpoint, put back.

use std::collections::BTreeSet;

use gix::bstr::{BStr, BString, ByteSlice as _};
use gix::objs::tree::EntryKind;

use super::capture::FILE_LIMIT;
use super::files::{Content, Files, Found};
use super::objects::blob_id;
use super::plan::{AtPath, Difference, Version};
use super::recorded::read_blob;
use crate::status::IgnoreRules;
use crate::{Error, Work, index};

/// What changed in the working tree.
#[derive(Default)]
pub(super) struct Counts {
    pub(super) written: BTreeSet<BString>,
    pub(super) removed: BTreeSet<BString>,
}

/// Files that say what is ignored.
pub(super) const IGNORE_FILE: &[u8] = b".gitignore";
/// Files that say how others are converted.
pub(super) const ATTRIBUTES_FILE: &[u8] = b".gitattributes";

impl Work<'_> {
    /// Removes what is not wanted, writes what is, and lets git check out what is as it was committed.
    pub(super) fn restore_files(
        &self,
        local: &gix::Repository,
        found: &[Difference],
        counts: &mut Counts,
    ) -> Result<(), Error> {
        let worktree = self.top()?;
        let mut files = Files::new(worktree);
        let to_write = || {
            found
                .iter()
                .filter(|difference| difference.wanted.version().is_some())
        };
        let written: BTreeSet<&BStr> = to_write().map(|difference| difference.path.as_bstr()).collect();
        let rules_change = found
            .iter()
            .any(|difference| name_of(&difference.path) == IGNORE_FILE);
        let mut perhaps_ignored = Vec::new();
        for difference in found {
            let Difference {
                path,
                present,
                wanted,
                is_tracked,
            } = difference;
            if *wanted != AtPath::Nothing || present.version().is_none() {
                continue;
            }
            if rules_change && !is_tracked && !is_in_the_way(path.as_bstr(), &written) {
                perhaps_ignored.push(path);
            } else if files.remove(path.as_bstr())? {
                counts.removed.insert(path.clone());
            }
        }
        let mut checked_out = Vec::new();
        for difference in to_write() {
            let path = &difference.path;
            match difference.wanted {
                _ if difference.present == AtPath::Unknown => {}
                AtPath::Raw(version) => {
                    if self.write_raw(local, &mut files, path, &version)? {
                        counts.written.insert(path.clone());
                    }
                }
                AtPath::CheckedOut(version) if difference.present.version() != Some(version) => {
                    checked_out.push(path);
                }
                AtPath::CheckedOut(_) | AtPath::Nothing | AtPath::Submodule | AtPath::Unknown => {}
            }
        }
        // git expects a directory for each submodule, also for those that are not checked out.
        for difference in found
            .iter()
            .filter(|difference| difference.wanted == AtPath::Submodule)
        {
            if difference.present != AtPath::Unknown {
                files.remove(difference.path.as_bstr())?;
                files.make_directory(difference.path.as_bstr())?;
            }
        }
        counts
            .written
            .extend(checked_out.iter().map(|path| (*path).clone()));
        self.check_out_files(&mut files, checked_out)?;
        if perhaps_ignored.is_empty() {
            return Ok(());
        }
        // What was ignored then was not written down then, and may have been there.
        let index = index::load(self.repository(), local)?;
        let rules = IgnoreRules::new(self.repository(), worktree, local, &index, self.cancel());
        for path in perhaps_ignored {
            if !rules.ignores(path.as_bstr())? && files.remove(path.as_bstr())? {
                counts.removed.insert(path.clone());
            }
        }
        Ok(())
    }

    /// Writes a file byte for byte, unless it is there already.
    fn write_raw(
        &self,
        local: &gix::Repository,
        files: &mut Files<'_>,
        path: &BString,
        version: &Version,
    ) -> Result<bool, Error> {
        let there = files.read(path.as_bstr(), FILE_LIMIT)?;
        if is_already(local, &there, version) {
            return Ok(false);
        }
        let bytes = read_blob(local, version.id)?;
        let content = match version.kind {
            EntryKind::Link => Content::Link(&bytes),
            _ => Content::File {
                content: &bytes,
                permissions: permissions_of(version),
            },
        };
        files.write(path.as_bstr(), &content)?;
        Ok(true)
    }

    /// Lets git write files as the index has them. Those that say how others are converted come first.
    fn check_out_files(&self, files: &mut Files<'_>, paths: Vec<&BString>) -> Result<(), Error> {
        let (attributes, others): (Vec<_>, Vec<_>) = paths
            .into_iter()
            .partition(|path| name_of(path) == ATTRIBUTES_FILE);
        for paths in [attributes, others] {
            if paths.is_empty() {
                continue;
            }
            let mut input = Vec::new();
            for path in paths {
                // git would clear the way by itself, and not ask what is ignored.
                files.clear_way(path.as_bstr())?;
                input.extend_from_slice(path);
                input.push(0);
            }
            self.invoke("checkout-index")
                .words(&["--force", "--index", "--quiet", "-z", "--stdin"])
                .input(input)
                .run()?;
        }
        Ok(())
    }
}

/// Whether what is there is what is wanted, byte for byte.
pub(super) fn is_already(local: &gix::Repository, there: &Found, version: &Version) -> bool {
    let (content, fits) = match there {
        Found::File { content, permissions } => (
            content,
            version.kind != EntryKind::Link && *permissions == permissions_of(version),
        ),
        Found::Link(target) => (target, version.kind == EntryKind::Link),
        _ => return false,
    };
    fits && blob_id(local, content) == Some(version.id)
}

fn permissions_of(version: &Version) -> u32 {
    let usual = match version.kind {
        EntryKind::BlobExecutable => 0o755,
        _ => 0o644,
    };
    version.permissions.unwrap_or(usual)
}

/// Whether a file is where a directory of another one belongs, or the reverse.
fn is_in_the_way(path: &BStr, written: &BTreeSet<&BStr>) -> bool {
    let mut below = path.to_owned();
    below.push(b'/');
    let next = written.range(below.as_bstr()..).next();
    let mut above = path.find_iter(b"/").map(|slash| path[..slash].as_bstr());
    next.is_some_and(|next| next.starts_with(&below)) || above.any(|above| written.contains(above))
}

/// The last part of a path.
pub(super) fn name_of(path: &BString) -> &[u8] {
    &path[path.rfind_byte(b'/').map_or(0, |slash| slash + 1)..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_the_way_is_told_from_what_is_beside() {
        let written: BTreeSet<&BStr> = ["a/b", "c"].map(BStr::new).into();
        for (path, expected) in [
            ("a", true),
            ("a/b/x", true),
            ("c/x/y", true),
            ("a/c", false),
            ("a-", false),
            ("b", false),
        ] {
            assert_eq!(is_in_the_way(path.into(), &written), expected, "{path}");
        }
    }
}
