//! The headers by which clients of E2B say whom they mean and that they may, and those that are about a connection.

use http::HeaderMap;
use http::header::{
    CONNECTION, EXPECT, HeaderName, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRAILER, TRANSFER_ENCODING,
    UPGRADE,
};

/// The header that names the sandbox.
pub const SANDBOX_HEADER: &str = "e2b-sandbox-id";

/// The header that says which port of the sandbox is meant. Other ports than the daemon's lead to what listens there.
pub const PORT_HEADER: &str = "e2b-sandbox-port";

/// The header with the token that opens everything in a sandbox.
pub const ACCESS_TOKEN_HEADER: &str = "x-access-token";

/// The header with the token that opens what listens in a sandbox.
pub const TRAFFIC_TOKEN_HEADER: &str = "e2b-traffic-access-token";

/// The header with the key of whoever makes sandboxes.
pub const API_KEY_HEADER: &str = "x-api-key";

/// Headers with which a caller gets into a sandbox. Code in it must not see them: it could go on to use them.
pub const TOKEN_HEADERS: [&str; 3] = [ACCESS_TOKEN_HEADER, TRAFFIC_TOKEN_HEADER, API_KEY_HEADER];

/// Headers that are about one connection and not about the message.
const HOP_BY_HOP: [HeaderName; 10] = [
    CONNECTION,
    EXPECT,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// Takes out what is about one connection, and what that connection says is about it.
pub fn drop_hop_by_hop(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named.iter().chain(&HOP_BY_HOP) {
        headers.remove(name);
    }
}
