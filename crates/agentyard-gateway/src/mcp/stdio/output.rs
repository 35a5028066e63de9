//! The way out: one task writes, so that a message is never cut off by a future that was dropped half way.

use std::io;

use tokio::{
    io::{AsyncWrite, AsyncWriteExt},
    sync::{mpsc, oneshot},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

/// Messages that may wait for a client who reads slowly.
const WAITING: usize = 64;

/// Messages are written together up to here.
const TOGETHER_BYTES: usize = 64 * 1024;

#[derive(Debug)]
pub(super) struct Output {
    queue: mpsc::Sender<Outgoing>,
    writer: JoinHandle<()>,
    /// Of the last message that nobody waited for.
    unconfirmed: Option<oneshot::Receiver<()>>,
}

#[derive(Debug)]
struct Outgoing {
    message: Vec<u8>,
    /// Told when the message is out.
    written: oneshot::Sender<()>,
}

impl Output {
    /// Cancels `ended` when nobody reads any more.
    pub(super) fn new(writer: impl AsyncWrite + Send + Unpin + 'static, ended: CancellationToken) -> Self {
        let (queue, messages) = mpsc::channel(WAITING);
        Self {
            queue,
            writer: tokio::spawn(write_all(writer, messages, ended)),
            unconfirmed: None,
        }
    }

    /// Waits until the message is out.
    pub(super) fn send(&self, message: Vec<u8>) -> impl Future<Output = io::Result<()>> + Send + use<> {
        let queue = self.queue.clone();
        async move {
            let (written, done) = oneshot::channel();
            queue
                .send(Outgoing { message, written })
                .await
                .map_err(|_| closed())?;
            done.await.map_err(|_| closed())
        }
    }

    /// Takes the message out of `slot` once there is a place for it, and does not wait for more. May be
    /// dropped and called again: the message is either in the slot or on its way.
    pub(super) async fn enqueue(&mut self, slot: &mut Option<Vec<u8>>) {
        if slot.is_none() {
            return;
        }
        let place = self.queue.reserve().await;
        let message = slot.take();
        if let (Ok(place), Some(message)) = (place, message) {
            let (written, done) = oneshot::channel();
            place.send(Outgoing { message, written });
            self.unconfirmed = Some(done);
        }
    }

    /// Waits until everything enqueued is out.
    pub(super) async fn settle(&mut self) {
        if let Some(done) = &mut self.unconfirmed {
            let _ = done.await;
        }
        self.unconfirmed = None;
    }

    /// Waits until everything sent is out.
    pub(super) async fn close(&mut self) {
        // The writer ends when the last sender is gone; this puts a dead one in its place.
        self.queue = mpsc::channel(1).0;
        let _ = (&mut self.writer).await;
    }
}

async fn write_all(
    mut writer: impl AsyncWrite + Unpin,
    mut messages: mpsc::Receiver<Outgoing>,
    ended: CancellationToken,
) {
    while let Some(first) = messages.recv().await {
        let mut bytes = Vec::new();
        let mut told = Vec::new();
        let mut next = Some(first);
        while let Some(Outgoing { message, written }) = next {
            bytes.extend_from_slice(&message);
            bytes.push(b'\n');
            told.push(written);
            next = if bytes.len() < TOGETHER_BYTES {
                messages.try_recv().ok()
            } else {
                None
            };
        }
        if let Err(error) = write(&mut writer, &bytes).await {
            tracing::debug!(%error, "standard output cannot be written");
            // Whoever waits is told by the sender that is dropped with the task.
            ended.cancel();
            return;
        }
        for written in told {
            let _ = written.send(());
        }
    }
}

async fn write(writer: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> io::Result<()> {
    writer.write_all(bytes).await?;
    writer.flush().await
}

fn closed() -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, "the client no longer reads")
}
