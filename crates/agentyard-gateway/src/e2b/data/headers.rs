//! What passes between a client and what runs in a sandbox: never a credential of ours into it, and nothing out of it
//! by which it could act on a browser in our name.

use agentyard_envd::upgrade::UPGRADE_HEADER;
use agentyard_envd::{ACCESS_TOKEN_HEADER, TRAFFIC_TOKEN_HEADER, drop_hop_by_hop};
use http::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ALT_SVC,
    AUTHORIZATION, CONTENT_SECURITY_POLICY, COOKIE, HOST, REFRESH, SET_COOKIE, STRICT_TRANSPORT_SECURITY,
    WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, HeaderName, HeaderValue};

use super::address::{Address, SANDBOX_ID, SANDBOX_PORT};
use crate::e2b::api_key::API_KEY;

pub(super) const ACCESS_TOKEN: HeaderName = HeaderName::from_static(ACCESS_TOKEN_HEADER);
pub(super) const TRAFFIC_TOKEN: HeaderName = HeaderName::from_static(TRAFFIC_TOKEN_HEADER);

/// What was for us alone.
const OURS: [HeaderName; 7] = [
    HOST,
    SANDBOX_ID,
    SANDBOX_PORT,
    API_KEY,
    ACCESS_TOKEN,
    TRAFFIC_TOKEN,
    HeaderName::from_static(UPGRADE_HEADER),
];

/// What acts on a whole web origin, which here is ours, or on what a browser shows and asks in its name.
const ORIGIN_WIDE: [HeaderName; 15] = [
    SET_COOKIE,
    HeaderName::from_static("clear-site-data"),
    HeaderName::from_static("service-worker-allowed"),
    STRICT_TRANSPORT_SECURITY,
    ALT_SVC,
    HeaderName::from_static("nel"),
    HeaderName::from_static("report-to"),
    WWW_AUTHENTICATE,
    REFRESH,
    ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_ALLOW_CREDENTIALS,
    ACCESS_CONTROL_ALLOW_HEADERS,
    ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_EXPOSE_HEADERS,
    ACCESS_CONTROL_MAX_AGE,
];

/// Leaves of a request's headers what is for the sandbox.
pub(super) fn for_sandbox(headers: &mut HeaderMap, address: &Address) {
    drop_hop_by_hop(headers);
    for name in OURS {
        headers.remove(name);
    }
    // The daemon reads from it as whom to work. Anything else may be a token of ours.
    if !headers.get_all(AUTHORIZATION).iter().all(is_basic) {
        headers.remove(AUTHORIZATION);
    }
    if !address.has_own_origin() {
        // They were set by us, or by another sandbox at the same address.
        headers.remove(COOKIE);
    }
}

fn is_basic(value: &HeaderValue) -> bool {
    let scheme = value.as_bytes().split(|byte| *byte == b' ').next();
    scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case(b"basic"))
}

/// Leaves of an answer's headers what the sandbox may say to a client.
pub(super) fn from_sandbox(headers: &mut HeaderMap, address: &Address) {
    drop_hop_by_hop(headers);
    if address.has_own_origin() {
        return;
    }
    for name in ORIGIN_WIDE {
        headers.remove(name);
    }
    // Whatever it is, a browser that is made to open it runs none of it as a page of ours.
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
}

#[cfg(test)]
mod tests {
    use http::header::TRANSFER_ENCODING;

    use super::*;

    fn map(headers: &[(&'static str, &str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(HeaderName::from_static(name), value.parse().unwrap());
        }
        map
    }

    fn names(headers: &HeaderMap) -> Vec<&str> {
        let mut names: Vec<&str> = headers.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        names
    }

    fn named(port: u16) -> Address {
        let sandbox = "abc".to_owned();
        Address::Named { sandbox, port }
    }

    fn hosted(port: u16) -> Address {
        let sandbox = "abc".to_owned();
        Address::Hosted { sandbox, port }
    }

    #[test]
    fn no_credential_of_ours_reaches_a_sandbox() {
        let mut headers = map(&[
            ("host", "127.0.0.1"),
            ("e2b-sandbox-id", "abc"),
            ("e2b-sandbox-port", "3000"),
            ("x-api-key", "ay_k"),
            ("x-access-token", "t"),
            ("e2b-traffic-access-token", "t"),
            ("authorization", "Bearer ay_k"),
            ("cookie", "a=b"),
            ("connection", "close, X-Private"),
            ("x-private", "1"),
            ("te", "trailers"),
            ("content-type", "application/json"),
        ]);
        for_sandbox(&mut headers, &named(3000));
        assert_eq!(names(&headers), ["content-type"]);
    }

    #[test]
    fn the_daemon_learns_as_whom_to_work() {
        for (address, value, passes) in [
            (named(49983), "Basic dXNlcjo=", true),
            (hosted(49983), "Basic dXNlcjo=", true),
            (named(49983), "Bearer ay_k", false),
            (hosted(49983), "Bearer ay_k", false),
            (hosted(3000), "Bearer other", false),
            (named(3000), "Basic YTpi", true),
        ] {
            let mut headers = map(&[("authorization", value)]);
            for_sandbox(&mut headers, &address);
            assert_eq!(!headers.is_empty(), passes, "{address:?} {value}");
        }
    }

    #[test]
    fn a_sandbox_cannot_act_on_our_origin() {
        let said = [
            ("content-type", "text/html"),
            ("set-cookie", "session=1"),
            ("clear-site-data", "\"*\""),
            ("service-worker-allowed", "/"),
            ("access-control-allow-origin", "*"),
            ("www-authenticate", "Basic realm=\"agentyard\""),
            ("content-security-policy", "script-src *"),
            ("transfer-encoding", "chunked"),
            ("location", "/elsewhere"),
        ];
        let mut headers = map(&said);
        from_sandbox(&mut headers, &named(3000));
        let expected = [
            "content-security-policy",
            "content-type",
            "location",
            "x-content-type-options",
        ];
        assert_eq!(names(&headers), expected);
        assert_eq!(headers[CONTENT_SECURITY_POLICY], "sandbox");

        let mut headers = map(&said);
        from_sandbox(&mut headers, &hosted(3000));
        assert!(headers.contains_key(SET_COOKIE));
        assert!(!headers.contains_key(TRANSFER_ENCODING));
        assert_eq!(headers[CONTENT_SECURITY_POLICY], "script-src *");
    }
}
