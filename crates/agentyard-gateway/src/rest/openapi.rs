//! The OpenAPI document, made from the registry.

use agentyard_operations::{Method, Registered, Route, Selection, registry};
use serde_json::{Map, Value, json};

use super::{RUN_EVENTS, RUN_OUTPUT};
use crate::run_output::STREAMS;

/// The document of the operations that are offered.
#[must_use]
pub fn document(selection: &Selection) -> Value {
    let mut paths = Map::new();
    for operation in registry()
        .iter()
        .filter(|operation| selection.offers(operation.entry()))
    {
        for (index, route) in operation.entry().routes().enumerate() {
            let methods = paths
                .entry(format!("/api{}", route.path))
                .or_insert_with(|| Value::Object(Map::new()));
            let mut described = described(operation, route);
            if index > 0 {
                described["operationId"] = format!("{}_{}", operation.entry().name, index + 1).into();
            }
            methods[route.method.as_str().to_lowercase()] = described;
        }
    }
    paths.insert(format!("/api{RUN_EVENTS}"), json!({ "get": run_events() }));
    for (name, _) in STREAMS {
        paths.insert(
            format!("/api{RUN_OUTPUT}/{name}"),
            json!({ "get": run_output(name) }),
        );
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Agentyard",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "A self-hosted yard for coding agents. Every operation here is an MCP tool and a command, too.",
            "license": { "name": "MIT OR Apache-2.0" },
        },
        "security": [{ "bearer": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "bearer": { "type": "http", "scheme": "bearer", "description": "A token of `agentyard token create`, or a JWT." },
            },
            "schemas": { "Error": error_schema() },
            "responses": {
                "Error": {
                    "description": "Why it could not be done, and what to do next.",
                    "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Error" } } },
                },
            },
        },
    })
}

fn described(operation: &Registered, route: Route) -> Value {
    let entry = operation.entry();
    let (summary, _) = operation
        .description()
        .split_once(". ")
        .unwrap_or((operation.description().trim_end_matches('.'), ""));
    let mut described = json!({
        "operationId": entry.name,
        "tags": [entry.toolset],
        "summary": summary,
        "description": operation.description(),
        "x-effect": entry.effect.as_str(),
        "x-permission": entry.permission(),
        "responses": {
            "200": {
                "description": "Done.",
                "content": { "application/json": { "schema": operation.output_schema() } },
            },
            "default": { "$ref": "#/components/responses/Error" },
        },
    });
    if route.method != Method::Get {
        described["responses"]["200"]["content"]["text/event-stream"] = event_stream();
    }
    let in_path: Vec<&str> = route.parameters().collect();
    let (path, rest): (Vec<_>, Vec<_>) = operation
        .properties()
        .iter()
        .partition(|(name, _)| in_path.contains(&name.as_str()));
    let mut parameters: Vec<Value> = path
        .iter()
        .map(|(name, schema)| parameter(name, schema, "path", true))
        .collect();
    if route.method.has_body() {
        described["requestBody"] = body(operation, &rest);
    } else {
        parameters.extend(
            rest.iter()
                .map(|(name, schema)| parameter(name, schema, "query", operation.requires(name))),
        );
    }
    if !parameters.is_empty() {
        described["parameters"] = parameters.into();
    }
    described
}

/// What a client is answered that asks to see a call while it goes on.
fn event_stream() -> Value {
    json!({ "schema": {
        "type": "string",
        "description": "With `Accept: text/event-stream`: `progress` events, `stdout` and `stderr` of a run, and at the \
                        end `complete` with the answer (of a run: how it ended) or `error` with an error.",
    } })
}

fn run_events() -> Value {
    json!({
        "operationId": "run_events",
        "tags": ["build"],
        "summary": "Follow a run",
        "description": "The events of a run as they come. Their ids are numbers; a client that was cut off comes back \
                        with the last one it saw. A run goes on while somebody follows it or waits for it. Answered \
                        with 204 when the run has ended and all of it was seen.",
        "parameters": [
            parameter("run", &json!({ "type": "string", "description": "The run." }), "path", true),
            parameter("after", &json!({ "type": "integer", "description": "The last event seen." }), "query", false),
            parameter(
                "Last-Event-ID",
                &json!({ "type": "integer", "description": "The same, as browsers send it." }),
                "header",
                false,
            ),
        ],
        "responses": {
            "200": { "description": "Its events.", "content": { "text/event-stream": event_stream() } },
            "204": { "description": "It has ended, and all was seen." },
            "default": { "$ref": "#/components/responses/Error" },
        },
    })
}

fn run_output(stream: &str) -> Value {
    json!({
        "operationId": format!("run_{stream}"),
        "tags": ["build"],
        "summary": format!("Get all that a run said on {stream}"),
        "description": "What was said up to now, as it was said; of very much, the beginning. It is kept for some \
                        minutes after the end of the run.",
        "parameters": [
            parameter("run", &json!({ "type": "string", "description": "The run." }), "path", true),
            parameter("offset", &json!({ "type": "integer", "description": "The first byte." }), "query", false),
        ],
        "responses": {
            "200": { "description": "What it said.", "content": { "text/plain": { "schema": { "type": "string" } } } },
            "default": { "$ref": "#/components/responses/Error" },
        },
    })
}

fn parameter(name: &str, schema: &Value, place: &str, required: bool) -> Value {
    let mut schema = schema.clone();
    let description = schema
        .as_object_mut()
        .and_then(|schema| schema.shift_remove("description"));
    json!({ "name": name, "in": place, "required": required, "description": description, "schema": schema })
}

fn body(operation: &Registered, properties: &[(&String, &Value)]) -> Value {
    let required: Vec<&String> = properties
        .iter()
        .map(|(name, _)| *name)
        .filter(|name| operation.requires(name))
        .collect();
    let properties: Map<String, Value> = properties
        .iter()
        .map(|(name, schema)| ((*name).clone(), (*schema).clone()))
        .collect();
    json!({
        "required": !required.is_empty(),
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "properties": properties,
                    "required": required,
                    "additionalProperties": false,
                },
            },
        },
    })
}

fn error_schema() -> Value {
    let kinds: Vec<&str> = agentyard_services::ErrorKind::ALL
        .iter()
        .map(|kind| kind.as_str())
        .collect();
    json!({
        "type": "object",
        "required": ["error"],
        "properties": {
            "error": {
                "type": "object",
                "required": ["kind", "message", "request_id"],
                "properties": {
                    "kind": { "type": "string", "enum": kinds },
                    "message": { "type": "string", "description": "What was attempted, on what, and why it failed." },
                    "hints": { "type": "array", "items": { "type": "string" }, "description": "What to do next." },
                    "request_id": { "type": "string", "description": "Names this request in logs and the audit log." },
                },
            },
        },
    })
}
