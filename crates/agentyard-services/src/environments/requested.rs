//! What a call wants to be installed: names in the call itself, and files of the tree that name more.
//!
//! Files of a tree are written by anybody. They are never handed to an installer: they are read here, by the means that
//! every file tool has, and only requirements are taken out of them.

mod project;
mod requirements_file;

use std::sync::atomic::AtomicBool;

use agentyard_git::{self as git, BytesQuery, Confined, FileTree};

use super::requirement::{Requirement, Source};
use crate::error::{Error, Result};

/// How many things may be installed at once.
const MAX_REQUIREMENTS: usize = 2000;

/// The longest file that is read.
const MAX_FILE: usize = 512 << 10;

/// What is to be installed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Requested {
    pub(super) requirements: Vec<Requirement>,
    /// What narrows versions, should something of these names be installed.
    pub(super) constraints: Vec<Requirement>,
}

/// Where to find what is to be installed.
#[derive(Debug, Clone, Default)]
pub(super) struct Sources {
    pub(super) packages: Vec<String>,
    pub(super) requirements: Option<String>,
    pub(super) pyproject: Option<String>,
    pub(super) groups: Vec<String>,
}

impl Sources {
    /// Whether a file of the tree is needed.
    pub(super) fn need_tree(&self) -> bool {
        self.requirements.is_some() || self.pyproject.is_some()
    }

    /// What stands in the call itself.
    pub(super) fn named(&self) -> Result<Requested> {
        if self.pyproject.is_none() && !self.groups.is_empty() {
            return Err(Error::invalid(
                "`groups` are those of a `pyproject` file: name that too",
            ));
        }
        let requirements = self.packages.iter().map(|text| Requirement::read(text));
        Ok(Requested {
            requirements: requirements.collect::<Result<_>>()?,
            constraints: Vec::new(),
        })
    }

    /// What stands in the files.
    pub(super) fn in_tree(
        &self,
        tree: &Confined,
        cancel: &AtomicBool,
    ) -> Result<Result<Requested>, git::Error> {
        let tree = FileTree::open(tree)?;
        let read = |path: &str| -> Result<String> {
            read_file(&tree, path, cancel).map_err(crate::failures::from_git)?
        };
        Ok(self.read_files(&read))
    }

    fn read_files(&self, read: &dyn Fn(&str) -> Result<String>) -> Result<Requested> {
        let mut requested = Requested::default();
        if let Some(path) = &self.requirements {
            requirements_file::read(path, read, &mut requested)?;
        }
        if let Some(path) = &self.pyproject {
            project::read(path, &read(path)?, &self.groups, &mut requested)?;
        }
        Ok(requested)
    }
}

impl Requested {
    /// Both together.
    pub(super) fn and(mut self, other: Self) -> Self {
        self.requirements.extend(other.requirements);
        self.constraints.extend(other.constraints);
        self
    }

    /// Whether it can be installed at all.
    pub(super) fn check(&self, allow_urls: bool) -> Result<()> {
        if self.requirements.is_empty() {
            return Err(Error::invalid(
                "nothing to install: `packages` is empty, and no file names anything",
            )
            .hint("pass names, such as `packages: [\"numpy>=2\"]`"));
        }
        if self.requirements.len() + self.constraints.len() > MAX_REQUIREMENTS {
            return Err(Error::invalid(format!(
                "more than {MAX_REQUIREMENTS} requirements"
            )));
        }
        let all = self.requirements.iter().chain(&self.constraints);
        let from_elsewhere = all.filter(|requirement| matches!(requirement.source, Source::Url(_)));
        if let Some(requirement) = from_elsewhere.take(1).find(|_| !allow_urls) {
            return Err(Error::new(
                crate::error::ErrorKind::Forbidden,
                format!(
                    "`{}` comes from an address, and only what is in the index may be installed here",
                    requirement.name
                ),
            )
            .hint("leave the address out, or let whoever runs Agentyard set `exec.allow_urls = true`"));
        }
        Ok(())
    }
}

/// A text file of the tree.
fn read_file(tree: &FileTree, path: &str, cancel: &AtomicBool) -> Result<Result<String>, git::Error> {
    let query = BytesQuery {
        offset: 0,
        max_bytes: MAX_FILE,
    };
    let file = tree.read_bytes(&tree.path_in(path)?, query, cancel)?;
    let shown = file.path;
    if file.size > MAX_FILE as u64 {
        return Ok(Err(Error::invalid(format!(
            "`{shown}` is longer than {MAX_FILE} bytes"
        ))));
    }
    let text = String::from_utf8(file.content.bytes);
    Ok(text.map_err(|_| Error::invalid(format!("`{shown}` is not text in UTF-8"))))
}

/// A mistake in a file.
fn wrong(file: &str, line: usize, what: &str) -> Error {
    let place = if line == 0 {
        String::new()
    } else {
        format!(", line {line}")
    };
    Error::invalid(format!("`{}`{place}: {what}", file.escape_debug()))
}
