//! How the daemon and a kernel talk: messages of fields, each with its length before it.

use bytes::{Buf as _, BytesMut};

/// The longest message of a kernel that is read.
const MAX_MESSAGE_BYTES: usize = 32 * 1024 * 1024;

/// Somebody wrote to the daemon what no kernel of ours writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Garbled;

/// A message.
pub(super) fn message(fields: &[&str]) -> Vec<u8> {
    let length: usize = fields.iter().map(|field| 4 + field.len()).sum();
    let mut message = Vec::with_capacity(4 + length);
    message.extend(size(length));
    for field in fields {
        message.extend(size(field.len()));
        message.extend_from_slice(field.as_bytes());
    }
    message
}

fn size(length: usize) -> [u8; 4] {
    // Requests are bounded far below what four bytes can say.
    u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes()
}

/// Bytes that become messages.
#[derive(Debug, Default)]
pub(super) struct Messages {
    pub(super) unread: BytesMut,
}

impl Messages {
    /// The length of the first message, if all of it is there.
    pub(super) fn complete(&self) -> Result<Option<usize>, Garbled> {
        let Some(prefix) = self.unread.first_chunk::<4>() else {
            return Ok(None);
        };
        let length = u32::from_be_bytes(*prefix) as usize;
        if length > MAX_MESSAGE_BYTES {
            return Err(Garbled);
        }
        Ok((self.unread.len() >= 4 + length).then_some(length))
    }

    /// The fields of the first message, if all of it is there.
    pub(super) fn next(&mut self) -> Result<Option<Vec<String>>, Garbled> {
        let Some(length) = self.complete()? else {
            return Ok(None);
        };
        self.unread.advance(4);
        let mut message = self.unread.split_to(length);
        let mut fields = Vec::new();
        while !message.is_empty() {
            let prefix = message.first_chunk::<4>().ok_or(Garbled)?;
            let length = u32::from_be_bytes(*prefix) as usize;
            message.advance(4);
            if length > message.len() {
                return Err(Garbled);
            }
            let field = message.split_to(length);
            fields.push(String::from_utf8_lossy(&field).into_owned());
        }
        Ok(Some(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<Option<Vec<String>>, Garbled> {
        let mut messages = Messages::default();
        messages.unread.extend_from_slice(bytes);
        messages.next()
    }

    #[test]
    fn messages_are_read_as_they_were_written() {
        let written = message(&["result", "", "text", "ä"]);
        let fields = ["result", "", "text", "ä"].map(str::to_owned).to_vec();
        assert_eq!(read(&written), Ok(Some(fields)));
        for cut in 0..written.len() {
            assert_eq!(read(&written[..cut]), Ok(None));
        }
    }

    #[test]
    fn what_no_kernel_writes_is_not_read() {
        assert_eq!(read(&[0xff, 0, 0, 0]), Err(Garbled), "too long");
        assert_eq!(read(&[0, 0, 0, 2, 0, 0]), Err(Garbled), "half a length");
        assert_eq!(
            read(&[0, 0, 0, 5, 0, 0, 0, 9, b'x']),
            Err(Garbled),
            "a field longer than its message"
        );
    }
}
