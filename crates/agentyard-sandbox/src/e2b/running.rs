//! A command in a sandbox of somebody else's: its files go there, it runs, and what it changed comes back.

use std::io;
use std::time::{Duration, Instant};

use agentyard_envd::Exchange;
use agentyard_envd::client::{self, CallError, Messages};
use agentyard_envd::connect::Code;
use agentyard_envd::process::{
    self, Data, Event as Told, EventMessage, Input, ProcessRequest, Selector, SendInputRequest,
    SendSignalRequest, Signal,
};
use serde_json::Value;
use tokio::sync::{mpsc, watch};
use tokio::time::sleep_until;

use super::launch::Launch;
use super::rooms::Held;
use super::sync::{Bounds, Copied};
use super::transfer::{self, Fetched};
use crate::command::{Command, CommandError, EndCause, Event, Exit, Stream, Usage};
use crate::sandbox::{Awaited, Process, Running};

/// How long a command has to end after it was asked to.
const GRACE: Duration = Duration::from_secs(2);

/// How long the sandbox has to tell that a command has ended that was killed.
const LAST_WORD: Duration = Duration::from_secs(15);

/// How long the sandbox has to start a command.
const START: Duration = Duration::from_secs(60);

/// How much input is sent at once.
const PIECE: usize = 256 * 1024;

/// How a command went.
enum Outcome {
    Ended(Exit),
    /// Nobody wants to know.
    Abandoned,
}

/// Sends what a command is to see.
pub(super) async fn prepare(held: &mut Held, command: &Command) -> Result<Vec<Copied>, CommandError> {
    let copied = Copied::all(command).map_err(CommandError::Prepare)?;
    let Some(kept) = held.kept() else {
        return Err(lost(&command.program));
    };
    let sent = transfer::send(kept.stood.link(), &copied, &mut kept.copies).await;
    sent.map_err(|error| CommandError::Remote {
        reason: format!("the command was not run: its files could not be sent: {error}"),
        remedy: "try again; `agentyard doctor` tries whether the service can be reached".to_owned(),
    })?;
    Ok(copied)
}

/// Starts a command in a sandbox whose turn is ours, and that has what it is to see.
pub(super) fn start(held: Held, copied: Vec<Copied>, command: Command) -> Running {
    let launch = Launch::of(command);
    let program = launch.program.clone();
    let (events, received) = mpsc::channel(64);
    let (stop, stopped) = watch::channel(false);
    tokio::spawn(perform(held, copied, launch, events, stopped));
    Running::new(Remote {
        program,
        events: received,
        stop,
    })
}

/// Runs a command to its end, and brings back what it changed.
async fn perform(
    mut held: Held,
    copied: Vec<Copied>,
    launch: Launch,
    events: mpsc::Sender<Result<Event, CommandError>>,
    stopped: watch::Receiver<bool>,
) {
    let Some(kept) = held.kept() else { return };
    let sandbox = kept.stood.link();
    let outcome = watch_over(sandbox, &launch, &events, stopped).await;
    let mut exit = match outcome {
        Ok(Outcome::Ended(exit)) => exit,
        Ok(Outcome::Abandoned) => return held.give_up(),
        Err(error) => {
            let is_start = matches!(error, CommandError::Start { .. });
            if !is_start {
                held.give_up();
            }
            // Nobody may want to know any more.
            let _ = events.send(Err(error)).await;
            return;
        }
    };
    let bounds = Bounds {
        bytes: launch.limits.disk_bytes,
        file_bytes: launch.limits.file_bytes,
    };
    let fetched = tokio::select! {
        fetched = transfer::fetch(sandbox, &copied, &mut kept.copies, &launch.marker, bounds) => fetched,
        // The tree is not ours to change any more.
        () = events.closed() => return held.give_up(),
    };
    let told = match fetched {
        Ok(Fetched::All) => Ok(Event::Ended(exit)),
        Ok(Fetched::TooMuch) => {
            held.give_up();
            exit.cause = EndCause::DiskLimit;
            Ok(Event::Ended(exit))
        }
        Err(error) => {
            held.give_up();
            Err(CommandError::Remote {
                reason: format!("the command ended, but what it changed could not be brought back: {error}"),
                remedy: "look at what is there before it is run again".to_owned(),
            })
        }
    };
    // Whoever is told may start the next one at once.
    drop(held);
    let _ = events.send(told).await;
}

async fn watch_over(
    sandbox: &dyn Exchange,
    launch: &Launch,
    events: &mpsc::Sender<Result<Event, CommandError>>,
    mut stopped: watch::Receiver<bool>,
) -> Result<Outcome, CommandError> {
    let begun = Instant::now();
    let limits = launch.limits;
    let starting = begin(sandbox, launch);
    let patience = START.min(limits.duration + LAST_WORD);
    let (mut messages, process) = match tokio::time::timeout(patience, starting).await {
        Ok(started) => started?,
        Err(_) => return Err(lost(&launch.program)),
    };
    let feeding = feed(sandbox, process.clone(), &launch.input);
    tokio::pin!(feeding);
    let (mut is_feeding, mut cause, mut said) = (!launch.input.is_empty(), EndCause::Itself, 0);
    let deadline = tokio::time::Instant::from_std(begun) + limits.duration;
    // Until when it may go on after it was asked to end, and whether it was made to.
    let (mut patience, mut is_killed) = (None, false);
    let end = loop {
        let message = tokio::select! {
            message = messages.next() => message,
            () = &mut feeding, if is_feeding => { is_feeding = false; continue; }
            () = sleep_until(deadline), if cause == EndCause::Itself => {
                cause = EndCause::Deadline;
                patience = Some(deadline);
                continue;
            }
            () = asked_to_stop(&mut stopped), if cause == EndCause::Itself => {
                cause = EndCause::Stopped;
                patience = Some(tokio::time::Instant::now() + GRACE);
                let asking = signal(sandbox, process.clone(), Signal::Terminate);
                // A sandbox that does not answer gets no more time than one that does.
                let _ = tokio::time::timeout(GRACE, asking).await;
                continue;
            }
            () = until(patience) => {
                if is_killed {
                    return Err(unanswered(&launch.program));
                }
                is_killed = true;
                patience = Some(tokio::time::Instant::now() + LAST_WORD);
                kill(sandbox, &process, &launch.marker).await;
                continue;
            }
            () = events.closed() => {
                kill(sandbox, &process, &launch.marker).await;
                return Ok(Outcome::Abandoned);
            }
        };
        let (stream, mut bytes) = match message {
            Ok(Some(EventMessage { event })) => match event {
                Told::Data(Data::Stdout(bytes) | Data::Pty(bytes)) => (Stream::Stdout, bytes),
                Told::Data(Data::Stderr(bytes)) => (Stream::Stderr, bytes),
                Told::End(end) => break end,
                Told::Start { .. } | Told::Keepalive {} => continue,
            },
            Ok(None) | Err(_) => return Err(lost(&launch.program)),
        };
        if stream == Stream::Stderr
            && said == 0
            && let Some(error) = launch.not_started(&bytes)
        {
            return Err(error);
        }
        let room = limits.output_bytes.saturating_sub(said);
        if bytes.len() as u64 > room {
            bytes.truncate(usize::try_from(room).unwrap_or(usize::MAX));
            if cause == EndCause::Itself {
                cause = EndCause::OutputLimit;
                patience = Some(tokio::time::Instant::now());
            }
        }
        said += bytes.len() as u64;
        if !bytes.is_empty() {
            // Where nobody listens, the next turn notices.
            let _ = events.send(Ok(Event::Output(stream, bytes))).await;
        }
    };
    let signal = signal_of(&end.status);
    Ok(Outcome::Ended(Exit {
        code: (end.exit_code >= 0 && signal.is_none()).then_some(end.exit_code),
        signal,
        duration: begun.elapsed(),
        cause,
        usage: Usage::default(),
    }))
}

async fn begin(
    sandbox: &dyn Exchange,
    launch: &Launch,
) -> Result<(Messages<EventMessage>, Selector), CommandError> {
    let refused = |error: CallError| match error {
        CallError::Refused(fault) if fault.code == Code::NotFound => {
            launch.unstartable(io::Error::new(io::ErrorKind::NotFound, fault.message))
        }
        CallError::Refused(fault) if fault.code == Code::InvalidArgument => {
            launch.unstartable(io::Error::new(io::ErrorKind::InvalidInput, fault.message))
        }
        error => CommandError::Remote {
            reason: format!("the command was not run: {error}"),
            remedy: "try again; `agentyard doctor` tries whether the service can be reached".to_owned(),
        },
    };
    let mut messages: Messages<EventMessage> =
        client::stream(sandbox, process::SERVICE, "Start", &launch.request, None)
            .await
            .map_err(refused)?;
    loop {
        match messages.next().await.map_err(refused)? {
            Some(EventMessage {
                event: Told::Start { pid },
            }) => return Ok((messages, Selector::Pid(pid))),
            Some(EventMessage {
                event: Told::Keepalive {},
            }) => {}
            Some(_) | None => return Err(lost(&launch.program)),
        }
    }
}

/// Sends the input, and tells that there is no more. A command that does not want it has ended.
async fn feed(sandbox: &dyn Exchange, process: Selector, input: &[u8]) {
    for piece in input.chunks(PIECE) {
        let request = SendInputRequest {
            process: process.clone(),
            input: Input::Stdin(piece.to_vec()),
        };
        let sent: Result<Value, _> = client::call(sandbox, process::SERVICE, "SendInput", &request).await;
        if sent.is_err() {
            return;
        }
    }
    let request = ProcessRequest { process };
    let _: Result<Value, _> = client::call(sandbox, process::SERVICE, "CloseStdin", &request).await;
}

async fn signal(sandbox: &dyn Exchange, process: Selector, signal: Signal) {
    let request = SendSignalRequest { process, signal };
    // One that is over needs none.
    let _: Result<Value, _> = client::call(sandbox, process::SERVICE, "SendSignal", &request).await;
}

/// Ends a command, with all that it has started.
async fn kill(sandbox: &dyn Exchange, process: &Selector, marker: &str) {
    let killing = async {
        signal(sandbox, process.clone(), Signal::Kill).await;
        transfer::sweep(sandbox, marker).await;
    };
    // A sandbox that does not answer is given up.
    let _ = tokio::time::timeout(LAST_WORD, killing).await;
}

async fn until(time: Option<tokio::time::Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}

async fn asked_to_stop(stopped: &mut watch::Receiver<bool>) {
    if stopped.wait_for(|stopped| *stopped).await.is_err() {
        // Nobody can ask any more.
        std::future::pending::<()>().await;
    }
}

/// A sandbox that cannot even be told to end a command is not asked for files.
fn unanswered(program: &str) -> CommandError {
    CommandError::Remote {
        reason: format!(
            "`{program}` was to be ended, and its sandbox did not tell that it was: the sandbox was given up, and \
             nothing that changed there came back"
        ),
        remedy: "try again: another sandbox is made".to_owned(),
    }
}

fn lost(program: &str) -> CommandError {
    CommandError::Lost {
        program: program.to_owned(),
    }
}

/// The signal that ended a command, by the words in which that is told.
fn signal_of(status: &str) -> Option<i32> {
    let name = status.strip_prefix("signal: ")?;
    let name = name.strip_suffix(" (core dumped)").unwrap_or(name);
    let known = [
        ("hangup", 1),
        ("interrupt", 2),
        ("quit", 3),
        ("illegal instruction", 4),
        ("trace/breakpoint trap", 5),
        ("aborted", 6),
        ("bus error", 7),
        ("floating point exception", 8),
        ("killed", 9),
        ("user defined signal 1", 10),
        ("segmentation fault", 11),
        ("user defined signal 2", 12),
        ("broken pipe", 13),
        ("alarm clock", 14),
        ("terminated", 15),
        ("CPU time limit exceeded", 24),
        ("file size limit exceeded", 25),
        ("bad system call", 31),
    ];
    known
        .iter()
        .find(|(words, _)| *words == name)
        .map(|(_, number)| *number)
        .or_else(|| name.strip_prefix("signal ")?.parse().ok())
        .or(Some(9))
}

/// A command that runs there.
#[derive(Debug)]
struct Remote {
    program: String,
    events: mpsc::Receiver<Result<Event, CommandError>>,
    stop: watch::Sender<bool>,
}

impl Process for Remote {
    fn next(&mut self) -> Awaited<'_, Result<Event, CommandError>> {
        Box::pin(async {
            let event = self.events.recv().await;
            event.unwrap_or_else(|| Err(lost(&self.program)))
        })
    }

    fn stop(&mut self) {
        self.stop.send_replace(true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_are_known_by_their_words() {
        for (status, signal) in [
            ("exit status 3", None),
            ("signal: killed", Some(9)),
            ("signal: terminated", Some(15)),
            ("signal: segmentation fault (core dumped)", Some(11)),
            ("signal: signal 34", Some(34)),
            ("signal: something new", Some(9)),
        ] {
            assert_eq!(signal_of(status), signal, "{status}");
        }
    }
}
