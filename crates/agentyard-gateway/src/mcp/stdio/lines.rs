//! Lines of bounded length from a byte stream.

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// Room for many small messages in one read.
const BUFFER_BYTES: usize = 64 * 1024;

pub(super) struct Lines<Reader> {
    reader: BufReader<Reader>,
    limit: usize,
    /// What has been read of the line under way. Here rather than in `next`, whose future may be dropped at
    /// any time.
    line: Vec<u8>,
    /// The line under way was too long; its rest is thrown away.
    skipping: bool,
}

pub(super) enum Line {
    /// Without its end.
    Whole(Vec<u8>),
    /// Said as soon as the limit is passed, not when the line ends: it may never.
    TooLong,
    End,
}

impl<Reader: AsyncRead + Unpin> Lines<Reader> {
    pub(super) fn new(reader: Reader, limit: usize) -> Self {
        let reader = BufReader::with_capacity(BUFFER_BYTES, reader);
        Self {
            reader,
            limit,
            line: Vec::new(),
            skipping: false,
        }
    }

    /// May be dropped and called again without loss.
    pub(super) async fn next(&mut self) -> Line {
        loop {
            let available = match self.reader.fill_buf().await {
                Ok(available) => available,
                Err(error) => {
                    tracing::debug!(%error, "standard input cannot be read");
                    &[]
                }
            };
            if available.is_empty() {
                // A last line may lack its end: `printf '{…}' | agentyard mcp`.
                return if self.line.is_empty() {
                    Line::End
                } else {
                    self.take()
                };
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let part = end.map_or(available, |end| &available[..end]);
            let too_long = !self.skipping && self.line.len() + part.len() > self.limit;
            if !self.skipping && !too_long {
                self.line.extend_from_slice(part);
            }
            let read = end.map_or(available.len(), |end| end + 1);
            self.reader.consume(read);

            if too_long {
                self.skipping = end.is_none();
                self.line = Vec::new();
                return Line::TooLong;
            }
            if end.is_some() && !std::mem::take(&mut self.skipping) {
                return self.take();
            }
        }
    }

    fn take(&mut self) -> Line {
        Line::Whole(std::mem::take(&mut self.line))
    }
}
