//! What happened in a run, as numbered events. Of much output the beginning and the end are kept.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use agentyard_sandbox::{Stream, Usage};

use crate::error::Error;

/// How much of the beginning is kept whatever comes.
const HEAD_BYTES: usize = 128 * 1024;

/// How much of the end is kept.
const TAIL_BYTES: usize = 4 * 1024 * 1024;

/// What an event is reckoned at beside its text.
const EVENT_BYTES: usize = 128;

/// Something that happened in a run.
#[derive(Debug, Clone)]
pub struct RunEvent {
    /// Its number: the first of a run has 1, and each other one more than that before it.
    pub id: u64,
    /// What happened.
    pub happening: RunHappening,
}

/// What can happen in a run.
#[derive(Debug, Clone)]
pub enum RunHappening {
    /// The command said something.
    Output {
        /// Where.
        stream: Stream,
        /// What, with all its control characters.
        text: String,
        /// How many bytes it had said there before.
        offset: u64,
    },
    /// It came a step further.
    Progress {
        /// So much is done.
        done: u64,
        /// Of so much.
        total: Option<u64>,
        /// What is being done.
        message: String,
    },
    /// The command has ended. Nothing follows.
    Complete(RunEnd),
    /// It could not be run. Nothing follows.
    Failed(Arc<Error>),
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunEnd {
    /// Its exit code, when it ended by itself.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// How long it ran.
    pub duration: Duration,
    /// Whether its time was up.
    pub timed_out: bool,
    /// Whether it was ended because nobody waited for it any more.
    pub cancelled: bool,
    /// Whether it was ended because it had said too much.
    pub output_limit: bool,
    /// Whether it was ended because it used too much memory.
    pub memory_limit: bool,
    /// Whether it was ended because it had written too much.
    pub disk_limit: bool,
    /// What it took, as far as the machine can tell.
    pub usage: Usage,
}

impl RunHappening {
    /// The command said something.
    pub(super) fn said(stream: Stream, text: String) -> Self {
        // The log knows what came before.
        Self::Output {
            stream,
            text,
            offset: 0,
        }
    }

    /// Whether nothing follows.
    #[must_use]
    pub fn is_end(&self) -> bool {
        matches!(self, Self::Complete(_) | Self::Failed(_))
    }

    fn size(&self) -> usize {
        EVENT_BYTES
            + match self {
                Self::Output { text, .. } => text.len(),
                Self::Progress { message, .. } => message.len(),
                Self::Complete(_) | Self::Failed(_) => 0,
            }
    }
}

/// The events of a run that are kept.
#[derive(Debug, Default)]
pub(super) struct Log {
    head: Vec<Arc<RunEvent>>,
    head_size: usize,
    tail: VecDeque<Arc<RunEvent>>,
    tail_size: usize,
    last: u64,
    /// How many bytes were said on standard output, and on standard error.
    stdout_bytes: u64,
    stderr_bytes: u64,
}

impl Log {
    pub(super) fn push(&mut self, mut happening: RunHappening) {
        let size = happening.size();
        if let RunHappening::Output { stream, text, offset } = &mut happening {
            let said = match stream {
                Stream::Stdout => &mut self.stdout_bytes,
                Stream::Stderr => &mut self.stderr_bytes,
            };
            *offset = *said;
            *said += text.len() as u64;
        }
        self.last += 1;
        let event = Arc::new(RunEvent {
            id: self.last,
            happening,
        });
        if self.tail.is_empty() && self.head_size + size <= HEAD_BYTES {
            self.head_size += size;
            self.head.push(event);
            return;
        }
        self.tail_size += size;
        self.tail.push_back(event);
        while self.tail_size > TAIL_BYTES
            && self.tail.len() > 1
            && let Some(dropped) = self.tail.pop_front()
        {
            self.tail_size -= dropped.happening.size();
        }
    }

    /// The number of the newest event.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// The event of this number, or the first kept after it.
    pub(super) fn at(&self, id: u64) -> Option<&Arc<RunEvent>> {
        let (head, tail) = (
            self.head.partition_point(|event| event.id < id),
            self.tail.partition_point(|event| event.id < id),
        );
        self.head.get(head).or_else(|| self.tail.get(tail))
    }

    /// The kept events after the one of this number, in order.
    pub(super) fn after(&self, id: u64) -> impl DoubleEndedIterator<Item = &RunEvent> {
        let (head, tail) = (
            self.head.partition_point(|event| event.id <= id),
            self.tail.partition_point(|event| event.id <= id),
        );
        let head = self.head.iter().skip(head);
        head.chain(self.tail.iter().skip(tail)).map(AsRef::as_ref)
    }

    /// How it ended, if it has.
    pub(super) fn end(&self) -> Option<&RunHappening> {
        let newest = self.tail.back().or(self.head.last())?;
        Some(&newest.happening).filter(|happening| happening.is_end())
    }

    /// What was said on a stream after an event and is kept, each piece with the bytes that came before it.
    pub(super) fn said_after(&self, stream: Stream, id: u64) -> impl Iterator<Item = (u64, &str)> {
        self.after(id).filter_map(move |event| said_on(stream, event))
    }

    /// How many bytes were said on a stream up to an event, as far as is known.
    pub(super) fn position(&self, stream: Stream, id: u64) -> u64 {
        let events = self.head.iter().chain(&self.tail).rev();
        let before = events.filter(|event| event.id <= id);
        let last = before.filter_map(|event| said_on(stream, event)).next();
        last.map_or(0, |(offset, text)| offset + text.len() as u64)
    }
}

fn said_on(wanted: Stream, event: &RunEvent) -> Option<(u64, &str)> {
    match &event.happening {
        RunHappening::Output { stream, text, offset } if *stream == wanted => Some((*offset, text)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(text: &str) -> RunHappening {
        RunHappening::said(Stream::Stdout, text.to_owned())
    }

    #[test]
    fn of_much_output_both_ends_are_kept_and_memory_is_bounded() {
        let mut log = Log::default();
        let line = "x".repeat(1000);
        for _ in 0..100_000 {
            log.push(output(&line));
        }
        assert!(log.head_size <= HEAD_BYTES);
        assert!(log.tail_size <= TAIL_BYTES);
        assert_eq!(log.stdout_bytes, 100_000_000);
        assert_eq!(log.at(1).unwrap().id, 1);
        let in_between = log.at(50_000).unwrap().id;
        assert!(in_between > 90_000);
        assert_eq!(log.at(100_000).unwrap().id, 100_000);
        assert!(log.at(100_001).is_none());
        // One after the other, with one gap.
        let ids: Vec<u64> = log.after(0).map(|event| event.id).collect();
        assert_eq!(ids.windows(2).filter(|pair| pair[1] != pair[0] + 1).count(), 1);
        assert_eq!(log.after(99_998).count(), 2);
    }

    #[test]
    fn one_event_is_kept_however_large() {
        let mut log = Log::default();
        log.push(output(&"x".repeat(TAIL_BYTES + 1)));
        assert_eq!(log.after(0).count(), 1);
        log.push(output("y"));
        assert_eq!(log.after(0).map(|event| event.id).collect::<Vec<_>>(), [2]);
        assert_eq!(log.last(), 2);
    }
}
