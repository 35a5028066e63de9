//! The files of a temporary tree.

use agentyard_git::{
    Edit, EditOptions, Edited, Error, FileText, FileTree, ListQuery, ListedKind, Listing, ReadFile,
    ReadQuery, RepositoryPath, SearchCase, SearchMode, SearchPage, SearchQuery, WriteOptions, Written,
};

use crate::support::{GO_ON, Yard};

pub(crate) fn path(path: &str) -> RepositoryPath {
    RepositoryPath::new(path).unwrap()
}

impl Yard {
    pub(crate) fn files(&self) -> FileTree {
        FileTree::open(&self.confined("")).unwrap()
    }

    pub(crate) fn read_file(&self, file: &str) -> Result<ReadFile<FileText>, Error> {
        self.files().read(&path(file), &ReadQuery::default(), &GO_ON)
    }

    pub(crate) fn write_file(
        &self,
        file: &str,
        content: &str,
        options: &WriteOptions,
    ) -> Result<Written, Error> {
        self.files()
            .write(&path(file), content.as_bytes(), options, &GO_ON)
    }

    pub(crate) fn edit_file(&self, file: &str, edits: &[Edit]) -> Result<Edited, Error> {
        self.files()
            .edit(&path(file), edits, &EditOptions::default(), &GO_ON)
    }

    pub(crate) fn list_files(&self, query: &ListQuery) -> Listing {
        self.files().list(query, &GO_ON).unwrap()
    }

    pub(crate) fn search_files(&self, query: &SearchQuery) -> SearchPage {
        self.files().search(query, &GO_ON).unwrap()
    }

    pub(crate) fn content(&self, file: &str) -> String {
        std::fs::read_to_string(self.path(file)).unwrap()
    }

    /// Everything in the tree but git's own, to see that nothing was left behind.
    pub(crate) fn all_paths(&self) -> Vec<String> {
        let everything = self.shell("find . -path ./.git -prune -o -mindepth 1 -print | sort");
        everything
            .lines()
            .map(|line| line.trim_start_matches("./").to_owned())
            .collect()
    }
}

pub(crate) const OVERWRITE: WriteOptions = WriteOptions {
    expected: None,
    overwrite: true,
    executable: None,
};

pub(crate) fn edit(old: &str, new: &str) -> Edit {
    Edit {
        old: old.to_owned(),
        new: new.to_owned(),
        count: 1,
    }
}

pub(crate) fn list(at: &str) -> ListQuery {
    ListQuery {
        path: path(at),
        depth: 1,
        hide_ignored: false,
        limit: 1000,
        after: None,
    }
}

pub(crate) fn search(pattern: &str) -> SearchQuery {
    SearchQuery {
        pattern: pattern.to_owned(),
        fixed: false,
        case: SearchCase::Sensitive,
        path: path("."),
        include: Vec::new(),
        exclude: Vec::new(),
        ignored: false,
        mode: SearchMode::Lines,
        context: 0,
        limit: 1000,
        after: None,
        time: std::time::Duration::from_secs(60),
    }
}

/// `a/b:3:text` of the lines that were found; `-` instead of `:` for those around them.
pub(crate) fn found(page: &SearchPage) -> Vec<String> {
    let lines = page.files.iter().flat_map(|file| {
        file.lines.iter().map(|line| {
            let mark = if line.matches { ':' } else { '-' };
            format!("{}{mark}{}{mark}{}", file.path, line.number, line.text)
        })
    });
    lines.collect()
}

/// The paths of a listing, with a mark for their kind as `ls -F` has it, and `!` before what is ignored.
pub(crate) fn listed(listing: &Listing) -> Vec<String> {
    let entries = listing.entries.iter().map(|entry| {
        let mark = match &entry.kind {
            ListedKind::File { executable: true } => "*".to_owned(),
            ListedKind::File { executable: false } => String::new(),
            ListedKind::Directory => "/".to_owned(),
            ListedKind::Link { target } => format!(" -> {target}"),
            ListedKind::Other(kind) => format!(" ({kind})"),
        };
        let ignored = if entry.ignored { "!" } else { "" };
        format!("{ignored}{}{mark}", entry.path)
    });
    entries.collect()
}

/// The lines that were read, as one text.
pub(crate) fn text(file: &ReadFile<FileText>) -> String {
    file.content
        .lines
        .iter()
        .map(|line| format!("{}\n", line.text))
        .collect()
}
