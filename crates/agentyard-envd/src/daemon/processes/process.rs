//! A process, as those see it who listen and talk to it.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use futures::future::join_all;
use rustix::process::Pid;
use rustix::termios::Winsize;
use tokio::sync::watch;

use super::input::Inlet;
use super::message;
use crate::connect::{Code, Fault};
use crate::daemon::streams::Feed;
use crate::process::{Config, End, Event, Info, Input, Signal, Size};

/// How many may listen to one process.
const LISTENERS: usize = 16;

/// A process that was started.
#[derive(Debug)]
pub(super) struct Process {
    /// Its number, which is also that of its group.
    pub(super) pid: u32,
    pub(super) tag: Option<String>,
    config: Config,
    inlet: Inlet,
    /// Its terminal, if it runs in one.
    terminal: Option<OwnedFd>,
    listeners: Mutex<Vec<Feed>>,
    /// Whether its number may be somebody else's by now. Some of what it said may still be waiting for a reader.
    is_buried: AtomicBool,
    /// How it ended. It is set while nobody can begin to listen.
    end: watch::Sender<Option<End>>,
}

impl Process {
    pub(super) fn new(
        pid: u32,
        tag: Option<String>,
        config: Config,
        inlet: Inlet,
        terminal: Option<OwnedFd>,
    ) -> Self {
        Self {
            pid,
            tag,
            config,
            inlet,
            terminal,
            listeners: Mutex::default(),
            is_buried: AtomicBool::new(false),
            end: watch::Sender::new(None),
        }
    }

    pub(super) fn info(&self) -> Info {
        Info {
            config: self.config.clone(),
            pid: self.pid,
            tag: self.tag.clone(),
        }
    }

    /// Lets a stream have what the process says from now on, and its end.
    pub(super) async fn listen(&self, feed: Feed) {
        let end = {
            let mut listeners = self.listeners();
            let end = self.end.borrow().clone();
            if end.is_none() {
                listeners.retain(|feed| !feed.is_over());
                if listeners.len() < LISTENERS {
                    listeners.push(feed);
                } else {
                    let message = format!("{LISTENERS} others listen to this process, the most that can");
                    feed.end(Some(Fault::new(Code::ResourceExhausted, message)));
                }
                return;
            }
            end
        };
        if let Some(end) = end {
            tell_end(&feed, end).await;
        }
    }

    /// It has ended, and its number is free.
    pub(super) fn has_been_buried(&self) {
        self.is_buried.store(true, Ordering::Release);
    }

    /// Whether anybody wants to know what it says.
    pub(super) fn is_heard(&self) -> bool {
        self.listeners().iter().any(|feed| !feed.is_over())
    }

    /// Hands something to all who listen, and waits for the slow ones.
    pub(super) async fn tell(&self, frame: &Bytes) {
        let feeds = self.listeners().clone();
        // Those who are gone are forgotten below.
        let _ = join_all(feeds.iter().map(|feed| feed.push(frame.clone()))).await;
        self.listeners().retain(|feed| !feed.is_over());
    }

    /// It has ended; nothing more is said, and nothing more is taken.
    pub(super) async fn finish(&self, end: End) {
        let feeds = {
            let mut listeners = self.listeners();
            self.end.send_replace(Some(end.clone()));
            std::mem::take(&mut *listeners)
        };
        self.inlet.shut().await;
        join_all(feeds.iter().map(|feed| tell_end(feed, end.clone()))).await;
    }

    /// Returns when all of it was taken.
    pub(super) async fn take(&self, input: &Input) -> Result<(), Fault> {
        self.unless_ended(self.inlet.take(input)).await
    }

    /// Closes its standard input.
    pub(super) async fn close_input(&self) -> Result<(), Fault> {
        self.unless_ended(self.inlet.close()).await
    }

    /// Sends it and its group a signal.
    pub(super) fn signal(&self, signal: Signal) -> Result<(), Fault> {
        match signal {
            Signal::Terminate => self.send(rustix::process::Signal::TERM),
            Signal::Kill => self.send(rustix::process::Signal::KILL),
            Signal::Unspecified => Err(Fault::new(
                Code::InvalidArgument,
                "no signal was named; send SIGNAL_SIGTERM or SIGNAL_SIGKILL",
            )),
        }
    }

    /// Ends it and its group.
    pub(super) fn kill(&self) {
        // If that fails it has ended already.
        let _ = self.send(rustix::process::Signal::KILL);
    }

    /// Gives its terminal another size.
    pub(super) fn resize(&self, size: Size) -> Result<(), Fault> {
        let Some(terminal) = &self.terminal else {
            let message = format!("process {} does not run in a terminal", self.pid);
            return Err(Fault::new(Code::FailedPrecondition, message));
        };
        set_size(terminal, size)
            .map_err(|error| Fault::new(Code::Internal, format!("the terminal cannot be resized: {error}")))
    }

    fn send(&self, signal: rustix::process::Signal) -> Result<(), Fault> {
        let group = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
        match group {
            Some(group) if !self.is_buried.load(Ordering::Acquire) => {
                rustix::process::kill_process_group(group, signal).map_err(|error| {
                    Fault::new(
                        Code::NotFound,
                        format!("process {} cannot be signalled: {error}", self.pid),
                    )
                })
            }
            _ => Err(self.has_ended()),
        }
    }

    /// What was asked of it, unless it ends before that is done.
    async fn unless_ended(&self, asked: impl Future<Output = Result<(), Fault>>) -> Result<(), Fault> {
        let mut end = self.end.subscribe();
        tokio::select! {
            biased;
            _ = end.wait_for(Option::is_some) => Err(self.has_ended()),
            done = asked => done,
        }
    }

    fn has_ended(&self) -> Fault {
        Fault::new(Code::NotFound, format!("process {} has ended", self.pid))
    }

    fn listeners(&self) -> std::sync::MutexGuard<'_, Vec<Feed>> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn tell_end(feed: &Feed, end: End) {
    if feed.send(&message(Event::End(end))).await.is_ok() {
        feed.end(None);
    }
}

/// Gives a terminal a size.
pub(super) fn set_size(terminal: &OwnedFd, size: Size) -> rustix::io::Result<()> {
    let most = |number: u32| u16::try_from(number).unwrap_or(u16::MAX);
    let size = Winsize {
        ws_row: most(size.rows),
        ws_col: most(size.cols),
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    rustix::termios::tcsetwinsize(terminal, size)
}
