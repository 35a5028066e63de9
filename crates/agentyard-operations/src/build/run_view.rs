//! What is told of a run.

use agentyard_model::RunId;
use agentyard_services::{Captured, RunAnswer, RunEnd};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::attachment::{AttachedContent, Attachment};
use crate::output::Output;

/// A run: how it ended, or that it goes on, and what it said.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RunView {
    /// Names it, to wait for it or follow it.
    run: RunId,
    /// It goes on: call again with `run` and `after`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    running: bool,
    /// The last event in this answer, while it goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<u64>,
    #[serde(flatten)]
    end: Option<RunEndView>,
    /// What it said on standard output; of much, the beginning and the end.
    #[serde(skip_serializing_if = "Captured::is_empty", serialize_with = "as_text")]
    #[schemars(with = "String")]
    stdout: Captured,
    /// The same of standard error.
    #[serde(skip_serializing_if = "Captured::is_empty", serialize_with = "as_text")]
    #[schemars(with = "String")]
    stderr: Captured,
}

/// How a run ended.
#[derive(Serialize, JsonSchema)]
struct RunEndView {
    /// Left out when a signal ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    /// The number of the signal that ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<i32>,
    /// How long it ran.
    duration_ms: u64,
    /// Its time was up.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    timed_out: bool,
    /// Nobody waited for it any more.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    cancelled: bool,
    /// It had said more than allowed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    output_limit_reached: bool,
    /// It used more memory than allowed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    memory_limit_reached: bool,
    /// It wrote more than allowed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    disk_limit_reached: bool,
    /// The most memory that it used.
    #[serde(skip_serializing_if = "Option::is_none")]
    peak_memory_bytes: Option<u64>,
}

impl Output for RunView {
    fn item_count(&self) -> usize {
        self.stdout.len() + self.stderr.len()
    }

    fn keep(&mut self, count: usize) {
        let all = self.item_count().max(1);
        for said in [&mut self.stdout, &mut self.stderr] {
            *said = said.within(said.len() * count / all);
        }
    }

    fn attachments(&mut self) -> Vec<Attachment> {
        [("stdout", &self.stdout), ("stderr", &self.stderr)]
            .into_iter()
            .filter(|(_, said)| said.left_out_bytes > 0)
            .map(|(stream, _)| whole_output(self.run, stream))
            .collect()
    }
}

/// Where all of it is that does not fit into an answer.
fn whole_output(run: RunId, stream: &'static str) -> Attachment {
    Attachment {
        name: stream.to_owned(),
        media_type: "text/plain",
        content: AttachedContent::Link {
            uri: format!("agentyard://runs/{run}/{stream}"),
            route: format!("/v1/runs/{run}/{stream}"),
            description: format!("All that was said on {stream}."),
        },
    }
}

impl From<RunAnswer> for RunView {
    fn from(answer: RunAnswer) -> Self {
        let running = answer.end.is_none();
        Self {
            run: answer.run,
            running,
            after: running.then_some(answer.last_event),
            end: answer.end.map(Into::into),
            stdout: answer.stdout,
            stderr: answer.stderr,
        }
    }
}

/// How a run ended, for a face that has shown already what it said.
#[must_use]
pub fn run_end_object(run: RunId, end: RunEnd) -> Value {
    let mut object = json!({ "run": run });
    if let (Some(fields), Ok(Value::Object(end))) = (
        object.as_object_mut(),
        serde_json::to_value(RunEndView::from(end)),
    ) {
        fields.extend(end);
    }
    object
}

impl From<RunEnd> for RunEndView {
    fn from(end: RunEnd) -> Self {
        Self {
            exit_code: end.exit_code,
            signal: end.signal,
            duration_ms: u64::try_from(end.duration.as_millis()).unwrap_or(u64::MAX),
            timed_out: end.timed_out,
            cancelled: end.cancelled,
            output_limit_reached: end.output_limit,
            memory_limit_reached: end.memory_limit,
            disk_limit_reached: end.disk_limit,
            peak_memory_bytes: end.usage.peak_memory_bytes,
        }
    }
}

fn as_text<S: Serializer>(said: &Captured, serializer: S) -> Result<S::Ok, S::Error> {
    if said.left_out_bytes == 0 {
        return serializer.serialize_str(&said.head);
    }
    let line_end = if said.head.is_empty() || said.head.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    serializer.collect_str(&format_args!(
        "{}{line_end}[… {} bytes left out …]\n{}",
        said.head, said.left_out_bytes, said.tail
    ))
}
