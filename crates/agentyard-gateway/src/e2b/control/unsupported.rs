//! What E2B has and we have not. It is said so: a route that is not there would look like a sandbox that is not.

use axum::Router;
use axum::routing::any;

use super::Control;
use crate::e2b::words::Fault;

/// The rest of E2B's interface, by how its addresses begin.
const REST: [(&str, &str); 6] = [
    ("/templates", TEMPLATES),
    ("/v2/templates", TEMPLATES),
    ("/v3/templates", TEMPLATES),
    ("/volumes", "a volume"),
    ("/secrets", "a secret of E2B's"),
    ("/teams", "a team"),
];

const TEMPLATES: &str = "building or changing a template";

pub(super) fn routes() -> Router<Control> {
    let logs = || any(|| async { Fault::unsupported("reading a sandbox's log") });
    let router = Router::new()
        .route("/sandboxes/{id}/logs", logs())
        .route("/v2/sandboxes/{id}/logs", logs())
        .route("/templates/{id}/{*rest}", any(templates));
    REST.into_iter().fold(router, |router, (path, what)| {
        let answer = || any(move || async move { Fault::unsupported(what) });
        let router = router.route(path, answer());
        if path == "/templates" {
            return router;
        }
        router.route(&format!("{path}/{{*rest}}"), answer())
    })
}

/// Everything of a template but removing it, which removes a snapshot.
pub(super) async fn templates() -> Fault {
    Fault::unsupported(TEMPLATES)
}
