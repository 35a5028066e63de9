//! What the server and a leader say to each other: descriptors and a request one way, a report the other.

use std::io::{self, IoSlice, IoSliceMut, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use serde::{Deserialize, Serialize};
use tokio::io::AsyncWriteExt as _;

/// The longest request. The kernel itself takes little more for a program's arguments and environment.
const MAX_REQUEST_BYTES: u64 = 8 * 1024 * 1024;

const DESCRIPTORS: usize = 4;

/// What a command is given of the server's open files.
pub(super) struct Descriptors {
    pub(super) directory: OwnedFd,
    pub(super) stdin: OwnedFd,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
}

impl Descriptors {
    pub(super) fn send(&self, socket: &UnixStream) -> io::Result<()> {
        let descriptors = [&self.directory, &self.stdin, &self.stdout, &self.stderr].map(AsFd::as_fd);
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
        // They ride on a byte: without one, nothing would be sent.
        sendmsg(socket, &[IoSlice::new(b"d")], &mut ancillary, SendFlags::NOSIGNAL)?;
        Ok(())
    }

    pub(super) fn receive(socket: &UnixStream) -> io::Result<Self> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0];
        recvmsg(
            socket,
            &mut [IoSliceMut::new(&mut byte)],
            &mut ancillary,
            RecvFlags::CMSG_CLOEXEC,
        )?;
        let mut received = ancillary.drain().flat_map(|message| match message {
            RecvAncillaryMessage::ScmRights(descriptors) => descriptors.collect::<Vec<_>>(),
            _ => Vec::new(),
        });
        let mut next = || received.next().ok_or(io::ErrorKind::InvalidData);
        Ok(Self {
            directory: next()?,
            stdin: next()?,
            stdout: next()?,
            stderr: next()?,
        })
    }
}

/// What is to be run.
#[derive(Serialize, Deserialize)]
pub(super) struct Request {
    pub(super) program: String,
    pub(super) arguments: Vec<String>,
    pub(super) environment: Vec<(String, String)>,
}

impl Request {
    pub(super) async fn send(&self, socket: &mut tokio::net::UnixStream) -> io::Result<()> {
        let text = serde_json::to_vec(self)?;
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

/// How it ended.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Report {
    Exited { code: Option<i32>, signal: Option<i32> },
    NotStarted { errno: i32 },
}

impl Report {
    pub(super) fn send(&self, mut socket: &UnixStream) -> io::Result<()> {
        io::Write::write_all(&mut socket, &serde_json::to_vec(self)?)
    }

    /// Reads a whole report; a part of one is none.
    pub(super) fn read(text: &[u8]) -> Option<Self> {
        serde_json::from_slice(text).ok()
    }
}
