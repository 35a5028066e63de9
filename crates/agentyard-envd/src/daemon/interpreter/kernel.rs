//! A process that runs code of one context, cell after cell.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::process::Child;
use tokio::time::{Instant, MissedTickBehavior, interval, interval_at, sleep_until};

use super::language::Language;
use super::messages::{Garbled, Messages};
use super::output::{MAX_PIECE_BYTES, Output, Stream};

/// How long an execution may go on that was interrupted.
const GRACE: Duration = Duration::from_secs(4);

/// After how long it is interrupted once more: a shell goes on with its next command.
const INTERRUPT_AGAIN: Duration = Duration::from_secs(1);

/// How long a listener hears nothing before there is a sign of life.
const KEEPALIVE: Duration = Duration::from_secs(15);

/// How many pieces of what was printed are told before something that came after them. They would be without end where a
/// program in the background prints all the time.
const MAX_PIECES_BEFORE: usize = 64;

/// A process that runs code.
#[derive(Debug)]
pub(super) struct Kernel {
    language: Language,
    child: Child,
    socket: UnixStream,
    messages: Messages,
    printed: [Option<pipe::Receiver>; 2],
    pieces_before: usize,
}

/// How an execution ended.
#[derive(Debug)]
pub(super) enum Ending {
    /// The kernel waits for the next one.
    Done,
    /// The kernel ended with it.
    Died(ExitStatus),
    /// Nobody wanted it any more, and it could not be interrupted.
    Deaf,
    /// The code meddled with the socket.
    Meddled,
}

/// What comes from a kernel.
enum Event {
    Printed(Stream, Vec<u8>),
    Message(Vec<String>),
    Ended(ExitStatus),
    Garbled,
}

impl Kernel {
    /// Starts one in this directory.
    pub(super) async fn start(
        language: Language,
        directory: &Path,
        environment: &BTreeMap<String, String>,
    ) -> io::Result<Self> {
        let (ours, theirs) = StdUnixStream::pair()?;
        let mut child = language
            .command()
            .envs(environment)
            .current_dir(directory)
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let gone = || io::Error::other("its output is not there");
        let stdout = child.stdout.take().ok_or_else(gone)?.into_owned_fd()?;
        let stderr = child.stderr.take().ok_or_else(gone)?.into_owned_fd()?;
        ours.set_nonblocking(true)?;
        let mut kernel = Self {
            language,
            child,
            socket: UnixStream::from_std(ours)?,
            messages: Messages::default(),
            printed: [
                Some(pipe::Receiver::from_owned_fd(stdout)?),
                Some(pipe::Receiver::from_owned_fd(stderr)?),
            ],
            pieces_before: 0,
        };
        kernel.socket.write_all(&language.introduction()).await?;
        Ok(kernel)
    }

    /// Runs a cell and tells what becomes of it. If nobody listens any more, it is interrupted.
    pub(super) async fn run(
        &mut self,
        code: &str,
        variables: &BTreeMap<String, String>,
        output: &mut Output,
    ) -> Ending {
        // What was printed since the last execution is not this one's.
        while self.printed_before().is_some() {}
        let request = self.language.request(code, variables);
        let ending = tokio::select! {
            biased;
            // A kernel that does not read is given up with its listener, and one that cannot be written to has ended, which
            // is seen as well.
            _ = self.socket.write_all(&request) => self.follow(output).await,
            () = output.gone() => Ending::Deaf,
        };
        output.finish().await;
        ending
    }

    async fn follow(&mut self, output: &mut Output) -> Ending {
        let mut given_up = None;
        let mut again = interval(INTERRUPT_AGAIN);
        again.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut silence = interval_at(Instant::now() + KEEPALIVE, KEEPALIVE);
        loop {
            let event = tokio::select! {
                event = self.next() => event,
                () = output.gone(), if given_up.is_none() => {
                    given_up = Some(Instant::now() + GRACE);
                    continue;
                }
                _ = again.tick(), if given_up.is_some() => {
                    self.signal(Signal::INT);
                    continue;
                }
                () = until(given_up) => return Ending::Deaf,
                _ = silence.tick() => {
                    output.keepalive().await;
                    continue;
                }
            };
            silence.reset();
            match event {
                Event::Printed(stream, bytes) => output.print(stream, &bytes).await,
                Event::Ended(status) => return Ending::Died(status),
                Event::Garbled => return Ending::Meddled,
                Event::Message(fields) => {
                    if let Some(ending) = self.heard(&fields, output).await {
                        return ending;
                    }
                }
            }
        }
    }

    /// Tells what a kernel says, and how the execution ended if it did.
    async fn heard(&mut self, fields: &[String], output: &mut Output) -> Option<Ending> {
        let (kind, fields) = fields.split_first()?;
        match (kind.as_str(), fields) {
            ("result", fields) => {
                output.result(fields).await;
                // What the kernel prints next is to come after it, so it waits.
                let answered = self.socket.write_all(b".").await;
                return answered.err().map(|_| Ending::Meddled);
            }
            ("shown", fields) => output.result(fields).await,
            ("error", [name, value, traceback]) => output.error(name, value, traceback).await,
            ("done", [status]) if status != "000" => {
                let status = status.trim_start_matches('0');
                let traceback = format!("the last command ended with exit status {status}");
                output.error("ExitStatus", status, &traceback).await;
                return Some(Ending::Done);
            }
            ("done", _) => return Some(Ending::Done),
            _ => return Some(Ending::Meddled),
        }
        None
    }

    /// Waits while nothing is to be run. What programs and threads in the background say is for nobody, but they may
    /// not have to wait for a reader. Returns when the kernel cannot be used any more.
    pub(super) async fn rest(&mut self) {
        loop {
            match self.next().await {
                Event::Printed(..) | Event::Message(_) => {}
                Event::Ended(_) | Event::Garbled => return,
            }
        }
    }

    /// What comes next. What was printed before a message, or before the end, is told before it. Nothing is lost when this
    /// is dropped.
    async fn next(&mut self) -> Event {
        loop {
            match self.messages.complete() {
                Ok(None) => {}
                Err(Garbled) => return Event::Garbled,
                Ok(Some(_)) => {
                    return self
                        .printed_before()
                        .unwrap_or_else(|| match self.messages.next() {
                            Ok(Some(fields)) => Event::Message(fields),
                            Ok(None) | Err(Garbled) => Event::Garbled,
                        });
                }
            }
            let [stdout, stderr] = &mut self.printed;
            tokio::select! {
                read = self.socket.read_buf(&mut self.messages.unread) => match read {
                    // Mostly because the kernel has ended.
                    Ok(0) | Err(_) => {
                        let ended = tokio::time::timeout(GRACE, self.child.wait()).await;
                        return self.ended(ended.unwrap_or_else(|late| Err(late.into())));
                    }
                    Ok(_) => {}
                },
                // A copy of the kernel may have the socket still.
                ended = self.child.wait() => return self.ended(ended),
                piece = read_piece(stdout) => match piece {
                    Some(piece) => return Event::Printed(Stream::Stdout, piece),
                    None => *stdout = None,
                },
                piece = read_piece(stderr) => match piece {
                    Some(piece) => return Event::Printed(Stream::Stderr, piece),
                    None => *stderr = None,
                },
            }
        }
    }

    fn ended(&mut self, ended: io::Result<ExitStatus>) -> Event {
        self.printed_before().unwrap_or(match ended {
            Ok(status) => Event::Ended(status),
            Err(_) => Event::Garbled,
        })
    }

    /// What is in the pipes at this moment. The runtime may not know of it yet, so they are asked themselves.
    fn printed_before(&mut self) -> Option<Event> {
        if self.pieces_before < MAX_PIECES_BEFORE {
            for (pipe, stream) in self.printed.iter_mut().zip([Stream::Stdout, Stream::Stderr]) {
                let Some(pipe) = pipe else { continue };
                let mut piece = vec![0; MAX_PIECE_BYTES];
                if let Ok(length @ 1..) = rustix::io::read(pipe, &mut piece) {
                    piece.truncate(length);
                    self.pieces_before += 1;
                    return Some(Event::Printed(stream, piece));
                }
            }
        }
        self.pieces_before = 0;
        None
    }

    fn signal(&self, signal: Signal) {
        // A process that has been waited for has no number any more that could be somebody else's by now.
        let group = self
            .child
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .and_then(Pid::from_raw);
        if let Some(group) = group {
            // Whoever has ended just now does not mind.
            let _ = rustix::process::kill_process_group(group, signal);
        }
    }

    /// Ends it, and what it has started in its group.
    pub(super) async fn end(mut self) {
        self.signal(Signal::KILL);
        let _ = self.child.wait().await;
    }
}

async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

/// The next piece of what was printed; none when nobody has the pipe any more.
async fn read_piece(pipe: &mut Option<pipe::Receiver>) -> Option<Vec<u8>> {
    let Some(pipe) = pipe else {
        return std::future::pending().await;
    };
    let mut piece = Vec::with_capacity(MAX_PIECE_BYTES);
    match pipe.read_buf(&mut piece).await {
        Ok(1..) => Some(piece),
        Ok(0) | Err(_) => None,
    }
}
