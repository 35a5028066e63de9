//! What is done in a sandbox from outside is written down: programs that are started, code that is run, files that are
//! changed. What programs then do inside is not seen.

use std::pin::Pin;
use std::task::{Context, Poll};

use agentyard_envd::connect::{Frame, Frames};
use agentyard_envd::process::StartRequest;
use agentyard_envd::{Body, ENVD_PORT, INTERPRETER_PORT};
use agentyard_model::AuditEvent;
use bytes::{Bytes, BytesMut};
use http::{Method, Request};
use http_body_util::BodyExt as _;

use super::kept::Kept;
use super::{Sandboxes, Visit};
use crate::error::{Error, ErrorKind, Result};
use crate::masking::Mask;

/// The longest description of a program to be started. The kernel would start none with more.
const MAX_START_BYTES: usize = 2 * 1024 * 1024;

/// How much of a command or path is written down.
const MAX_SHOWN: usize = 500;

/// A request whose effect is about to be written down.
pub(super) struct Recorded {
    pub(super) request: Request<Body>,
    pub(super) event: Option<AuditEvent>,
}

/// What a request is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A program is started.
    Start,
    /// Code is run.
    Code,
    /// A file is written.
    Write,
    /// Files are changed otherwise, by the call of this name.
    Change(&'static str),
    /// Nothing that is written down.
    Other,
}

impl Sandboxes {
    /// Looks at a request, and says what is to be written down of it.
    ///
    /// # Errors
    /// When it describes a program at too great a length, breaks off, may not be made with the token that it came with,
    /// or is written so that one cannot tell what it asks for.
    pub(super) async fn recorded(
        &self,
        visit: &Visit,
        kept: Option<&Kept>,
        request: Request<Body>,
    ) -> Result<Recorded> {
        let id = visit.row.id;
        let path = request.uri().path();
        if [ENVD_PORT, INTERPRETER_PORT].contains(&visit.port) && !is_plain(path) {
            return Err(Error::invalid(format!(
                "there is no call `{}` in the sandbox {id}",
                cut(path)
            )));
        }
        let done = |action, target: String| Some(AuditEvent::done(&visit.owner, action, target));
        let event = match kind(visit.port, request.method(), path) {
            Kind::Other => None,
            // Who may look at what listens in a sandbox may not run anything there.
            Kind::Code if !visit.opens_all => {
                return Err(Error::new(
                    ErrorKind::Unauthenticated,
                    format!("running code in the sandbox {id} needs its access token"),
                )
                .hint("send it in the header `X-Access-Token`; sandbox_connect gives it"));
            }
            Kind::Code => done("sandbox_run_code", id.to_string()),
            Kind::Write => {
                let query = request.uri().query().unwrap_or_default();
                done("sandbox_file_change", format!("{id}: write {}", cut(query)))
            }
            Kind::Change(call) => done("sandbox_file_change", format!("{id}: {call}")),
            Kind::Start => {
                let mask = kept.map_or_else(Mask::nothing, Kept::mask);
                let (request, command) = peek(request).await?;
                let command = command.as_ref().map_or_else(String::new, |it| shown(it, &mask));
                let event = done("sandbox_process_start", format!("{id}: {command}"));
                return Ok(Recorded { request, event });
            }
        };
        Ok(Recorded { request, event })
    }
}

/// Whether everybody reads a path alike, so that no call is made that we did not see: nothing is escaped in it, and
/// between its slashes there is something.
fn is_plain(path: &str) -> bool {
    let mut words = path.strip_prefix('/').unwrap_or_default().split('/');
    path == "/" || words.all(|word| !word.is_empty() && !word.contains('%') && word != "." && word != "..")
}

/// Whichever method it comes by, for whoever answers may not mind.
fn kind(port: u16, method: &Method, path: &str) -> Kind {
    match (port, path) {
        (ENVD_PORT, "/process.Process/Start") => Kind::Start,
        (ENVD_PORT, "/files") if [Method::GET, Method::HEAD].contains(method) => Kind::Other,
        (ENVD_PORT, "/files") => Kind::Write,
        (ENVD_PORT, "/filesystem.Filesystem/MakeDir") => Kind::Change("make directory"),
        (ENVD_PORT, "/filesystem.Filesystem/Move") => Kind::Change("move"),
        (ENVD_PORT, "/filesystem.Filesystem/Remove") => Kind::Change("remove"),
        (INTERPRETER_PORT, "/execute") => Kind::Code,
        _ => Kind::Other,
    }
}

/// Reads the first message of a stream, and puts it back. What cannot be read is for whoever answers to refuse.
async fn peek(request: Request<Body>) -> Result<(Request<Body>, Option<StartRequest>)> {
    let (head, mut body) = request.into_parts();
    let (mut read, mut frames) = (BytesMut::new(), Frames::default());
    let message = loop {
        match frames.next_frame() {
            Ok(Some(Frame::Message(message))) => break Some(message),
            Ok(Some(Frame::End(_))) | Err(_) => break None,
            Ok(None) => {}
        }
        match body.frame().await {
            None => break None,
            Some(Err(error)) => {
                return Err(Error::new(
                    ErrorKind::Unavailable,
                    format!("the request broke off: {error}"),
                ));
            }
            Some(Ok(frame)) => {
                let Some(data) = frame.data_ref() else { continue };
                if read.len() + data.len() > MAX_START_BYTES {
                    return Err(Error::new(
                        ErrorKind::LimitExceeded,
                        format!(
                            "the program to be started is described in more than {MAX_START_BYTES} bytes"
                        ),
                    ));
                }
                read.extend_from_slice(data);
                frames.push(data);
            }
        }
    };
    let command = message.and_then(|message| serde_json::from_slice(&message).ok());
    let body = Body::new(Peeked {
        first: Some(read.freeze()).filter(|read| !read.is_empty()),
        rest: body,
    });
    Ok((Request::from_parts(head, body), command))
}

/// A body of which the beginning was read.
struct Peeked {
    first: Option<Bytes>,
    rest: Body,
}

impl http_body::Body for Peeked {
    type Data = Bytes;
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, Self::Error>>> {
        match self.first.take() {
            Some(first) => Poll::Ready(Some(Ok(http_body::Frame::data(first)))),
            None => Pin::new(&mut self.rest).poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.first.is_none() && self.rest.is_end_stream()
    }
}

/// A command as it stands in the log: masked, without control characters, and cut.
pub(super) fn shown(request: &StartRequest, mask: &Mask) -> String {
    let process = &request.process;
    let mut words: Vec<&str> = std::iter::once(&process.cmd)
        .chain(&process.args)
        .map(String::as_str)
        .collect();
    // Most clients let a shell run what was typed, which is what tells something.
    if let ["/bin/bash", "-l", "-c", typed] = words[..] {
        words = vec![typed];
    }
    // More than is shown in the end, since masking may make it shorter; all of it could be long.
    let text: String = words.join(" ").chars().take(4 * MAX_SHOWN).collect();
    cut(&mask.text(&text))
}

fn cut(text: &str) -> String {
    let mut shown: String = text.escape_debug().take(MAX_SHOWN).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use agentyard_envd::connect::message_frame;
    use agentyard_envd::process::Config;
    use agentyard_envd::{empty, full};
    use agentyard_model::Secret;

    use super::*;

    fn start(arguments: &[&str]) -> StartRequest {
        StartRequest {
            process: Config {
                cmd: "/bin/bash".to_owned(),
                args: arguments.iter().map(|it| (*it).to_owned()).collect(),
                ..Config::default()
            },
            ..StartRequest::default()
        }
    }

    #[tokio::test]
    async fn what_was_looked_at_is_handed_on_unchanged() {
        let mut sent = message_frame(&start(&["-l", "-c", "id"])).unwrap().to_vec();
        sent.extend_from_slice(b"and more");
        let request = Request::post("/").body(full(sent.clone())).unwrap();
        let (request, command) = peek(request).await.unwrap();
        assert_eq!(shown(&command.unwrap(), &Mask::nothing()), "id");
        assert_eq!(request.into_body().collect().await.unwrap().to_bytes(), sent);
        let nothing = Request::post("/").body(empty()).unwrap();
        let (nothing, command) = peek(nothing).await.unwrap();
        assert!(command.is_none());
        assert!(nothing.into_body().collect().await.unwrap().to_bytes().is_empty());
        let endless = Request::post("/")
            .body(full(vec![0; MAX_START_BYTES + 1]))
            .unwrap();
        assert!(peek(endless).await.is_err());
    }

    #[test]
    fn a_command_shows_neither_secrets_nor_control_characters_and_not_at_length() {
        let mask = Mask::new(&[("TOKEN".parse().unwrap(), Secret::new("hunter22hunter22"))]).unwrap();
        let text = shown(&start(&["-c", "echo hunter22hunter22 \u{1b}[0m"]), &mask);
        assert!(!text.contains("hunter22") && !text.contains('\u{1b}'), "{text}");
        let long = shown(&start(&["-c", &"x".repeat(9000)]), &mask);
        assert!(long.chars().count() <= MAX_SHOWN + 1, "{}", long.len());
    }

    #[test]
    fn only_what_changes_something_is_written_down() {
        let post = &Method::POST;
        assert_eq!(kind(ENVD_PORT, post, "/process.Process/Start"), Kind::Start);
        assert_eq!(
            kind(ENVD_PORT, &Method::PUT, "/process.Process/Start"),
            Kind::Start
        );
        assert_eq!(kind(ENVD_PORT, post, "/process.Process/List"), Kind::Other);
        assert_eq!(kind(ENVD_PORT, &Method::GET, "/files"), Kind::Other);
        assert_eq!(kind(ENVD_PORT, post, "/files"), Kind::Write);
        assert_eq!(kind(8080, post, "/execute"), Kind::Other);
        assert_eq!(kind(INTERPRETER_PORT, post, "/execute"), Kind::Code);
    }

    #[test]
    fn a_call_has_one_spelling() {
        for plain in ["/", "/files", "/process.Process/Start", "/contexts/0a-1/restart"] {
            assert!(is_plain(plain), "{plain}");
        }
        for other in [
            "",
            "*",
            "//files",
            "/files/",
            "/process.Process//Start",
            "/process.Process/%53tart",
            "/./files",
            "/x/../files",
        ] {
            assert!(!is_plain(other), "{other}");
        }
    }
}
