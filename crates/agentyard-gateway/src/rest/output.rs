//! All that a run said, as it said it: `GET /v1/runs/{run}/stdout` and `…/stderr`.

use std::convert::Infallible;

use agentyard_model::Caller;
use agentyard_services::{OutputStream, Result, RunOutput};
use axum::body::{Body, Bytes};
use axum::extract::{Path, Query, Request, State};
use axum::response::{IntoResponse, Response};
use futures::{Stream, stream};
use http::header::{CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use serde::Deserialize;

use super::events::Streams;
use crate::edge::Refusal;
use crate::platform::Platform;
use crate::run_output::{OutputPlace, run_id};

/// How much is read at once.
const PIECE_BYTES: usize = 256 * 1024;

/// Where to begin.
#[derive(Deserialize)]
pub(super) struct Beginning {
    #[serde(default)]
    offset: u64,
}

/// Answers with what was said up to now.
pub(super) async fn answer(
    stream: OutputStream,
    State(streams): State<Streams>,
    Path(run): Path<String>,
    Query(beginning): Query<Beginning>,
    mut request: Request,
) -> Response {
    let caller = request
        .extensions_mut()
        .remove::<Caller>()
        .unwrap_or_else(Caller::anonymous);
    let platform = streams.platform;
    let caller = platform.selection.restrict(caller);
    match begun(&platform, &caller, &run, stream, &beginning) {
        Err(error) => Refusal::from(&error).into_response(),
        Ok(begun) => {
            let kind = [
                (CONTENT_TYPE, "text/plain; charset=utf-8"),
                // Whatever it looks like, no browser may take it for a page.
                (X_CONTENT_TYPE_OPTIONS, "nosniff"),
            ];
            (kind, Body::from_stream(pieces(platform, caller, begun))).into_response()
        }
    }
}

/// A piece, and where it begins.
type Piece = (RunOutput, OutputPlace);

fn begun(
    platform: &Platform,
    caller: &Caller,
    run: &str,
    stream: OutputStream,
    beginning: &Beginning,
) -> Result<Piece> {
    let place = OutputPlace {
        run: run_id(run)?,
        stream,
        offset: beginning.offset,
    };
    let output = place.output(&platform.services, caller, PIECE_BYTES)?;
    Ok((output, place))
}

/// One piece after the other, each read when the one before it was sent.
fn pieces(
    platform: Platform,
    caller: Caller,
    begun: Piece,
) -> impl Stream<Item = Result<Bytes, Infallible>> + Send + 'static {
    stream::unfold(Some(begun), move |piece| {
        let next = piece
            .filter(|(output, _)| !output.bytes.is_empty())
            .map(|(output, place)| {
                let place = OutputPlace {
                    offset: place.offset + output.bytes.len() as u64,
                    ..place
                };
                let following = place.output(&platform.services, &caller, PIECE_BYTES);
                // A run that was forgotten meanwhile has nothing more to say.
                let following = following.ok().map(|output| (output, place));
                (Ok(Bytes::from(output.bytes)), following)
            });
        std::future::ready(next)
    })
}
