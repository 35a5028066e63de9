//! What runs code, cell by cell, as a notebook does: what is asked for at its port.
//!
//! Code runs in [contexts](contexts::Contexts). Each has one language, and a process of its own that keeps what one
//! execution leaves for the next ([`kernel`]). These are programs of ours that need nothing but the language's own
//! interpreter.

mod context;
mod contexts;
mod kernel;
mod language;
mod messages;
mod output;

use std::collections::BTreeMap;
use std::path::{Component, PathBuf};

use bytes::Bytes;
use futures::stream;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use super::routes::{Daemon, unknown};
use super::{calls, environment};
use crate::connect::{Code, Fault};
use crate::exchange::{Body, empty};
use context::{Context, Job};
use language::Language;

pub(super) use contexts::Contexts;

/// How many lines wait for a listener before the execution does.
const QUEUE: usize = 16;

/// What is to be run.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Execution {
    code: String,
    context_id: Option<String>,
    language: Option<String>,
    env_vars: Option<BTreeMap<String, String>>,
}

/// A context that is wanted.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Wanted {
    language: Option<String>,
    cwd: Option<String>,
}

/// A context, as clients see it.
#[derive(Debug, Serialize)]
struct Shown {
    id: String,
    language: &'static str,
    cwd: String,
}

impl From<Context> for Shown {
    fn from(context: Context) -> Self {
        Self {
            id: context.id,
            language: context.language.name(),
            cwd: context.directory.to_string_lossy().into_owned(),
        }
    }
}

/// Whatever is asked for at the interpreter's port.
pub(super) async fn answer(daemon: &Daemon, request: Request<Body>) -> Response<Body> {
    let path = request.uri().path().to_owned();
    let words: Vec<&str> = path.trim_matches('/').split('/').collect();
    let answered = match (request.method(), words.as_slice()) {
        (&Method::GET, ["health"]) => Ok(done(StatusCode::OK)),
        (&Method::POST, ["execute"]) => execute(daemon, request.into_body()).await,
        (&Method::GET, ["contexts"]) => list(daemon).await,
        (&Method::POST, ["contexts"]) => create(daemon, request.into_body()).await,
        (&Method::DELETE, ["contexts", id]) => {
            daemon.contexts.remove(id).map(|()| done(StatusCode::NO_CONTENT))
        }
        (&Method::POST, ["contexts", id, "restart"]) => restart(daemon, id).await,
        _ => Err(unknown(&path)),
    };
    answered.unwrap_or_else(|fault| calls::refused(&fault))
}

async fn execute(daemon: &Daemon, body: Body) -> Result<Response<Body>, Fault> {
    let wanted: Execution = calls::message(body).await?;
    let context = match (wanted.context_id.as_deref(), wanted.language.as_deref()) {
        (Some(_), Some(_)) => {
            let message = "name a context or a language, not both: a context has its language already";
            return Err(Fault::new(Code::InvalidArgument, message));
        }
        (Some(id), None) => daemon.contexts.find(id)?,
        (None, name) => {
            let language = language(daemon, name).await?;
            daemon.contexts.default_for(language, daemon.home.clone())
        }
    };
    let variables = wanted.env_vars.unwrap_or_default();
    environment::check(&variables)?;
    if let Some(name) = variables.keys().find(|name| !context.language.can_name(name)) {
        let message = format!(
            "bash has no variable `{}`: names are letters, digits and _",
            name.escape_debug()
        );
        return Err(Fault::new(Code::InvalidArgument, message));
    }
    let (lines, heard) = mpsc::channel(QUEUE);
    let job = Job {
        code: wanted.code,
        variables,
        environment: daemon.environment.variables(),
        lines,
    };
    context.execute(job).map_err(|_| {
        let message = "too much code waits for this context already; wait for it, or use another context";
        Fault::new(Code::ResourceExhausted, message)
    })?;
    Ok(streamed(heard))
}

async fn list(daemon: &Daemon) -> Result<Response<Body>, Fault> {
    // Clients expect to find the usual ones before they have used them.
    for language in available(daemon).await {
        if matches!(language, Language::Python | Language::Javascript) {
            daemon.contexts.default_for(*language, daemon.home.clone());
        }
    }
    let shown: Vec<Shown> = daemon.contexts.all().into_iter().map(Shown::from).collect();
    calls::json(&shown)
}

async fn create(daemon: &Daemon, body: Body) -> Result<Response<Body>, Fault> {
    let wanted: Wanted = calls::message(body).await?;
    let language = language(daemon, wanted.language.as_deref()).await?;
    let directory = directory(daemon, wanted.cwd.as_deref().unwrap_or_default()).await?;
    calls::json(&Shown::from(daemon.contexts.create(language, directory)?))
}

async fn restart(daemon: &Daemon, id: &str) -> Result<Response<Body>, Fault> {
    daemon.contexts.find(id)?.restart().await;
    Ok(done(StatusCode::NO_CONTENT))
}

/// The language with this name, if there is a program for it; Python when nobody says more. Almost every sandbox has
/// that, so nobody looks for it first.
async fn language(daemon: &Daemon, name: Option<&str>) -> Result<Language, Fault> {
    let Some(name) = name.filter(|name| !name.trim().is_empty()) else {
        return Ok(Language::Python);
    };
    let found = Language::named(name);
    if found == Some(Language::Python) {
        return Ok(Language::Python);
    }
    let available = available(daemon).await;
    found
        .filter(|language| available.contains(language))
        .ok_or_else(|| {
            let name: String = name.chars().take(64).collect();
            let there: Vec<&str> = available.iter().map(|language| language.name()).collect();
            let message = format!(
                "the language `{}` is not available in this sandbox; there are {}",
                name.escape_debug(),
                there.join(", ")
            );
            Fault::new(Code::InvalidArgument, message)
        })
}

async fn available(daemon: &Daemon) -> &[Language] {
    let look = || async { language::available(&daemon.home, &daemon.environment.variables()).await };
    daemon.contexts.available.get_or_init(look).await
}

/// Where a context begins. It is made if it is not there, as the directories above files are that are written.
async fn directory(daemon: &Daemon, wanted: &str) -> Result<PathBuf, Fault> {
    let path = daemon.home.join(wanted);
    let path: PathBuf = path
        .components()
        .filter(|part| *part != Component::CurDir)
        .collect();
    tokio::fs::create_dir_all(&path).await.map_err(|error| {
        let message = format!(
            "a context cannot begin in `{}`: {error}",
            path.display().to_string().escape_debug()
        );
        Fault::new(Code::InvalidArgument, message)
    })?;
    Ok(path)
}

/// An answer that is told line by line.
fn streamed(heard: mpsc::Receiver<Bytes>) -> Response<Body> {
    let lines = stream::unfold(heard, |mut heard| async {
        let line = heard.recv().await?;
        Some((Ok(Frame::data(line)), heard))
    });
    let mut response = Response::new(StreamBody::new(lines).boxed_unsync());
    let headers = response.headers_mut();
    let kind = HeaderValue::from_static("application/x-ndjson");
    headers.insert(http::header::CONTENT_TYPE, kind);
    response
}

fn done(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(empty());
    *response.status_mut() = status;
    response
}

#[cfg(test)]
mod tests;
