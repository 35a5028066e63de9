//! `read_file`: lines or bytes of a file.

use std::fmt::Write as _;

use agentyard_model::{Permission, Toolset};
use agentyard_services::{
    BytesQuery, FileText, LineEndings, MAX_READ_BYTES, ReadAnswer, ReadFile as Read, ReadPart, ReadQuery,
    ReadRequest, Result,
};
use base64::Engine as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::place;
use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::{Output, Presentation, Reply};

pub(super) struct ReadFile;

/// Read a file of the workspace. The first line has its size, line count and `hash`, which write_file and edit_file take as `expected_hash`. A binary file is only described, unless `base64` asks for its bytes.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadFileInput {
    /// Workspace id, `repo/branch`, or absolute directory; default the working directory.
    workspace: Option<String>,
    /// Instead of `workspace`: a repository.
    repo: Option<String>,
    /// Its branch.
    branch: Option<String>,
    /// File in it.
    path: String,
    /// First line, or with `base64` first byte (from 0). Default the beginning.
    offset: Option<u64>,
    /// Lines (default 2000), or with `base64` bytes (default 48000).
    #[schemars(range(min = 1))]
    limit: Option<usize>,
    /// Number the lines.
    #[serde(default)]
    line_numbers: bool,
    /// Answer with bytes, in base64.
    #[serde(default)]
    base64: bool,
}

impl Operation for ReadFile {
    const NAME: &'static str = "read_file";
    const COMMAND: Option<&'static str> = Some("file read");
    const TOOLSET: Toolset = Toolset::Build;
    const EFFECT: Effect = Effect::Read;
    const ACCESS: Access = Access::Holds(Permission::ProjectRead);
    const ROUTE: Route = Route::get("/v1/build/read_file");
    const ALSO: &'static [Route] = &[
        Route::get("/v1/repos/{repo}/branches/{branch}/read_file"),
        Route::get("/v1/workspaces/{workspace}/read_file"),
    ];
    type Input = ReadFileInput;
    type Output = FileView;

    async fn call(context: Context<'_>, input: ReadFileInput) -> Result<FileView> {
        let part = if input.base64 {
            ReadPart::Bytes(BytesQuery {
                offset: input.offset.unwrap_or_default(),
                max_bytes: input.limit.unwrap_or(DEFAULT_BYTES).min(MAX_READ_BYTES),
            })
        } else {
            ReadPart::Lines(ReadQuery {
                first_line: input.offset.unwrap_or(1).max(1),
                max_lines: input.limit.unwrap_or(DEFAULT_LINES),
                ..ReadQuery::default()
            })
        };
        let place = place(input.workspace, input.repo, input.branch);
        let request = ReadRequest {
            path: input.path,
            part,
        };
        let answer = context
            .services
            .files
            .read(context.caller, &place, request)
            .await?;
        Ok(FileView::new(answer, input.line_numbers))
    }
}

/// How many lines are read when a call does not say.
pub(crate) const DEFAULT_LINES: usize = 2000;

/// A multiple of three, so that parts in base64 can be joined.
const DEFAULT_BYTES: usize = 48_000;

/// What the notice at the end may take.
const NOTICE_BYTES: usize = 200;

/// A file, as text.
#[derive(Serialize, JsonSchema)]
pub(crate) struct FileView {
    /// The file.
    path: String,
    #[serde(skip)]
    numbered: bool,
    #[serde(skip)]
    answer: ReadAnswer,
}

impl FileView {
    /// What was read, with or without the numbers of its lines.
    pub(crate) fn new(answer: ReadAnswer, numbered: bool) -> Self {
        Self {
            path: match &answer {
                ReadAnswer::Lines(file) => file.path.clone(),
                ReadAnswer::Bytes(file) => file.path.clone(),
            },
            numbered,
            answer,
        }
    }
}

impl Output for FileView {
    fn into_reply(self, presentation: Presentation) -> Result<Reply> {
        let room = presentation.max_bytes.saturating_sub(NOTICE_BYTES);
        let text = match self.answer {
            ReadAnswer::Lines(file) => lines(&file, self.numbered, room),
            ReadAnswer::Bytes(file) => {
                let fitting = room.saturating_sub(NOTICE_BYTES) / 4 * 3;
                let bytes = &file.content.bytes[..file.content.bytes.len().min(fitting)];
                let end = file.content.offset + bytes.len() as u64;
                let mut text = head(&file, &format!("bytes {} to {end}", file.content.offset));
                text.push_str(&base64::engine::general_purpose::STANDARD.encode(bytes));
                text.push('\n');
                if end < file.size {
                    let _ = writeln!(text, "[more: call again with offset={end}]");
                }
                text
            }
        };
        Ok(Reply::Text { text, next: None })
    }
}

fn lines(file: &Read<FileText>, numbered: bool, room: usize) -> String {
    let content = &file.content;
    if let Some(kind) = file.binary {
        return head(file, &format!("binary, {kind}; `base64` reads its bytes"));
    }
    let mut text = head(file, &notes(content));
    let mut next = content.next_line;
    for (index, line) in content.lines.iter().enumerate() {
        if index > 0 && text.len() + line.text.len() + 40 > room {
            next = Some(line.number);
            break;
        }
        if numbered {
            let _ = write!(text, "{:>6}\t", line.number);
        }
        text.push_str(&line.text);
        if line.left_out > 0 {
            let _ = write!(text, " [+{} bytes in this line]", line.left_out);
        }
        text.push('\n');
    }
    if let Some(next) = next {
        let _ = writeln!(text, "[more: call again with offset={next}]");
    } else if !content.ends_with_newline {
        text.push_str("[no newline at the end]\n");
    }
    text
}

/// What is to be known before the first line.
fn head<T>(file: &Read<T>, notes: &str) -> String {
    let hash = file
        .hash
        .map_or_else(|| "too long for a hash".to_owned(), |hash| format!("hash {hash}"));
    let executable = if file.executable { ", executable" } else { "" };
    format!(
        "[{}: {} bytes, {hash}{executable}, {notes}]\n",
        file.path, file.size
    )
}

fn notes(content: &FileText) -> String {
    let mut notes = match (content.lines.first(), content.total_lines) {
        (None, Some(0)) => "empty".to_owned(),
        (None, total) => format!("{} lines, none from there on", total.unwrap_or_default()),
        (Some(first), total) => {
            let total = total.map_or_else(|| "many".to_owned(), |total| total.to_string());
            if first.number == 1 && content.next_line.is_none() {
                format!("{total} lines")
            } else {
                format!("from line {} of {total}", first.number)
            }
        }
    };
    match content.line_endings {
        LineEndings::Lf => {}
        LineEndings::CrLf => notes.push_str(", CRLF (shown as LF)"),
        LineEndings::Mixed => notes.push_str(", LF and CRLF mixed"),
    }
    for (is_so, note) in [
        (content.byte_order_mark, ", byte order mark"),
        (content.invalid_utf8, ", not UTF-8: bytes shown as \u{fffd}"),
        (content.escaped, ", control characters shown as \\x.."),
    ] {
        if is_so {
            notes.push_str(note);
        }
    }
    notes
}
