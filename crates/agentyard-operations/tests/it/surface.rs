//! What the registry shows to clients, held to its rules.

use std::collections::HashSet;

use agentyard_operations::{Effect, Method, Registered, registry};
use serde_json::Value;

fn each(check: impl FnMut(&'static Registered)) {
    registry().iter().for_each(check);
}

#[test]
fn every_operation_and_every_argument_is_described() {
    each(|operation| {
        let name = operation.entry().name;
        assert!(operation.description().len() > 20, "{name} says too little");
        for (argument, schema) in operation.properties() {
            let described = schema
                .get("description")
                .and_then(Value::as_str)
                .is_some_and(|text| text.len() > 5);
            assert!(described, "{name}: argument `{argument}` needs a doc comment");
            assert!(
                schema.get("$ref").is_none(),
                "{name}: argument `{argument}` is not inline"
            );
            assert!(
                !schema["type"].is_array(),
                "{name}: argument `{argument}` has a list of types"
            );
        }
    });
}

#[test]
fn unknown_arguments_are_refused() {
    each(|operation| {
        let refused = operation.input_schema().get("additionalProperties") == Some(&Value::Bool(false));
        assert!(
            refused,
            "{}: add #[serde(deny_unknown_fields)]",
            operation.entry().name
        );
    });
}

/// A list either comes in pages or says how long it can be.
#[test]
fn every_list_is_paged_or_bounded() {
    each(|operation| {
        let name = operation.entry().name;
        let schema = operation.output_schema();
        let properties = schema
            .get("properties")
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default();
        let paged = properties.contains_key("next_cursor");
        assert!(
            !paged
                || operation.properties().contains_key("cursor")
                || operation.entry().effect != Effect::Read,
            "{name}: answers with a cursor and takes none"
        );
        for (field, schema) in &properties {
            if schema["type"] != "array" {
                continue;
            }
            let bounded = schema.get("maxItems").is_some() || schema["items"].get("enum").is_some();
            assert!(
                paged || bounded,
                "{name}: list `{field}` is neither paged nor bounded"
            );
        }
    });
}

#[test]
fn effects_and_routes_agree() {
    each(|operation| {
        let entry = operation.entry();
        for route in entry.routes() {
            let reads = route.method == Method::Get;
            assert_eq!(entry.effect == Effect::Read, reads, "{}: {route}", entry.name);
            assert!(route.path.starts_with("/v1/"), "{}", entry.name);
            for parameter in route.parameters() {
                assert!(
                    operation.properties().contains_key(parameter),
                    "{}: `{parameter}` in {route} is not an argument",
                    entry.name
                );
            }
        }
        // Who names its object in another way takes another route.
        let only_route = entry.route.parameters().filter(|_| entry.also.is_empty());
        for parameter in only_route {
            assert!(
                operation.requires(parameter),
                "{}: `{parameter}` in the route is not a required argument",
                entry.name
            );
        }
    });
}

#[test]
fn names_routes_and_commands_are_unique() {
    let mut names = HashSet::new();
    let mut routes = HashSet::new();
    each(|operation| {
        let entry = operation.entry();
        assert!(names.insert(entry.name), "{} twice", entry.name);
        for route in entry.routes() {
            assert!(routes.insert(route.to_string()), "{route} twice");
        }
    });
}
