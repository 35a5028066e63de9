//! Counting what goes through a connection, and noticing when nothing does.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::Tenancy;
use super::refusal::Refusal;

/// How many bytes a sandbox may still send and receive.
#[derive(Debug)]
pub(super) struct Allowance(AtomicU64);

/// When a connection last carried something.
#[derive(Debug)]
pub(super) struct Pulse(Mutex<Instant>);

/// A client whose bytes are counted, whichever way they go.
pub(super) struct Metered {
    stream: TcpStream,
    tenancy: Arc<Tenancy>,
    pulse: Arc<Pulse>,
}

impl Allowance {
    pub(super) fn new(bytes: u64) -> Self {
        Self(AtomicU64::new(bytes))
    }

    pub(super) fn is_used_up(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }

    fn take(&self, bytes: usize) {
        let bytes = bytes as u64;
        // The closure always gives a value, so this never fails.
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
            Some(left.saturating_sub(bytes))
        });
    }
}

impl Pulse {
    pub(super) fn new() -> Self {
        Self(Mutex::new(Instant::now()))
    }

    fn beat(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Comes back when nothing has moved for this long.
    pub(super) async fn stops(&self, after: Duration) {
        loop {
            let end = *self.0.lock().unwrap_or_else(PoisonError::into_inner) + after;
            if end <= Instant::now() {
                return;
            }
            tokio::time::sleep_until(end).await;
        }
    }
}

impl Metered {
    pub(super) fn new(stream: TcpStream, tenancy: &Arc<Tenancy>, pulse: &Arc<Pulse>) -> Self {
        Self {
            stream,
            tenancy: Arc::clone(tenancy),
            pulse: Arc::clone(pulse),
        }
    }

    fn moved(&self, bytes: usize) {
        self.pulse.beat();
        self.tenancy.allowance.take(bytes);
    }

    fn check(&self) -> io::Result<()> {
        if self.tenancy.allowance.is_used_up() {
            let limit = self.tenancy.policy.bounds.bytes;
            let reason = format!("the command has sent and received the {limit} bytes that it may");
            self.tenancy.remember(&Refusal::senseless("more", reason));
            return Err(io::ErrorKind::QuotaExceeded.into());
        }
        Ok(())
    }
}

impl AsyncRead for Metered {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check()?;
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        self.moved(buffer.filled().len() - before);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Metered {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check()?;
        let written = ready!(Pin::new(&mut self.stream).poll_write(context, bytes))?;
        self.moved(written);
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
