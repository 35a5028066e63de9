//! What the process says about itself: events on standard error, and, for whoever asks,
//! traces and metrics by OpenTelemetry.
//!
//! Standard output is never written to: it belongs to MCP and to the answers of commands.
//! Nothing of OpenTelemetry is made unless something needs it, since an agent waits while
//! `agentyard mcp` starts.

mod escape;
mod export;
mod fields;
mod filter;
mod human;
mod json;
mod metrics;
mod resource;

use std::io::{self, IsTerminal};
use std::sync::mpsc;
use std::time::Duration;

use opentelemetry::global;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing_subscriber::Layer;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;

use crate::config::{Environment, LogFormat, LogSettings};

pub(crate) use filter::InvalidFilter;

use export::{Export, ExportError};
use metrics::Exposition;

/// How long the process waits at its end for telemetry to be sent.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(3);

/// What the process is at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Face {
    /// An MCP server for the process that started it.
    Stdio,
    /// A server for many.
    Server,
    /// A command that answers and ends. It logs warnings only, unless a filter asks for more.
    Command,
}

/// Why logging could not begin.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TelemetryError {
    /// The filter cannot be read.
    #[error("could not read the log filter (`log.filter`)")]
    Filter(#[from] InvalidFilter),
    /// Something else in the process logs already.
    #[error("could not begin to log: logging has begun already")]
    AlreadyStarted,
}

/// What was started, for as long as it is needed.
#[derive(Debug, Default)]
pub(crate) struct Telemetry {
    traces: Option<SdkTracerProvider>,
    meters: Option<SdkMeterProvider>,
    exposition: Option<Exposition>,
}

/// Begins to log, and to measure where something asks for it.
pub(crate) fn start(
    settings: &LogSettings,
    face: Face,
    environment: &Environment,
) -> Result<Telemetry, TelemetryError> {
    let filter = filter::targets(filter_text(settings, face))?;
    let export = Export::asked_for(environment);
    let (telemetry, problems) = Telemetry::build(face, &export, environment);
    let spans = telemetry.traces.as_ref().map(|provider| {
        tracing_opentelemetry::layer()
            .with_tracer(provider.tracer("agentyard"))
            .with_location(false)
            .with_threads(false)
            .with_filter(export::exported_targets())
    });
    tracing_subscriber::registry()
        .with(spans)
        .with(events(settings.format, environment).with_filter(filter))
        .try_init()
        .map_err(|_| TelemetryError::AlreadyStarted)?;
    for problem in problems {
        // Work goes on without telemetry: what could not be measured must not stop what is to be measured.
        tracing::warn!(
            error = &problem as &(dyn std::error::Error + 'static),
            "telemetry is not exported"
        );
    }
    Ok(telemetry)
}

fn filter_text(settings: &LogSettings, face: Face) -> &str {
    if face == Face::Command && *settings.filter == LogSettings::default().filter {
        "warn"
    } else {
        &settings.filter
    }
}

/// The layer that writes events to standard error.
fn events<S>(format: LogFormat, environment: &Environment) -> Box<dyn Layer<S> + Send + Sync>
where
    S: tracing::Subscriber + for<'span> LookupSpan<'span>,
{
    let on_terminal = io::stderr().is_terminal();
    let layer = tracing_subscriber::fmt::layer().with_writer(io::stderr);
    let for_people = match format {
        LogFormat::Auto => on_terminal,
        LogFormat::Human => true,
        LogFormat::Json => false,
    };
    if for_people {
        let colours = on_terminal && environment.value("NO_COLOR").is_none();
        layer.with_ansi(colours).fmt_fields(human::Fields).boxed()
    } else {
        layer
            .with_ansi(false)
            .fmt_fields(json::Fields)
            .event_format(json::Line)
            .boxed()
    }
}

impl Telemetry {
    /// Makes what the face and the environment ask for, and tells what could not be made.
    fn build(face: Face, export: &Export, environment: &Environment) -> (Self, Vec<ExportError>) {
        let mut problems = Vec::new();
        let traces = export
            .traces
            .then(|| export::tracer_provider(export, environment))
            .and_then(|provider| provider.map_err(|error| problems.push(error)).ok());
        if traces.is_some() {
            // So that a caller's trace goes on in ours.
            global::set_text_map_propagator(TraceContextPropagator::new());
        }
        let (exposition, reader) = (face == Face::Server)
            .then(Exposition::new)
            .and_then(|exposition| exposition.map_err(|error| problems.push(error)).ok())
            .unzip();
        let collector = export
            .metrics
            .then(|| export::metric_reader(export))
            .and_then(|reader| reader.map_err(|error| problems.push(error)).ok());
        let meters = metrics::meter_provider(reader, collector, environment);
        if let Some(provider) = &meters {
            global::set_meter_provider(provider.clone());
        }
        let telemetry = Self {
            traces,
            meters,
            exposition,
        };
        (telemetry, problems)
    }

    /// What a Prometheus server reads, as a function to give away; empty where nothing is measured.
    pub(crate) fn metrics_renderer(&self) -> impl Fn() -> String + Clone + Send + Sync + 'static {
        let exposition = self.exposition.clone();
        move || exposition.as_ref().map(Exposition::render).unwrap_or_default()
    }

    /// Sends what has not been sent, within a bounded time.
    pub(crate) fn shutdown(mut self) {
        self.finish();
    }

    fn finish(&mut self) {
        let (traces, meters) = (self.traces.take(), self.meters.take());
        if traces.is_none() && meters.is_none() {
            return;
        }
        // The SDK does not keep to a time limit in every part (its meter provider ignores the one
        // that it is given), so the waiting is done elsewhere and given up from here.
        let (done, ended) = mpsc::channel();
        let flush = move || {
            let results = [
                traces.map(|provider| provider.shutdown_with_timeout(SHUTDOWN_TIMEOUT)),
                meters.map(|provider| provider.shutdown_with_timeout(SHUTDOWN_TIMEOUT)),
            ];
            // Nobody listens any more if it took too long.
            let _ = done.send(results.into_iter().flatten().find_map(Result::err));
        };
        if std::thread::Builder::new()
            .name("telemetry-shutdown".to_owned())
            .spawn(flush)
            .is_err()
        {
            return;
        }
        match ended.recv_timeout(SHUTDOWN_TIMEOUT) {
            Ok(None) => {}
            Ok(Some(error)) => tracing::warn!(%error, "the last telemetry could not be sent"),
            Err(_) => {
                tracing::warn!(timeout = ?SHUTDOWN_TIMEOUT, "the last telemetry could not be sent in time");
            }
        }
    }
}

impl Drop for Telemetry {
    fn drop(&mut self) {
        self.finish();
    }
}

#[cfg(test)]
mod tests;
