//! The fields of an event or a span, as values.

use std::error::Error;
use std::fmt;

use serde_json::Value;
use tracing::field::{Field, Visit};

/// The name of the field that is the sentence of an event.
pub(crate) const MESSAGE: &str = "message";

/// The field in which the bridge from the `log` crate hides the part that logs.
const LOG_TARGET: &str = "log.target";

/// Fields in the order in which they were recorded.
#[derive(Debug, Default)]
pub(crate) struct Recorded {
    pub(crate) message: Option<String>,
    pub(crate) fields: Vec<(&'static str, Value)>,
    /// The part that logs, if the event came over the bridge from the `log` crate.
    pub(crate) target: Option<String>,
}

impl Recorded {
    fn record(&mut self, field: &Field, value: Value) {
        match (field.name(), value) {
            (MESSAGE, Value::String(text)) => self.message = Some(text),
            (MESSAGE, value) => self.message = Some(value.to_string()),
            (LOG_TARGET, Value::String(text)) => self.target = Some(text),
            (name, _) if name.starts_with("log.") => {}
            (name, value) => self.fields.push((name.trim_start_matches("r#"), value)),
        }
    }
}

impl Visit for Recorded {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.record(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.record(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.record(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.record(field, value.into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.record(field, value.into());
    }

    /// An error with everything that led to it: it is logged once, here.
    fn record_error(&mut self, field: &Field, error: &(dyn Error + 'static)) {
        let mut text = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            text = format!("{text}: {error}");
            cause = error.source();
        }
        self.record(field, text.into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.record(field, format!("{value:?}").into());
    }
}
