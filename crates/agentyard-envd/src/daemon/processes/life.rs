//! The life of a process from its start to its end.

use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use tokio::process::Child;
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tokio::time::{Instant, sleep};

use super::output::{Kind, Output};
use super::process::Process;
use super::{end, message};
use crate::connect::{Code, Fault, message_frame};
use crate::daemon::routes::Daemon;
use crate::daemon::streams::Feed;
use crate::process::Event;

/// How exactly it is known for how long the sandbox was frozen.
const STEP: Duration = Duration::from_secs(1);

/// When a process is ended, and whom that is told.
#[derive(Debug)]
pub(super) struct Timer {
    pub(super) time: Duration,
    /// The stream that the time was given to.
    pub(super) feed: Feed,
}

/// Looks after a process until its end, and after its pipes until nobody writes to them any more.
pub(super) async fn live(
    daemon: Daemon,
    process: Arc<Process>,
    mut child: Child,
    mut output: Output,
    timer: Option<Timer>,
    _place: OwnedSemaphorePermit,
) {
    let (exit, exited) = oneshot::channel();
    let wait = async {
        let status = wait(&process, &mut child, timer).await;
        process.has_been_buried();
        // Whoever reads its output waits for this.
        let _ = exit.send(());
        status
    };
    let (status, ()) = tokio::join!(wait, hear(&process, &mut output, exited));
    let end = end::told(status);
    daemon.processes.retire(&process, end.clone());
    process.finish(end).await;
    drop(process);
    // What it left behind may go on to write, which nobody is to hear, but which must not fail either. A terminal is
    // hung up instead.
    if output.has_pipes() {
        while output.next().await.is_some() {}
    }
}

async fn wait(process: &Process, child: &mut Child, timer: Option<Timer>) -> ExitStatus {
    if let Some(Timer { time, feed }) = timer {
        tokio::select! {
            status = child.wait() => return known(status),
            () = awake(time) => {
                let message = "the time that the process was given is over, and it was ended";
                feed.end(Some(Fault::new(Code::DeadlineExceeded, message)));
                process.kill();
            }
        }
    }
    known(child.wait().await)
}

/// Waits for so long, and does not count the time in which the sandbox was frozen: who is stopped cannot use it.
async fn awake(time: Duration) {
    let mut left = time;
    while !left.is_zero() {
        let step = left.min(STEP);
        let began = Instant::now();
        sleep(step).await;
        let passed = began.elapsed();
        left = left.saturating_sub(if passed > step + STEP { step } else { passed });
    }
}

/// That a child of ours cannot be waited for does not happen; if it did, it would have ended somehow.
fn known(status: std::io::Result<ExitStatus>) -> ExitStatus {
    status.unwrap_or_else(|_| std::os::unix::process::ExitStatusExt::from_raw(1 << 8))
}

/// Tells those who listen what the process says, up to its end.
async fn hear(process: &Process, output: &mut Output, mut exited: oneshot::Receiver<()>) {
    loop {
        tokio::select! {
            biased;
            _ = &mut exited => break,
            said = output.next() => match said {
                Some((kind, bytes)) => tell(process, kind, bytes).await,
                None => {
                    let _ = exited.await;
                    break;
                }
            },
        }
    }
    for (kind, bytes) in output.rest() {
        tell(process, kind, bytes).await;
    }
}

async fn tell(process: &Process, kind: Kind, bytes: Vec<u8>) {
    if !process.is_heard() {
        return;
    }
    if let Ok(frame) = message_frame(&message(Event::Data(kind.data(bytes)))) {
        process.tell(&frame).await;
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn time_in_which_a_sandbox_is_frozen_does_not_count() {
        let began = Instant::now();
        awake(Duration::from_millis(2500)).await;
        assert_eq!(began.elapsed().as_millis(), 2500);
        let mut waiting = Box::pin(awake(Duration::from_secs(60)));
        assert_eq!(waiting.as_mut().now_or_never(), None);
        advance(Duration::from_secs(600)).await;
        assert_eq!(waiting.as_mut().now_or_never(), None);
        let thawed = Instant::now();
        waiting.await;
        assert_eq!(thawed.elapsed().as_secs(), 59);
    }
}
