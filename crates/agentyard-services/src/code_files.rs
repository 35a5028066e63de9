//! Code files: written piece by piece by those who run them.
//!
//! They are files of a tree like all others, reached in the same way; what differs is how they are named, that none is
//! replaced by accident, and that one can be added to.

use std::sync::atomic::AtomicBool;

use agentyard_git::{self as git, FileTree, ReadQuery, RepositoryPath, WriteOptions, Written};
use agentyard_model::Caller;

use crate::error::Result;
use crate::files::ReadAnswer;
use crate::places::{Place, Places};
use crate::progress::Progress;

/// Where code sees the tree it runs in, and so how it names its files.
const INSIDE: &str = "/workspace/";

/// Files that hold code to be run.
pub struct CodeFiles {
    places: Places,
}

impl CodeFiles {
    pub(crate) fn new(places: Places) -> Self {
        Self { places }
    }

    /// Begins a file. One that is there already is not touched; with the same content that is well.
    ///
    /// # Errors
    /// When the caller may not write, or another file is there.
    pub async fn initialize(
        &self,
        caller: &Caller,
        place: &Place,
        progress: &Progress,
        path: &str,
        content: String,
    ) -> Result<Written> {
        self.change(
            caller,
            place,
            "initialize_code_file",
            progress,
            path,
            move |tree, path, cancel| tree.initialize(path, content.as_bytes(), cancel),
        )
        .await
    }

    /// Adds to the end of a file, on a line of its own.
    ///
    /// # Errors
    /// When the caller may not write, there is no such file, or it would become too long.
    pub async fn append(
        &self,
        caller: &Caller,
        place: &Place,
        progress: &Progress,
        path: &str,
        content: String,
    ) -> Result<Written> {
        self.change(
            caller,
            place,
            "append_to_code_file",
            progress,
            path,
            move |tree, path, cancel| tree.append(path, content.as_bytes(), cancel),
        )
        .await
    }

    /// Replaces a file, whatever it holds, or begins it.
    ///
    /// # Errors
    /// When the caller may not write.
    pub async fn overwrite(
        &self,
        caller: &Caller,
        place: &Place,
        progress: &Progress,
        path: &str,
        content: String,
    ) -> Result<Written> {
        let options = WriteOptions {
            overwrite: true,
            ..WriteOptions::default()
        };
        self.change(
            caller,
            place,
            "overwrite_code_file",
            progress,
            path,
            move |tree, path, cancel| tree.write(path, content.as_bytes(), &options, cancel),
        )
        .await
    }

    /// Changes the file that a caller means by a name.
    async fn change(
        &self,
        caller: &Caller,
        place: &Place,
        action: &'static str,
        progress: &Progress,
        path: &str,
        write: impl FnOnce(&FileTree, &RepositoryPath, &AtomicBool) -> Result<Written, git::Error>
        + Send
        + 'static,
    ) -> Result<Written> {
        let path = code_path(path);
        self.places
            .change(caller, place, action, progress, move |tree, cancel| {
                let tree = FileTree::open(tree)?;
                write(&tree, &tree.path_in(&path)?, cancel)
            })
            .await
    }

    /// Lines of a file.
    ///
    /// # Errors
    /// When the caller may not read, or it is not a file.
    pub async fn read(
        &self,
        caller: &Caller,
        place: &Place,
        path: &str,
        query: ReadQuery,
    ) -> Result<ReadAnswer> {
        let path = code_path(path);
        self.places
            .read(caller, place, move |tree, cancel| {
                let tree = FileTree::open(tree)?;
                let read = tree.read(&tree.path_in(&path)?, &query, cancel);
                read.map(ReadAnswer::Lines)
            })
            .await
    }
}

/// The file that a caller means by a name: one without directory and extension is Python's, and code names its files by
/// where it sees them.
pub(crate) fn code_path(given: &str) -> String {
    let path = given.strip_prefix(INSIDE).unwrap_or(given);
    if path.is_empty() || path.contains(['/', '.']) {
        return path.to_owned();
    }
    format!("{path}.py")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_name_is_a_python_file() {
        for (given, path) in [
            ("fib", "fib.py"),
            ("fib.py", "fib.py"),
            ("notes.txt", "notes.txt"),
            ("tools/run", "tools/run"),
            ("/workspace/fib.py", "fib.py"),
            ("/workspace/fib", "fib.py"),
            ("../fib", "../fib"),
            (".", "."),
            ("", ""),
        ] {
            assert_eq!(code_path(given), path, "{given}");
        }
    }
}
