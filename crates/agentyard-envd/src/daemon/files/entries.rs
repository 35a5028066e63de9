//! What is told of a file, a directory or a link.

use std::fs::{self, FileType, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;

use super::metadata;
use super::names::Names;
use super::paths::name;
use crate::filesystem::{Entry, Kind};

/// The first second of the first year, before which the protocol has no times.
const FIRST_SECOND: i64 = -62_135_596_800;

/// What is there now.
pub(super) fn entry(path: &Path, names: &Names) -> io::Result<Entry> {
    let itself = fs::symlink_metadata(path)?;
    let is_symlink = itself.file_type().is_symlink();
    let target = if is_symlink {
        fs::metadata(path).ok()
    } else {
        Some(itself.clone())
    };
    Ok(Entry {
        name: name(path),
        kind: kind(target.as_ref()),
        path: path.to_string_lossy().into_owned(),
        size: i64::try_from(itself.len()).unwrap_or(i64::MAX),
        mode: target.as_ref().map_or(0, Metadata::mode) & 0o777,
        permissions: permissions(itself.file_type(), itself.mode()),
        owner: names.user(itself.uid()),
        group: names.group(itself.gid()),
        modified_time: time(itself.mtime(), itself.mtime_nsec()),
        symlink_target: if is_symlink { leads_to(path) } else { None },
        metadata: metadata::read(path),
        is_symlink,
    })
}

fn kind(target: Option<&Metadata>) -> Kind {
    match target {
        None => Kind::Symlink,
        Some(target) if target.is_file() => Kind::File,
        Some(target) if target.is_dir() => Kind::Directory,
        Some(_) => Kind::Unspecified,
    }
}

/// The end of all links, or what is written in this one when there is nothing at their end.
fn leads_to(path: &Path) -> Option<String> {
    fs::canonicalize(path)
        .or_else(|_| fs::read_link(path))
        .ok()
        .map(|target| target.to_string_lossy().into_owned())
}

/// `-rw-r--r--`, with the letters that E2B has before it: several where several things are to be said.
fn permissions(kind: FileType, mode: u32) -> String {
    let marks = [
        (kind.is_dir(), 'd'),
        (kind.is_symlink(), 'L'),
        (kind.is_block_device() || kind.is_char_device(), 'D'),
        (kind.is_fifo(), 'p'),
        (kind.is_socket(), 'S'),
        (mode & 0o4000 != 0, 'u'),
        (mode & 0o2000 != 0, 'g'),
        (kind.is_char_device(), 'c'),
        (mode & 0o1000 != 0, 't'),
    ];
    let mut text: String = marks
        .iter()
        .filter(|(is_so, _)| *is_so)
        .map(|(_, mark)| mark)
        .collect();
    if text.is_empty() {
        text.push('-');
    }
    for (place, letter) in "rwxrwxrwx".chars().enumerate() {
        text.push(if mode & (0o400 >> place) == 0 { '-' } else { letter });
    }
    text
}

fn time(seconds: i64, nanoseconds: i64) -> Option<String> {
    let nanoseconds = i32::try_from(nanoseconds).ok()?;
    (seconds >= FIRST_SECOND)
        .then(|| jiff::Timestamp::new(seconds, nanoseconds).ok())?
        .map(|time| time.to_string())
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn files_directories_and_links_are_told_apart() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        fs::write(root.join("file"), "four").unwrap();
        fs::set_permissions(root.join("file"), Permissions::from_mode(0o640)).unwrap();
        fs::create_dir(root.join("directory")).unwrap();
        fs::set_permissions(root.join("directory"), Permissions::from_mode(0o1755)).unwrap();
        symlink("file", root.join("to-file")).unwrap();
        symlink("directory", root.join("to-directory")).unwrap();
        symlink("nowhere", root.join("to-nowhere")).unwrap();
        let told = |name: &str| {
            let entry = entry(&root.join(name), &Names::default()).unwrap();
            let target = entry.symlink_target.map(|target| {
                let prefix = format!("{}/", root.display());
                target.strip_prefix(&prefix).unwrap_or(&target).to_owned()
            });
            (entry.kind, entry.mode, entry.permissions, target)
        };
        assert_eq!(told("file"), (Kind::File, 0o640, "-rw-r-----".into(), None));
        assert_eq!(
            told("directory"),
            (Kind::Directory, 0o755, "dtrwxr-xr-x".into(), None)
        );
        let link = || "Lrwxrwxrwx".to_owned();
        assert_eq!(told("to-file"), (Kind::File, 0o640, link(), Some("file".into())));
        assert_eq!(
            told("to-directory"),
            (Kind::Directory, 0o755, link(), Some("directory".into()))
        );
        assert_eq!(
            told("to-nowhere"),
            (Kind::Symlink, 0, link(), Some("nowhere".into()))
        );
    }

    #[test]
    fn an_entry_tells_all_of_a_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        fs::write(&path, "four").unwrap();
        let entry = entry(&path, &Names::default()).unwrap();
        let metadata = fs::metadata(&path).unwrap();
        assert_eq!(entry.name, "file");
        assert_eq!(entry.path, path.to_str().unwrap());
        assert_eq!(entry.size, 4);
        assert_eq!(entry.owner, metadata.uid().to_string());
        assert_eq!(entry.group, metadata.gid().to_string());
        assert!(!entry.is_symlink);
    }

    #[test]
    fn times_are_written_as_protocol_buffers_have_them() {
        assert_eq!(time(0, 0).unwrap(), "1970-01-01T00:00:00Z");
        assert_eq!(
            time(1_700_000_000, 120_000_000).unwrap(),
            "2023-11-14T22:13:20.12Z"
        );
        assert_eq!(time(i64::MAX, 0), None);
        assert_eq!(time(FIRST_SECOND - 1, 0), None);
    }
}
