//! What a status does not do: write, grow without end, go on when it is cancelled.

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use agentyard_git::{Error, StatusOptions};

use crate::porcelain::check;
use crate::support::{GO_ON, Yard};

#[test]
fn many_files_are_looked_at_by_several_threads() {
    let yard = Yard::new();
    for number in 0..3000 {
        yard.write(
            format!("d{}/e{}/f{number}", number % 30, number % 7),
            "same content",
        );
    }
    yard.commit("first");
    for number in (0..3000).step_by(97) {
        yard.write(
            format!("d{}/e{}/f{number}", number % 30, number % 7),
            "other content",
        );
        yard.write(format!("d{}/e{}/new{number}", number % 30, number % 7), "");
    }
    let status = check(&yard);
    assert_eq!(status.unstaged.modified.len(), 31);
    assert_eq!(status.untracked.len(), 31);
}

#[test]
fn long_lists_are_cut_and_say_so() {
    let yard = Yard::with_commit();
    for number in 0..20 {
        yard.write(format!("new{number}"), "");
    }
    let options = StatusOptions {
        limit: 5,
        ..StatusOptions::default()
    };
    let status = yard.open().status(&options, &GO_ON).unwrap();
    assert!(status.truncated && !status.is_clean());
    assert_eq!(status.untracked.len(), 5);
}

#[test]
fn a_status_writes_nothing() {
    let yard = Yard::with_commit();
    // An index that git would refresh: every file has a new time.
    yard.remove("file");
    yard.write("file", "content\n");
    let before = listing(&yard.path(".git"));
    assert!(yard.status().is_clean());
    assert_eq!(listing(&yard.path(".git")), before);
}

#[test]
fn a_cancelled_status_ends() {
    let yard = Yard::with_commit();
    let outcome = yard
        .open()
        .status(&StatusOptions::default(), &AtomicBool::new(true));
    assert!(matches!(outcome, Err(Error::Cancelled)));
}

/// Every file below a directory, with its time of change and its size.
fn listing(directory: &Path) -> Vec<(String, std::time::SystemTime, u64)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let metadata = entry.metadata().unwrap();
        if metadata.is_dir() {
            found.extend(listing(&entry.path()));
        }
        found.push((
            entry.path().display().to_string(),
            metadata.modified().unwrap(),
            metadata.len(),
        ));
    }
    found.sort();
    found
}
