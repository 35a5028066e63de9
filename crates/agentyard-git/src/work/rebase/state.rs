//! The notes that git keeps of a rebase (`rebase-merge` in the git directory).

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{BorrowedFd, OwnedFd};

use gix::bstr::BStr;
use rustix::fs::{AtFlags, Mode, OFlags};

use crate::descriptor::{open_child_directory, read_child_file};
use crate::{Error, ObjectId, Repository};

/// A line of a plan.
pub(super) struct Line {
    pub(super) command: &'static str,
    pub(super) commit: ObjectId,
    pub(super) subject: String,
}

/// Notes that were just written.
pub(super) struct State<'a> {
    git_dir: BorrowedFd<'a>,
    directory: OwnedFd,
}

const DIRECTORY: &[u8] = b"rebase-merge";
const TODO: &str = "git-rebase-todo";
const TODO_LIMIT: usize = 16 << 20;

/// Every note that is written.
const NOTES: &[&str] = &[
    "head-name",
    "onto",
    "orig-head",
    "interactive",
    "drop_redundant_commits",
    "end",
    "msgnum",
    TODO,
];

impl<'a> State<'a> {
    /// Writes the notes of a rebase that has not done anything yet.
    pub(super) fn write(
        repository: &'a Repository,
        head_name: Option<&BStr>,
        onto: &ObjectId,
        original: &ObjectId,
        lines: &[Line],
    ) -> Result<Self, Error> {
        let git_dir = repository.confined_git_dir();
        let failed = |source| Error::ReadFile {
            path: git_dir.shown() + "/rebase-merge",
            source,
        };
        let made = rustix::fs::mkdirat(git_dir.directory(), DIRECTORY, Mode::from_raw_mode(0o777));
        made.map_err(|errno| failed(errno.into()))?;
        let directory =
            open_child_directory(git_dir.directory(), DIRECTORY).map_err(|errno| failed(errno.into()))?;
        let state = Self {
            git_dir: git_dir.directory(),
            directory,
        };
        let head_name = head_name.map_or_else(|| b"detached HEAD".to_vec(), |name| name.to_vec());
        let todo: String = lines
            .iter()
            .map(|line| format!("{} {} {}\n", line.command, line.commit, line.subject))
            .collect();
        let contents: [Vec<u8>; 8] = [
            [head_name.as_slice(), b"\n"].concat(),
            format!("{onto}\n").into(),
            format!("{original}\n").into(),
            Vec::new(),
            Vec::new(),
            format!("{}\n", lines.len()).into(),
            b"0\n".to_vec(),
            if todo.is_empty() {
                b"noop\n".to_vec()
            } else {
                todo.into()
            },
        ];
        for (name, content) in NOTES.iter().zip(contents) {
            if let Err(source) = state.note(name, &content) {
                state.remove();
                return Err(failed(source));
            }
        }
        Ok(state)
    }

    /// Takes the notes away again: the rebase did not begin.
    pub(super) fn remove(self) {
        for name in NOTES {
            let _ = rustix::fs::unlinkat(&self.directory, *name, AtFlags::empty());
        }
        let _ = rustix::fs::unlinkat(self.git_dir, DIRECTORY, AtFlags::REMOVEDIR);
    }

    fn note(&self, name: &str, content: &[u8]) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let descriptor = rustix::fs::openat(&self.directory, name, flags, Mode::from_raw_mode(0o666))?;
        let mut file = File::from(descriptor);
        file.write_all(content)?;
        file.sync_all()
    }
}

/// Whether what is left to do of a rebase in progress runs programs. What cannot be read may.
pub(super) fn names_programs(repository: &Repository) -> bool {
    let git_dir = repository.confined_git_dir().directory();
    let Ok(directory) = open_child_directory(git_dir, DIRECTORY) else {
        return false;
    };
    match read_child_file(&directory, TODO.as_bytes(), TODO_LIMIT) {
        Ok(todo) => String::from_utf8_lossy(&todo.unwrap_or_default())
            .lines()
            .any(|line| matches!(line.split_whitespace().next(), Some("exec" | "x"))),
        Err(_) => true,
    }
}
