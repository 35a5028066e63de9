//! Measurements: for a Prometheus server that comes and reads, and for a collector.

use opentelemetry_otlp::MetricExporter;
use opentelemetry_prometheus::PrometheusExporter;
use opentelemetry_sdk::metrics::{PeriodicReader, SdkMeterProvider};
use prometheus::{Registry, TextEncoder};

use super::export::ExportError;
use super::resource::resource;
use crate::config::Environment;

/// The measurements as a Prometheus server reads them.
#[derive(Debug, Clone)]
pub(crate) struct Exposition {
    registry: Registry,
}

impl Exposition {
    /// An exposition, and the reader that fills it.
    pub(crate) fn new() -> Result<(Self, PrometheusExporter), ExportError> {
        let registry = Registry::new();
        let reader = opentelemetry_prometheus::exporter()
            .with_registry(registry.clone())
            // Every measurement here is ours; a label that says so on each line tells nobody anything.
            .scope_info_enabled(false)
            .build()
            .map_err(ExportError::Exposition)?;
        Ok((Self { registry }, reader))
    }

    /// The text of this moment.
    pub(crate) fn render(&self) -> String {
        TextEncoder::new()
            .encode_to_string(&self.registry.gather())
            .unwrap_or_else(|error| {
                tracing::warn!(%error, "the metrics could not be written");
                String::new()
            })
    }
}

/// What takes the measurements; nothing when nobody wants them.
pub(crate) fn meter_provider(
    exposition: Option<PrometheusExporter>,
    collector: Option<PeriodicReader<MetricExporter>>,
    environment: &Environment,
) -> Option<SdkMeterProvider> {
    if exposition.is_none() && collector.is_none() {
        return None;
    }
    let mut builder = SdkMeterProvider::builder().with_resource(resource(environment));
    if let Some(reader) = exposition {
        builder = builder.with_reader(reader);
    }
    if let Some(reader) = collector {
        builder = builder.with_reader(reader);
    }
    Some(builder.build())
}
