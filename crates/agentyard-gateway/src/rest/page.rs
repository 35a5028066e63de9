//! The page that shows the OpenAPI document. It holds no inline script or style, so
//! that its security policy can forbid them, and loads nothing from elsewhere.

use axum::Router;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Json};
use axum::routing::get;
use serde_json::Value;

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'";

/// The document, the page, and what the page is made of.
pub(super) fn routes(document: Value) -> Router {
    Router::new()
        .route(
            "/api/openapi.json",
            get(move || async move { Json(document.clone()) }),
        )
        .route(
            "/api",
            get(|| asset("text/html; charset=utf-8", include_str!("../../assets/api.html"))),
        )
        .route(
            "/api/page.css",
            get(|| asset("text/css; charset=utf-8", include_str!("../../assets/api.css"))),
        )
        .route(
            "/api/page.js",
            get(|| {
                asset(
                    "text/javascript; charset=utf-8",
                    include_str!("../../assets/api.js"),
                )
            }),
        )
}

async fn asset(content_type: &'static str, body: &'static str) -> impl IntoResponse {
    let headers: [(HeaderName, HeaderValue); 3] = [
        (header::CONTENT_TYPE, HeaderValue::from_static(content_type)),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
        (
            header::X_CONTENT_TYPE_OPTIONS,
            HeaderValue::from_static("nosniff"),
        ),
    ];
    (headers, body)
}
