//! What the server and a leader say to each other: descriptors and a request one way, reports the other.

use std::io::{self, IoSlice, IoSliceMut, Read, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use serde::{Deserialize, Serialize};
use tokio::io::AsyncWriteExt as _;

use crate::bubblewrap::Plan;

/// The longest request. The kernel itself takes little more for a program's arguments and environment.
const MAX_REQUEST_BYTES: u64 = 8 * 1024 * 1024;

/// How many descriptors one request brings at most.
const MAX_DESCRIPTORS: usize = 64;

/// What a command is given of the server's open files.
pub(crate) struct Descriptors {
    pub(crate) stdin: OwnedFd,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
    /// What the request refers to by its place in this list.
    pub(crate) others: Vec<OwnedFd>,
}

impl Descriptors {
    pub(crate) fn send(&self, socket: &UnixStream) -> io::Result<()> {
        let standard = [&self.stdin, &self.stdout, &self.stderr];
        let all: Vec<BorrowedFd<'_>> = standard
            .into_iter()
            .chain(&self.others)
            .map(AsFd::as_fd)
            .collect();
        // They ride on a byte: without one, nothing would be sent.
        send_with(socket, b"d", &all)
    }

    pub(super) fn receive(socket: &UnixStream) -> io::Result<Self> {
        let mut byte = [0];
        let (_, received) = receive_with(socket, &mut byte)?;
        let mut received = received.into_iter();
        let mut next = || received.next().ok_or(io::ErrorKind::InvalidData);
        Ok(Self {
            stdin: next()?,
            stdout: next()?,
            stderr: next()?,
            others: received.collect(),
        })
    }
}

/// Sends bytes, and descriptors with the first of them.
fn send_with(socket: &UnixStream, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    if descriptors.len() > MAX_DESCRIPTORS {
        return Err(io::Error::other("too many directories for one command"));
    }
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() {
        ancillary.push(SendAncillaryMessage::ScmRights(descriptors));
    }
    let sent = sendmsg(
        socket,
        &[IoSlice::new(bytes)],
        &mut ancillary,
        SendFlags::NOSIGNAL,
    )?;
    let mut socket = socket;
    socket.write_all(bytes.get(sent..).unwrap_or_default())
}

/// Receives some bytes, and the descriptors that came with them.
pub(super) fn receive_with(socket: impl AsFd, bytes: &mut [u8]) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received = recvmsg(
        socket,
        &mut [IoSliceMut::new(bytes)],
        &mut ancillary,
        RecvFlags::CMSG_CLOEXEC,
    )?;
    let descriptors = ancillary
        .drain()
        .filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
            _ => None,
        })
        .flatten()
        .collect();
    Ok((received.bytes, descriptors))
}

/// What a leader is to do.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Request {
    /// Run a program on the host, in the directory that is the first of the other descriptors.
    OnHost(Launch),
    /// Run a program in a sandbox.
    Confined(Box<Plan>),
}

/// A program, its arguments and its environment.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Launch {
    pub(crate) program: String,
    pub(crate) arguments: Vec<String>,
    pub(crate) environment: Vec<(String, String)>,
}

impl Request {
    pub(super) async fn send(&self, socket: &mut tokio::net::UnixStream) -> io::Result<()> {
        let text = serde_json::to_vec(self)?;
        if text.len() as u64 > MAX_REQUEST_BYTES {
            return Err(io::Error::from(io::ErrorKind::ArgumentListTooLong));
        }
        socket.write_u64(text.len() as u64).await?;
        socket.write_all(&text).await
    }

    pub(super) fn receive(mut socket: &UnixStream) -> io::Result<Self> {
        let mut length = [0; 8];
        socket.read_exact(&mut length)?;
        let length = u64::from_be_bytes(length);
        if length > MAX_REQUEST_BYTES {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut text = vec![0; usize::try_from(length).map_err(io::Error::other)?];
        socket.read_exact(&mut text)?;
        Ok(serde_json::from_slice(&text)?)
    }
}

/// What a leader tells, one to a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Report {
    /// A sandbox is there; the number of its first process. A listening socket inside comes with it when the plan has
    /// asked for one.
    Started { pid: i32 },
    /// The end.
    Exited { code: Option<i32>, signal: Option<i32> },
    /// The program could not be started.
    NotStarted { errno: i32 },
    /// The sandbox could not be made, or the program not be started in it; why is on its standard error, unless it is
    /// said here.
    NotConfined { reason: Option<String> },
}

impl Report {
    pub(super) fn send(&self, socket: &UnixStream, descriptor: Option<BorrowedFd<'_>>) -> io::Result<()> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        send_with(socket, &line, descriptor.as_slice())
    }

    /// Takes a whole report out of what was read; a part of one is none.
    pub(super) fn take(read: &mut Vec<u8>) -> Option<Self> {
        let end = read.iter().position(|byte| *byte == b'\n')?;
        let line: Vec<u8> = read.drain(..=end).collect();
        serde_json::from_slice(&line).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_taken_when_it_is_whole() {
        let mut read = br#"{"started":{"pid":7}}"#.to_vec();
        assert_eq!(Report::take(&mut read), None);
        read.extend(b"\n{\"exi");
        assert_eq!(Report::take(&mut read), Some(Report::Started { pid: 7 }));
        assert_eq!(Report::take(&mut read), None);
        assert_eq!(read, b"{\"exi");
    }
}
