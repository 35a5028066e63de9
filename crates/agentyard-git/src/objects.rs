//! Objects as they are shown: commits, tags, trees and files of any revision.

use std::sync::atomic::{AtomicBool, Ordering};

use gix::bstr::ByteSlice as _;
use gix::objs::Kind;
use gix::objs::tree::EntryKind;

use crate::commit::{Commit, Person};
use crate::dates::timestamp;
use crate::raw_commit::{name_and_email, seconds};
use crate::raw_tag::RawTag;
use crate::{
    Error, LogQuery, LogStart, LogTips, ObjectId, Repository, RepositoryPath, Revision, display_path, text,
};

/// The name of an object: a revision, and perhaps a path in it, as in `main:src/lib.rs`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectName {
    revision: Revision,
    path: Option<RepositoryPath>,
}

/// An object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Object {
    /// A commit.
    Commit(CommitObject),
    /// A tag that is an object of its own.
    Tag(TagObject),
    /// A directory.
    Tree(TreeObject),
    /// A file.
    Blob(BlobObject),
}

/// A commit, and with what it is compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitObject {
    /// The commit.
    pub commit: Commit,
    /// Its first parent, or the empty tree.
    pub base: ObjectId,
    /// The sort of its signature, `ssh`, `gpg` or `x509`; nobody has checked it.
    pub signature: Option<&'static str>,
}

/// A tag that is an object of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TagObject {
    /// Its id.
    pub id: ObjectId,
    /// Its name, as it says itself.
    pub name: String,
    /// What it points to.
    pub target: ObjectId,
    /// `commit`, mostly.
    pub target_kind: &'static str,
    /// Who made it.
    pub tagger: Option<Person>,
    /// What it says, without its signature.
    pub message: String,
    /// Whether it carries a signature; nobody has checked it.
    pub signed: bool,
}

/// A directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeObject {
    /// Its id.
    pub id: ObjectId,
    /// In the order of git.
    pub entries: Vec<TreeEntry>,
    /// Whether there are more entries than these.
    pub truncated: bool,
}

/// What is in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeEntry {
    /// Six octal digits.
    pub mode: String,
    /// `blob`, `tree`, or `commit` for a submodule.
    pub kind: &'static str,
    /// Its id.
    pub id: ObjectId,
    /// The size of a file.
    pub size: Option<u64>,
    /// Its name.
    pub name: String,
}

/// A file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlobObject {
    /// Its id.
    pub id: ObjectId,
    /// Its size in bytes.
    pub size: u64,
    /// Its content with control characters made visible; none when it is binary or too large.
    pub text: Option<String>,
}

/// Larger files are not shown.
const MAX_BLOB: u64 = 16 << 20;

/// Larger tags and commits are not shown.
const MAX_TEXT: u64 = 4 << 20;

/// How many entries of a directory are shown.
const MAX_ENTRIES: usize = 10_000;

/// git takes a file for binary when there is a NUL among these first bytes.
const BINARY_WINDOW: usize = 8000;

impl ObjectName {
    /// Reads `revision` or `revision:path`; a path that is given apart counts the same.
    pub fn new(text: &str, file_path: Option<&str>) -> Result<Self, Error> {
        let (revision, inside) = match text.split_once(':') {
            Some((revision, path)) => (revision, Some(path)),
            None => (text, None),
        };
        if inside.is_some() && revision.is_empty() {
            return Err(Error::invalid(
                format!("the object {:?}", text::one_line(text)),
                "name a revision before the colon, as in `HEAD:file`",
            ));
        }
        let path = match (inside, file_path) {
            (Some(_), Some(_)) => {
                return Err(Error::invalid(
                    "a path in `object` and another one in `file_path`",
                    "pass one of them",
                ));
            }
            (Some(""), None) => Some("."),
            (inside, apart) => inside.or(apart),
        };
        Ok(Self {
            revision: Revision::new(revision)?,
            path: path.map(RepositoryPath::new).transpose()?,
        })
    }

    /// The path in the revision.
    pub fn path(&self) -> Option<&RepositoryPath> {
        self.path.as_ref()
    }
}

impl Repository {
    /// The object of a name.
    pub fn object(&self, name: &ObjectName, cancel: &AtomicBool) -> Result<Object, Error> {
        let local = self.local();
        let id = match &name.path {
            None => name.revision.resolve_object(&local)?,
            Some(path) => inside(&local, &name.revision, path)?,
        };
        let header = local
            .find_header(id)
            .map_err(Error::read(format!("object {id}")))?;
        match header.kind() {
            Kind::Commit => self.commit(id, cancel),
            Kind::Tag => tag(&local, id, header.size()),
            Kind::Tree => tree(&local, id, cancel),
            Kind::Blob => blob(&local, id, header.size()),
        }
    }

    /// The object as it is stored, when that is text: a commit or a tag.
    pub fn raw_object(&self, name: &ObjectName) -> Result<(ObjectId, String), Error> {
        let local = self.local();
        let id = match &name.path {
            None => name.revision.resolve_object(&local)?,
            Some(path) => inside(&local, &name.revision, path)?,
        };
        let header = local
            .find_header(id)
            .map_err(Error::read(format!("object {id}")))?;
        if header.kind() == Kind::Tree || header.size() > MAX_TEXT {
            return Err(Error::invalid(
                format!("the format `raw` for {id}"),
                "it is for commits and tags; leave it out",
            ));
        }
        let object = local
            .find_object(id)
            .map_err(Error::read(format!("object {id}")))?;
        Ok((id.into(), text::escaped(&object.data)))
    }

    fn commit(&self, id: gix::ObjectId, cancel: &AtomicBool) -> Result<Object, Error> {
        let query = LogQuery {
            start: LogStart::Tips(LogTips {
                include: vec![id.into()],
                exclude: Vec::new(),
            }),
            max_count: 1,
            ..LogQuery::default()
        };
        let mut page = self.log(&query, cancel)?;
        let commit = page.commits.pop().ok_or(Error::NotACommit { id: id.into() })?;
        self.described(commit).map(Object::Commit)
    }

    /// A commit with what it is compared with, and how it is signed.
    pub fn described(&self, commit: Commit) -> Result<CommitObject, Error> {
        let local = self.local();
        let id = gix::ObjectId::from(commit.id);
        let object = local
            .find_object(id)
            .map_err(Error::read(format!("commit {id}")))?;
        let empty = gix::ObjectId::empty_tree(local.object_hash());
        Ok(CommitObject {
            base: commit.parents.first().copied().unwrap_or_else(|| empty.into()),
            signature: signature(&object.data),
            commit,
        })
    }
}

/// What sort of signature the header of a commit holds.
fn signature(commit: &[u8]) -> Option<&'static str> {
    let mut header = commit.lines().take_while(|line| !line.is_empty());
    let line = header.find(|line| line.starts_with(b"gpgsig"))?;
    Some(if line.contains_str("SSH SIGNATURE") {
        "ssh"
    } else if line.contains_str("SIGNED MESSAGE") {
        "x509"
    } else {
        "gpg"
    })
}

/// What a path is in a revision.
fn inside(
    local: &gix::Repository,
    revision: &Revision,
    path: &RepositoryPath,
) -> Result<gix::ObjectId, Error> {
    let id = revision.resolve_object(local)?;
    let unreadable = || Error::read(format!("the tree of {revision}"));
    let object = local.find_object(id).map_err(unreadable())?;
    let tree = object.peel_to_tree().map_err(unreadable())?;
    if path.as_path() == std::path::Path::new(".") {
        return Ok(tree.id);
    }
    let entry = tree.lookup_entry_by_path(path.as_path()).map_err(unreadable())?;
    match entry {
        Some(entry) if entry.mode().is_commit() => Err(Error::invalid(
            format!("{} in {revision}", path.shown()),
            "it is a submodule; look into that repository",
        )),
        Some(entry) => Ok(entry.object_id()),
        None => Err(Error::Missing {
            what: format!(
                "{} is not in {revision}; list what is with `{revision}:`",
                path.shown()
            ),
        }),
    }
}

fn tag(local: &gix::Repository, id: gix::ObjectId, size: u64) -> Result<Object, Error> {
    if size > MAX_TEXT {
        return Err(Error::invalid(
            format!("the tag {id}"),
            format!("it has {size} bytes"),
        ));
    }
    let object = local.find_object(id).map_err(Error::read(format!("tag {id}")))?;
    let tag = RawTag::parse(&object.data).ok_or_else(|| Error::Missing {
        what: format!("the tag {id} is damaged: it does not say what it points to"),
    })?;
    let field = |name: &[u8]| {
        let header = object.data.lines().take_while(|line| !line.is_empty());
        let mut values = header.filter_map(|line| line.strip_prefix(name));
        values.next().unwrap_or_default()
    };
    Ok(Object::Tag(TagObject {
        id: id.into(),
        name: text::one_line(&field(b"tag ").to_str_lossy()),
        target: tag.target.into(),
        target_kind: match field(b"type ") {
            b"tag" => "tag",
            b"tree" => "tree",
            b"blob" => "blob",
            _ => "commit",
        },
        tagger: tag.tagger.map(|tagger| {
            let (name, email) = name_and_email(tagger);
            Person {
                name: text::one_line(&name.to_str_lossy()),
                email: text::one_line(&email.to_str_lossy()),
                at: timestamp(seconds(tagger)),
            }
        }),
        message: text::without_controls(&tag.message.to_str_lossy())
            .trim()
            .to_owned(),
        signed: tag.signed,
    }))
}

fn tree(local: &gix::Repository, id: gix::ObjectId, cancel: &AtomicBool) -> Result<Object, Error> {
    let unreadable = || Error::read(format!("tree {id}"));
    let object = local.find_tree(id).map_err(unreadable())?;
    let mut entries = Vec::new();
    let mut truncated = false;
    for entry in object.iter() {
        if cancel.load(Ordering::Relaxed) {
            return Err(Error::Cancelled);
        }
        if entries.len() == MAX_ENTRIES {
            truncated = true;
            break;
        }
        let entry = entry.map_err(unreadable())?;
        let kind = match entry.mode().kind() {
            EntryKind::Tree => "tree",
            EntryKind::Commit => "commit",
            EntryKind::Blob | EntryKind::BlobExecutable | EntryKind::Link => "blob",
        };
        let size = (kind == "blob").then(|| {
            local
                .find_header(entry.object_id())
                .ok()
                .map(|header| header.size())
        });
        entries.push(TreeEntry {
            mode: format!("{:06o}", entry.mode().value()),
            kind,
            id: entry.object_id().into(),
            size: size.flatten(),
            name: display_path(entry.filename()),
        });
    }
    Ok(Object::Tree(TreeObject {
        id: id.into(),
        entries,
        truncated,
    }))
}

fn blob(local: &gix::Repository, id: gix::ObjectId, size: u64) -> Result<Object, Error> {
    let mut shown = BlobObject {
        id: id.into(),
        size,
        text: None,
    };
    // The size is known before the content is read.
    if size <= MAX_BLOB {
        let object = local.find_object(id).map_err(Error::read(format!("file {id}")))?;
        let window = &object.data[..object.data.len().min(BINARY_WINDOW)];
        if !window.contains(&0) {
            shown.text = Some(text::escaped(&object.data));
        }
    }
    Ok(Object::Blob(shown))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_split_at_the_first_colon() {
        let name = ObjectName::new("main:a:b", None).unwrap();
        assert_eq!(name.revision.as_str(), "main");
        assert_eq!(name.path().unwrap().shown(), "a:b");
        assert_eq!(
            ObjectName::new("v1", Some("x")).unwrap().path().unwrap().shown(),
            "x"
        );
        assert_eq!(ObjectName::new("v1:", None).unwrap().path().unwrap().shown(), ".");
        assert_eq!(ObjectName::new("v1", None).unwrap().path(), None);
    }

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        for text in [
            ":file",
            ":/fix",
            "--output=x",
            "HEAD:../x",
            "HEAD:/etc/passwd",
            "HEAD:.git/config",
            "",
            "a\nb",
        ] {
            assert!(ObjectName::new(text, None).is_err(), "{text:?}");
        }
        assert!(ObjectName::new("HEAD:a", Some("b")).is_err());
    }
}
