//! Commits as they are shown.

use gix::bstr::BStr;
use gix::filter::plumbing::encoding::{Encoding, UTF_8};
use jiff::Timestamp;

use crate::dates::timestamp;
use crate::raw_commit::{RawCommit, name_and_email, seconds};
use crate::{CommitStat, Error, ObjectId, text};

/// A commit, its text decoded and without control characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    pub id: ObjectId,
    /// As many digits as are needed to name it in this repository, and no fewer than seven.
    pub short_id: String,
    pub parents: Vec<ObjectId>,
    pub author: Person,
    pub committer: Person,
    /// The first paragraph of the message, on one line.
    pub subject: String,
    /// The rest of the message, at most [`MAX_BODY`] bytes of it.
    pub body: String,
    pub refs: Vec<Decoration>,
    /// How much it changed, where that was asked for. A merge has none, unless only first parents are followed.
    pub stat: Option<CommitStat>,
}

/// Who did something, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    pub name: String,
    pub email: String,
    pub at: Timestamp,
}

/// A reference that points to a commit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Decoration {
    pub kind: DecorationKind,
    /// Short: `main`, `origin/main`, `v1.0`, `HEAD`.
    pub name: String,
}

/// What kind of reference points to a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DecorationKind {
    Head,
    Branch,
    RemoteBranch,
    Tag,
}

/// How much of a message is shown.
pub const MAX_BODY: usize = 64 * 1024;

/// How much of a name or a subject is shown.
const MAX_LINE: usize = 4 * 1024;

/// The parts of a commit that are text.
pub(crate) struct CommitText {
    pub(crate) author: Person,
    pub(crate) committer: Person,
    pub(crate) message: String,
}

impl CommitText {
    /// Decodes a commit object.
    pub(crate) fn decode(id: gix::ObjectId, data: &[u8]) -> Result<Self, Error> {
        let commit = RawCommit::parse(data).ok_or(Error::NotACommit { id: id.into() })?;
        let encoding = commit.encoding.and_then(|label| Encoding::for_label(label));
        let encoding = encoding.unwrap_or(UTF_8);
        Ok(Self {
            author: person(commit.author, encoding),
            committer: person(commit.committer, encoding),
            message: decoded(commit.message, encoding),
        })
    }

    /// The first paragraph on one line, and the rest.
    pub(crate) fn subject_and_body(&self) -> (String, String) {
        subject_and_body(&self.message)
    }
}

/// The first paragraph of a message on one line, and the rest.
pub(crate) fn subject_and_body(message: &str) -> (String, String) {
    let (subject, body) = split_message(message);
    (line(&subject), cut(text::without_controls(body), MAX_BODY))
}

/// Reads `Name <email> seconds offset`.
pub(crate) fn person(written: &BStr, encoding: &'static Encoding) -> Person {
    let (name, email) = name_and_email(written);
    Person {
        name: line(&decoded(name, encoding)),
        email: line(&decoded(email, encoding)),
        at: timestamp(seconds(written)),
    }
}

/// Cut to a length that is fit to be shown.
pub(crate) fn line(text: &str) -> String {
    cut(text::one_line(text), MAX_LINE)
}

fn cut(mut text: String, limit: usize) -> String {
    text.truncate(text.floor_char_boundary(limit));
    text
}

fn decoded(bytes: &BStr, encoding: &'static Encoding) -> String {
    encoding.decode_without_bom_handling(bytes).0.into_owned()
}

fn split_message(message: &str) -> (String, &str) {
    let message = message.trim_start_matches(['\n', '\r', ' ', '\t']);
    let mut subject = String::new();
    let mut rest = message;
    while !rest.is_empty() {
        let (first, after) = rest.split_once('\n').unwrap_or((rest, ""));
        if first.trim().is_empty() {
            break;
        }
        if !subject.is_empty() {
            subject.push(' ');
        }
        subject.push_str(first.trim_end());
        rest = after;
    }
    // Blank lines before the body go, but not the indentation of its first line.
    let body_start = rest.len() - rest.trim_start().len();
    let body_start = rest[..body_start].rfind('\n').map_or(0, |newline| newline + 1);
    (subject, rest[body_start..].trim_end())
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(message: &str, expected: Expect) {
        expected.assert_eq(&format!("{:?}", split_message(message)));
    }

    #[test]
    fn messages_are_split_like_git_splits_them() {
        check("subject\n", expect![[r#"("subject", "")"#]]);
        check(
            "\n\nsubject\n\n\n  body\nmore\n\n",
            expect![[r#"("subject", "  body\nmore")"#]],
        );
        check("two\nlines\n\nbody\n", expect![[r#"("two lines", "body")"#]]);
        check("", expect![[r#"("", "")"#]]);
        check("subject\n   \nbody", expect![[r#"("subject", "body")"#]]);
    }

    #[test]
    fn commits_in_other_encodings_are_decoded() {
        let data = b"tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n\
            author J\xfcrgen <j@example.org> 100 +0200\n\
            committer \x1b[31mJ\xfcrgen <j@example.org> 99999999999999 +0200\n\
            encoding ISO-8859-1\n\ngr\xfcn\n\nb\xf6dy\x07\n";
        let id = gix::ObjectId::empty_tree(gix::hash::Kind::Sha1);
        let commit = CommitText::decode(id, data).unwrap();
        assert_eq!(commit.author.name, "Jürgen");
        assert_eq!(commit.author.at.to_string(), "1970-01-01T00:01:40Z");
        assert_eq!(commit.committer.name, "[31mJürgen");
        assert_eq!(commit.subject_and_body(), ("grün".to_owned(), "bödy".to_owned()));
    }

    #[test]
    fn broken_text_is_replaced() {
        let data = b"tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n\
            author A <a> 1 +0000\ncommitter A <a> 1 +0000\n\nbad \xff byte\n";
        let id = gix::ObjectId::empty_tree(gix::hash::Kind::Sha1);
        let commit = CommitText::decode(id, data).unwrap();
        assert_eq!(commit.subject_and_body().0, "bad \u{fffd} byte");
    }
}
