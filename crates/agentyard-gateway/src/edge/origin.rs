//! Keeps foreign web pages out: a page whose name was rebound to our address betrays itself
//! by its `Host`, any other page of another origin by its `Origin`.

mod cors;
mod names;
mod sandboxes;

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::header::{HOST, ORIGIN};
use http::{HeaderMap, HeaderName, Uri};

use self::names::{AllowedHost, HostPort, Scheme, WebOrigin};
use agentyard_services::ErrorKind;

use super::refusal::Refusal;
use super::settings::{HttpSettings, InvalidSetting, parse_url};

pub(super) use self::cors::cors_layer;
pub(crate) use self::sandboxes::ForeignPage;
pub(super) use self::sandboxes::{SandboxGuard, guard_sandboxes};

/// The names by which a machine reaches itself.
const LOOPBACK_NAMES: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// The address by which a client has reached us, without a slash at its end. The [guard](Guard)
/// leaves it in a request's extensions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseUrl(pub(super) Arc<str>);

impl BaseUrl {
    /// The address as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Knows which hosts are ours and which origins may call.
#[derive(Debug)]
pub struct Guard {
    hosts: Vec<AllowedHost>,
    origins: Vec<String>,
    public: Option<Public>,
}

/// What was configured as our address.
#[derive(Debug)]
struct Public {
    base: BaseUrl,
    secure: bool,
}

impl Guard {
    /// The guard for these settings.
    ///
    /// # Errors
    /// Names the setting that holds something else than a host, an origin or an address.
    pub fn from_settings(settings: &HttpSettings) -> Result<Self, InvalidSetting> {
        let mut hosts: Vec<AllowedHost> = LOOPBACK_NAMES.into_iter().map(AllowedHost::any_port).collect();
        hosts.extend(AllowedHost::listening(settings.listen));
        for text in &settings.allowed_hosts {
            let host = AllowedHost::configured(text).ok_or_else(|| {
                InvalidSetting::new(
                    "http.allowed_hosts",
                    "write each as `yard.example.org` or `yard.example.org:8443`, without scheme, path or `*`",
                )
            })?;
            hosts.push(host);
        }
        let mut origins = Vec::new();
        for text in &settings.allowed_origins {
            origins.push(names::configured_origin(text).ok_or_else(|| {
                InvalidSetting::new(
                    "http.allowed_origins",
                    "write each as `https://tools.example.org`, without path, and neither `*` nor `null`",
                )
            })?);
        }
        if let Some(domain) = &settings.sandbox_domain {
            // Where clients that know nothing but the domain look for the REST interface.
            hosts.push(sandbox_api_host(domain)?);
        }
        let public = public_address(settings)?;
        if let Some((host, _)) = &public {
            hosts.push(host.clone());
        }
        let public = public.map(|(_, public)| public);
        Ok(Self {
            hosts,
            origins,
            public,
        })
    }

    /// Refuses a request for another host, or from a page that has no business here, and
    /// says by which address we were reached.
    ///
    /// # Errors
    /// With 400 what cannot be read, with 403 what is foreign.
    pub fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<BaseUrl, Refusal> {
        let host = self.check_host(uri, headers)?;
        self.check_origin(&host, headers)?;
        Ok(match &self.public {
            Some(public) => public.base.clone(),
            None => BaseUrl(format!("http://{host}").into()),
        })
    }

    fn check_host(&self, uri: &Uri, headers: &HeaderMap) -> Result<HostPort, Refusal> {
        let host = host_of(uri, headers)?;
        if self.hosts.iter().any(|allowed| allowed.matches(&host)) {
            Ok(host)
        } else {
            Err(foreign_host("the request is for a host that is not this server"))
        }
    }

    fn check_origin(&self, host: &HostPort, headers: &HeaderMap) -> Result<(), Refusal> {
        // Programs send none; browsers always do where it matters.
        let Some(text) = only(headers, &ORIGIN)? else {
            return Ok(());
        };
        let configured = self.origins.iter().any(|origin| origin == text);
        if configured || WebOrigin::parse(text).is_some_and(|origin| self.is_own(&origin, host)) {
            Ok(())
        } else {
            Err(Refusal::new(
                ErrorKind::Forbidden,
                "the request comes from a web page that may not call this server",
            )
            .with_hint("To let that page call, add its origin to `http.allowed_origins`."))
        }
    }

    /// Whether a page of this origin is one that we serve ourselves: the same port on the same
    /// host, or on another of our loopback names. Other ports of this machine are other
    /// programs, among them previews of what agents have written.
    fn is_own(&self, origin: &WebOrigin, host: &HostPort) -> bool {
        let loopback = is_loopback(&origin.host) && is_loopback(host);
        let secure_enough = match origin.scheme {
            Scheme::Https => true,
            Scheme::Http => loopback || !self.public.as_ref().is_some_and(|public| public.secure),
        };
        let same_name = loopback || origin.host.name == host.name;
        let same_port = origin.scheme.port_of(&origin.host) == origin.scheme.port_of(host);
        secure_enough && same_name && same_port
    }
}

/// The host that a request is for.
fn host_of(uri: &Uri, headers: &HeaderMap) -> Result<HostPort, Refusal> {
    // HTTP/2 says it in the request line; who says it twice must say the same.
    let line = uri.authority().map(http::uri::Authority::as_str);
    let text = match (line, only(headers, &HOST)?) {
        (Some(line), Some(header)) if line != header => return Err(malformed("Host")),
        (Some(text), _) | (None, Some(text)) => text,
        (None, None) => return Err(foreign_host("the request names no host")),
    };
    HostPort::parse(text).ok_or_else(|| malformed("Host"))
}

/// The middleware: lets a request pass, or answers it with a refusal.
pub async fn guard(State(guard): State<Arc<Guard>>, mut request: Request, next: Next) -> Response {
    match guard.check(request.uri(), request.headers()) {
        Ok(base) => {
            request.extensions_mut().insert(base);
            next.run(request).await
        }
        Err(refusal) => {
            tracing::debug!(%refusal, "turned away a foreign host or origin");
            refusal.into_response()
        }
    }
}

fn public_address(settings: &HttpSettings) -> Result<Option<(AllowedHost, Public)>, InvalidSetting> {
    let Some(text) = &settings.public_url else {
        return Ok(None);
    };
    let invalid = || {
        InvalidSetting::new(
            "http.public_url",
            "write it as `https://yard.example.org`, without path, user, query or fragment",
        )
    };
    let url = parse_url(text)
        .filter(|url| url.path() == "/")
        .ok_or_else(invalid)?;
    let name = url.host_str().unwrap_or_default();
    let authority = url
        .port()
        .map_or_else(|| name.to_owned(), |port| format!("{name}:{port}"));
    let host = AllowedHost::configured(&authority).ok_or_else(invalid)?;
    let base = BaseUrl(url.as_str().trim_end_matches('/').into());
    let secure = url.scheme() == "https";
    Ok(Some((host, Public { base, secure })))
}

fn sandbox_api_host(domain: &str) -> Result<AllowedHost, InvalidSetting> {
    let plain = !domain.contains(':') && *domain == domain.to_ascii_lowercase();
    let host = AllowedHost::configured(&format!("api.{domain}")).filter(|_| plain && !domain.ends_with('.'));
    host.ok_or_else(|| {
        InvalidSetting::new(
            "http.sandbox_domain",
            "write it in lower case as `box.example.org`, without scheme, port or `*`",
        )
    })
}

fn is_loopback(host: &HostPort) -> bool {
    LOOPBACK_NAMES.contains(&host.name.as_str())
}

/// The header's value, if it is there; twice, or not plain text, is nothing that a client
/// would send by accident.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, Refusal> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(Some).map_err(|_| malformed(name.as_str())),
        (Some(_), Some(_)) => Err(malformed(name.as_str())),
    }
}

fn malformed(header: &str) -> Refusal {
    let message = format!("the `{header}` header cannot be read, or is there twice");
    Refusal::new(ErrorKind::InvalidInput, message)
}

fn foreign_host(message: &str) -> Refusal {
    Refusal::new(ErrorKind::Forbidden, message)
        .with_hint("Use the server's own address, or add the name in lower case to `http.allowed_hosts`.")
}

#[cfg(test)]
mod tests;
