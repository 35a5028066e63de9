//! What a workspace's branch follows: the branch of the same name on the remote.

use std::sync::atomic::AtomicBool;

use gix::bstr::BStr;
use rustix::fs::AtFlags;
use rustix::io::Errno;

use super::layout::failed;
use super::registration::write_new;
use crate::descriptor::read_child_file;
use crate::error::check_cancelled;
use crate::{BranchName, Error, Repository};

/// As large as a mirror's configuration may grow.
const MAX_CONFIGURATION: usize = 8 << 20;

/// Has a branch follow its namesake on the remote, unless it follows something already.
///
/// Two lines at the end of the file, under git's own lock, in place of two processes.
pub(super) fn follow_namesake(
    mirror: &Repository,
    branch: &BranchName,
    cancel: &AtomicBool,
) -> Result<(), Error> {
    let directory = mirror.confined_common_dir();
    let written = failed("written", &directory.path().join("config"));
    // The lock is taken by making the file, with what the configuration says by then.
    loop {
        let content = read_child_file(directory.directory(), b"config", MAX_CONFIGURATION)
            .map_err(failed("read", &directory.path().join("config")))?
            .unwrap_or_default();
        if follows_something(&content, branch) {
            return Ok(());
        }
        let extended = [content.as_slice(), section(&content, branch).as_bytes()].concat();
        match write_new(directory.directory(), "config.lock", &extended) {
            Ok(()) if still_is(mirror, &content) => {
                let parent = directory.directory();
                return rustix::fs::renameat(parent, "config.lock", parent, "config").map_err(written);
            }
            // Somebody wrote it between our reading and our lock.
            Ok(()) => {
                rustix::fs::unlinkat(directory.directory(), "config.lock", AtFlags::empty())
                    .map_err(&written)?;
            }
            Err(Errno::EXIST) => {
                return Err(Error::Locked {
                    verb: "config",
                    lock: directory.path().join("config.lock").display().to_string(),
                });
            }
            Err(errno) => return Err(written(errno)),
        }
        check_cancelled(cancel)?;
    }
}

fn still_is(mirror: &Repository, content: &[u8]) -> bool {
    let directory = mirror.confined_common_dir().directory();
    read_child_file(directory, b"config", MAX_CONFIGURATION)
        .is_ok_and(|now| now.unwrap_or_default() == content)
}

fn follows_something(configuration: &[u8], branch: &BranchName) -> bool {
    let parsed = gix::config::File::try_from(BStr::new(configuration));
    let name: &BStr = branch.as_str().into();
    // One that cannot be read is git's to complain about; we add nothing to it.
    parsed.map_or(true, |parsed| {
        parsed.string_by("branch", Some(name), "merge").is_some()
    })
}

/// The lines that say so. A branch's name has neither backslashes nor control characters.
fn section(configuration: &[u8], branch: &BranchName) -> String {
    let separator = if configuration.is_empty() || configuration.ends_with(b"\n") {
        ""
    } else {
        "\n"
    };
    let name = branch.as_str().replace('"', "\\\"");
    // Quoted, as `#` and `;` would begin a comment.
    format!("{separator}[branch \"{name}\"]\n\tremote = origin\n\tmerge = \"refs/heads/{name}\"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_added_is_found_again_whatever_the_name() {
        for name in ["main", "feature/a#b;c", "say-\"hi\""] {
            let branch = BranchName::new(name).unwrap();
            let before = b"[core]\n\tbare = true";
            assert!(!follows_something(before, &branch), "{name}");
            let after = [before.as_slice(), section(before, &branch).as_bytes()].concat();
            let parsed = gix::config::File::try_from(BStr::new(&after)).unwrap();
            let merge = parsed.string_by("branch", Some(name.into()), "merge").unwrap();
            assert_eq!(merge.to_string(), format!("refs/heads/{name}"));
            assert!(follows_something(&after, &branch));
            assert!(!follows_something(&after, &BranchName::new("other").unwrap()));
        }
    }
}
