//! Fields as a person reads them: the message, then `name=value`.

use std::fmt::{self, Write as _};

use serde_json::Value;
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::Writer;

use super::escape::Escaping;
use super::fields::Recorded;

/// Writes fields for people. Texts are quoted and escaped unless they are plain, so that none can pass for
/// another line or another field.
#[derive(Debug)]
pub(crate) struct Fields;

impl<'writer> FormatFields<'writer> for Fields {
    fn format_fields<R: RecordFields>(&self, mut writer: Writer<'writer>, fields: R) -> fmt::Result {
        let mut recorded = Recorded::default();
        fields.record(&mut recorded);
        let mut separator = "";
        if let Some(message) = &recorded.message {
            write!(Escaping(&mut writer), "{message}")?;
            separator = " ";
        }
        let (dim, plain) = if writer.has_ansi_escapes() {
            ("\u{1b}[2m", "\u{1b}[0m")
        } else {
            ("", "")
        };
        for (name, value) in &recorded.fields {
            write!(writer, "{separator}{dim}{name}={plain}")?;
            match value {
                Value::String(text) if !is_plain(text) => write!(writer, "{text:?}")?,
                Value::String(text) => writer.write_str(text)?,
                value => write!(writer, "{value}")?,
            }
            separator = " ";
        }
        Ok(())
    }
}

fn is_plain(text: &str) -> bool {
    let is_plain = |character: char| character.is_alphanumeric() || "-_./:@+,%~".contains(character);
    !text.is_empty() && text.chars().all(is_plain)
}
