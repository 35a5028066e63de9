//! The REST face: a route per operation, the OpenAPI document, and a page that shows it.

mod call;
mod events;
mod openapi;
mod output;
mod page;

use agentyard_operations::{Method, registry};
use axum::Router;
use axum::routing::{MethodFilter, get, on};
use tokio_util::sync::CancellationToken;

use crate::platform::Platform;
use crate::run_output::STREAMS;

use events::Streams;
pub use openapi::document as openapi_document;

/// Where the events of a run are.
const RUN_EVENTS: &str = "/v1/runs/{run}/events";

/// Where all that a run said is: the name of a stream follows.
const RUN_OUTPUT: &str = "/v1/runs/{run}";

/// A route per operation, and those to follow what they do; all of them behind the edge. `end` ends the streams.
pub(crate) fn routes(platform: &Platform, end: &CancellationToken) -> Router {
    let streams = Streams {
        platform: platform.clone(),
        end: end.clone(),
    };
    let follow = get(events::follow).with_state(streams.clone());
    let router = Router::new().route(&format!("/api{RUN_EVENTS}"), follow);
    let router = STREAMS.into_iter().fold(router, |router, (name, stream)| {
        let said =
            get(move |state, run, beginning, request| output::answer(stream, state, run, beginning, request));
        router.route(
            &format!("/api{RUN_OUTPUT}/{name}"),
            said.with_state(streams.clone()),
        )
    });
    registry()
        .iter()
        .filter(|operation| platform.selection.offers(operation.entry()))
        .flat_map(|operation| operation.entry().routes().map(move |route| (operation, route)))
        .fold(router, |router, (operation, route)| {
            let streams = streams.clone();
            let handler = move |request| call::answer(streams.clone(), operation, route, request);
            router.route(&format!("/api{}", route.path), on(filter(route.method), handler))
        })
}

/// What describes the routes; open to all, since it holds nothing that the source does not.
pub(crate) fn description_routes(platform: &Platform) -> Router {
    page::routes(openapi::document(&platform.selection))
}

fn filter(method: Method) -> MethodFilter {
    match method {
        Method::Get => MethodFilter::GET,
        Method::Post => MethodFilter::POST,
        Method::Put => MethodFilter::PUT,
        Method::Delete => MethodFilter::DELETE,
    }
}
