//! What is counted of sandboxes, for who collects metrics. Nothing tells about single sandboxes or their owners.

use std::sync::OnceLock;
use std::time::Duration;

use opentelemetry::metrics::{Counter, Gauge, Histogram, Meter};
use opentelemetry::{KeyValue, global};

use crate::error::{Error, ErrorKind};

/// A sandbox was made, in this time.
pub(crate) fn created(took: Duration) {
    instruments().creation.record(took.as_secs_f64(), &[]);
}

/// So many sandboxes run, and did so for this time since that was last told.
pub(crate) fn running(count: u32, time: Duration) {
    instruments().active.record(u64::from(count), &[]);
    let hours = time.as_secs_f64() / 3600.0;
    instruments().hours.add(hours * f64::from(count), &[]);
}

/// A sandbox was wanted by its id, and what is known of it was at hand, or had to be found out.
pub(crate) fn looked_up(is_hit: bool) {
    let result = if is_hit { "hit" } else { "miss" };
    instruments().lookups.add(1, &[KeyValue::new("result", result)]);
}

/// Something was done with a repository in a sandbox: this, in this time, and with this result.
pub(crate) fn operated(kind: &'static str, took: Duration, failure: Option<&Error>) {
    let outcome = failure.map_or("ok", |error| ErrorKind::as_str(error.kind()));
    let attributes = [
        KeyValue::new("operation", kind),
        KeyValue::new("outcome", outcome),
    ];
    instruments().operations.add(1, &attributes);
    instruments().duration.record(took.as_secs_f64(), &attributes);
}

/// A push was tried so many times more.
pub(crate) fn push_retries(count: u32) {
    if count > 0 {
        instruments().push_retries.add(u64::from(count), &[]);
    }
}

/// A pull or push met so many files in conflict.
pub(crate) fn conflicts(files: usize) {
    if files > 0 {
        instruments().conflicts.add(files as u64, &[]);
    }
}

struct Instruments {
    creation: Histogram<f64>,
    active: Gauge<u64>,
    hours: Counter<f64>,
    lookups: Counter<u64>,
    operations: Counter<u64>,
    duration: Histogram<f64>,
    push_retries: Counter<u64>,
    conflicts: Counter<u64>,
}

/// Made at the first use, when the binary has settled where metrics go.
fn instruments() -> &'static Instruments {
    static INSTRUMENTS: OnceLock<Instruments> = OnceLock::new();
    INSTRUMENTS.get_or_init(|| Instruments::new(&global::meter("agentyard")))
}

impl Instruments {
    fn new(meter: &Meter) -> Self {
        let counter = |name, description| meter.u64_counter(name).with_description(description).build();
        let histogram = |name, description| {
            let histogram = meter.f64_histogram(name).with_description(description);
            histogram
                .with_unit("s")
                .with_boundaries(vec![
                    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0,
                ])
                .build()
        };
        Self {
            creation: histogram("agentyard.sandbox.creation", "How long making a sandbox took."),
            active: meter
                .u64_gauge("agentyard.sandbox.active")
                .with_description("Sandboxes that run.")
                .with_unit("{sandbox}")
                .build(),
            hours: meter
                .f64_counter("agentyard.sandbox.hours")
                .with_description("Hours that sandboxes ran.")
                .build(),
            lookups: counter(
                "agentyard.sandbox.lookups",
                "Uses of a sandbox by its id: `hit` where its repository was known, else `miss`.",
            ),
            operations: counter(
                "agentyard.sandbox.operations",
                "What was done with repositories in sandboxes, by `operation` and `outcome`.",
            ),
            duration: histogram(
                "agentyard.sandbox.duration",
                "How long that took, by `operation` and `outcome`.",
            ),
            push_retries: counter("agentyard.sandbox.push_retries", "Pushes tried again."),
            conflicts: counter(
                "agentyard.sandbox.conflicts",
                "Files in conflict that a pull or push met.",
            ),
        }
    }
}
