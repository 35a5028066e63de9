//! What a command reads and writes, as the server sees it.

use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{MemfdFlags, memfd_create};
use tokio::net::unix::pipe;

use super::message::Descriptors;

/// How much is read at once.
const CHUNK: usize = 64 * 1024;

/// The pipes that a command writes to.
#[derive(Debug)]
pub(crate) struct Pipes {
    pub(super) stdout: pipe::Receiver,
    pub(super) stderr: pipe::Receiver,
}

impl Pipes {
    /// Two pipes, and what a command is given to read and write.
    pub(crate) fn open(input: &[u8], others: Vec<OwnedFd>) -> io::Result<(Self, Descriptors)> {
        let (stdout, stdout_end) = output_pipe()?;
        let (stderr, stderr_end) = output_pipe()?;
        let descriptors = Descriptors {
            stdin: input_of(input)?,
            stdout: stdout_end,
            stderr: stderr_end,
            others,
        };
        Ok((Self { stdout, stderr }, descriptors))
    }
}

/// A pipe: our end, and the end that a command writes to.
pub(crate) fn output_pipe() -> io::Result<(pipe::Receiver, OwnedFd)> {
    let (ours, theirs) = io::pipe()?;
    Ok((pipe::Receiver::from_owned_fd(ours.into())?, theirs.into()))
}

/// What a command reads: kept by the kernel, so that nobody needs to feed it.
pub(crate) fn input_of(bytes: &[u8]) -> io::Result<OwnedFd> {
    if bytes.is_empty() {
        return Ok(std::fs::File::open("/dev/null")?.into());
    }
    let mut file = std::fs::File::from(memfd_create("input", MemfdFlags::CLOEXEC)?);
    io::Write::write_all(&mut file, bytes)?;
    io::Seek::rewind(&mut file)?;
    Ok(file.into())
}

/// Reads some; nothing when no more will come. Without a pipe it never ends.
pub(crate) async fn read(pipe: &mut Option<pipe::Receiver>) -> Option<Vec<u8>> {
    let Some(pipe) = pipe else {
        return std::future::pending().await;
    };
    loop {
        pipe.readable().await.ok();
        let mut bytes = vec![0; CHUNK];
        match pipe.try_read(&mut bytes) {
            Ok(0) => return None,
            Ok(length) => {
                bytes.truncate(length);
                return Some(bytes);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => return None,
        }
    }
}

/// What is in a pipe already. The kernel is asked itself: the runtime may not know yet what has just arrived.
pub(crate) fn read_now(pipe: &mut Option<pipe::Receiver>) -> Option<Vec<u8>> {
    let mut bytes = vec![0; CHUNK];
    match rustix::io::read(pipe.as_ref()?, &mut bytes) {
        Ok(length @ 1..) => {
            bytes.truncate(length);
            Some(bytes)
        }
        _ => None,
    }
}
