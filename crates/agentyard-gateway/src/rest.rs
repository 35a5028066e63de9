//! The REST face: a route per operation, the OpenAPI document, and a page that shows it.

mod call;
mod openapi;
mod page;

use agentyard_operations::{Method, registry};
use axum::Router;
use axum::routing::{MethodFilter, on};

use crate::platform::Platform;

pub use openapi::document as openapi_document;

/// A route per operation, all of them behind the edge.
pub(crate) fn routes(platform: &Platform) -> Router {
    registry()
        .iter()
        .filter(|operation| platform.selection.offers(operation.entry()))
        .flat_map(|operation| operation.entry().routes().map(move |route| (operation, route)))
        .fold(Router::new(), |router, (operation, route)| {
            let platform = platform.clone();
            let handler = move |request| call::answer(platform.clone(), operation, route, request);
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
