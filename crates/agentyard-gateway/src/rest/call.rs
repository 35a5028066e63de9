//! One REST call: arguments from path, query and body; the answer as JSON.

use agentyard_model::Caller;
use agentyard_operations::{Context, Face, Method, Progress, Registered, Reply, Route, arguments_from_texts};
use agentyard_services::{Error, ErrorKind, Result};
use axum::body::Body;
use axum::extract::{FromRequestParts, RawPathParams, Request};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Json, Response};
use http_body_util::BodyExt;
use serde_json::{Map, Value};

use super::events::{self, Streams};
use crate::edge::Refusal;

/// Answers one call.
pub(super) async fn answer(
    streams: Streams,
    operation: &'static Registered,
    route: Route,
    request: Request,
) -> Response {
    let platform = &streams.platform;
    let (mut parts, body) = request.into_parts();
    let caller = parts
        .extensions
        .remove::<Caller>()
        .unwrap_or_else(Caller::anonymous);
    let caller = platform.selection.restrict(caller);
    let arguments = match arguments(operation, route, &mut parts, body).await {
        Ok(arguments) => arguments,
        Err(error) => return Refusal::from(&error).into_response(),
    };
    if route.method != Method::Get && events::is_wanted(&parts.headers) {
        return events::show_call(&streams, operation, caller, arguments);
    }
    let context = Context {
        services: &platform.services,
        caller: &caller,
        progress: &Progress::ignored(),
    };
    let result = operation
        .call(context, arguments, platform.presentation, Face::Rest)
        .await;
    match result {
        Ok(Reply::Structured {
            json, attachments, ..
        }) if attachments.is_empty() => {
            ([(http::header::CONTENT_TYPE, "application/json")], json).into_response()
        }
        Ok(reply) => Json(reply.into_object()).into_response(),
        Err(error) => Refusal::from(&error).into_response(),
    }
}

async fn arguments(
    operation: &Registered,
    route: Route,
    parts: &mut Parts,
    body: Body,
) -> Result<Map<String, Value>> {
    let path = RawPathParams::from_request_parts(parts, &())
        .await
        .map_err(|_| Error::invalid("the path is not valid UTF-8"))?;
    let query = query_pairs(parts)?;
    let pairs = path
        .iter()
        .chain(query.iter().map(|(name, text)| (name.as_str(), text.as_str())));
    let mut arguments = arguments_from_texts(operation, pairs)?;
    if route.method.has_body() {
        for (name, value) in body_object(body).await? {
            if arguments.contains_key(&name) {
                return Err(Error::invalid(format!(
                    "argument `{name}`: given in the address and in the body"
                )));
            }
            arguments.insert(name, value);
        }
    }
    Ok(arguments)
}

fn query_pairs(parts: &Parts) -> Result<Vec<(String, String)>> {
    axum::extract::Query::<Vec<(String, String)>>::try_from_uri(&parts.uri)
        .map(|query| query.0)
        .map_err(|_| Error::invalid("the query cannot be read: expected `name=value` pairs joined by `&`"))
}

/// The arguments in the body. The edge has bounded its size.
async fn body_object(body: Body) -> Result<Map<String, Value>> {
    let bytes = body
        .collect()
        .await
        .map_err(|error| {
            Error::new(
                ErrorKind::LimitExceeded,
                "the body is longer than allowed, or broke off",
            )
            .because(error)
            .hint("send less, or raise `http.max_body_bytes`")
        })?
        .to_bytes();
    if bytes.is_empty() {
        return Ok(Map::new());
    }
    serde_json::from_slice(&bytes)
        .map_err(|error| Error::invalid(format!("the body is not a JSON object: {error}")))
}
