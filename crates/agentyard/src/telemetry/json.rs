//! Events as JSON, one object a line. The formatter of `tracing-subscriber` drops the causes of an
//! error and leaves some control characters as they are, so this one is our own.

use std::fmt;

use serde_json::Value;
use tracing::{Event, Subscriber};
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, FormattedFields};
use tracing_subscriber::registry::LookupSpan;

use super::escape::is_unsafe;
use super::fields::{MESSAGE, Recorded};

/// Writes the fields of a span as members of an object: `,"name":value`.
#[derive(Debug)]
pub(crate) struct Fields;

impl<'writer> FormatFields<'writer> for Fields {
    fn format_fields<R: RecordFields>(&self, mut writer: Writer<'writer>, fields: R) -> fmt::Result {
        let mut recorded = Recorded::default();
        fields.record(&mut recorded);
        write_fields(&mut writer, recorded)
    }

    fn add_fields(
        &self,
        current: &'writer mut FormattedFields<Self>,
        fields: &tracing::span::Record<'_>,
    ) -> fmt::Result {
        self.format_fields(current.as_writer(), fields)
    }
}

/// Writes an event as one line.
#[derive(Debug)]
pub(crate) struct Line;

impl<S> FormatEvent<S, Fields> for Line
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, Fields>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let metadata = event.metadata();
        let mut recorded = Recorded::default();
        event.record(&mut recorded);
        let target = recorded.target.take();
        write!(writer, "{{\"timestamp\":\"")?;
        SystemTime.format_time(&mut writer)?;
        write!(writer, "\",\"level\":\"{}\",\"target\":", metadata.level())?;
        write_text(&mut writer, target.as_deref().unwrap_or(metadata.target()))?;
        write_fields(&mut writer, recorded)?;
        if let Some(scope) = context.event_scope() {
            write!(writer, ",\"spans\":[")?;
            let mut separator = "";
            for span in scope.from_root() {
                write!(writer, "{separator}{{\"name\":")?;
                write_text(&mut writer, span.name())?;
                if let Some(fields) = span.extensions().get::<FormattedFields<Fields>>() {
                    write!(writer, "{}", fields.fields)?;
                }
                write!(writer, "}}")?;
                separator = ",";
            }
            write!(writer, "]")?;
        }
        writeln!(writer, "}}")
    }
}

fn write_fields(writer: &mut Writer<'_>, recorded: Recorded) -> fmt::Result {
    let message = recorded.message.map(|text| (MESSAGE, Value::String(text)));
    for (name, value) in message.into_iter().chain(recorded.fields) {
        write!(writer, ",")?;
        write_text(writer, name)?;
        write!(writer, ":")?;
        match value {
            Value::String(text) => write_text(writer, &text)?,
            value => write!(writer, "{value}")?,
        }
    }
    Ok(())
}

/// A JSON string. Serde escapes what JSON requires; the rest of the unsafe characters could speak
/// to the terminal of whoever reads the log later.
fn write_text(writer: &mut Writer<'_>, text: &str) -> fmt::Result {
    let quoted = serde_json::to_string(text).map_err(|_| fmt::Error)?;
    for character in quoted.chars() {
        if is_unsafe(character) {
            write!(writer, "\\u{:04x}", u32::from(character))?;
        } else {
            writer.write_char(character)?;
        }
    }
    Ok(())
}
