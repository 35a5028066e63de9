//! The frames of a stream.

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use serde::{Deserialize, Serialize};

use super::fault::Fault;

/// How long a message may be. Longer things go over plain HTTP.
pub const MAX_FRAME_BYTES: usize = 8 * 1024 * 1024;

/// The flag of a message that is compressed, which we never asked for.
const COMPRESSED: u8 = 1;

/// The flag of the last frame.
const LAST: u8 = 2;

/// How many bytes stand before a message.
const HEAD: usize = 5;

/// A frame that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// A message, in JSON.
    Message(Bytes),
    /// The end, and why it came if not because all was said.
    End(Option<Fault>),
}

/// What was sent is no frame.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidFrame(&'static str);

/// What the last frame holds.
#[derive(Debug, Serialize, Deserialize)]
struct End {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<Fault>,
}

/// Puts frames together of what comes in.
#[derive(Debug, Default)]
pub struct Frames {
    buffer: BytesMut,
}

impl Frames {
    /// Takes what came in.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next frame, when all of it is there.
    ///
    /// # Errors
    /// When it is too long, or not to be understood. Nothing after that is.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, InvalidFrame> {
        let Some((head, _)) = self.buffer.split_at_checked(HEAD) else {
            return Ok(None);
        };
        let flags = head.first().copied().unwrap_or_default();
        let length = head
            .get(1..)
            .and_then(|bytes| bytes.try_into().ok())
            .map(u32::from_be_bytes)
            .and_then(|length| usize::try_from(length).ok())
            .ok_or(InvalidFrame("a frame without a length"))?;
        if length > MAX_FRAME_BYTES {
            return Err(InvalidFrame("a message of more than 8 MiB"));
        }
        if flags & COMPRESSED != 0 {
            return Err(InvalidFrame("a compressed message, which was not agreed on"));
        }
        if self.buffer.len() < HEAD + length {
            return Ok(None);
        }
        self.buffer.advance(HEAD);
        let message = self.buffer.split_to(length).freeze();
        if flags & LAST == 0 {
            return Ok(Some(Frame::Message(message)));
        }
        let end: End =
            serde_json::from_slice(&message).map_err(|_| InvalidFrame("an end that tells nothing"))?;
        Ok(Some(Frame::End(end.error)))
    }
}

/// A frame with a message in it.
///
/// # Errors
/// When the message cannot be written as JSON.
pub fn message_frame(message: &impl Serialize) -> Result<Bytes, serde_json::Error> {
    frame(0, message)
}

/// The last frame.
#[must_use]
pub fn end_frame(fault: Option<Fault>) -> Bytes {
    // Strings and nothing else: it can be written.
    frame(LAST, &End { error: fault }).unwrap_or_default()
}

fn frame(flags: u8, message: &impl Serialize) -> Result<Bytes, serde_json::Error> {
    let mut frame = BytesMut::new();
    frame.put_u8(flags);
    frame.put_u32(0);
    serde_json::to_writer((&mut frame).writer(), message)?;
    let length = u32::try_from(frame.len() - HEAD).unwrap_or(u32::MAX);
    if let Some(place) = frame.get_mut(1..HEAD) {
        place.copy_from_slice(&length.to_be_bytes());
    }
    Ok(frame.freeze())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connect::Code;

    #[test]
    fn frames_are_put_together_of_whatever_pieces_come() {
        let mut sent = message_frame(&serde_json::json!({ "a": 1 })).unwrap().to_vec();
        let fault = Fault::new(Code::NotFound, "no such process");
        sent.extend(end_frame(Some(fault.clone())));
        let mut frames = Frames::default();
        let mut received = Vec::new();
        for byte in sent {
            frames.push(&[byte]);
            received.extend(frames.next_frame().unwrap());
        }
        assert_eq!(
            received,
            [
                Frame::Message(Bytes::from_static(b"{\"a\":1}")),
                Frame::End(Some(fault))
            ]
        );
    }

    #[test]
    fn what_is_too_long_or_compressed_is_refused() {
        for head in [[0, 255, 0, 0, 0], [1, 0, 0, 0, 0]] {
            let mut frames = Frames::default();
            frames.push(&head);
            assert!(frames.next_frame().is_err());
        }
    }
}
