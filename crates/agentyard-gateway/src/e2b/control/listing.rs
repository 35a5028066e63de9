//! Lists of sandboxes.

use std::collections::BTreeMap;

use axum::extract::{Query, State};
use axum::response::{IntoResponse, Json, Response};
use http::{HeaderName, HeaderValue};
use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::caller::Known;
use super::shown::{Listed, View};
use super::{Control, arguments};
use crate::e2b::words::Fault;

/// Where the next page begins.
const NEXT_TOKEN: HeaderName = HeaderName::from_static("x-next-token");

/// The longest page, and how many there are on one when nobody says.
const MAX_LIMIT: u32 = 100;

/// How many the older interface, which has no pages, tells of.
const MAX_UNPAGED: usize = 1000;

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Pages {
    metadata: Option<String>,
    state: Option<String>,
    order: Option<String>,
    started_after: Option<String>,
    template: Option<String>,
    limit: Option<u32>,
    next_token: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Unpaged {
    metadata: Option<String>,
}

/// A page, as the operation answers it.
#[derive(Debug, Deserialize)]
struct Page {
    #[serde(default)]
    sandboxes: Vec<View>,
    next_cursor: Option<String>,
}

/// `GET /v2/sandboxes`
pub(super) async fn list_pages(
    State(control): State<Control>,
    caller: Known,
    query: Result<Query<Pages>, axum::extract::rejection::QueryRejection>,
) -> Result<Response, Fault> {
    let Query(pages) = query.map_err(unreadable)?;
    let page: Page = control
        .ask(&caller, "sandbox_list", pages.into_arguments()?)
        .await?;
    let items: Vec<Listed> = page.sandboxes.into_iter().map(View::into_listed).collect();
    Ok(with_next(&items, page.next_cursor))
}

/// `GET /sandboxes`: all that run.
pub(super) async fn list_running(
    State(control): State<Control>,
    caller: Known,
    query: Result<Query<Unpaged>, axum::extract::rejection::QueryRejection>,
) -> Result<Json<Vec<Listed>>, Fault> {
    let Query(unpaged) = query.map_err(unreadable)?;
    let metadata = unpaged.metadata.as_deref().map(metadata);
    let mut items = Vec::new();
    let mut cursor = None;
    while items.len() < MAX_UNPAGED {
        let arguments = arguments([
            ("state", json!(["running"])),
            ("metadata", json!(metadata)),
            ("limit", json!(MAX_LIMIT)),
            ("cursor", json!(cursor)),
        ]);
        let page: Page = control.ask(&caller, "sandbox_list", arguments).await?;
        items.extend(page.sandboxes.into_iter().map(View::into_listed));
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    Ok(Json(items))
}

impl Pages {
    fn into_arguments(self) -> Result<Map<String, Value>, Fault> {
        let states = self
            .state
            .as_deref()
            .map(|states| -> Vec<&str> { states.split(',').filter(|state| !state.is_empty()).collect() });
        let oldest_first = match self.order.as_deref() {
            None | Some("desc") => None,
            Some("asc") => Some(true),
            Some(_) => return Err(Fault::invalid("`order` is `asc` or `desc`")),
        };
        Ok(arguments([
            ("state", json!(states)),
            ("metadata", json!(self.metadata.as_deref().map(metadata))),
            ("oldest_first", json!(oldest_first)),
            ("since", json!(self.started_after)),
            ("template", json!(self.template)),
            ("limit", json!(limit(self.limit)?)),
            ("cursor", json!(self.next_token.filter(|token| !token.is_empty()))),
        ]))
    }
}

/// How many to answer at once.
pub(super) fn limit(asked: Option<u32>) -> Result<u32, Fault> {
    match asked {
        None => Ok(MAX_LIMIT),
        Some(limit @ 1..=MAX_LIMIT) => Ok(limit),
        Some(_) => Err(Fault::invalid(format!("`limit` is between 1 and {MAX_LIMIT}"))),
    }
}

/// A page of a list, with where the next one begins.
pub(super) fn with_next<T: Serialize>(items: &[T], next: Option<String>) -> Response {
    let mut response = Json(items).into_response();
    if let Some(next) = next.and_then(|next| HeaderValue::from_str(&next).ok()) {
        response.headers_mut().insert(NEXT_TOKEN, next);
    }
    response
}

pub(super) fn unreadable(rejection: axum::extract::rejection::QueryRejection) -> Fault {
    Fault::invalid(format!("the query cannot be read: {}", rejection.body_text()))
}

/// Reads `key=value&…`. Clients write names and values in the escapes of an address twice over; once will do.
fn metadata(text: &str) -> BTreeMap<String, String> {
    let decoded = |text: &str| {
        let once = percent_decode_str(&text.replace('+', " "))
            .decode_utf8_lossy()
            .into_owned();
        percent_decode_str(&once).decode_utf8_lossy().into_owned()
    };
    text.split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decoded(key), decoded(value))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(query: &str) -> Result<Value, u16> {
        let uri = format!("/v2/sandboxes?{query}").parse().unwrap();
        let pages = Query::<Pages>::try_from_uri(&uri).unwrap().0;
        pages
            .into_arguments()
            .map(Value::Object)
            .map_err(|fault| fault.code())
    }

    #[test]
    fn filters_are_understood_as_the_sdks_write_them() {
        // What the Python SDK sends for {"user name": "a&b", "share": "50%"}.
        let query = "metadata=user%252520name%3Da%252526b%26share%3D50%252525&state=running%2Cpaused&limit=2&order=asc&template=base&nextToken=n";
        let expected = json!({
            "state": ["running", "paused"],
            "metadata": {"share": "50%", "user name": "a&b"},
            "oldest_first": true,
            "template": "base",
            "limit": 2,
            "cursor": "n",
        });
        assert_eq!(asked(query), Ok(expected));
        assert_eq!(asked(""), Ok(json!({"limit": 100})));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for query in ["limit=0", "limit=101", "order=sideways"] {
            assert_eq!(asked(query), Err(400), "{query}");
        }
    }

    #[test]
    fn metadata_may_be_escaped_once_only() {
        let expected = BTreeMap::from([
            ("a".to_owned(), "b c".to_owned()),
            ("d".to_owned(), String::new()),
        ]);
        assert_eq!(metadata("a=b%20c&d"), expected);
        assert_eq!(metadata("a=b+c&d="), expected);
    }

    #[test]
    fn the_next_page_stands_in_a_header() {
        let response = with_next(&[1], Some("next".to_owned()));
        assert_eq!(response.headers()[NEXT_TOKEN], "next");
        assert!(!with_next(&[1], None).headers().contains_key(NEXT_TOKEN));
    }
}
