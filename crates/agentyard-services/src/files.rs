//! Files: what callers list, read, search and change in the trees where they work.

mod cursors;
mod environment;
mod project;
mod tasks;

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use agentyard_git::{
    self as git, BytesQuery, Confined, Edit, EditOptions, Edited, ExpectedHash, FileBytes, FileText,
    FileTree, ListQuery, Listing, ReadFile, ReadQuery, SearchCase, SearchMode, SearchPage, SearchQuery,
    WriteOptions, Written,
};
use agentyard_model::{Caller, Cursor, Permission};
use agentyard_sandbox::Machine;

use crate::error::Result;
use crate::places::{Place, Places};
use crate::progress::Progress;
pub use cursors::{list_cursor, search_cursor};
pub use environment::Environment;
use environment::Toolbox;
pub use project::ProjectPart;

/// How long one call searches before it answers with what it has found.
const SEARCH_TIME: Duration = Duration::from_secs(15);

/// Files.
pub struct Files {
    places: Places,
    toolbox: Toolbox,
    /// Whether commands are run for callers.
    runs_commands: bool,
}

/// What to list.
#[derive(Debug, Clone)]
pub struct ListRequest {
    /// The directory, or a single file.
    pub path: Option<String>,
    /// How many levels of directories.
    pub depth: usize,
    /// Leave out what is ignored, instead of marking it.
    pub hide_ignored: bool,
    /// So many entries at most.
    pub limit: usize,
    /// Where the page before ended.
    pub cursor: Option<Cursor>,
}

/// What to read.
#[derive(Debug, Clone)]
pub struct ReadRequest {
    /// The file.
    pub path: String,
    /// Which part of it.
    pub part: ReadPart,
}

/// Which part of a file to read.
#[derive(Debug, Clone)]
pub enum ReadPart {
    /// Lines, as text.
    Lines(ReadQuery),
    /// Bytes.
    Bytes(BytesQuery),
}

/// What was read.
pub enum ReadAnswer {
    /// Lines; none of a binary file.
    Lines(ReadFile<FileText>),
    /// Bytes.
    Bytes(ReadFile<FileBytes>),
}

/// What to write.
#[derive(Debug, Clone)]
pub struct WriteRequest {
    /// The file.
    pub path: String,
    /// All that it is to hold.
    pub content: Vec<u8>,
    /// The hash of the file that may be replaced.
    pub expected_hash: Option<String>,
    /// Replace a file whatever it holds.
    pub overwrite: bool,
    /// Whether it may be executed; as before when left out.
    pub executable: Option<bool>,
}

/// What to replace.
#[derive(Debug, Clone)]
pub struct EditRequest {
    /// The file.
    pub path: String,
    /// The texts.
    pub edits: Vec<Edit>,
    /// The hash of the file that may be changed.
    pub expected_hash: Option<String>,
    /// Change nothing.
    pub dry_run: bool,
}

/// What to search for.
#[derive(Debug, Clone)]
pub struct SearchRequest {
    /// A regular expression.
    pub pattern: String,
    /// Take it as the text that it is.
    pub fixed: bool,
    /// Whether upper and lower case differ.
    pub case: SearchCase,
    /// A directory, or a single file.
    pub path: Option<String>,
    /// Globs of the files to search.
    pub include: Vec<String>,
    /// Globs of those to leave out.
    pub exclude: Vec<String>,
    /// Search what is ignored, too.
    pub ignored: bool,
    /// What to answer with.
    pub mode: SearchMode,
    /// How many lines around each to show.
    pub context: usize,
    /// So many lines or files at most.
    pub limit: usize,
    /// Where the page before ended.
    pub cursor: Option<Cursor>,
}

impl Files {
    pub(crate) fn new(places: Places, machine: Machine, runs_commands: bool) -> Self {
        Self {
            places,
            toolbox: Toolbox::new(machine),
            runs_commands,
        }
    }

    /// What is in a directory.
    ///
    /// # Errors
    /// When the caller may not read, or it is not there.
    pub async fn list(&self, caller: &Caller, place: &Place, request: ListRequest) -> Result<Listing> {
        self.places
            .read(caller, place, move |tree, cancel| {
                let tree = FileTree::open(tree)?;
                let query = ListQuery {
                    path: tree.path_in(request.path.as_deref().unwrap_or("."))?,
                    depth: request.depth,
                    hide_ignored: request.hide_ignored,
                    limit: request.limit,
                    after: request.cursor.as_ref().map(cursors::list_place).transpose()?,
                };
                tree.list(&query, cancel)
            })
            .await
    }

    /// Lines or bytes of a file.
    ///
    /// # Errors
    /// When the caller may not read, or it is not a file.
    pub async fn read(&self, caller: &Caller, place: &Place, request: ReadRequest) -> Result<ReadAnswer> {
        self.places
            .read(caller, place, move |tree, cancel| {
                let tree = FileTree::open(tree)?;
                let path = tree.path_in(&request.path)?;
                match request.part {
                    ReadPart::Lines(query) => tree.read(&path, &query, cancel).map(ReadAnswer::Lines),
                    ReadPart::Bytes(query) => tree.read_bytes(&path, query, cancel).map(ReadAnswer::Bytes),
                }
            })
            .await
    }

    /// Writes a file.
    ///
    /// # Errors
    /// When the caller may not write, or the file is not what was expected.
    pub async fn write(
        &self,
        caller: &Caller,
        place: &Place,
        progress: &Progress,
        request: WriteRequest,
    ) -> Result<Written> {
        self.places
            .change(caller, place, "write_file", progress, move |tree, cancel| {
                let tree = FileTree::open(tree)?;
                let options = WriteOptions {
                    expected: expected(request.expected_hash.as_deref())?,
                    overwrite: request.overwrite,
                    executable: request.executable,
                };
                tree.write(&tree.path_in(&request.path)?, &request.content, &options, cancel)
            })
            .await
    }

    /// Replaces texts in a file: all of them, or none.
    ///
    /// # Errors
    /// When the caller may not write, or a text is not there as often as was said.
    pub async fn edit(
        &self,
        caller: &Caller,
        place: &Place,
        progress: &Progress,
        request: EditRequest,
    ) -> Result<Edited> {
        caller.require(Permission::ProjectWrite)?;
        let dry_run = request.dry_run;
        let edit = move |tree: &Confined, cancel: &AtomicBool| {
            let tree = FileTree::open(tree)?;
            let options = EditOptions {
                expected: expected(request.expected_hash.as_deref())?,
                dry_run,
            };
            tree.edit(&tree.path_in(&request.path)?, &request.edits, &options, cancel)
        };
        // What changes nothing waits for nobody, and leaves no checkpoint.
        if dry_run {
            return self.places.read(caller, place, edit).await;
        }
        self.places
            .change(caller, place, "edit_file", progress, edit)
            .await
    }

    /// Looks for a regular expression in files.
    ///
    /// # Errors
    /// When the caller may not read, or the expression cannot be searched for.
    pub async fn search(&self, caller: &Caller, place: &Place, request: SearchRequest) -> Result<SearchPage> {
        self.places
            .read(caller, place, move |tree, cancel| {
                let tree = FileTree::open(tree)?;
                let query = SearchQuery {
                    pattern: request.pattern,
                    fixed: request.fixed,
                    case: request.case,
                    path: tree.path_in(request.path.as_deref().unwrap_or("."))?,
                    include: request.include,
                    exclude: request.exclude,
                    ignored: request.ignored,
                    mode: request.mode,
                    context: request.context,
                    limit: request.limit,
                    after: request.cursor.as_ref().map(cursors::search_place).transpose()?,
                    time: SEARCH_TIME,
                };
                tree.search(&query, cancel)
            })
            .await
    }
}

fn expected(hash: Option<&str>) -> Result<Option<ExpectedHash>, git::Error> {
    hash.map(ExpectedHash::new).transpose()
}
