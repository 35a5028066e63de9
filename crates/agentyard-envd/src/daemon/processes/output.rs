//! What a process says, read as it comes.

use std::future::poll_fn;
use std::io;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead as _, ReadBuf};
use tokio::net::unix::pipe::Receiver;

use crate::process::Data;

/// How much is read at a time.
const CHUNK: usize = 32 * 1024;

/// How much a pipe can hold for who has no special rights.
const PIPE: usize = 1024 * 1024;

/// Where a process says something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Stdout,
    Stderr,
    Pty,
}

impl Kind {
    /// What was said there.
    pub(super) fn data(self, bytes: Vec<u8>) -> Data {
        match self {
            Self::Stdout => Data::Stdout(bytes),
            Self::Stderr => Data::Stderr(bytes),
            Self::Pty => Data::Pty(bytes),
        }
    }
}

/// All that a process says, until it is closed.
#[derive(Debug)]
pub(super) struct Output {
    open: Vec<Outlet>,
    buffer: Vec<u8>,
}

#[derive(Debug)]
struct Outlet {
    kind: Kind,
    file: Receiver,
}

impl Output {
    /// Reads these, of which each must be non-blocking.
    pub(super) fn of(files: impl IntoIterator<Item = (Kind, OwnedFd)>) -> io::Result<Self> {
        // A terminal is waited for as pipes are.
        let outlet = |(kind, file)| Receiver::from_owned_fd_unchecked(file).map(|file| Outlet { kind, file });
        Ok(Self {
            open: files.into_iter().map(outlet).collect::<io::Result<_>>()?,
            buffer: vec![0; CHUNK],
        })
    }

    /// What comes next; none when all is closed. Nothing is lost when this is dropped halfway.
    pub(super) async fn next(&mut self) -> Option<(Kind, Vec<u8>)> {
        poll_fn(|context| self.poll(context)).await
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<(Kind, Vec<u8>)>> {
        // Whoever was read last comes last, so that nobody starves.
        let mut place = 0;
        while let Some(outlet) = self.open.get_mut(place) {
            match outlet.poll(context, &mut self.buffer) {
                Poll::Pending => place += 1,
                Poll::Ready(0) => drop(self.open.remove(place)),
                Poll::Ready(length) => {
                    let read = (outlet.kind, self.buffer[..length].to_vec());
                    self.open[place..].rotate_left(1);
                    return Poll::Ready(Some(read));
                }
            }
        }
        match self.open.is_empty() {
            true => Poll::Ready(None),
            false => Poll::Pending,
        }
    }

    /// What is there now, though others may still hold the other end open: all that a process that has ended ever said,
    /// and no more than a pipe holds of what they say.
    pub(super) fn rest(&mut self) -> Vec<(Kind, Vec<u8>)> {
        let mut rest = Vec::new();
        for outlet in &self.open {
            let mut room = PIPE;
            // The readiness that the runtime knows of may be behind what is there.
            while let Ok(length @ 1..) = rustix::io::read(&outlet.file, &mut self.buffer) {
                rest.push((outlet.kind, self.buffer[..length].to_vec()));
                room = room.saturating_sub(length);
                if room == 0 {
                    break;
                }
            }
        }
        rest
    }

    /// Whether somebody else may hold pipes open, who would be disturbed if nobody read them.
    pub(super) fn has_pipes(&self) -> bool {
        self.open.iter().any(|outlet| outlet.kind != Kind::Pty)
    }
}

impl Outlet {
    /// Reads some of what there is; nothing at the end, which is also when nobody has a terminal open any more.
    fn poll(&mut self, context: &mut Context<'_>, buffer: &mut [u8]) -> Poll<usize> {
        let mut buffer = ReadBuf::new(buffer);
        match ready!(Pin::new(&mut self.file).poll_read(context, &mut buffer)) {
            Ok(()) => Poll::Ready(buffer.filled().len()),
            Err(_) => Poll::Ready(0),
        }
    }
}
