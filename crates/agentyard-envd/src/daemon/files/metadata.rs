//! What somebody said about a file when it was written: kept in its extended attributes.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::Path;

use http::HeaderMap;
use rustix::fs::{XattrFlags, fsetxattr, getxattr, listxattr, listxattr_query};
use rustix::io::Errno;

use crate::connect::{Code, Fault};

/// The headers in which it comes.
const HEADER: &str = "x-metadata-";

/// The attributes in which it is kept.
const ATTRIBUTE: &str = "user.e2b.";

/// How long an attribute's name may be, to the kernel.
const LONGEST_NAME: usize = 255;

/// How much is kept of a file. Many file systems have no room for more.
const MOST_BYTES: usize = 3 * 1024;

/// How long a list of attributes, and a value, can be to the kernel.
const KERNEL_BYTES: usize = 64 * 1024;

/// What a request says about the files in it. Of several values for a key, the first counts.
pub(super) fn of(headers: &HeaderMap) -> Result<BTreeMap<String, String>, Fault> {
    let mut metadata = BTreeMap::new();
    let mut bytes = 0;
    for key in headers.keys() {
        let Some(name) = key.as_str().strip_prefix(HEADER).filter(|name| !name.is_empty()) else {
            continue;
        };
        let value = headers.get(key).and_then(|value| value.to_str().ok());
        let value =
            value.ok_or_else(|| refused(name, "its value has characters other than printable ASCII"))?;
        bytes += name.len() + value.len();
        if ATTRIBUTE.len() + name.len() > LONGEST_NAME {
            return Err(refused("", "a key is longer than 240 characters"));
        }
        if bytes > MOST_BYTES {
            return Err(refused(
                name,
                "together it is more than 3 KiB; keep it in a file instead",
            ));
        }
        metadata.insert(name.to_owned(), value.to_owned());
    }
    Ok(metadata)
}

/// Keeps it, if the file system can, and tells what is kept.
pub(super) fn keep(file: &File, metadata: BTreeMap<String, String>) -> io::Result<BTreeMap<String, String>> {
    for (name, value) in &metadata {
        let attribute = format!("{ATTRIBUTE}{name}");
        match fsetxattr(file, attribute, value.as_bytes(), XattrFlags::empty()) {
            Ok(()) => {}
            Err(Errno::NOTSUP) => return Ok(BTreeMap::new()),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(metadata)
}

/// What is kept of a file; nothing when that cannot be told.
pub(super) fn read(path: &Path) -> BTreeMap<String, String> {
    // Most files have none, and the kernel needs no room to say so.
    if !matches!(listxattr_query(path), Ok(length) if length > 0) {
        return BTreeMap::new();
    }
    let mut list = vec![0_u8; KERNEL_BYTES];
    let length = listxattr(path, list.as_mut_slice()).unwrap_or(0);
    list.truncate(length);
    let names = list
        .split(|byte| *byte == 0)
        .filter_map(|name| std::str::from_utf8(name).ok()?.strip_prefix(ATTRIBUTE));
    let mut value = Vec::new();
    let mut metadata = BTreeMap::new();
    for name in names {
        value.resize(KERNEL_BYTES, 0);
        if let Ok(length) = getxattr(path, format!("{ATTRIBUTE}{name}"), value.as_mut_slice()) {
            let value = String::from_utf8_lossy(value.get(..length).unwrap_or_default());
            metadata.insert(name.to_owned(), value.into_owned());
        }
    }
    metadata
}

fn refused(name: &str, why: &str) -> Fault {
    Fault::new(
        Code::InvalidArgument,
        format!("the metadata `{name}` cannot be kept: {why}"),
    )
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn headers(values: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in values {
            headers.append(*name, HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn headers_with_the_prefix_are_metadata() {
        let metadata = of(&headers(&[
            ("x-metadata-author", "first"),
            ("x-metadata-author", "second"),
            ("x-metadata-", "nobody"),
            ("content-type", "text/plain"),
            ("x-metadata-purpose", ""),
        ]));
        let expected = [("author", "first"), ("purpose", "")];
        assert_eq!(
            metadata.unwrap(),
            expected
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into()
        );
    }

    #[test]
    fn what_no_attribute_holds_is_refused() {
        let mut long = HeaderMap::new();
        long.insert("x-metadata-a", "b".repeat(MOST_BYTES).parse().unwrap());
        assert_eq!(of(&long).unwrap_err().code, Code::InvalidArgument);
        let mut foreign = HeaderMap::new();
        foreign.insert("x-metadata-a", HeaderValue::from_bytes(b"\xfc").unwrap());
        assert_eq!(of(&foreign).unwrap_err().code, Code::InvalidArgument);
    }

    #[test]
    fn what_is_kept_is_read_again() {
        // Where there are no attributes, nothing is kept, and that is said.
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let file = File::create(&path).unwrap();
        let metadata = BTreeMap::from([("author".to_owned(), "somebody".to_owned())]);
        let kept = keep(&file, metadata).unwrap();
        assert_eq!(read(&path), kept);
        assert!(read(&directory.path().join("missing")).is_empty());
    }
}
