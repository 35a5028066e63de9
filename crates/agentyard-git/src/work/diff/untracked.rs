//! Untracked files, shown as if they were added.

use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use gix::bstr::ByteSlice as _;
use rustix::fs::OFlags;

use super::between::Sides;
use super::{Change, ChangedFile, Diff, DiffQuery, generated};
use crate::descriptor::{as_path, open_beneath, open_child_file};
use crate::{Error, Work, display_path, text};

/// How many untracked files are shown.
const MAX_FILES: usize = 10_000;

/// How much of one is read. Longer ones are named, and not shown.
const MAX_SIZE: u64 = 1 << 20;

/// How much of all of them is read.
const MAX_TOTAL: u64 = 8 << 20;

/// git takes a file for binary when there is a NUL among these first bytes.
const BINARY_WINDOW: usize = 8000;

/// Appends them. They are read in this process: git would have to write an index for it.
pub(super) fn append(
    work: &Work<'_>,
    query: &DiffQuery,
    sides: &Sides,
    diff: &mut Diff,
) -> Result<(), Error> {
    let (true, Some(worktree)) = (sides.reads_worktree(), work.repository().confined_worktree()) else {
        return Err(Error::invalid(
            "`include_untracked` in a comparison without the working tree",
            "leave out `staged`, and a second commit",
        ));
    };
    let finished = work
        .invoke("ls-files")
        .words(&["--others", "--exclude-standard", "-z"])
        .variable("GIT_OPTIONAL_LOCKS", "0")
        .paths(&query.paths)
        .run()?;
    let tracked = diff.files.len();
    let mut total = 0;
    let names = finished
        .output
        .split(|&byte| byte == 0)
        .filter(|name| !name.is_empty());
    for (number, name) in names.take(MAX_FILES).enumerate() {
        // A nested repository is named like a directory, and is not looked into.
        if name.ends_with(b"/") {
            continue;
        }
        let Some(mut file) = Found::open(worktree.directory(), name) else {
            continue;
        };
        let left_out = query.leave_out_generated && generated::is_generated(name, &query.paths);
        let mut changed = ChangedFile {
            path: display_path(name.as_bstr()),
            change: Change::Untracked,
            left_out,
            ..ChangedFile::default()
        };
        let content = if total < MAX_TOTAL { file.read() } else { None };
        total += content.as_ref().map_or(0, |content| content.len() as u64);
        match content {
            Some(content) if !is_binary(&content) => {
                changed.insertions = content.lines().count() as u64;
                if query.text && !left_out && tracked + number >= query.from_file {
                    changed.patch = Some(added(name, &file, &content));
                }
            }
            _ => changed.binary = true,
        }
        diff.files.push(changed);
    }
    Ok(())
}

/// An untracked file, opened so that no link leads elsewhere.
enum Found {
    File { file: std::fs::File, executable: bool },
    Link(Vec<u8>),
}

impl Found {
    fn open(worktree: std::os::fd::BorrowedFd<'_>, name: &[u8]) -> Option<Self> {
        let path = as_path(name);
        let parent = path.parent().unwrap_or(Path::new("."));
        let parent: OwnedFd = open_beneath(worktree, parent, OFlags::PATH | OFlags::DIRECTORY).ok()?;
        let name = path.file_name()?;
        match open_child_file(&parent, name.as_bytes()).ok()? {
            Some(file) => {
                let executable = rustix::fs::fstat(&file).ok()?.st_mode & 0o100 != 0;
                Some(Self::File { file, executable })
            }
            None => {
                let target = rustix::fs::readlinkat(&parent, name, Vec::new()).ok()?;
                Some(Self::Link(target.into_bytes()))
            }
        }
    }

    /// Its content; none when it is too long or cannot be read.
    fn read(&mut self) -> Option<Vec<u8>> {
        match self {
            Self::Link(target) => Some(target.clone()),
            Self::File { file, .. } => {
                let mut content = Vec::new();
                file.take(MAX_SIZE + 1).read_to_end(&mut content).ok()?;
                (content.len() as u64 <= MAX_SIZE).then_some(content)
            }
        }
    }

    fn mode(&self) -> &'static str {
        match self {
            Self::Link(_) => "120000",
            Self::File { executable: true, .. } => "100755",
            Self::File {
                executable: false, ..
            } => "100644",
        }
    }
}

fn is_binary(content: &[u8]) -> bool {
    content[..content.len().min(BINARY_WINDOW)].contains(&0)
}

fn added(name: &[u8], file: &Found, content: &[u8]) -> String {
    let (old, new) = (quoted("a/", name), quoted("b/", name));
    let mut patch = format!("diff --git {old} {new}\nnew file mode {}\n", file.mode());
    if content.is_empty() {
        return patch;
    }
    let count = content.lines().count();
    let range = if count == 1 {
        "1".to_owned()
    } else {
        format!("1,{count}")
    };
    patch.push_str(&format!("--- /dev/null\n+++ {new}\n@@ -0,0 +{range} @@\n"));
    let mut lines = Vec::with_capacity(content.len() + count);
    for line in content.split_inclusive(|&byte| byte == b'\n') {
        lines.push(b'+');
        lines.extend_from_slice(line);
    }
    if !content.ends_with(b"\n") {
        lines.extend_from_slice(b"\n\\ No newline at end of file\n");
    }
    patch.push_str(&text::escaped(&lines));
    patch
}

fn quoted(prefix: &str, name: &[u8]) -> String {
    display_path([prefix.as_bytes(), name].concat().as_bstr())
}
