//! What a container says, as podman packs it: eight bytes that name the stream and the length, then that many bytes.

use std::io;

use bytes::{Buf as _, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt as _};

use crate::command::Stream;

/// How much is read at once.
const CHUNK: usize = 64 * 1024;
const HEADER: usize = 8;

/// A container's output, unpacked.
#[derive(Debug)]
pub(super) struct Output<R> {
    from: R,
    buffer: BytesMut,
    /// Of which stream the next bytes are, and how many.
    open: Option<(Stream, usize)>,
}

impl<R: AsyncRead + Unpin> Output<R> {
    pub(super) fn new(from: R) -> Self {
        Self {
            from,
            buffer: BytesMut::new(),
            open: None,
        }
    }

    /// The next piece; `None` when there is nothing more. Nothing is lost when this is dropped halfway.
    pub(super) async fn next(&mut self) -> io::Result<Option<(Stream, Vec<u8>)>> {
        loop {
            if let Some(piece) = self.piece()? {
                return Ok(Some(piece));
            }
            self.buffer.reserve(CHUNK);
            if self.from.read_buf(&mut self.buffer).await? == 0 {
                return Ok(None);
            }
        }
    }

    fn piece(&mut self) -> io::Result<Option<(Stream, Vec<u8>)>> {
        loop {
            match self.open {
                Some((stream, length @ 1..)) => {
                    let here = length.min(self.buffer.len());
                    if here == 0 {
                        return Ok(None);
                    }
                    self.open = Some((stream, length - here));
                    return Ok(Some((stream, self.buffer.split_to(here).to_vec())));
                }
                _ if self.buffer.len() < HEADER => return Ok(None),
                _ => {
                    let stream = match self.buffer.get_u32() >> 24 {
                        1 => Stream::Stdout,
                        2 => Stream::Stderr,
                        _ => return Err(io::ErrorKind::InvalidData.into()),
                    };
                    self.open = Some((stream, self.buffer.get_u32() as usize));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn pieces_come_whole_however_they_were_cut() {
        let packed = b"\x01\0\0\0\0\0\0\x02hi\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\x03err";
        for cut in 1..packed.len() {
            let halves = tokio::io::AsyncReadExt::chain(&packed[..cut], &packed[cut..]);
            let mut output = Output::new(halves);
            let (mut out, mut err) = (Vec::new(), Vec::new());
            while let Some((stream, bytes)) = output.next().await.unwrap() {
                match stream {
                    Stream::Stdout => out.extend(bytes),
                    Stream::Stderr => err.extend(bytes),
                }
            }
            assert_eq!(
                (out.as_slice(), err.as_slice()),
                (&b"hi"[..], &b"err"[..]),
                "{cut}"
            );
        }
    }

    #[tokio::test]
    async fn what_is_not_packed_is_an_error() {
        assert!(Output::new(&b"hello there"[..]).next().await.is_err());
    }
}
