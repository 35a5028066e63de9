//! Sending traces and metrics to a collector, by OTLP over HTTP.

use std::time::Duration;

use opentelemetry_otlp::{ExporterBuildError, MetricExporter, SpanExporter, WithHttpConfig};
use opentelemetry_sdk::error::OTelSdkError;
use opentelemetry_sdk::metrics::PeriodicReader;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;

use super::resource::resource;
use crate::config::Environment;

/// How long one export may take, unless `OTEL_EXPORTER_OTLP_TIMEOUT` says otherwise.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(10);

/// What the environment asks to be sent. Everything else (endpoints, headers, samplers, intervals)
/// the SDK reads from its usual variables itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Export {
    pub(crate) traces: bool,
    pub(crate) metrics: bool,
    timeout: Duration,
}

/// Why telemetry cannot be exported.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ExportError {
    #[error("could not make an HTTP client for the export of telemetry")]
    Client(#[source] reqwest::Error),
    #[error("could not start the thread that makes an HTTP client for the export of telemetry")]
    Thread,
    #[error("could not make an exporter of {signal}; correct the OTEL_EXPORTER_OTLP_* variables")]
    Exporter {
        signal: &'static str,
        #[source]
        source: ExporterBuildError,
    },
    #[error("could not make the exposition of metrics")]
    Exposition(#[source] OTelSdkError),
}

impl Export {
    /// What the environment asks for: an endpoint, or an exporter by name, unless the SDK is switched off.
    pub(crate) fn asked_for(environment: &Environment) -> Self {
        // A value that is no text asks for nothing.
        let text = |name: &str| environment.text(name).ok().flatten().map(str::trim);
        let is =
            |name: &str, expected: &str| text(name).is_some_and(|value| value.eq_ignore_ascii_case(expected));
        let enabled =
            !is("OTEL_SDK_DISABLED", "true") && !is("OTEL_ENABLED", "false") && !is("OTEL_ENABLED", "0");
        let endpoint = text("OTEL_EXPORTER_OTLP_ENDPOINT").is_some();
        let signal = |endpoint_variable, exporter_variable| match text(exporter_variable) {
            Some(exporter) => exporter.split(',').any(|name| name.trim() == "otlp"),
            None => endpoint || text(endpoint_variable).is_some(),
        };
        let timeout = text("OTEL_EXPORTER_OTLP_TIMEOUT").and_then(|text| text.parse().ok());
        Self {
            traces: enabled && signal("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_TRACES_EXPORTER"),
            metrics: enabled && signal("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "OTEL_METRICS_EXPORTER"),
            timeout: timeout.map_or(EXPORT_TIMEOUT, Duration::from_millis),
        }
    }
}

/// The spans that are sent: our own. A library's spans hold what passes through it, and those of the
/// HTTP client would be made by sending, without end.
pub(crate) fn exported_targets() -> Targets {
    Targets::new().with_target("agentyard", LevelFilter::INFO)
}

/// Sends spans in batches, from a thread of its own.
pub(crate) fn tracer_provider(
    export: &Export,
    environment: &Environment,
) -> Result<SdkTracerProvider, ExportError> {
    let exporter = SpanExporter::builder()
        .with_http()
        .with_http_client(client(export.timeout)?)
        .build()
        .map_err(|source| ExportError::Exporter {
            signal: "traces",
            source,
        })?;
    Ok(SdkTracerProvider::builder()
        .with_batch_exporter(exporter)
        .with_resource(resource(environment))
        .build())
}

/// Sends metrics at intervals, from a thread of its own.
pub(crate) fn metric_reader(export: &Export) -> Result<PeriodicReader<MetricExporter>, ExportError> {
    let exporter = MetricExporter::builder()
        .with_http()
        .with_http_client(client(export.timeout)?)
        .build()
        .map_err(|source| ExportError::Exporter {
            signal: "metrics",
            source,
        })?;
    Ok(PeriodicReader::builder(exporter).build())
}

/// A blocking client: the SDK exports from threads that have no asynchronous runtime. It is made on
/// a thread of its own since it refuses to be made inside of one. It follows no redirect, which
/// would carry the headers, and the key among them, to another host.
fn client(timeout: Duration) -> Result<reqwest::blocking::Client, ExportError> {
    let build = move || {
        reqwest::blocking::Client::builder()
            .timeout(timeout)
            .redirect(reqwest::redirect::Policy::none())
            .build()
    };
    std::thread::Builder::new()
        .name("telemetry-client".to_owned())
        .spawn(build)
        .map_err(|_| ExportError::Thread)?
        .join()
        .map_err(|_| ExportError::Thread)?
        .map_err(ExportError::Client)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(variables: &[(&str, &str)]) -> (bool, bool) {
        let export = Export::asked_for(&Environment::of(variables));
        (export.traces, export.metrics)
    }

    #[test]
    fn nothing_is_sent_unless_the_usual_variables_ask_for_it() {
        const ENDPOINT: (&str, &str) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318");
        assert_eq!(asked(&[]), (false, false));
        assert_eq!(asked(&[("OTEL_ENABLED", "true")]), (false, false));
        assert_eq!(asked(&[ENDPOINT]), (true, true));
        assert_eq!(
            asked(&[("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://a")]),
            (true, false)
        );
        assert_eq!(
            asked(&[("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://a")]),
            (false, true)
        );
        assert_eq!(
            asked(&[ENDPOINT, ("OTEL_TRACES_EXPORTER", "none")]),
            (false, true)
        );
        assert_eq!(
            asked(&[ENDPOINT, ("OTEL_METRICS_EXPORTER", "none")]),
            (true, false)
        );
        assert_eq!(asked(&[("OTEL_TRACES_EXPORTER", "console,otlp")]), (true, false));
        assert_eq!(asked(&[ENDPOINT, ("OTEL_SDK_DISABLED", "TRUE")]), (false, false));
        assert_eq!(asked(&[ENDPOINT, ("OTEL_ENABLED", "false")]), (false, false));
    }
}
