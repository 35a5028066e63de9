//! How callers attend a run: they wait for its end, or follow what happens.

use std::sync::Arc;
use std::time::Duration;

use agentyard_model::RunId;
use agentyard_sandbox::Stream;
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout_at};

use super::captured::Captured;
use super::log::{RunEnd, RunEvent, RunHappening};
use super::plain::PlainText;
use super::run::{Attendance, Run};
use crate::error::{Error, Result};
use crate::progress::Progress;

/// How long a call waits for a run when it does not say: clients are known to give up after a minute.
const WAIT: Duration = Duration::from_secs(50);

/// The longest that a call may wait.
const MAX_WAIT: Duration = Duration::from_secs(600);

/// How long a run goes on whose caller was told to come back.
const RETURN_WITHIN: Duration = Duration::from_secs(120);

/// How often a waiting caller is shown the newest line.
const SHOW_INTERVAL: Duration = Duration::from_millis(500);

/// The longest line that is shown.
const MAX_LINE_CHARACTERS: usize = 200;

/// How a call waits for a run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Waiting {
    /// A run that was started before and is to be waited for, instead of a new one.
    pub run: Option<RunId>,
    /// The number of the last event whose output the caller has seen.
    pub after: Option<u64>,
    /// For how long.
    pub wait: Option<Duration>,
}

/// What a caller who waited is told.
#[derive(Debug)]
pub struct RunAnswer {
    /// The run.
    pub run: RunId,
    /// How it ended; nothing while it goes on.
    pub end: Option<RunEnd>,
    /// What it said on standard output.
    pub stdout: Captured,
    /// What it said on standard error.
    pub stderr: Captured,
    /// The number of the last event in this answer.
    pub last_event: u64,
}

/// Waits for a run to end, for as long as the caller wants to, and shows its newest lines meanwhile.
pub(super) async fn wait(
    mut attendance: Attendance,
    waiting: Waiting,
    progress: &Progress,
) -> Result<RunAnswer> {
    let run = Arc::clone(&attendance.run);
    progress.name_run(run.id);
    let until = Instant::now() + waiting.wait.unwrap_or(WAIT).min(MAX_WAIT);
    tokio::select! {
        _ = timeout_at(until, run.ended()) => {}
        () = show_newest_lines(&run, progress) => {}
    }
    let answer = answer(&run, waiting.after.unwrap_or_default())?;
    if answer.end.is_none() {
        attendance.linger = RETURN_WITHIN;
    }
    Ok(answer)
}

fn answer(run: &Run, after: u64) -> Result<RunAnswer> {
    let log = run.log();
    let end = match log.end() {
        Some(RunHappening::Failed(error)) => return Err(error.again()),
        Some(RunHappening::Complete(end)) => Some(*end),
        _ => None,
    };
    Ok(RunAnswer {
        run: run.id,
        end,
        stdout: Captured::of(&log, Stream::Stdout, after),
        stderr: Captured::of(&log, Stream::Stderr, after),
        last_event: log.last(),
    })
}

/// Tells the newest line, now and then; never ends.
async fn show_newest_lines(run: &Run, progress: &Progress) {
    let mut ticks = interval(SHOW_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut shown = 0;
    loop {
        ticks.tick().await;
        let (newest, line) = {
            let log = run.log();
            (log.last(), log.after(shown).rev().find_map(newest_line))
        };
        shown = newest;
        if let Some(line) = line {
            progress.report(newest, None, line);
        }
    }
}

fn newest_line(event: &RunEvent) -> Option<String> {
    let text = match &event.happening {
        RunHappening::Output { text, .. } => text,
        RunHappening::Progress { message, .. } => message,
        RunHappening::Complete(_) | RunHappening::Failed(_) => return None,
    };
    let plain = PlainText::default().push(text);
    let line = plain.lines().rev().find(|line| !line.trim().is_empty())?;
    Some(line.trim().chars().take(MAX_LINE_CHARACTERS).collect())
}

/// Somebody who follows a run. It goes on for as long as this lives, and a little longer.
pub struct Following {
    attendance: Attendance,
    news: watch::Receiver<u64>,
    after: u64,
    has_ended: bool,
}

/// What one who follows a run sees next.
#[derive(Debug, Clone)]
pub enum Followed {
    /// An event.
    Event(Arc<RunEvent>),
    /// So many events came before the next one and are not kept any more.
    Missed(u64),
}

impl Following {
    pub(super) fn new(run: Arc<Run>, after: u64, linger: Duration) -> Self {
        Self {
            news: run.news(),
            attendance: Attendance::new(run, linger),
            after,
            has_ended: false,
        }
    }

    /// The run that is followed.
    #[must_use]
    pub fn run(&self) -> RunId {
        self.attendance.run.id
    }

    /// Whether the run has ended and nothing of it is left to be seen.
    #[must_use]
    pub fn has_seen_all(&self) -> bool {
        let log = self.attendance.run.log();
        log.end().is_some() && self.after >= log.last()
    }

    /// What happened next, or nothing when the run has ended. Nothing is lost when this is dropped halfway.
    pub async fn next(&mut self) -> Option<Followed> {
        while !self.has_ended {
            self.news.borrow_and_update();
            let (event, is_over) = {
                let log = self.attendance.run.log();
                (log.at(self.after + 1).cloned(), log.end().is_some())
            };
            match event {
                Some(event) if event.id > self.after + 1 => {
                    let missed = event.id - self.after - 1;
                    self.after = event.id - 1;
                    return Some(Followed::Missed(missed));
                }
                Some(event) => {
                    self.after = event.id;
                    self.has_ended = event.happening.is_end();
                    return Some(Followed::Event(event));
                }
                // Who has seen the end already waits for nothing.
                None if is_over => return None,
                None => self.news.changed().await.ok()?,
            }
        }
        None
    }
}

impl Error {
    /// The same failure for another caller. Its cause is in the log already.
    #[must_use]
    pub fn again(&self) -> Self {
        let again = Self::new(self.kind(), self.message());
        self.hints().iter().fold(again, Self::hint)
    }
}
