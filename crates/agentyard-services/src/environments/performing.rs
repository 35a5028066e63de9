//! Running the commands that make and fill environments.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::Duration;

use agentyard_sandbox::{Command, Event, Exit, Limits, Mount, Network};

use super::Environments;
use super::commands::Invocation;
use crate::error::Result;
use crate::progress::Progress;
use crate::runs::{PlainText, from_sandbox};

/// How much of the beginning and of the end of what a command says is kept.
const HEAD_BYTES: usize = 64 << 10;
const TAIL_BYTES: usize = 128 << 10;

/// The longest line that is shown while it runs.
const MAX_LINE_CHARACTERS: usize = 200;

/// A command, and what it needs.
pub(super) struct Errand {
    pub(super) invocation: Invocation,
    /// The first is where it works.
    pub(super) mounts: Vec<Mount>,
    /// As the command sees it: its home, and where it puts what is for now.
    pub(super) home: PathBuf,
    pub(super) network: Network,
    pub(super) duration: Duration,
}

/// What became of it.
pub(super) struct Performed {
    pub(super) exit: Exit,
    /// What it said, without what steers a terminal.
    pub(super) output: String,
}

impl Performed {
    pub(super) fn succeeded(&self) -> bool {
        self.exit.code == Some(0)
    }
}

impl Environments {
    /// Runs a command to its end. It ends when this is dropped.
    pub(super) async fn perform(&self, errand: Errand, progress: &Progress) -> Result<Performed> {
        let sandbox = self.sandbox()?;
        let home = errand.home.display().to_string();
        let mut environment: Vec<(String, String)> = [
            ("PATH", self.0.settings.search_path.as_str()),
            ("HOME", &home),
            ("TMPDIR", &home),
            ("LANG", "C.UTF-8"),
            ("TERM", "dumb"),
            ("PYTHONUNBUFFERED", "1"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec();
        environment.extend(errand.invocation.environment);
        let directory = errand
            .mounts
            .first()
            .map(|mount| mount.at.clone())
            .unwrap_or_default();
        let command = Command {
            program: errand.invocation.program,
            arguments: errand.invocation.arguments,
            mounts: errand.mounts,
            directory,
            hidden: Vec::new(),
            environment,
            input: Vec::new(),
            network: errand.network,
            limits: Limits {
                duration: errand.duration,
                ..self.0.limits
            },
        };
        let mut running = sandbox.start(command).await.map_err(from_sandbox)?;
        let mut said = BothEnds::default();
        let mut lines = 0;
        loop {
            match running.next().await.map_err(from_sandbox)? {
                Event::Output(_, bytes) => {
                    lines += 1;
                    if let Some(line) = newest_line(&bytes) {
                        progress.report(lines, None, line);
                    }
                    said.push(&bytes);
                }
                Event::Ended(exit) => {
                    return Ok(Performed {
                        exit,
                        output: said.text(),
                    });
                }
            }
        }
    }
}

fn newest_line(bytes: &[u8]) -> Option<String> {
    let plain = PlainText::default().push(&String::from_utf8_lossy(bytes));
    let line = plain.lines().rev().find(|line| !line.trim().is_empty())?;
    Some(line.trim().chars().take(MAX_LINE_CHARACTERS).collect())
}

/// The beginning and the end of something that may be long.
#[derive(Default)]
struct BothEnds {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    left_out: bool,
}

impl BothEnds {
    fn push(&mut self, bytes: &[u8]) {
        let (head, rest) = bytes.split_at(bytes.len().min(HEAD_BYTES - self.head.len()));
        self.head.extend_from_slice(head);
        self.tail.extend(rest);
        let surplus = self.tail.len().saturating_sub(TAIL_BYTES);
        self.left_out |= surplus > 0;
        self.tail.drain(..surplus);
    }

    fn text(self) -> String {
        let mut bytes = self.head;
        if self.left_out {
            bytes.extend_from_slice(b"\n[...]\n");
        }
        bytes.extend(self.tail);
        PlainText::default().push(&String::from_utf8_lossy(&bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_much_both_ends_are_kept() {
        let mut said = BothEnds::default();
        said.push(b"first\n");
        for _ in 0..100 {
            said.push(&[b'x'; 10_000]);
        }
        said.push(b"\nlast \x1b[31mred\x1b[0m");
        let text = said.text();
        assert!(text.starts_with("first\n") && text.ends_with("\nlast red"));
        assert!(text.contains("[...]") && text.len() < HEAD_BYTES + TAIL_BYTES + 20);
        let mut short = BothEnds::default();
        short.push(b"all");
        assert_eq!(short.text(), "all");
    }
}
