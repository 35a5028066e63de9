//! `cargo xtask tidy`: the rules of this tree that no compiler knows.

mod crates;
mod layout;
mod text;

use std::process::Command;

use crate::args::Args;
use crate::failure::{Failure, Result};
use crate::process::output;
use crate::workspace;

/// A broken rule, and where.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    /// `path` or `path:line`, from the root of the tree.
    place: String,
    /// What is wrong, and what to do instead.
    message: String,
}

impl Finding {
    fn new(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            place: place.into(),
            message: message.into(),
        }
    }
}

/// A file of ours that holds text.
struct SourceFile {
    /// From the root of the tree, with `/` between folders.
    path: String,
    text: String,
}

pub(crate) fn verb(args: Args) -> Result {
    args.finish()?;
    check()
}

pub(crate) fn check() -> Result {
    let files = source_files()?;
    let mut findings = crates::check(&workspace::metadata_of_members()?, &files);
    findings.extend(layout::check(&files));
    findings.extend(files.iter().flat_map(text::check));
    if findings.is_empty() {
        println!("{} files are tidy", files.len());
        return Ok(());
    }
    for finding in &findings {
        println!("{}: {}", finding.place, finding.message);
    }
    Err(Failure::new(format!("{} rules are broken", findings.len())).next("each line above says what to do"))
}

/// Everything that is committed or could be: what git tracks, and what it does not ignore.
fn source_files() -> Result<Vec<SourceFile>> {
    let listed = output(
        Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .current_dir(workspace::root()),
    )?;
    let mut paths: Vec<&str> = listed.split('\0').filter(|path| !path.is_empty()).collect();
    paths.sort_unstable();
    paths.dedup();
    // A deleted file is still listed until that is committed, and a picture is no text.
    let read = |path: &str| String::from_utf8(std::fs::read(workspace::root().join(path)).ok()?).ok();
    Ok(paths
        .into_iter()
        .filter_map(|path| {
            Some(SourceFile {
                path: path.to_owned(),
                text: read(path)?,
            })
        })
        .collect())
}
