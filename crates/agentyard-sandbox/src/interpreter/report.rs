//! What code did, in its own words.

use serde::Deserialize;

/// The longest report that is read.
pub(super) const MAX_REPORT_BYTES: usize = 64 * 1024;

const MAX_FRAMES: usize = 20;
const MAX_FILES: usize = 200;
const MAX_TEXT_CHARACTERS: usize = 4000;
const MAX_LINE_CHARACTERS: usize = 300;

/// What code did. It wrote this itself, so nothing of it is to be relied upon; but it is bounded, and has no control
/// characters but line ends and tabs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// The exception that ended it.
    pub exception: Option<Raised>,
    /// Files of the tree that it opened to write, relative to its top. Some may be missing, and some not be there.
    pub files: Vec<String>,
}

/// An exception that nobody caught.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Raised {
    /// Its type, with its module when that is not a built-in one.
    pub kind: String,
    /// What it says.
    pub message: String,
    /// Where it came from, outermost first: only the frames in the agent's own files.
    pub frames: Vec<Frame>,
    /// The module that could not be found, when that is what went wrong.
    pub missing: Option<String>,
}

/// A place in code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// The file, as the code saw it; `<code>` for code that is in none.
    pub file: String,
    /// The line.
    pub line: u32,
    /// The function; nothing for a syntax error.
    pub function: String,
    /// What stands in that line.
    pub text: String,
}

impl Report {
    /// Reads a report. One that is not as it should be is none.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        if bytes.len() > MAX_REPORT_BYTES {
            return None;
        }
        let written: Written = serde_json::from_slice(bytes).ok()?;
        let files = written.files.into_iter().take(MAX_FILES);
        Some(Self {
            exception: written.exception.map(Raised::from_written),
            files: files
                .filter(|file| !file.is_empty() && !file.contains(char::is_control))
                .collect(),
        })
    }
}

impl Raised {
    fn from_written(written: WrittenException) -> Self {
        let frames = written.frames.into_iter().take(MAX_FRAMES);
        Self {
            kind: line(&written.kind),
            message: text(&written.message),
            frames: frames
                .map(|frame| Frame {
                    file: line(&frame.file),
                    line: frame.line,
                    function: line(&frame.function),
                    text: line(&frame.text),
                })
                .collect(),
            missing: written
                .missing
                .as_deref()
                .map(line)
                .filter(|name| !name.is_empty()),
        }
    }
}

/// As the code writes it.
#[derive(Deserialize)]
struct Written {
    exception: Option<WrittenException>,
    files: Vec<String>,
}

#[derive(Deserialize)]
struct WrittenException {
    #[serde(rename = "type")]
    kind: String,
    message: String,
    frames: Vec<WrittenFrame>,
    #[serde(default)]
    missing: Option<String>,
}

#[derive(Deserialize)]
struct WrittenFrame {
    file: String,
    line: u32,
    function: String,
    text: String,
}

fn line(given: &str) -> String {
    let plain = given.chars().filter(|character| !character.is_control());
    plain.take(MAX_LINE_CHARACTERS).collect()
}

fn text(given: &str) -> String {
    let plain = given
        .chars()
        .filter(|character| !character.is_control() || matches!(character, '\n' | '\t'));
    plain.take(MAX_TEXT_CHARACTERS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read() {
        let text = br#"{"exception": {"type": "a.B", "message": "no\nway", "missing": "numpy", "frames":
            [{"file": "<code>", "line": 3, "function": "f", "text": "1/0"}]}, "files": ["a/b.png"]}"#;
        let frame = Frame {
            file: "<code>".to_owned(),
            line: 3,
            function: "f".to_owned(),
            text: "1/0".to_owned(),
        };
        let exception = Raised {
            kind: "a.B".to_owned(),
            message: "no\nway".to_owned(),
            frames: vec![frame],
            missing: Some("numpy".to_owned()),
        };
        let expected = Report {
            exception: Some(exception),
            files: vec!["a/b.png".to_owned()],
        };
        assert_eq!(Report::read(text), Some(expected));
        assert_eq!(
            Report::read(br#"{"exception": null, "files": []}"#),
            Some(Report::default())
        );
    }

    #[test]
    fn what_is_forged_is_bounded_and_harmless() {
        let frames: Vec<_> = (0..100)
            .map(|line| serde_json::json!({"file": "f", "line": line, "function": "", "text": ""}))
            .collect();
        let message = format!("\u{1b}[31m{}", "x".repeat(10_000));
        let forged = serde_json::json!({
            "exception": {"type": "T\u{7}\n", "message": message, "frames": frames},
            "files": ["ok", "a\nb", ""],
        });
        let report = Report::read(forged.to_string().as_bytes()).unwrap();
        assert_eq!(report.files, ["ok"]);
        let exception = report.exception.unwrap();
        assert_eq!(exception.kind, "T");
        assert_eq!(exception.frames.len(), MAX_FRAMES);
        assert_eq!(exception.message.chars().count(), MAX_TEXT_CHARACTERS);
        assert!(exception.message.starts_with("[31mx"));
    }

    #[test]
    fn what_is_no_report_is_none() {
        let long = vec![b' '; MAX_REPORT_BYTES + 1];
        let negative = br#"{"exception": {"type": "", "message": "", "frames": [{"file": "", "line": -1, "function": "", "text": ""}]}, "files": []}"#;
        for bytes in [
            &b""[..],
            b"{",
            b"[]",
            b"\xff",
            b"null",
            b"{\"files\": 3}",
            &long,
            negative,
        ] {
            assert_eq!(Report::read(bytes), None);
        }
    }
}
