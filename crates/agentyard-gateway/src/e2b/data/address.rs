//! Which sandbox a request is for, and which port of it: said by headers, by the host's name, or by a signature.

use agentyard_envd::{ENVD_PORT, INTERPRETER_PORT, PORT_HEADER, SANDBOX_HEADER};
use http::header::HOST;
use http::{HeaderMap, HeaderName, Method, Uri};

use crate::e2b::words::Fault;

pub(super) const SANDBOX_ID: HeaderName = HeaderName::from_static(SANDBOX_HEADER);
pub(super) const SANDBOX_PORT: HeaderName = HeaderName::from_static(PORT_HEADER);

/// Where files are, of which there are signed addresses.
const FILES: &str = "/files";

/// Whom a request is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Address {
    /// A sandbox that is named by headers, at our own address.
    Named { sandbox: String, port: u16 },
    /// A sandbox that has a host name of its own.
    Hosted { sandbox: String, port: u16 },
    /// The sandbox whose token a signature was made with.
    Signed,
}

impl Address {
    /// Where a request leads, if it leads into a sandbox at all. Sandboxes have host names below the domain, if there
    /// is one.
    ///
    /// # Errors
    /// When headers that say so cannot be read.
    pub(crate) fn of(uri: &Uri, headers: &HeaderMap, domain: Option<&str>) -> Result<Option<Self>, Fault> {
        if let Some((sandbox, port)) = domain.and_then(|domain| hosted(uri, headers, domain)) {
            return Ok(Some(Self::Hosted { sandbox, port }));
        }
        if let Some(sandbox) = only(headers, &SANDBOX_ID)? {
            let port = match only(headers, &SANDBOX_PORT)? {
                Some(text) => port_of(text).ok_or_else(|| {
                    Fault::invalid(format!("the `{SANDBOX_PORT}` header does not hold a port"))
                })?,
                None => ENVD_PORT,
            };
            return Ok(Some(Self::Named {
                sandbox: sandbox.to_owned(),
                port,
            }));
        }
        let signed = uri.path() == FILES && parameter(uri, "signature").is_some();
        Ok(signed.then_some(Self::Signed))
    }

    /// Whether it is on a web origin of its own, where it may do as it likes with its visitors' browsers.
    pub(crate) fn has_own_origin(&self) -> bool {
        matches!(self, Self::Hosted { .. })
    }

    /// Whether it is what we put into every sandbox.
    pub(crate) fn is_daemon(&self) -> bool {
        matches!(self.port(), ENVD_PORT | INTERPRETER_PORT)
    }

    pub(crate) fn port(&self) -> u16 {
        match self {
            Self::Named { port, .. } | Self::Hosted { port, .. } => *port,
            Self::Signed => ENVD_PORT,
        }
    }
}

/// A signed address of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Signed {
    pub(super) path: String,
    pub(super) user: String,
    pub(super) write: bool,
    pub(super) expiration: Option<i64>,
    pub(super) signature: String,
}

impl Signed {
    /// What the address says, if it is a signed one.
    pub(super) fn of(method: &Method, uri: &Uri) -> Result<Option<Self>, Fault> {
        if uri.path() != FILES {
            return Ok(None);
        }
        let Some(signature) = parameter(uri, "signature") else {
            return Ok(None);
        };
        let write = match *method {
            Method::GET | Method::HEAD => false,
            Method::POST => true,
            _ => return Err(Fault::invalid("a signed address takes GET and POST only")),
        };
        let expiration = parameter(uri, "signature_expiration")
            .map(|text| text.parse())
            .transpose()
            .map_err(|_| Fault::invalid("`signature_expiration` is not a number of seconds"))?;
        Ok(Some(Self {
            path: parameter(uri, "path").unwrap_or_default(),
            user: parameter(uri, "username").unwrap_or_default(),
            write,
            expiration,
            signature,
        }))
    }

    /// The path and query as they are handed on: what was signed and nothing else. Whoever reads them inside may read a
    /// query otherwise than we do, and must not find another file in it.
    pub(super) fn handed_on(&self) -> String {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        for (name, value) in [("path", &self.path), ("username", &self.user)] {
            if !value.is_empty() {
                query.append_pair(name, value);
            }
        }
        format!("{FILES}?{}", query.finish())
    }
}

/// The first parameter of this name, decoded.
fn parameter(uri: &Uri, name: &str) -> Option<String> {
    form_pairs(uri.query()?).find_map(|(key, value)| (key == name).then_some(value))
}

fn form_pairs(query: &str) -> impl Iterator<Item = (String, String)> {
    url::form_urlencoded::parse(query.as_bytes()).into_owned()
}

/// The path and query as they are handed on: without what only we were to know.
pub(super) fn without_signature(uri: &Uri) -> String {
    let path = uri.path();
    let Some(query) = uri.query() else {
        return path.to_owned();
    };
    let kept: Vec<&str> = query
        .split('&')
        .filter(|pair| {
            let name = pair.split('=').next().unwrap_or_default();
            !matches!(name, "signature" | "signature_expiration")
        })
        .collect();
    if kept.is_empty() {
        return path.to_owned();
    }
    format!("{path}?{}", kept.join("&"))
}

/// Reads `<port>-<sandbox>.<domain>`.
fn hosted(uri: &Uri, headers: &HeaderMap, domain: &str) -> Option<(String, u16)> {
    let host = match uri.authority() {
        Some(authority) => authority.as_str(),
        None => headers.get(HOST)?.to_str().ok()?,
    };
    let name = host.split(':').next()?;
    let (port, sandbox) = name.strip_suffix(domain)?.strip_suffix('.')?.split_once('-')?;
    let written = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    let plain = !sandbox.is_empty() && sandbox.bytes().all(written);
    plain.then_some((sandbox.to_owned(), port_of(port)?))
}

fn port_of(text: &str) -> Option<u16> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|port| plain && *port > 0)
}

fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, Fault> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(Some).map_err(|_| unreadable(name)),
        (Some(_), Some(_)) => Err(unreadable(name)),
    }
}

fn unreadable(name: &HeaderName) -> Fault {
    Fault::invalid(format!("the `{name}` header cannot be read, or is there twice"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(uri: &str, headers: &[(&str, &str)]) -> Result<Option<Address>, u16> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(HeaderName::try_from(*name).unwrap(), value.parse().unwrap());
        }
        Address::of(&uri.parse().unwrap(), &map, Some("box.example.org")).map_err(|fault| fault.code())
    }

    fn named(port: u16) -> Result<Option<Address>, u16> {
        let sandbox = "abc".to_owned();
        Ok(Some(Address::Named { sandbox, port }))
    }

    fn at_host(port: u16) -> Result<Option<Address>, u16> {
        let sandbox = "abc".to_owned();
        Ok(Some(Address::Hosted { sandbox, port }))
    }

    #[test]
    fn headers_name_a_sandbox_on_any_path() {
        assert_eq!(address("/health", &[("e2b-sandbox-id", "abc")]), named(49983));
        let port = [("e2b-sandbox-id", "abc"), ("e2b-sandbox-port", "3000")];
        assert_eq!(address("/api/v1", &port), named(3000));
        for wrong in ["0", "65536", "-1", "+1", "x", ""] {
            let port = [("e2b-sandbox-id", "abc"), ("e2b-sandbox-port", wrong)];
            assert_eq!(address("/", &port), Err(400), "{wrong}");
        }
        let twice = [("e2b-sandbox-id", "abc"), ("e2b-sandbox-id", "abd")];
        assert_eq!(address("/", &twice), Err(400));
    }

    #[test]
    fn hosts_below_the_domain_are_sandboxes() {
        assert_eq!(
            address("/", &[("host", "3000-abc.box.example.org:8443")]),
            at_host(3000)
        );
        assert_eq!(address("http://49983-abc.box.example.org/x", &[]), at_host(49983));
        for other in [
            "abc.box.example.org",
            "0-abc.box.example.org",
            "3000-.box.example.org",
            "3000-a.b.box.example.org",
            "3000-abc.evilbox.example.org",
            "3000-abcbox.example.org",
            "api.box.example.org",
        ] {
            assert_eq!(address("/", &[("host", other)]), Ok(None), "{other}");
        }
        // What a browser shows is what counts.
        let both = [("host", "3000-abc.box.example.org"), ("e2b-sandbox-id", "abd")];
        assert_eq!(address("/", &both), at_host(3000));
    }

    #[test]
    fn signed_addresses_are_of_files_only() {
        assert_eq!(
            address("/files?path=a&signature=v1_x", &[]),
            Ok(Some(Address::Signed))
        );
        assert_eq!(address("/files?path=a", &[]), Ok(None));
        assert_eq!(address("/other?signature=v1_x", &[]), Ok(None));
    }

    #[test]
    fn a_signed_address_is_read_and_handed_on_without_its_signature() {
        let uri: Uri =
            "/files?path=%2Fhome%2Fuser%2Fa%20b&username=user&signature=v1_a%2Bb%2F&signature_expiration=17"
                .parse()
                .unwrap();
        let expected = Signed {
            path: "/home/user/a b".to_owned(),
            user: "user".to_owned(),
            write: true,
            expiration: Some(17),
            signature: "v1_a+b/".to_owned(),
        };
        assert_eq!(Signed::of(&Method::POST, &uri), Ok(Some(expected)));
        assert!(Signed::of(&Method::DELETE, &uri).is_err());
        assert_eq!(
            without_signature(&uri),
            "/files?path=%2Fhome%2Fuser%2Fa%20b&username=user"
        );
        assert_eq!(
            without_signature(&Uri::from_static("/files?signature=x")),
            "/files"
        );
        assert_eq!(without_signature(&Uri::from_static("/files")), "/files");
    }

    #[test]
    fn what_else_stands_in_a_signed_address_was_signed_by_nobody() {
        let uri: Uri = "/files?%70ath=%2Fa+b&path=%2Fetc&path=c&signature=v1_&username=user&usern%61me=x"
            .parse()
            .unwrap();
        let signed = Signed::of(&Method::GET, &uri).unwrap().unwrap();
        assert_eq!(signed.handed_on(), "/files?path=%2Fa+b&username=user");
    }
}
