//! What code has changed in its tree.

use std::os::fd::OwnedFd;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use agentyard_git::CheckpointChangeKind;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, StatxFlags, openat2, statx};

use super::answer::{ChangedPath, ExecDetails, FileChangeKind, Image};
use crate::places::Held;

/// How many files are named.
const MAX_FILES: usize = 50;

/// How many images are shown, and how large one may be.
const MAX_IMAGES: usize = 4;
const MAX_IMAGE_BYTES: usize = 1024 * 1024;

/// How far the file system's clock may be behind.
const SLACK: Duration = Duration::from_millis(20);

/// Tells which files have changed, and shows the images among them. Where the tree is a workspace, that is what differs
/// from before; elsewhere, what the code says it has opened, and has changed since it began.
pub(super) async fn tell(held: &Held, opened: &[String], started: SystemTime, details: &mut ExecDetails) {
    let known = held.changes(MAX_FILES).await.unwrap_or_else(|error| {
        tracing::warn!(error = %error.chain(), "what code has changed is not known");
        None
    });
    let candidates: Vec<String> = match known {
        Some((changes, count)) => {
            details.files_left_out = count - changes.len();
            details.files = changes
                .into_iter()
                .map(|change| ChangedPath {
                    change: match change.kind {
                        CheckpointChangeKind::Added => FileChangeKind::Created,
                        CheckpointChangeKind::Modified => FileChangeKind::Changed,
                        CheckpointChangeKind::Deleted => FileChangeKind::Deleted,
                    },
                    path: change.path,
                })
                .collect();
            // What git ignores is in no checkpoint; the code may have told of it.
            let others = opened.iter().filter(|path| !is_named(details, path));
            others.cloned().collect()
        }
        None => opened.to_vec(),
    };
    for path in candidates {
        let Some(change) = open(held, &path).and_then(|file| changed_since(&file, started)) else {
            continue;
        };
        if details.files.len() < MAX_FILES {
            details.files.push(ChangedPath { path, change });
        } else {
            details.files_left_out += 1;
        }
    }
    details.images = images(held, &details.files);
}

fn is_named(details: &ExecDetails, path: &str) -> bool {
    details.files.iter().any(|file| file.path == path)
}

/// Opens a file of the tree, without going through links.
fn open(held: &Held, path: &str) -> Option<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    let file = openat2(held.tree.directory(), path, flags, Mode::empty(), resolve).ok()?;
    let found = rustix::fs::fstat(&file).ok()?;
    (FileType::from_raw_mode(found.st_mode) == FileType::RegularFile).then_some(file)
}

fn changed_since(file: &OwnedFd, started: SystemTime) -> Option<FileChangeKind> {
    let wanted = StatxFlags::MTIME | StatxFlags::BTIME;
    let found = statx(file, "", AtFlags::EMPTY_PATH, wanted).ok()?;
    let since = started.duration_since(UNIX_EPOCH).ok()?.saturating_sub(SLACK);
    let is_since = |seconds: i64, nanoseconds: u32| {
        u64::try_from(seconds).is_ok_and(|seconds| Duration::new(seconds, nanoseconds) >= since)
    };
    if !is_since(found.stx_mtime.tv_sec, found.stx_mtime.tv_nsec) {
        return None;
    }
    let tells_birth = found.stx_mask & StatxFlags::BTIME.bits() != 0;
    let is_new = tells_birth && is_since(found.stx_btime.tv_sec, found.stx_btime.tv_nsec);
    Some(if is_new {
        FileChangeKind::Created
    } else {
        FileChangeKind::Changed
    })
}

/// The images among files, as far as they can be shown.
fn images(held: &Held, files: &[ChangedPath]) -> Vec<Image> {
    let written = files.iter().filter(|file| file.change != FileChangeKind::Deleted);
    written
        .filter_map(|file| image(held, &file.path))
        .take(MAX_IMAGES)
        .collect()
}

fn image(held: &Held, path: &str) -> Option<Image> {
    use std::io::Read as _;
    let extension = path.rsplit_once('.')?.1.to_ascii_lowercase();
    if !["png", "svg"].contains(&extension.as_str()) {
        return None;
    }
    let mut bytes = Vec::new();
    let file = std::fs::File::from(open(held, path)?);
    file.take(MAX_IMAGE_BYTES as u64 + 1)
        .read_to_end(&mut bytes)
        .ok()?;
    let media_type = media_type(&bytes)?;
    (bytes.len() <= MAX_IMAGE_BYTES).then(|| Image {
        path: path.to_owned(),
        media_type,
        bytes,
    })
}

/// What an image is, by what it holds and not by its name.
fn media_type(bytes: &[u8]) -> Option<&'static str> {
    if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        return Some("image/png");
    }
    let text = std::str::from_utf8(bytes)
        .ok()?
        .trim_start_matches('\u{feff}')
        .trim_start();
    let beginning = &text[..text.floor_char_boundary(4096)];
    (beginning.starts_with('<') && beginning.contains("<svg")).then_some("image/svg+xml")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_told_by_what_they_hold() {
        assert_eq!(media_type(b"\x89PNG\r\n\x1a\nrest"), Some("image/png"));
        assert_eq!(
            media_type(b"<?xml version='1.0'?>\n<svg></svg>"),
            Some("image/svg+xml")
        );
        assert_eq!(media_type(b"\xef\xbb\xbf <svg/>"), Some("image/svg+xml"));
        for other in [&b""[..], b"<html>", b"svg", b"\x89PNG", b"\xff<svg"] {
            assert_eq!(media_type(other), None);
        }
    }
}
