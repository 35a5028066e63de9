//! Where references pointed before.

mod lines;

use std::fs::File;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use gix::bstr::{BStr, ByteSlice};
use gix::filter::plumbing::encoding::UTF_8;
use gix::refs::FullName;
use rustix::fs::{FileType, OFlags};
use rustix::io::Errno;

use crate::commit::{self, Person};
use crate::descriptor::{as_path, file_type, open_beneath};
use crate::error::check_cancelled;
use crate::revision::Revision;
use crate::{Error, ObjectId, Repository, display_path, remote_url};
use lines::LinesFromEnd;

/// What to show of a reference's log.
#[derive(Clone, Debug)]
pub struct ReflogQuery {
    /// `HEAD`, a branch, a remote-tracking branch (`origin/main`), `stash`, or any reference by its full name.
    pub reference: String,
    /// How many entries to pass over first.
    pub skip: usize,
    /// How many entries at most; no more than [`MAX_ENTRIES`].
    pub limit: usize,
}

/// A part of a reference's log, newest entry first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReflogPage {
    /// The reference, short: `HEAD`, `main`, `origin/main`, `stash`.
    pub reference: String,
    pub entries: Vec<ReflogEntry>,
    /// Whether another entry follows.
    pub more: bool,
    /// The reference exists, but no log of it is kept.
    pub missing: bool,
}

/// A step of a reference from one object to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReflogEntry {
    /// Names the object: `HEAD@{0}`.
    pub selector: String,
    pub id: ObjectId,
    /// Where the reference pointed before; none when it was made.
    pub previous: Option<ObjectId>,
    pub who: Person,
    /// What was done, as far as the log tells it apart: `commit (amend)`, `checkout`, `rebase (finish)`.
    pub action: String,
    /// The rest of the message. URLs come without credentials.
    pub message: String,
}

/// The longest page.
pub const MAX_ENTRIES: usize = 1000;

impl Default for ReflogQuery {
    fn default() -> Self {
        Self {
            reference: "HEAD".to_owned(),
            skip: 0,
            limit: 25,
        }
    }
}

impl Repository {
    /// Reads the log of a reference, like `git reflog`.
    pub fn reflog(&self, query: &ReflogQuery, cancel: &AtomicBool) -> Result<ReflogPage, Error> {
        let (name, log) = self.find_log(&query.reference)?;
        let reference = shown_name(&name);
        let Some(log) = log else {
            return Ok(ReflogPage {
                reference,
                missing: true,
                ..ReflogPage::default()
            });
        };
        let mut lines = LinesFromEnd::new(log).map_err(|source| read_error(&name, source))?;
        let mut entries = Vec::new();
        let mut index = 0;
        let mut more = false;
        while let Some(line) = lines.next().map_err(|source| read_error(&name, source))? {
            check_cancelled(cancel)?;
            let Some(mut entry) = parse(line.as_bstr()) else {
                continue;
            };
            if entries.len() == query.limit.min(MAX_ENTRIES) {
                more = true;
                break;
            }
            if index >= query.skip {
                entry.selector = format!("{reference}@{{{index}}}");
                entries.push(entry);
            }
            index += 1;
        }
        Ok(ReflogPage {
            reference,
            entries,
            more,
            missing: false,
        })
    }

    /// The reference that git would take the name for: the first that has a log, or else the first that exists.
    fn find_log(&self, name: &str) -> Result<(FullName, Option<File>), Error> {
        Revision::new(name)?;
        let candidates = [
            name.to_owned(),
            format!("refs/{name}"),
            format!("refs/tags/{name}"),
            format!("refs/heads/{name}"),
            format!("refs/remotes/{name}"),
            format!("refs/remotes/{name}/HEAD"),
        ];
        let candidates: Vec<FullName> = candidates
            .into_iter()
            .filter_map(|name| FullName::try_from(name).ok())
            .collect();
        for candidate in &candidates {
            if let Some(log) = self.open_log(candidate)? {
                return Ok((candidate.clone(), Some(log)));
            }
        }
        let local = self.local();
        let existing = candidates
            .into_iter()
            .find(|candidate| matches!(local.try_find_reference(candidate), Ok(Some(_))));
        existing
            .map(|name| (name, None))
            .ok_or_else(|| Error::UnknownRevision {
                revision: name.to_owned(),
                source: None,
            })
    }

    fn open_log(&self, name: &FullName) -> Result<Option<File>, Error> {
        let directory = if is_per_worktree(name) {
            self.confined_git_dir()
        } else {
            self.confined_common_dir()
        };
        let path = Path::new("logs").join(as_path(name.as_bstr()));
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        match open_beneath(directory.directory(), &path, flags) {
            Ok(log) if file_type(&log) == Ok(FileType::RegularFile) => Ok(Some(File::from(log))),
            // A directory of logs, or what nothing can be read from.
            Ok(_) | Err(Errno::NOENT | Errno::NOTDIR | Errno::NXIO | Errno::NAMETOOLONG) => Ok(None),
            Err(errno) => Err(read_error(name, errno.into())),
        }
    }
}

fn is_per_worktree(name: &FullName) -> bool {
    let name = name.as_bstr();
    !name.starts_with(b"refs/")
        || [&b"refs/bisect/"[..], b"refs/worktree/", b"refs/rewritten/"]
            .iter()
            .any(|prefix| name.starts_with(prefix))
}

fn shown_name(name: &FullName) -> String {
    let full = name.as_bstr();
    let short = full.strip_prefix(b"refs/").filter(|rest| *rest == b"stash");
    display_path(short.map_or_else(|| name.shorten(), ByteSlice::as_bstr))
}

fn read_error(name: &FullName, source: std::io::Error) -> Error {
    Error::ReadFile {
        path: format!("the log of {}", display_path(name.as_bstr())),
        source,
    }
}

/// Reads `old new Name <email> seconds offset<TAB>message`. None for a line of another form.
fn parse(line: &BStr) -> Option<ReflogEntry> {
    let (previous, rest) = line.split_once_str(b" ")?;
    let (id, rest) = rest.split_once_str(b" ")?;
    let (who, message) = rest.split_once_str(b"\t").unwrap_or((rest, b""));
    let previous = gix::ObjectId::from_hex(previous).ok()?;
    let message = without_credentials(&commit::line(&message.to_str_lossy()));
    let (action, message) = match message.split_once(": ") {
        Some((action, message)) => (action.to_owned(), message.to_owned()),
        None => (message, String::new()),
    };
    Some(ReflogEntry {
        selector: String::new(),
        id: gix::ObjectId::from_hex(id).ok()?.into(),
        previous: (!previous.is_null()).then(|| previous.into()),
        who: commit::person(who.as_bstr(), UTF_8),
        action,
        message,
    })
}

/// `git pull` and `git clone` write down the URL that they were given, token and all.
fn without_credentials(message: &str) -> String {
    let words = message.split(' ').map(|word| {
        if word.contains("://") {
            remote_url::without_credentials(word)
        } else {
            word.to_owned()
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "0000000000000000000000000000000000000000";
    const NEW: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

    fn parsed(message: &str) -> (String, String) {
        let entry = parse(format!("{OLD} {NEW} A <a@b> 12 +0000{message}").as_str().into()).unwrap();
        assert_eq!((entry.previous, entry.id.to_string()), (None, NEW.to_owned()));
        (entry.action, entry.message)
    }

    #[test]
    fn messages_are_an_action_and_the_rest() {
        let check = |message: &str, action: &str, rest: &str| {
            assert_eq!(parsed(message), (action.to_owned(), rest.to_owned()));
        };
        check("\tcommit (initial): a: b\x1b[1m", "commit (initial)", "a: b[1m");
        check("\treset", "reset", "");
        check("", "", "");
        check(
            "\tpull https://user:token@example.org/a: Fast-forward",
            "pull https://example.org/a",
            "Fast-forward",
        );
        check(
            "\tclone: from https://token@example.org/a",
            "clone",
            "from https://example.org/a",
        );
    }

    #[test]
    fn lines_of_another_form_are_none() {
        for line in ["", "x", &format!("{OLD} short A <a> 1 +0000\tx"), OLD] {
            assert!(parse(line.into()).is_none(), "{line:?}");
        }
    }
}
