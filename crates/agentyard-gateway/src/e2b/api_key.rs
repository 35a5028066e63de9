//! `X-API-KEY`, by which clients of E2B say who they are: here it holds a token of ours.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName, HeaderValue};

use agentyard_envd::API_KEY_HEADER;
use agentyard_services::ErrorKind;

use crate::edge::Refusal;

pub(super) const API_KEY: HeaderName = HeaderName::from_static(API_KEY_HEADER);

/// Puts the key where the edge looks for a token, so that there is one way to be let in. On other routes than E2B's
/// the header means nothing.
pub(super) async fn as_bearer(mut request: Request, next: Next) -> Response {
    match take_key(request.headers_mut()) {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    }
}

fn take_key(headers: &mut HeaderMap) -> Result<(), Refusal> {
    let mut keys = headers.get_all(API_KEY).iter();
    let bearer = match (keys.next(), keys.next()) {
        (None, _) => return Ok(()),
        (Some(key), None) => bearer_of(key)?,
        (Some(_), Some(_)) => {
            return Err(Refusal::new(
                ErrorKind::InvalidInput,
                "there is more than one `X-API-KEY` header",
            ));
        }
    };
    // Whoever stands between us and the client may have looked at the other one.
    if headers
        .get_all(AUTHORIZATION)
        .iter()
        .any(|other| *other != bearer)
    {
        return Err(Refusal::new(
            ErrorKind::InvalidInput,
            "`X-API-KEY` and `Authorization` name different tokens",
        )
        .with_hint("Send one of them."));
    }
    headers.remove(API_KEY);
    headers.insert(AUTHORIZATION, bearer);
    Ok(())
}

fn bearer_of(key: &HeaderValue) -> Result<HeaderValue, Refusal> {
    let text = [b"Bearer ", key.as_bytes()].concat();
    let mut bearer = HeaderValue::from_bytes(&text).map_err(|_| {
        Refusal::new(
            ErrorKind::InvalidInput,
            "the `X-API-KEY` header does not hold a token",
        )
    })?;
    bearer.set_sensitive(true);
    Ok(bearer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(given: &[(HeaderName, &str)]) -> Result<HeaderMap, u16> {
        let mut headers = HeaderMap::new();
        for (name, value) in given {
            headers.append(name, value.parse().unwrap());
        }
        take_key(&mut headers).map_err(|refusal| refusal.status().as_u16())?;
        Ok(headers)
    }

    #[test]
    fn a_key_becomes_a_token_and_is_not_seen_again() {
        let headers = taken(&[(API_KEY, "ay_key")]).unwrap();
        assert_eq!(headers[AUTHORIZATION], "Bearer ay_key");
        assert!(headers[AUTHORIZATION].is_sensitive());
        assert!(!headers.contains_key(API_KEY));
        let headers = taken(&[(API_KEY, "ay_key"), (AUTHORIZATION, "Bearer ay_key")]).unwrap();
        assert_eq!(headers.get_all(AUTHORIZATION).iter().count(), 1);
        assert!(taken(&[]).unwrap().is_empty());
    }

    #[test]
    fn two_that_differ_are_refused() {
        let other = [(API_KEY, "ay_key"), (AUTHORIZATION, "Bearer ay_other")];
        assert_eq!(taken(&other), Err(400));
        assert_eq!(taken(&[(API_KEY, "ay_key"), (API_KEY, "ay_key")]), Err(400));
    }
}
