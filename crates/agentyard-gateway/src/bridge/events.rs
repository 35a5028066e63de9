//! Server-sent events, as far as MCP uses them: the data of each.

/// Reads events from chunks as they come.
pub(super) struct Events {
    pending: Vec<u8>,
    data: String,
    limit: usize,
}

impl Events {
    /// Reads events of at most this size.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            pending: Vec::new(),
            data: String::new(),
            limit,
        }
    }

    /// The data of the events that this chunk completes.
    pub(super) fn read(&mut self, chunk: &[u8]) -> Result<Vec<String>, String> {
        self.pending.extend_from_slice(chunk);
        let mut complete = Vec::new();
        let mut begin = 0;
        while let Some(length) = self.pending[begin..].iter().position(|byte| *byte == b'\n') {
            let line = String::from_utf8_lossy(&self.pending[begin..begin + length]);
            let line = line.trim_end_matches('\r');
            begin += length + 1;
            if line.is_empty() {
                let data = std::mem::take(&mut self.data);
                complete.extend(Some(data).filter(|data| !data.is_empty()));
            } else if let Some(data) = line.strip_prefix("data:") {
                if !self.data.is_empty() {
                    self.data.push('\n');
                }
                self.data.push_str(data.strip_prefix(' ').unwrap_or(data));
            }
        }
        self.pending.drain(..begin);
        if self.pending.len() + self.data.len() > self.limit {
            return Err("the server sent an event that is too long".to_owned());
        }
        Ok(complete)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_across_chunks() {
        let mut events = Events::new(100);
        assert!(events.read(b": hello\n\nid: 1\ndata: {\"a\"").unwrap().is_empty());
        assert_eq!(
            events.read(b":1}\r\n\r\ndata: x\n\ndata:").unwrap(),
            ["{\"a\":1}", "x"]
        );
        assert!(events.read(&[b'y'; 101]).is_err());
    }
}
