//! Messages between the server and the processes of an interpreter: whole or not at all, with descriptors, and with the
//! number of whoever sent them.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixDatagram as StdUnixDatagram;

use rustix::net::sockopt::set_socket_passcred;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use rustix::process::Pid;
use tokio::io::Interest;
use tokio::net::UnixDatagram;

/// The longest message that is taken.
const MAX_BYTES: usize = 16 * 1024;

/// How many descriptors come or go with one message.
const MAX_DESCRIPTORS: usize = 12;

/// Our end of a socket for messages. It is one of the kind that tells when the other end is gone, which the type does
/// not know.
#[derive(Debug)]
pub(super) struct Packets(UnixDatagram);

/// A message.
#[derive(Debug)]
pub(super) struct Packet {
    pub(super) data: Vec<u8>,
    pub(super) descriptors: Vec<OwnedFd>,
    /// Who sent it, as this process numbers it.
    pub(super) sender: Option<Pid>,
}

impl Packets {
    /// A socket: our end, and the other, which is to be given away.
    pub(super) fn pair() -> io::Result<(Self, OwnedFd)> {
        let (ours, theirs) = socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )?;
        rustix::io::ioctl_fionbio(&ours, true)?;
        set_socket_passcred(&ours, true)?;
        let ours = UnixDatagram::from_std(StdUnixDatagram::from(ours))?;
        Ok((Self(ours), theirs))
    }

    pub(super) async fn send(&self, data: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        let send = || {
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
            let mut ancillary = SendAncillaryBuffer::new(&mut space);
            if !descriptors.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(descriptors)) {
                return Err(io::ErrorKind::InvalidInput.into());
            }
            let data = [IoSlice::new(data)];
            sendmsg(&self.0, &data, &mut ancillary, SendFlags::NOSIGNAL)?;
            Ok(())
        };
        self.0.async_io(Interest::WRITABLE, send).await
    }

    /// The next message, or nothing when nobody is left at the other end. Nothing is lost when this is dropped halfway.
    pub(super) async fn receive(&self) -> io::Result<Option<Packet>> {
        let receive = || receive(self.0.as_fd());
        match self.0.async_io(Interest::READABLE, receive).await {
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(None),
            received => received,
        }
    }

    /// A message that is there already.
    pub(super) fn received_already(&self) -> Option<Packet> {
        receive(self.0.as_fd()).ok().flatten()
    }
}

fn receive(socket: BorrowedFd<'_>) -> io::Result<Option<Packet>> {
    let mut space =
        [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS), ScmCredentials(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut data = vec![0; MAX_BYTES];
    let mut room = [IoSliceMut::new(&mut data)];
    let length = recvmsg(socket, &mut room, &mut ancillary, RecvFlags::CMSG_CLOEXEC)?.bytes;
    if length == 0 {
        return Ok(None);
    }
    data.truncate(length);
    let mut packet = Packet {
        data,
        descriptors: Vec::new(),
        sender: None,
    };
    for message in ancillary.drain() {
        match message {
            RecvAncillaryMessage::ScmRights(descriptors) => packet.descriptors.extend(descriptors),
            RecvAncillaryMessage::ScmCredentials(credentials) => packet.sender = Some(credentials.pid),
            _ => {}
        }
    }
    Ok(Some(packet))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::getpid;

    #[tokio::test]
    async fn messages_stay_apart_and_tell_who_sent_them() {
        let (ours, theirs) = Packets::pair().unwrap();
        for text in ["one", "two"] {
            rustix::net::send(&theirs, text.as_bytes(), SendFlags::empty()).unwrap();
        }
        let first = ours.receive().await.unwrap().unwrap();
        assert_eq!(
            (first.data.as_slice(), first.sender),
            (b"one".as_slice(), Some(getpid()))
        );
        assert_eq!(ours.receive().await.unwrap().unwrap().data, b"two");
        drop(theirs);
        assert!(ours.receive().await.unwrap().is_none());
    }

    #[tokio::test]
    async fn descriptors_come_along() {
        let (ours, theirs) = Packets::pair().unwrap();
        let (end, other_end) = io::pipe().unwrap();
        ours.send(b"x", &[other_end.as_fd()]).await.unwrap();
        drop(other_end);
        let packet = receive(theirs.as_fd()).unwrap().unwrap();
        rustix::io::write(&packet.descriptors[0], b"through").unwrap();
        drop(packet);
        assert_eq!(io::read_to_string(end).unwrap(), "through");
    }
}
