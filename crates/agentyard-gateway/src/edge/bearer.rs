//! `Authorization: Bearer …`: taking the token out of a request, and asking for one.

use agentyard_model::Secret;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue};

use super::jwt::MAX_TOKEN_BYTES;
use super::origin::BaseUrl;

/// Where the metadata of [`super::ProtectedResource`] is served.
pub const METADATA_PATH: &str = "/.well-known/oauth-protected-resource";

/// Why there is no token to look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoToken {
    /// The request carries none.
    Missing,
    /// It carries something that cannot be one.
    Malformed(&'static str),
    /// It carries one that is longer than any that we accept.
    TooLong,
}

/// The request's token.
pub(super) fn bearer_token(headers: &HeaderMap) -> Result<Secret, NoToken> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let value = match (values.next(), values.next()) {
        (None, _) => return Err(NoToken::Missing),
        (Some(value), None) => value,
        // Whoever stands between us and the client may have looked at the other one.
        (Some(_), Some(_)) => {
            return Err(NoToken::Malformed(
                "there is more than one `Authorization` header",
            ));
        }
    };
    let (scheme, token) = split_scheme(value.as_bytes());
    if !scheme.eq_ignore_ascii_case(b"bearer") {
        return Err(NoToken::Missing);
    }
    if token.len() > MAX_TOKEN_BYTES {
        return Err(NoToken::TooLong);
    }
    match std::str::from_utf8(token) {
        Ok(text) if is_token68(text) => Ok(Secret::new(text)),
        Ok(_) | Err(_) => Err(NoToken::Malformed(
            "the `Authorization` header does not hold a bearer token",
        )),
    }
}

/// What a refused client is asked for (RFC 6750, RFC 9728). Of the token that it may have
/// sent, nothing stands in it.
pub(super) fn challenge(base: &BaseUrl, error: Option<&str>) -> HeaderValue {
    let base = base.as_str();
    let mut text = format!(r#"Bearer realm="agentyard", resource_metadata="{base}{METADATA_PATH}""#);
    if let Some(error) = error {
        text.push_str(&format!(r#", error="{error}""#));
    }
    // A base is a checked host name or a parsed URL; should it ever not fit, ask plainly.
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static(r#"Bearer realm="agentyard""#))
}

fn split_scheme(value: &[u8]) -> (&[u8], &[u8]) {
    let end = value.iter().position(|byte| *byte == b' ').unwrap_or(value.len());
    let (scheme, rest) = value.split_at(end);
    (scheme, rest.trim_ascii())
}

/// The characters that RFC 6750 allows in a token.
fn is_token68(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    let plain =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'+' | b'/');
    !body.is_empty() && body.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(values: &[&[u8]]) -> Result<String, NoToken> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(AUTHORIZATION, HeaderValue::from_bytes(value).unwrap());
        }
        bearer_token(&headers).map(|token| token.expose().to_owned())
    }

    #[test]
    fn a_token_is_found() {
        for value in [
            "Bearer abc.d-e_f~g+h/i==",
            "bearer abc.d-e_f~g+h/i==",
            "BEARER  abc.d-e_f~g+h/i== ",
        ] {
            assert_eq!(
                read(&[value.as_bytes()]).as_deref(),
                Ok("abc.d-e_f~g+h/i=="),
                "{value}"
            );
        }
        let longest = "a".repeat(MAX_TOKEN_BYTES);
        assert_eq!(read(&[format!("Bearer {longest}").as_bytes()]), Ok(longest));
    }

    #[test]
    fn what_is_not_a_token_is_not_looked_at() {
        let missing = [
            &b""[..],
            b"Basic YTpi",
            b"Bearertoken",
            b"Digest Bearer x",
            b"Bearer\ttoken",
        ];
        for value in missing {
            assert_eq!(read(&[value]), Err(NoToken::Missing), "{value:?}");
        }
        assert_eq!(read(&[]), Err(NoToken::Missing));
        let malformed = [
            &b"Bearer"[..],
            b"Bearer ",
            b"Bearer a b",
            b"Bearer a,b",
            b"Bearer ==",
            b"Bearer \xc3\xa4",
        ];
        for value in malformed {
            assert!(matches!(read(&[value]), Err(NoToken::Malformed(_))), "{value:?}");
        }
        assert!(matches!(
            read(&[b"Bearer a", b"Bearer a"]),
            Err(NoToken::Malformed(_))
        ));
        let long = format!("Bearer {}", "a".repeat(MAX_TOKEN_BYTES + 1));
        assert_eq!(read(&[long.as_bytes()]), Err(NoToken::TooLong));
    }

    #[test]
    fn a_challenge_says_where_to_get_a_token() {
        let base = BaseUrl("https://yard.example.org".into());
        let metadata = "https://yard.example.org/.well-known/oauth-protected-resource";
        assert_eq!(
            challenge(&base, None),
            format!(r#"Bearer realm="agentyard", resource_metadata="{metadata}""#)
        );
        assert_eq!(
            challenge(&base, Some("invalid_token")),
            format!(r#"Bearer realm="agentyard", resource_metadata="{metadata}", error="invalid_token""#)
        );
    }
}
