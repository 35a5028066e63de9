//! Requests that lead into a sandbox: from anywhere if the sandbox is open to all, which only its keeper knows.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, Uri};

use super::{Guard, host_of};
use crate::edge::refusal::Refusal;

/// Stands in the extensions of a request that comes from a web page which may not call this server. Whoever answers
/// must turn it away, unless what it asks for is open to everybody.
#[derive(Debug, Clone)]
pub(crate) struct ForeignPage(Refusal);

impl ForeignPage {
    pub(crate) fn refusal(self) -> Refusal {
        self.0
    }
}

/// Knows the hosts below which sandboxes have names of their own.
#[derive(Debug)]
pub(in crate::edge) struct SandboxGuard {
    guard: Arc<Guard>,
    /// With a dot before it.
    suffix: Option<String>,
}

impl SandboxGuard {
    pub(in crate::edge) fn new(guard: Arc<Guard>, domain: Option<&str>) -> Self {
        let suffix = domain.map(|domain| format!(".{domain}"));
        Self { guard, suffix }
    }

    fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<Option<ForeignPage>, Refusal> {
        let below = |name: &str| self.suffix.as_ref().is_some_and(|suffix| name.ends_with(suffix));
        let host = match host_of(uri, headers)? {
            host if below(&host.name) => host,
            _ => self.guard.check_host(uri, headers)?,
        };
        Ok(self.guard.check_origin(&host, headers).err().map(ForeignPage))
    }
}

/// The middleware: sends foreign hosts away, and notes where a page is foreign.
pub(in crate::edge) async fn guard_sandboxes(
    State(guard): State<Arc<SandboxGuard>>,
    mut request: Request,
    next: Next,
) -> Response {
    match guard.check(request.uri(), request.headers()) {
        Ok(foreign) => {
            if let Some(foreign) = foreign {
                request.extensions_mut().insert(foreign);
            }
            next.run(request).await
        }
        Err(refusal) => {
            tracing::debug!(%refusal, "turned away a foreign host");
            refusal.into_response()
        }
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use http::header::{HOST, ORIGIN};

    use super::*;
    use crate::edge::settings::HttpSettings;

    /// The status of a refusal, or whether the page is foreign.
    fn judged(domain: Option<&str>, host: &'static str, origin: Option<&'static str>) -> Result<bool, u16> {
        let guard = Arc::new(Guard::from_settings(&HttpSettings::default()).unwrap());
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::from_static(host));
        if let Some(origin) = origin {
            headers.insert(ORIGIN, HeaderValue::from_static(origin));
        }
        SandboxGuard::new(guard, domain)
            .check(&Uri::from_static("/"), &headers)
            .map(|foreign| foreign.is_some())
            .map_err(|refusal| refusal.status().as_u16())
    }

    #[test]
    fn hosts_below_the_domain_are_ours_only_where_there_is_one() {
        assert_eq!(
            judged(Some("box.example.org"), "3000-a.box.example.org", None),
            Ok(false)
        );
        assert_eq!(judged(None, "3000-a.box.example.org", None), Err(403));
        assert_eq!(
            judged(Some("box.example.org"), "3000-a.evilbox.example.org", None),
            Err(403)
        );
        assert_eq!(judged(Some("box.example.org"), "127.0.0.1:7420", None), Ok(false));
        assert_eq!(judged(None, "evil.example.org", None), Err(403));
    }

    #[test]
    fn foreign_pages_are_noted() {
        let own = Some("https://3000-a.box.example.org");
        assert_eq!(
            judged(Some("box.example.org"), "3000-a.box.example.org", own),
            Ok(false)
        );
        assert_eq!(
            judged(Some("box.example.org"), "3000-b.box.example.org", own),
            Ok(true)
        );
        assert_eq!(
            judged(None, "127.0.0.1:7420", Some("https://evil.example.org")),
            Ok(true)
        );
        assert_eq!(judged(None, "127.0.0.1:7420", Some("null")), Ok(true));
    }
}
