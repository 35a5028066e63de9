//! What operations answer, and how an answer is made to fit.
//!
//! Lists, handles and states are structured. Diffs, logs and files are text. Either is
//! cut between items, never inside one, and then says so and where the rest is.

use agentyard_model::Cursor;
use agentyard_services::{Error, ErrorKind, Result};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::attachment::Attachment;
use crate::level::{self, Level};

/// How answers are to look: from the settings, and from the call where it says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Presentation {
    /// How much an answer says.
    pub level: Level,
    /// The most bytes that an answer may have.
    pub max_bytes: usize,
}

impl Presentation {
    /// What a token is reckoned at: text and minified JSON of source code run from
    /// three to five bytes a token.
    const BYTES_PER_TOKEN: usize = 4;

    /// The default size of an answer: it leaves a model room for some dozens of them.
    pub const DEFAULT_MAX_TOKENS: usize = 20_000;

    /// Answers of this level and about so many tokens at most.
    #[must_use]
    pub const fn new(level: Level, max_tokens: usize) -> Self {
        Self {
            level,
            max_bytes: max_tokens.saturating_mul(Self::BYTES_PER_TOKEN),
        }
    }
}

impl Default for Presentation {
    fn default() -> Self {
        Self::new(Level::Standard, Self::DEFAULT_MAX_TOKENS)
    }
}

/// A finished answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// An object, with the same as minified JSON beside it.
    Structured {
        /// The object.
        value: Value,
        /// The object as it goes over the wire.
        json: String,
        /// What it brings along.
        attachments: Vec<Attachment>,
    },
    /// Text alone.
    Text {
        /// The text.
        text: String,
        /// Where the rest begins, when it was cut.
        next: Option<Cursor>,
    },
}

impl Reply {
    /// The answer as an object, for faces that have nothing but JSON.
    #[must_use]
    pub fn into_object(self) -> Value {
        match self {
            Self::Structured {
                mut value,
                attachments,
                ..
            } => {
                if !attachments.is_empty() {
                    value["attachments"] = attachments.iter().map(Attachment::to_object).collect();
                }
                value
            }
            Self::Text { text, next } => json!({ "text": text, "next_cursor": next }),
        }
    }

    /// How many bytes it has on the wire, without what it brings along.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Structured { json, .. } => json.len(),
            Self::Text { text, .. } => text.len(),
        }
    }

    /// Whether there is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What an operation answers.
pub trait Output: Serialize + JsonSchema + Send + Sized {
    /// Fields that appear only from a level on; all others always do.
    const LEVELS: &'static [(&'static str, Level)] = &[];

    /// How many items it lists: what may be left out when it does not fit.
    fn item_count(&self) -> usize {
        0
    }

    /// Leaves out all but the first so many items and says so: `truncated`, and the
    /// cursor to the first one left out.
    fn keep(&mut self, _count: usize) {}

    /// Takes out of it what is handed over beside it, such as pictures. These have bounds of their own.
    fn attachments(&mut self) -> Vec<Attachment> {
        Vec::new()
    }

    /// Makes a finished answer of it.
    ///
    /// # Errors
    /// When it does not fit even without its items.
    fn into_reply(self, presentation: Presentation) -> Result<Reply> {
        self.into_structured(presentation)
    }

    /// Makes an object of it.
    ///
    /// # Errors
    /// When it does not fit even without its items.
    fn into_structured(self, presentation: Presentation) -> Result<Reply> {
        structured(self, presentation)
    }
}

/// An answer of one line or file after another, each of them whole or left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Text {
    /// The lines or files.
    pub(crate) blocks: Vec<String>,
    /// How many blocks came before these, on earlier pages.
    pub(crate) offset: u64,
    /// What a cursor of this list begins with; the number of the block follows.
    pub(crate) cursor: String,
    /// Whether there are more blocks than these.
    pub(crate) more: bool,
}

impl Text {
    /// Makes a finished answer of as many blocks as fit.
    #[must_use]
    pub(crate) fn into_reply(self, presentation: Presentation) -> Reply {
        /// What the notice about the rest may take.
        const NOTICE_BYTES: usize = 700;
        let room = presentation.max_bytes.saturating_sub(NOTICE_BYTES);
        let mut text = String::new();
        let mut kept = 0;
        for block in &self.blocks {
            if text.len() + block.len() > room {
                break;
            }
            text.push_str(block);
            kept += 1;
        }
        if kept == 0
            && let Some(block) = self.blocks.first()
        {
            // A single block larger than an answer may be: its beginning, to the last whole line.
            text.push_str(beginning(block, room));
            text.push_str("[the rest of this entry is too long to show]\n");
            kept = 1;
        }
        let cut = kept < self.blocks.len();
        let next =
            (cut || self.more).then(|| Cursor::at(format!("{}{}", self.cursor, self.offset + kept as u64)));
        if let Some(next) = &next {
            let reason = if cut { "truncated" } else { "more" };
            text.push_str(&format!(
                "[{reason}: call again with cursor={} for the rest]\n",
                next.as_str()
            ));
        }
        Reply::Text { text, next }
    }
}

fn structured<T: Output>(mut output: T, presentation: Presentation) -> Result<Reply> {
    let mut reply = rendered(&output, presentation)?;
    // Items differ in size, so the share that fits is found by trying, always for fewer.
    while reply.len() > presentation.max_bytes {
        let items = output.item_count();
        if items == 0 {
            return Err(Error::new(
                ErrorKind::LimitExceeded,
                format!(
                    "the answer has {} bytes and {} are allowed",
                    reply.len(),
                    presentation.max_bytes
                ),
            )
            .hint("ask for less: a lower `detail`, a narrower filter, or a smaller page"));
        }
        let share = items * presentation.max_bytes / reply.len();
        output.keep(share.min(items - 1));
        reply = rendered(&output, presentation)?;
    }
    if let Reply::Structured { attachments, .. } = &mut reply {
        *attachments = output.attachments();
    }
    Ok(reply)
}

fn rendered<T: Output>(output: &T, presentation: Presentation) -> Result<Reply> {
    let unwritable = |error| Error::internal("writing the answer", error);
    let mut value = serde_json::to_value(output).map_err(unwritable)?;
    level::leave_out(&mut value, T::LEVELS, presentation.level);
    let json = serde_json::to_string(&value).map_err(unwritable)?;
    Ok(Reply::Structured {
        value,
        json,
        attachments: Vec::new(),
    })
}

/// The whole lines at the beginning of a text that fit into so many bytes.
fn beginning(text: &str, room: usize) -> &str {
    let end = text.floor_char_boundary(room);
    let line_end = text[..end].rfind('\n').map_or(end, |position| position + 1);
    &text[..line_end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize, JsonSchema)]
    struct Names {
        names: Vec<String>,
        truncated: bool,
        next_cursor: Option<usize>,
    }

    impl Output for Names {
        fn item_count(&self) -> usize {
            self.names.len()
        }

        fn keep(&mut self, count: usize) {
            self.names.truncate(count);
            self.truncated = true;
            self.next_cursor = Some(count);
        }
    }

    fn names(count: usize) -> Names {
        Names {
            names: (0..count).map(|number| format!("name-{number:05}")).collect(),
            truncated: false,
            next_cursor: None,
        }
    }

    fn within(max_bytes: usize) -> Presentation {
        Presentation {
            level: Level::Full,
            max_bytes,
        }
    }

    #[test]
    fn a_list_is_cut_between_items_and_says_so() {
        let Reply::Structured { value, json, .. } = names(1000).into_reply(within(2000)).unwrap() else {
            panic!("structured");
        };
        assert!(json.len() <= 2000 && json.len() > 1500, "{}", json.len());
        assert_eq!(value["truncated"], true);
        assert_eq!(value["next_cursor"], value["names"].as_array().unwrap().len());
    }

    #[test]
    fn what_fits_is_left_alone() {
        let Reply::Structured { value, .. } = names(3).into_reply(within(2000)).unwrap() else {
            panic!("structured");
        };
        assert_eq!(value["truncated"], false);
    }

    #[test]
    fn what_cannot_be_made_to_fit_is_an_error() {
        let error = names(3).into_reply(within(10)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    }

    #[test]
    fn text_is_cut_between_blocks_and_names_the_call_for_the_rest() {
        let text = Text {
            blocks: (0..100).map(|number| format!("line {number}\n")).collect(),
            offset: 40,
            cursor: "abc+".to_owned(),
            more: false,
        };
        let Reply::Text { text, next } = text.into_reply(within(1000)) else {
            panic!("text");
        };
        assert!(text.len() <= 1000);
        let kept = text.lines().filter(|line| line.starts_with("line ")).count();
        assert_eq!(next, Some(Cursor::at(format!("abc+{}", 40 + kept))));
        assert!(text.ends_with(&format!(
            "[truncated: call again with cursor=abc+{} for the rest]\n",
            40 + kept
        )));
    }

    #[test]
    fn a_single_long_block_shows_its_beginning() {
        let text = Text {
            blocks: vec!["ä\n".repeat(2000)],
            offset: 0,
            cursor: String::new(),
            more: false,
        };
        let Reply::Text { text, next } = text.into_reply(within(1000)) else {
            panic!("text");
        };
        assert!(text.len() <= 1000 && text.contains("too long to show"));
        assert_eq!(next, None);
    }
}
