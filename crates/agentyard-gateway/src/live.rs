//! What happens in a call, in the words of the wire: the same over REST and on a command line.

use agentyard_model::{RequestId, RunId};
use agentyard_operations::{Live, LiveEnd, Reply, Step, run_end_object};
use agentyard_services::{Followed, OutputStream, Result, RunEvent, RunHappening};
use serde_json::{Value, json};

use crate::failure::error_object;

/// One thing that happened.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveEvent {
    /// Its number within its run.
    pub id: Option<u64>,
    /// What sort of thing: `progress`, `stdout`, `stderr`, and at the end `complete` or `error`.
    pub name: &'static str,
    /// What happened.
    pub data: Value,
}

impl LiveEvent {
    /// What was seen of a call.
    #[must_use]
    pub fn of(live: Live, request_id: &RequestId) -> Self {
        match live {
            Live::Step(step) => Self::of_step(&step),
            Live::Run(run, followed) => Self::of_run(run, &followed, request_id),
            Live::End(end) => Self::of_end(end, request_id),
        }
    }

    /// What was seen of a run.
    pub(crate) fn of_run(run: RunId, followed: &Followed, request_id: &RequestId) -> Self {
        match followed {
            Followed::Event(event) => Self {
                id: Some(event.id),
                ..Self::happened(run, event, request_id)
            },
            Followed::Missed(count) => {
                let message = format!("{count} events before this one are not kept any more");
                Self::new(
                    "progress",
                    json!({ "run": run, "message": message, "missed": count }),
                )
            }
        }
    }

    fn of_step(step: &Step) -> Self {
        let mut data = json!({ "message": step.message });
        add_figures(&mut data, step.done, step.total);
        Self::new("progress", data)
    }

    fn of_end(end: Result<LiveEnd>, request_id: &RequestId) -> Self {
        match end {
            Ok(LiveEnd::Answer(reply)) => Self::new("complete", reply.into_object()),
            Ok(LiveEnd::Run {
                run,
                event,
                end,
                details,
            }) => Self {
                id: Some(event),
                ..Self::new("complete", with_details(run_end_object(run, end), details))
            },
            Err(error) => Self::new("error", error_object(&error, request_id)),
        }
    }

    fn happened(run: RunId, event: &RunEvent, request_id: &RequestId) -> Self {
        match &event.happening {
            RunHappening::Output { stream, text, .. } => {
                let name = match stream {
                    OutputStream::Stdout => "stdout",
                    OutputStream::Stderr => "stderr",
                };
                Self::new(name, json!({ "text": text }))
            }
            RunHappening::Progress { done, total, message } => {
                let mut data = json!({ "run": run, "message": message });
                add_figures(&mut data, *done, *total);
                Self::new("progress", data)
            }
            RunHappening::Complete(end) => Self::new("complete", run_end_object(run, *end)),
            RunHappening::Failed(error) => Self::new("error", error_object(error, request_id)),
        }
    }

    fn new(name: &'static str, data: Value) -> Self {
        Self { id: None, name, data }
    }
}

/// Adds what the answer of a call has beside how its run ended. What the run said was shown already.
fn with_details(mut end: Value, details: Option<Reply>) -> Value {
    let details = details.map(Reply::into_object);
    if let (Some(end), Some(Value::Object(details))) = (end.as_object_mut(), details) {
        let unseen = details
            .into_iter()
            .filter(|(name, _)| !matches!(name.as_str(), "stdout" | "stderr"));
        for (name, value) in unseen {
            end.entry(name).or_insert(value);
        }
    }
    end
}

fn add_figures(data: &mut Value, done: u64, total: Option<u64>) {
    if done > 0 || total.is_some() {
        data["done"] = done.into();
    }
    if let Some(total) = total {
        data["total"] = total.into();
    }
}
