//! Who sends the telemetry.

use opentelemetry::{Key, KeyValue};
use opentelemetry_sdk::Resource;

use crate::config::Environment;

const SERVICE_NAME: &str = "service.name";
const SERVICE_VERSION: &str = "service.version";

/// Who we are: what `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` say, which the SDK
/// reads, and our own name and version where they say nothing.
pub(crate) fn resource(environment: &Environment) -> Resource {
    let given = Resource::builder().build();
    let named = given
        .get(&Key::from_static_str(SERVICE_NAME))
        .is_some_and(|name| !name.as_str().starts_with("unknown_service"));
    let versioned = given.get(&Key::from_static_str(SERVICE_VERSION)).is_some();
    let version = environment.text("OTEL_SERVICE_VERSION").ok().flatten();
    let mut builder = Resource::builder();
    if !named {
        builder = builder.with_service_name("agentyard");
    }
    if version.is_some() || !versioned {
        let version = version.unwrap_or(env!("CARGO_PKG_VERSION")).to_owned();
        builder = builder.with_attribute(KeyValue::new(SERVICE_VERSION, version));
    }
    builder.build()
}
