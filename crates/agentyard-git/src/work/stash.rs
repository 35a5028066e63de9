//! `git stash`: putting changes aside, and taking them back.

use std::fmt;
use std::os::unix::ffi::OsStrExt as _;

use rustix::fs::{AtFlags, OFlags};

use super::in_the_way::named_files;
use super::loss::Loss;
use crate::descriptor::{as_path, open_beneath};
use crate::program::{LeftOut, Reach};
use crate::raw_commit::RawCommit;
use crate::{Conflicts, Error, Kept, Message, ObjectId, RepositoryPath, Stash, Touched, Work, text};

/// Which stash: its number, 0 being the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StashSelector(usize);

/// What to put aside, and how.
#[derive(Debug, Clone, Default)]
pub struct StashOptions {
    /// What it is, in words.
    pub message: Option<String>,
    /// Files that git does not know, too.
    pub include_untracked: bool,
    /// Leave what is staged as it is.
    pub keep_index: bool,
    /// Only these files.
    pub paths: Vec<RepositoryPath>,
}

/// What came of taking a stash back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unstashed {
    pub stash: Stash,
    /// What conflicts with what is checked out.
    pub conflicts: Conflicts,
    /// Whether the stash is gone from the list.
    pub dropped: bool,
    pub left_out: LeftOut,
}

/// What is in a stash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StashContent {
    pub stash: Stash,
    /// Tracked files that differ from the commit that it was made on.
    pub changed: Touched,
    /// Files that git did not know.
    pub untracked: Touched,
}

/// No list of stashes is thrown away at once that is longer.
const MAX_CLEARED: usize = 200;

impl StashSelector {
    /// Reads `0` or `stash@{0}`.
    pub fn new(text: &str) -> Result<Self, Error> {
        let number = text
            .strip_prefix("stash@{")
            .and_then(|rest| rest.strip_suffix('}'))
            .unwrap_or(text);
        match number.parse::<usize>() {
            // Neither a sign nor a leading zero.
            Ok(parsed) if parsed.to_string() == number => Ok(Self(parsed)),
            _ => {
                let shown: String = text::one_line(text).chars().take(80).collect();
                Err(Error::invalid(
                    format!("the stash {shown:?}"),
                    "name it by its number, as `0` or `stash@{0}`",
                ))
            }
        }
    }
}

/// Paths that stand for themselves, each with a NUL after it.
fn literal(paths: &[RepositoryPath]) -> Vec<u8> {
    let mut input = Vec::new();
    for path in paths {
        input.extend_from_slice(b":(literal)");
        input.extend_from_slice(path.as_path().as_os_str().as_bytes());
        input.push(0);
    }
    input
}

impl fmt::Display for StashSelector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "stash@{{{}}}", self.0)
    }
}

impl Work<'_> {
    /// Puts changes aside. `None` when there were none.
    pub fn stash_push(&self, options: &StashOptions) -> Result<Option<Stash>, Error> {
        self.require_worktree("to put changes aside from")?;
        if self.head()?.is_none() {
            return Err(Error::state(
                "nothing can be put aside before the first commit",
                "make one with git_commit",
            ));
        }
        self.require_no_conflicts()?;
        let before = self.last_stash()?;
        let mut invocation = self
            .invoke("stash")
            .words(&["push", "--quiet"])
            .word_if(options.include_untracked, "--include-untracked")
            .word(if options.keep_index {
                "--keep-index"
            } else {
                "--no-keep-index"
            });
        if let Some(message) = &options.message {
            let message = Message::new(message)?;
            invocation = invocation.option("--message", message.as_str());
        }
        if !options.paths.is_empty() {
            invocation = invocation
                .words(&["--pathspec-from-file=-", "--pathspec-file-nul"])
                .input(literal(&options.paths));
        }
        // git starts itself with patterns of its own (`:/`), which it must be free to understand.
        invocation.variable("GIT_LITERAL_PATHSPECS", "0").run()?;
        let now = self.last_stash()?;
        Ok(now.filter(|now| before.is_none_or(|before| before.id != now.id)))
    }

    /// Takes a stash back into the working tree; with `drop`, off the list too, unless there are conflicts.
    pub fn stash_apply(&self, selector: StashSelector, drop: bool) -> Result<Unstashed, Error> {
        self.require_worktree("to take changes back into")?;
        let stash = self.stash_named(selector)?;
        self.require_no_conflicts()?;
        self.require_no_untracked_in_the_way(&stash.id)?;
        let verb = if drop { "pop" } else { "apply" };
        let finished = self
            .invoke("stash")
            .word(verb)
            .word("--quiet")
            .operand(selector.to_string())
            .reach(Reach::Merging)
            .run();
        let conflicts = match finished {
            Ok(_) => Conflicts::default(),
            Err(failure @ Error::GitFailed { .. }) => {
                let conflicts = self.conflicts()?;
                if conflicts.is_empty() {
                    return Err(named_files("taking the stash back", failure));
                }
                conflicts
            }
            Err(error) => return Err(error),
        };
        Ok(Unstashed {
            dropped: drop && conflicts.is_empty(),
            stash,
            conflicts,
            left_out: self.left_out(&[]),
        })
    }

    /// Throws a stash away.
    pub fn stash_drop(&self, selector: StashSelector, confirm: bool) -> Result<Kept, Error> {
        let stash = self.stash_named(selector)?;
        let touched = self.repository().touched(&[stash.id], self.cancel())?;
        let loss = Loss {
            commits: 0,
            files: touched.into_iter().flat_map(|touched| touched.files).collect(),
        };
        loss.require(confirm, &format!("dropping {selector} ({})", stash.description))?;
        let kept = self.keep("stash", &stash.id)?;
        self.invoke("stash")
            .words(&["drop", "--quiet"])
            .operand(selector.to_string())
            .run()?;
        Ok(kept)
    }

    /// Throws all stashes away.
    pub fn stash_clear(&self, confirm: bool) -> Result<Vec<Kept>, Error> {
        let list = self.repository().stashes(MAX_CLEARED, self.cancel())?;
        if list.more {
            return Err(Error::refused(
                format!("there are more than {MAX_CLEARED} stashes"),
                "drop them one by one, the last first: mode `drop`",
            ));
        }
        if !confirm && !list.stashes.is_empty() {
            let names: Vec<String> = list
                .stashes
                .iter()
                .map(|stash| format!("{} ({})", stash.selector, stash.description))
                .collect();
            return Err(Error::refused(
                format!("clearing would throw away {}", super::commit::some_of(&names)),
                "if that is meant, repeat the call with `confirm: true`: each is first kept under \
                 refs/agentyard/kept/",
            ));
        }
        let kept = list
            .stashes
            .iter()
            .map(|stash| self.keep("stash", &stash.id))
            .collect::<Result<_, _>>()?;
        self.invoke("stash").word("clear").run()?;
        Ok(kept)
    }

    /// What is in a stash.
    pub fn stash_show(&self, selector: StashSelector) -> Result<StashContent, Error> {
        let stash = self.stash_named(selector)?;
        let untracked = self.untracked_part(&stash.id)?;
        let commits: Vec<ObjectId> = [stash.id].into_iter().chain(untracked).collect();
        let mut touched = self.repository().touched(&commits, self.cancel())?.into_iter();
        Ok(StashContent {
            stash,
            changed: touched.next().unwrap_or_default(),
            untracked: touched.next().unwrap_or_default(),
        })
    }

    fn last_stash(&self) -> Result<Option<Stash>, Error> {
        Ok(self.repository().stashes(1, self.cancel())?.stashes.pop())
    }

    fn stash_named(&self, selector: StashSelector) -> Result<Stash, Error> {
        let mut list = self
            .repository()
            .stashes(selector.0.saturating_add(1), self.cancel())?;
        if list.stashes.len() > selector.0 {
            return Ok(list.stashes.swap_remove(selector.0));
        }
        Err(Error::Missing {
            what: match list.stashes.len() {
                0 => "there is no stash in this repository".to_owned(),
                1 => format!("there is no {selector}: there is one stash, stash@{{0}}"),
                count => {
                    format!("there is no {selector}: there are {count} stashes, the last is stash@{{0}}")
                }
            },
        })
    }

    fn require_no_conflicts(&self) -> Result<(), Error> {
        let conflicted = self.repository().conflicted()?;
        if conflicted.is_empty() {
            return Ok(());
        }
        let names: Vec<String> = conflicted.into_iter().map(|file| file.path).collect();
        Err(Error::state(
            format!(
                "there are unresolved conflicts in {}",
                super::commit::some_of(&names)
            ),
            "edit each file and stage it with git_add first",
        ))
    }

    /// git takes tracked files back before it finds that an untracked one is there already.
    fn require_no_untracked_in_the_way(&self, stash: &ObjectId) -> Result<(), Error> {
        let (Some(untracked), Some(worktree)) =
            (self.untracked_part(stash)?, self.repository().confined_worktree())
        else {
            return Ok(());
        };
        let touched = self.repository().touched(&[untracked], self.cancel())?;
        let files = touched.into_iter().flat_map(|touched| touched.files);
        let there: Vec<String> = files
            .filter(|file| {
                let path = text::parse_path(file);
                let flags = OFlags::PATH | OFlags::NOFOLLOW;
                open_beneath(worktree.directory(), as_path(&path), flags)
                    .and_then(|found| rustix::fs::statat(&found, "", AtFlags::EMPTY_PATH))
                    .is_ok()
            })
            .collect();
        if there.is_empty() {
            return Ok(());
        }
        Err(Error::state(
            format!(
                "the stash was not taken back: files that it has as untracked are there already: {}",
                super::commit::some_of(&there)
            ),
            "move them away, or commit them with git_commit, and call again",
        ))
    }

    /// The commit that holds the untracked files of a stash, its third parent.
    fn untracked_part(&self, stash: &ObjectId) -> Result<Option<ObjectId>, Error> {
        let local = self.repository().local();
        let object = local
            .find_object(gix::ObjectId::from(*stash))
            .map_err(Error::read(format!("stash {stash}")))?;
        let commit = RawCommit::parse(&object.data).ok_or(Error::NotACommit { id: *stash })?;
        Ok(commit.parents.get(2).copied().map(ObjectId::from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stashes_are_named_by_number() {
        assert_eq!(StashSelector::new("0").unwrap(), StashSelector(0));
        assert_eq!(
            StashSelector::new("stash@{12}").unwrap().to_string(),
            "stash@{12}"
        );
        for text in [
            "",
            "-1",
            "+1",
            "00",
            "a",
            "stash@{}",
            "stash@{1",
            "stash@{yesterday}",
            "stash@{-1}",
            "stash@{+1}",
            "--index",
            "stash@{0}^3",
            "0\n",
        ] {
            assert!(StashSelector::new(text).is_err(), "{text:?}");
        }
    }
}
