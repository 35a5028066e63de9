//! What every call leaves behind: fields of its span, metrics, and a log line when it failed.

use std::sync::OnceLock;
use std::time::Duration;

use agentyard_services::{ErrorKind, Result};
use opentelemetry::metrics::{Counter, Histogram};
use opentelemetry::{KeyValue, global};

use crate::output::Reply;
use crate::registry::{Entry, Face};

/// Writes down how a call ended.
pub(crate) fn finished(
    entry: &Entry,
    face: Face,
    duration: Duration,
    input_bytes: usize,
    result: &Result<Reply>,
) {
    let outcome = match result {
        Ok(_) => "ok",
        Err(error) => error.kind().as_str(),
    };
    let span = tracing::Span::current();
    span.record("duration_ms", duration.as_secs_f64() * 1000.0);
    span.record("input_bytes", input_bytes);
    match result {
        Ok(reply) => {
            span.record("outcome", "ok");
            span.record("output_bytes", reply.len());
            tracing::debug!("call answered");
        }
        Err(error) => {
            span.record("outcome", "error");
            span.record("error_kind", outcome);
            // A failure is logged once, here, with its chain. What the client got
            // wrong is its own business; what we got wrong is ours.
            match error.kind() {
                ErrorKind::Internal | ErrorKind::Unavailable => {
                    tracing::error!(error = error.chain(), "call failed");
                }
                _ => tracing::debug!(error = error.chain(), "call refused"),
            }
        }
    }
    let labels = [
        KeyValue::new("operation", entry.name),
        KeyValue::new("face", face.as_str()),
        KeyValue::new("outcome", outcome),
    ];
    let instruments = instruments();
    instruments.calls.add(1, &labels);
    instruments.duration.record(duration.as_secs_f64(), &labels);
    if let Ok(reply) = result {
        instruments.output.add(reply.len() as u64, &labels[..2]);
    }
}

struct Instruments {
    calls: Counter<u64>,
    duration: Histogram<f64>,
    output: Counter<u64>,
}

/// Made at the first call, when the binary has settled where metrics go.
fn instruments() -> &'static Instruments {
    static INSTRUMENTS: OnceLock<Instruments> = OnceLock::new();
    INSTRUMENTS.get_or_init(|| {
        let meter = global::meter("agentyard");
        Instruments {
            calls: meter
                .u64_counter("agentyard.operation.calls")
                .with_description("Calls of operations, by face and outcome.")
                .build(),
            duration: meter
                .f64_histogram("agentyard.operation.duration")
                .with_description("How long calls took.")
                .with_unit("s")
                .with_boundaries(vec![
                    0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
                    30.0,
                ])
                .build(),
            output: meter
                .u64_counter("agentyard.operation.output")
                .with_description("Bytes answered.")
                .with_unit("By")
                .build(),
        }
    })
}
