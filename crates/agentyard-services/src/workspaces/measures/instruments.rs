//! The instruments that metrics are collected from. They tell nothing about single repositories: there may be
//! thousands, and their names are their tenants' own.

use std::sync::OnceLock;
use std::time::Duration;

use opentelemetry::metrics::{Counter, Gauge, Histogram, Meter};
use opentelemetry::{KeyValue, global};

use super::Measure;

pub(super) struct Instruments {
    pub(super) active: Gauge<u64>,
    pub(super) disk: Gauge<u64>,
    opened: Counter<u64>,
    reused: Counter<u64>,
    evicted: Counter<u64>,
    conflicts: Counter<u64>,
    push_retries: Counter<u64>,
    pub(super) wait: Histogram<f64>,
    duration: Histogram<f64>,
}

/// Made at the first use, when the binary has settled where metrics go.
pub(super) fn instruments() -> &'static Instruments {
    static INSTRUMENTS: OnceLock<Instruments> = OnceLock::new();
    INSTRUMENTS.get_or_init(|| Instruments::new(&global::meter("agentyard")))
}

impl Instruments {
    fn new(meter: &Meter) -> Self {
        let counter = |name, description| meter.u64_counter(name).with_description(description).build();
        let gauge = |name, description, unit| {
            let gauge = meter.u64_gauge(name).with_description(description);
            gauge.with_unit(unit).build()
        };
        let histogram = |name, description| {
            let histogram = meter.f64_histogram(name).with_description(description);
            histogram
                .with_unit("s")
                .with_boundaries(vec![
                    0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
                    120.0,
                ])
                .build()
        };
        Self {
            active: gauge(
                "agentyard.workspace.active",
                "Workspaces that are open.",
                "{workspace}",
            ),
            disk: gauge("agentyard.workspace.disk", "Disk that open workspaces use.", "By"),
            opened: counter("agentyard.workspace.opened", "Trees that were made."),
            reused: counter(
                "agentyard.workspace.reused",
                "Openings that found their tree there.",
            ),
            evicted: counter(
                "agentyard.workspace.evicted",
                "Trees that were closed because they expired, or to make room.",
            ),
            conflicts: counter(
                "agentyard.workspace.conflicts",
                "Files in conflict that a sync, pull or push met.",
            ),
            push_retries: counter(
                "agentyard.workspace.push_retries",
                "Pushes tried again because the remote had moved.",
            ),
            wait: histogram(
                "agentyard.workspace.wait",
                "How long callers waited for their turn.",
            ),
            duration: histogram(
                "agentyard.workspace.duration",
                "How long opening, closing, syncing and undoing took.",
            ),
        }
    }

    pub(super) fn took(&self, measure: Measure, took: Duration) {
        let action = match measure {
            Measure::Opened => {
                self.opened.add(1, &[]);
                "open"
            }
            Measure::Closed => "close",
            Measure::Synced => "sync",
            Measure::Undone => "undo",
            Measure::Reused | Measure::Evicted | Measure::Conflicts | Measure::PushRetries => return,
        };
        self.duration
            .record(took.as_secs_f64(), &[KeyValue::new("action", action)]);
    }

    pub(super) fn counted(&self, measure: Measure, count: u64) {
        let counter = match measure {
            Measure::Reused => &self.reused,
            Measure::Evicted => &self.evicted,
            Measure::Conflicts => &self.conflicts,
            Measure::PushRetries => &self.push_retries,
            Measure::Opened | Measure::Closed | Measure::Synced | Measure::Undone => return,
        };
        counter.add(count, &[]);
    }
}
