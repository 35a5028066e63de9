//! `git commit`.

use super::add::AddOptions;
use super::saved_index::SavedIndex;
use super::signing::signing_failure;
use crate::commit::CommitText;
use crate::descriptor::read_child_file;
use crate::message::{Author, Message, Trailer};
use crate::program::{Finished, LeftOut};
use crate::raw_commit::RawCommit;
use crate::{Error, Head, ObjectId, Operation, Person, RepositoryPath, Staged, Work};

/// What to commit, and how.
#[derive(Debug, Clone, Default)]
pub struct CommitOptions {
    /// The message. It may be left out where there is one: with `amend`, and while a merge, cherry-pick or
    /// revert waits to be concluded.
    pub message: Option<Message>,
    /// Lines to add at the end of the message.
    pub trailers: Vec<Trailer>,
    /// Add a `Signed-off-by` line of the committer.
    pub signoff: bool,
    /// Who wrote it, when that is somebody else than usual.
    pub author: Option<Author>,
    /// Replace the last commit.
    pub amend: bool,
    /// Commit even when nothing changes.
    pub allow_empty: bool,
    /// Leave out the hooks that could refuse it.
    pub no_verify: bool,
    /// Whether to sign; as it is set when nothing is said.
    pub sign: Option<bool>,
    /// Stage these before.
    pub files_to_stage: Vec<RepositoryPath>,
}

/// A commit that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Committed {
    pub id: ObjectId,
    /// What is checked out now; without a branch, HEAD is detached.
    pub branch: Option<String>,
    pub subject: String,
    pub author: Person,
    /// How it differs from its first parent.
    pub files: Staged,
    /// Files were left out of that.
    pub files_truncated: bool,
    /// How many lines it adds and removes; not known for merges.
    pub lines: Option<Lines>,
    pub signed: bool,
    /// The commit that it takes the place of.
    pub replaced: Option<ObjectId>,
    /// An operation that still waits to be continued.
    pub operation: Option<Operation>,
    /// What did not run.
    pub left_out: LeftOut,
}

/// Lines added and removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lines {
    pub insertions: usize,
    pub deletions: usize,
}

/// A prepared message is not longer.
const PREPARED_LIMIT: usize = 1 << 20;

/// How many files an error names.
const NAMED: usize = 20;

impl Work<'_> {
    /// Commits what is staged. When that fails, the index is as it was before anything was staged for it.
    pub fn commit(&self, options: &CommitOptions) -> Result<Committed, Error> {
        self.require_worktree("to commit from")?;
        let message = self.message_for(options)?.with_trailers(&options.trailers);
        let sign = self.signs(options.sign, "commit.gpgsign")?;
        let before = self.head()?;
        let finished = SavedIndex::or_restored(self, || {
            if !options.files_to_stage.is_empty() {
                self.stage_files(&AddOptions {
                    paths: options.files_to_stage.clone(),
                    ..AddOptions::default()
                })?;
            }
            self.run_commit(options, &message, sign)
        })?;
        self.committed(options, before.filter(|_| options.amend), &finished)
    }

    fn run_commit(&self, options: &CommitOptions, message: &Message, sign: bool) -> Result<Finished, Error> {
        let mut invocation = self
            .invoke("commit")
            .words(&["--file=-", "--cleanup=whitespace"])
            .word_if(options.amend, "--amend")
            .word_if(options.allow_empty, "--allow-empty")
            .word_if(options.no_verify, "--no-verify")
            .word_if(options.signoff, "--signoff")
            .input(message.as_str())
            // An identity made up from the machine's name helps nobody.
            .setting("user.useConfigOnly", "true")
            .setting("i18n.commitEncoding", "utf-8");
        if let Some(author) = &options.author {
            invocation = invocation.option("--author", author.as_str());
        }
        if sign {
            invocation = self.signing(invocation)?.word("--gpg-sign");
        }
        invocation.run().map_err(|error| match error {
            Error::GitFailed { ref said, .. } => self.refusal(said, sign).unwrap_or(error),
            error => error,
        })
    }

    /// What is meant by a failure, where git's own words leave that open.
    fn refusal(&self, said: &str, sign: bool) -> Option<Error> {
        let says = |marks: &[&str]| marks.iter().any(|mark| said.contains(mark));
        if says(&[
            "auto-detection is disabled",
            "Please tell me who you are",
            "empty ident",
        ]) {
            return Some(Error::state(
                "nothing was committed, for it is not known who commits",
                "the person who runs Agentyard sets `git config --global user.name` and `user.email`, or \
                 `git.author_name`, `git.author_email`, `git.committer_name` and `git.committer_email` in \
                 Agentyard's settings",
            ));
        }
        if sign && let Some(failure) = signing_failure("the commit", said) {
            return Some(failure);
        }
        let conflicted = self.repository().conflicted().unwrap_or_default();
        if !conflicted.is_empty() {
            let names: Vec<String> = conflicted.into_iter().map(|file| file.path).collect();
            return Some(Error::state(
                format!(
                    "nothing was committed, for there are unresolved conflicts in {}",
                    some_of(&names)
                ),
                "edit each file, stage it with git_add, and commit again",
            ));
        }
        if says(&["would make", "it empty"]) && said.contains("amend") {
            return Some(Error::state(
                "nothing was committed: amended like this, the commit would change nothing",
                "pass `allow_empty`, or take the commit back with git_reset to HEAD~1",
            ));
        }
        if says(&[
            "nothing to commit",
            "nothing added to commit",
            "no changes added to commit",
        ]) {
            return Some(Error::state(
                "nothing was committed, for nothing is staged that differs from the last commit",
                "stage changes with git_add or `files_to_stage`, or pass `allow_empty`",
            ));
        }
        said.is_empty().then(|| {
            Error::state(
                "nothing was committed: a hook of the repository refused it without a word",
                "look at its pre-commit and commit-msg hooks, or pass `no_verify` to leave them out",
            )
        })
    }

    fn message_for(&self, options: &CommitOptions) -> Result<Message, Error> {
        if let Some(message) = &options.message {
            return Ok(message.clone());
        }
        if options.amend
            && let Some(head) = self.head()?
        {
            return Message::new(&self.commit_text(&head)?.message);
        }
        let git_dir = self.repository().confined_git_dir();
        let prepared = read_child_file(git_dir.directory(), b"MERGE_MSG", PREPARED_LIMIT);
        match prepared {
            Ok(Some(text)) => {
                let text = String::from_utf8_lossy(&text);
                let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
                Message::new(&lines.join("\n"))
            }
            _ => Err(Error::invalid("a commit without a message", "pass `message`")),
        }
    }

    fn committed(
        &self,
        options: &CommitOptions,
        replaced: Option<ObjectId>,
        finished: &Finished,
    ) -> Result<Committed, Error> {
        let head = self.repository().head()?;
        let id = head.commit.ok_or_else(|| Error::Missing {
            what: "git made a commit, and HEAD does not lead to it".to_owned(),
        })?;
        let local = self.repository().local();
        let object = local
            .find_object(gix::ObjectId::from(id))
            .map_err(Error::read(format!("commit {id}")))?;
        let raw = RawCommit::parse(&object.data).ok_or(Error::NotACommit { id })?;
        let parent = raw.parents.first().copied().map(ObjectId::from);
        let text = CommitText::decode(id.into(), &object.data)?;
        let (subject, _) = text.subject_and_body();
        // The index is what was committed: comparing that is faster than reading the new trees.
        let staging = self
            .repository()
            .staging_since(parent, Head::default(), self.cancel())?;
        Ok(Committed {
            id,
            branch: head.branch,
            subject,
            author: text.author,
            files: staging.staged,
            files_truncated: staging.truncated,
            lines: lines_in(&finished.output),
            signed: is_signed(&object.data),
            replaced,
            operation: staging.operation,
            left_out: self.left_out(hooks(options)),
        })
    }

    fn commit_text(&self, id: &ObjectId) -> Result<CommitText, Error> {
        let local = self.repository().local();
        let object = local
            .find_object(gix::ObjectId::from(*id))
            .map_err(Error::read(format!("commit {id}")))?;
        CommitText::decode((*id).into(), &object.data)
    }
}

/// The hooks that git would run.
fn hooks(options: &CommitOptions) -> &'static [&'static str] {
    match (options.no_verify, options.amend) {
        (false, false) => &["pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"],
        (false, true) => &[
            "pre-commit",
            "prepare-commit-msg",
            "commit-msg",
            "post-commit",
            "post-rewrite",
        ],
        (true, false) => &["prepare-commit-msg", "post-commit"],
        (true, true) => &["prepare-commit-msg", "post-commit", "post-rewrite"],
    }
}

/// So many names as fit into a message.
pub(crate) fn some_of(names: &[String]) -> String {
    let shown = names.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

fn is_signed(data: &[u8]) -> bool {
    let header = data
        .split(|byte| *byte == b'\n')
        .take_while(|line| !line.is_empty());
    header
        .into_iter()
        .any(|line| line.starts_with(b"gpgsig ") || line.starts_with(b"gpgsig-sha256 "))
}

/// What git says of its work: ` 2 files changed, 3 insertions(+), 1 deletion(-)`, after a line with the subject.
fn lines_in(output: &[u8]) -> Option<Lines> {
    let text = String::from_utf8_lossy(output);
    let summary = text
        .lines()
        .skip(1)
        .find(|line| line.contains(" file changed") || line.contains(" files changed"))?;
    let number = |word: &str| {
        summary
            .split(',')
            .find(|part| part.contains(word))
            .and_then(|part| part.split_whitespace().next())
            .and_then(|number| number.parse().ok())
            .unwrap_or_default()
    };
    Some(Lines {
        insertions: number("insertion"),
        deletions: number("deletion"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gits_summary_is_understood() {
        let check = |text: &str, expected| {
            let lines = lines_in(text.as_bytes()).map(|lines| (lines.insertions, lines.deletions));
            assert_eq!(lines, expected, "{text}");
        };
        check("[main 1] x\n 1 file changed, 1 insertion(+)\n", Some((1, 0)));
        check(
            "[main 1] 9 files changed\n Date: x\n 2 files changed, 3 insertions(+), 4 deletions(-)\n",
            Some((3, 4)),
        );
        check(
            "[main 1] x\n 1 file changed, 0 insertions(+), 0 deletions(-)\n",
            Some((0, 0)),
        );
        check("[main 1] 1 file changed\n", None);
    }

    #[test]
    fn a_signature_is_in_the_header() {
        assert!(is_signed(b"tree 1\ngpgsig x\n y\n\nmessage"));
        assert!(!is_signed(b"tree 1\n\ngpgsig x\n"));
    }
}
