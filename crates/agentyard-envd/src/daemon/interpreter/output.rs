//! What becomes of an execution, told line by line to whoever asked for it.

use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

/// How much of what an execution prints is told.
const MAX_TEXT_BYTES: usize = 8 * 1024 * 1024;

/// How much it may show beside that.
const MAX_RESULT_BYTES: usize = 32 * 1024 * 1024;

/// How long a piece of what it prints is at most.
pub(super) const MAX_PIECE_BYTES: usize = 64 * 1024;

/// The ways to show a result that are text. The others are JSON.
const TEXTS: [&str; 9] = [
    "text",
    "html",
    "markdown",
    "svg",
    "png",
    "jpeg",
    "pdf",
    "latex",
    "javascript",
];
const STRUCTURES: [&str; 4] = ["json", "data", "chart", "extra"];

/// Where an execution prints to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stream {
    Stdout,
    Stderr,
}

/// To whom an execution is told.
#[derive(Debug)]
pub(super) struct Output {
    lines: mpsc::Sender<Bytes>,
    /// Nothing once something was left out.
    text_left: Option<usize>,
    results_left: usize,
    /// Bytes of a character that is not there as a whole yet.
    begun: [Vec<u8>; 2],
}

impl Output {
    pub(super) fn new(lines: mpsc::Sender<Bytes>) -> Self {
        Self {
            lines,
            text_left: Some(MAX_TEXT_BYTES),
            results_left: MAX_RESULT_BYTES,
            begun: Default::default(),
        }
    }

    /// Waits until nobody listens any more.
    pub(super) async fn gone(&self) {
        self.lines.closed().await;
    }

    pub(super) async fn count(&self, count: u64) {
        self.tell(json!({ "type": "number_of_executions", "execution_count": count }))
            .await;
    }

    pub(super) async fn keepalive(&self) {
        self.tell(json!({ "type": "keepalive" })).await;
    }

    /// It printed this, which may end within a character.
    pub(super) async fn print(&mut self, stream: Stream, bytes: &[u8]) {
        let begun = &mut self.begun[stream as usize];
        begun.extend_from_slice(bytes);
        let whole = begun.len() - unfinished(begun);
        let text = String::from_utf8_lossy(&begun[..whole]).into_owned();
        begun.drain(..whole);
        self.tell_text(stream, &text).await;
    }

    /// Nothing more comes: whatever was begun is told as it is.
    pub(super) async fn finish(&mut self) {
        for stream in [Stream::Stdout, Stream::Stderr] {
            let rest = std::mem::take(&mut self.begun[stream as usize]);
            self.tell_text(stream, &String::from_utf8_lossy(&rest)).await;
        }
    }

    async fn tell_text(&mut self, stream: Stream, text: &str) {
        let Some(left) = self.text_left else {
            return;
        };
        let told = &text[..text.floor_char_boundary(left)];
        self.text_left = (told.len() == text.len()).then(|| left - told.len());
        if !told.is_empty() {
            self.line(stream, told).await;
        }
        if self.text_left.is_none() {
            let note = format!(
                "\n[what follows was left out: an execution can print {} MiB; write more into a file]\n",
                MAX_TEXT_BYTES >> 20
            );
            self.line(Stream::Stderr, &note).await;
        }
    }

    /// Something of ours about the execution.
    pub(super) async fn note(&self, text: &str) {
        self.line(Stream::Stderr, text).await;
    }

    async fn line(&self, stream: Stream, text: &str) {
        let kind = match stream {
            Stream::Stdout => "stdout",
            Stream::Stderr => "stderr",
        };
        self.tell(json!({ "type": kind, "text": text, "timestamp": now() }))
            .await;
    }

    /// It has this to show: whether as the value of its last expression, then ways to show it and what they are.
    pub(super) async fn result(&mut self, fields: &[String]) {
        let Some((main, fields)) = fields.split_first() else {
            return;
        };
        let size: usize = fields.iter().map(String::len).sum();
        if size > self.results_left {
            self.note("[a result was left out: the execution has shown too much already]\n")
                .await;
            return;
        }
        self.results_left -= size;
        let mut result = Map::new();
        result.insert("type".to_owned(), "result".into());
        for field in fields.chunks_exact(2) {
            let (name, shown) = (field[0].as_str(), &field[1]);
            if TEXTS.contains(&name) {
                result.insert(name.to_owned(), shown.as_str().into());
            } else if STRUCTURES.contains(&name)
                && let Ok(value) = serde_json::from_str::<Value>(shown)
            {
                result.insert(name.to_owned(), value);
            }
        }
        result.insert("is_main_result".to_owned(), (main == "main").into());
        self.tell(Value::Object(result)).await;
    }

    /// It failed.
    pub(super) async fn error(&self, name: &str, value: &str, traceback: &str) {
        self.tell(json!({ "type": "error", "name": name, "value": value, "traceback": traceback }))
            .await;
    }

    /// Waits for a listener who is slow. Where there is none, nothing is told.
    async fn tell(&self, event: Value) {
        let mut line = ascii(&event);
        line.push(b'\n');
        let _ = self.lines.send(line.into()).await;
    }
}

/// How many bytes at the end are the beginning of a character.
fn unfinished(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        // What is wrong is wrong, however it goes on; what only ends too early may be a character yet.
        Err(error) if error.error_len().is_none() => bytes.len() - error.valid_up_to(),
        _ => tail_of_character(bytes),
    }
}

/// The same where something before is no text at all.
fn tail_of_character(bytes: &[u8]) -> usize {
    (1..=bytes.len().min(3))
        .find(|back| {
            let first = bytes[bytes.len() - back];
            let length = match first {
                0xC2..=0xDF => 2,
                0xE0..=0xEF => 3,
                0xF0..=0xF4 => 4,
                _ => 0,
            };
            length > *back
        })
        .unwrap_or(0)
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// JSON without a character beyond ASCII: clients decode pieces of a stream one by one, wherever they were cut, and end
/// lines at whatever Unicode calls the end of one.
fn ascii(value: &Value) -> Vec<u8> {
    let mut text = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut text, Ascii);
    // Writing a value into memory cannot fail.
    let _ = value.serialize(&mut serializer);
    text
}

struct Ascii;

impl serde_json::ser::Formatter for Ascii {
    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        if fragment.is_ascii() {
            return writer.write_all(fragment.as_bytes());
        }
        for character in fragment.chars() {
            if character.is_ascii() {
                writer.write_all(&[character as u8])?;
            } else {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    write!(writer, "\\u{unit:04x}")?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
