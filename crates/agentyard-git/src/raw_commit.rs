//! Commit objects, read like git reads them: whatever can be understood, is.
//!
//! gix refuses a commit whose author or date is malformed. Such commits exist, old ones and made up ones, and one of
//! them must not hide the history behind it.

use gix::bstr::{BStr, ByteSlice as _};

/// The parts of a commit object.
pub(crate) struct RawCommit<'data> {
    pub(crate) tree: gix::ObjectId,
    pub(crate) parents: Vec<gix::ObjectId>,
    pub(crate) author: &'data BStr,
    pub(crate) committer: &'data BStr,
    pub(crate) encoding: Option<&'data BStr>,
    pub(crate) message: &'data BStr,
}

impl<'data> RawCommit<'data> {
    /// None when the object does not begin like a commit.
    pub(crate) fn parse(data: &'data [u8]) -> Option<Self> {
        let (header, message) = data.split_once_str(b"\n\n").unwrap_or((data, b""));
        let mut lines = header.lines();
        let mut commit = Self {
            tree: gix::ObjectId::from_hex(lines.next()?.strip_prefix(b"tree ")?).ok()?,
            parents: Vec::new(),
            author: BStr::new(""),
            committer: BStr::new(""),
            encoding: None,
            message: message.as_bstr(),
        };
        for line in lines {
            let (key, value) = line.split_once_str(b" ").unwrap_or((line, b""));
            match key {
                b"parent" => commit.parents.push(gix::ObjectId::from_hex(value).ok()?),
                b"author" => commit.author = value.as_bstr(),
                b"committer" => commit.committer = value.as_bstr(),
                b"encoding" => commit.encoding = Some(value.as_bstr()),
                // Signatures and the like; their further lines begin with a space.
                _ => {}
            }
        }
        Some(commit)
    }

    /// When it was committed, in seconds since 1970. Without a readable date a commit sorts last, as in git.
    pub(crate) fn time(&self) -> i64 {
        seconds(self.committer)
    }
}

/// The time in `Name <email> seconds offset`.
pub(crate) fn seconds(person: &BStr) -> i64 {
    let date = person.rsplit_once_str(b">").map_or(&b""[..], |(_, date)| date);
    let digits = date.fields().next().and_then(|seconds| seconds.to_str().ok());
    digits.and_then(|digits| digits.parse().ok()).unwrap_or_default()
}

/// The name and the address in `Name <email> seconds offset`.
pub(crate) fn name_and_email(person: &BStr) -> (&BStr, &BStr) {
    let (name, rest) = person.split_once_str(b"<").unwrap_or((person, b""));
    let email = rest.rsplit_once_str(b">").map_or(rest, |(email, _)| email);
    (name.trim().as_bstr(), email.trim().as_bstr())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904";

    fn check(person: &str, name: &str, email: &str, time: i64) {
        let person = BStr::new(person);
        assert_eq!(name_and_email(person), (BStr::new(name), BStr::new(email)));
        assert_eq!(seconds(person), time);
    }

    #[test]
    fn people_are_read_as_well_as_they_can_be() {
        check("A B <a@b> 12 +0100", "A B", "a@b", 12);
        check("<a@b> 12", "", "a@b", 12);
        check("A B <a@b>", "A B", "a@b", 0);
        check("A <a <b> c> 7 +0000", "A", "a <b> c", 7);
        check("nobody", "nobody", "", 0);
        check("A <a@b> never", "A", "a@b", 0);
        check("A <a@b> -5 +0000", "A", "a@b", -5);
    }

    #[test]
    fn commits_without_much_in_them_are_commits() {
        let data = format!("{TREE}\n");
        let commit = RawCommit::parse(data.as_bytes()).unwrap();
        assert_eq!(
            (commit.parents.len(), commit.message, commit.time()),
            (0, BStr::new(""), 0)
        );
        for data in ["", "blob", "tree 123\n", &format!("{TREE}\nparent x\n\n")] {
            assert!(RawCommit::parse(data.as_bytes()).is_none());
        }
    }

    #[test]
    fn headers_of_several_lines_are_passed_over() {
        let data = format!(
            "{TREE}\nauthor A <a> 1 +0000\ngpgsig x\n author B <b> 2 +0000\nencoding x\n\nsubject\n\nbody\n"
        );
        let commit = RawCommit::parse(data.as_bytes()).unwrap();
        assert_eq!(seconds(commit.author), 1);
        assert_eq!(commit.encoding, Some(BStr::new("x")));
        assert_eq!(commit.message, "subject\n\nbody\n");
    }
}
