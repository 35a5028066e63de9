//! Server-sent events, read as they come.

/// Reads events from chunks.
pub(crate) struct EventReader {
    pending: Vec<u8>,
    event: ServerEvent,
    limit: usize,
}

/// One event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ServerEvent {
    /// What sort of event it is, when that is said.
    pub(crate) name: String,
    /// What a client that was cut off comes back with.
    pub(crate) id: Option<String>,
    /// What happened.
    pub(crate) data: String,
}

impl EventReader {
    /// Reads events of at most this size.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            pending: Vec::new(),
            event: ServerEvent::default(),
            limit,
        }
    }

    /// The events that this chunk completes. One without data is none.
    pub(crate) fn read(&mut self, chunk: &[u8]) -> Result<Vec<ServerEvent>, String> {
        self.pending.extend_from_slice(chunk);
        let mut complete = Vec::new();
        let mut begin = 0;
        while let Some(length) = self.pending[begin..].iter().position(|byte| *byte == b'\n') {
            let line = String::from_utf8_lossy(&self.pending[begin..begin + length]);
            let line = line.trim_end_matches('\r');
            begin += length + 1;
            if line.is_empty() {
                let event = std::mem::take(&mut self.event);
                complete.extend(Some(event).filter(|event| !event.data.is_empty()));
            } else {
                self.event.add(line);
            }
        }
        self.pending.drain(..begin);
        if self.pending.len() + self.event.data.len() > self.limit {
            return Err("the server sent an event that is too long".to_owned());
        }
        Ok(complete)
    }
}

impl ServerEvent {
    fn add(&mut self, line: &str) {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.name),
            "id" => self.id = Some(value.to_owned()),
            "data" => {
                if !self.data.is_empty() {
                    self.data.push('\n');
                }
                self.data.push_str(value);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_across_chunks() {
        let mut events = EventReader::new(100);
        assert!(
            events
                .read(b": hello\n\nretry: 1\n\nid: 1\nevent:stdout\ndata: {\"a\"")
                .unwrap()
                .is_empty()
        );
        let read = events.read(b":1}\r\n\r\ndata: x\ndata: y\n\ndata:").unwrap();
        let expected = [
            ServerEvent {
                name: "stdout".to_owned(),
                id: Some("1".to_owned()),
                data: "{\"a\":1}".to_owned(),
            },
            ServerEvent {
                data: "x\ny".to_owned(),
                ..ServerEvent::default()
            },
        ];
        assert_eq!(read, expected);
        assert!(events.read(&[b'y'; 101]).is_err());
    }
}
