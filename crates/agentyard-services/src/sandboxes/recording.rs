//! What is done in a sandbox from outside is written down: programs that are started, code that is run, files that are
//! changed. What programs then do inside is not seen.

mod reading_ahead;

use agentyard_envd::filesystem::{MoveRequest, PathRequest, parameter};
use agentyard_envd::process::StartRequest;
use agentyard_envd::{Body, ENVD_PORT, INTERPRETER_PORT};
use agentyard_model::AuditEvent;
use http::{Method, Request};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::kept::Kept;
use super::{Sandboxes, Visit};
use crate::error::{Error, ErrorKind, Result};
use crate::masking::Mask;

/// How much of a command, a path or code is written down.
const MAX_SHOWN: usize = 500;

/// A request whose effect is about to be written down.
pub(super) struct Recorded {
    pub(super) request: Request<Body>,
    pub(super) event: Option<AuditEvent>,
}

/// What a request does that is written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Deed {
    Start,
    RunCode,
    Write,
    MakeDirectory,
    Move,
    Remove,
}

/// Code that is to be run, as far as it is written down.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Code {
    code: String,
    context_id: Option<String>,
    language: Option<String>,
}

impl Sandboxes {
    /// Looks at a request, and says what is to be written down of it.
    ///
    /// # Errors
    /// When it describes what is to be done at too great a length, breaks off, may not be made with the token that it came
    /// with, or is written so that one cannot tell what it asks for.
    pub(super) async fn recorded(
        &self,
        visit: &Visit,
        kept: Option<&Kept>,
        request: Request<Body>,
    ) -> Result<Recorded> {
        let id = visit.row.id;
        let path = request.uri().path();
        if [ENVD_PORT, INTERPRETER_PORT].contains(&visit.port) && !is_plain(path) {
            let shown = cut(path, &Mask::nothing());
            return Err(Error::invalid(format!(
                "there is no call `{shown}` in the sandbox {id}"
            )));
        }
        let Some(deed) = Deed::of(visit.port, request.method(), path) else {
            return Ok(Recorded { request, event: None });
        };
        let (request, message) = match deed {
            // Who may look at what listens in a sandbox may not run anything there.
            Deed::RunCode if !visit.opens_all => {
                return Err(Error::new(
                    ErrorKind::Unauthenticated,
                    format!("running code in the sandbox {id} needs its access token"),
                )
                .hint("send it in the header `X-Access-Token`; sandbox_connect gives it"));
            }
            Deed::Start => reading_ahead::first_message(request).await?,
            Deed::Write => {
                let query = request.uri().query().unwrap_or_default().to_owned();
                (request, query.into())
            }
            Deed::RunCode | Deed::MakeDirectory | Deed::Move | Deed::Remove => {
                reading_ahead::whole(request).await?
            }
        };
        let mask = kept.map_or_else(Mask::nothing, Kept::mask);
        let target = format!("{}: {}", visit.row.id, cut(&deed.told(&message), &mask));
        let event = AuditEvent::done(&visit.owner, deed.action(), target);
        Ok(Recorded {
            request,
            event: Some(event),
        })
    }
}

/// Whether everybody reads a path alike, so that no call is made that we did not see: nothing is escaped in it, and
/// between its slashes there is something.
fn is_plain(path: &str) -> bool {
    let mut words = path.strip_prefix('/').unwrap_or_default().split('/');
    path == "/" || words.all(|word| !word.is_empty() && !word.contains('%') && word != "." && word != "..")
}

impl Deed {
    /// Whichever method it comes by, for whoever answers may not mind.
    fn of(port: u16, method: &Method, path: &str) -> Option<Self> {
        match (port, path) {
            (ENVD_PORT, "/process.Process/Start") => Some(Self::Start),
            (ENVD_PORT, "/files") if [Method::GET, Method::HEAD].contains(method) => None,
            (ENVD_PORT, "/files") => Some(Self::Write),
            (ENVD_PORT, "/filesystem.Filesystem/MakeDir") => Some(Self::MakeDirectory),
            (ENVD_PORT, "/filesystem.Filesystem/Move") => Some(Self::Move),
            (ENVD_PORT, "/filesystem.Filesystem/Remove") => Some(Self::Remove),
            (INTERPRETER_PORT, "/execute") => Some(Self::RunCode),
            _ => None,
        }
    }

    /// What it is called in the log.
    fn action(self) -> &'static str {
        match self {
            Self::Start => "sandbox_process_start",
            Self::RunCode => "sandbox_run_code",
            Self::Write | Self::MakeDirectory | Self::Move | Self::Remove => "sandbox_file_change",
        }
    }

    /// What is done to what, as the request's message says, which for a file that is written is its query. What cannot
    /// be read is for whoever answers to refuse.
    fn told(self, message: &[u8]) -> String {
        match self {
            Self::Start => typed(&read(message)),
            Self::RunCode => {
                let Code {
                    code,
                    context_id,
                    language,
                } = read(message);
                let place = context_id.map(|id| format!("context {id}"));
                let place = place.or(language).unwrap_or_else(|| "python".to_owned());
                format!("{place}: {code}")
            }
            Self::Write => {
                let path = parameter(&String::from_utf8_lossy(message), "path");
                match path.filter(|path| !path.is_empty()) {
                    Some(path) => format!("write {path}"),
                    None => "write files that the request names one by one".to_owned(),
                }
            }
            Self::MakeDirectory => format!("make directory {}", read::<PathRequest>(message).path),
            Self::Remove => format!("remove {}", read::<PathRequest>(message).path),
            Self::Move => {
                let MoveRequest { source, destination } = read(message);
                format!("move {source} to {destination}")
            }
        }
    }
}

/// What a message says, or nothing.
fn read<T: DeserializeOwned + Default>(message: &[u8]) -> T {
    serde_json::from_slice(message).unwrap_or_default()
}

/// A command as it stands in the log.
pub(super) fn shown(request: &StartRequest, mask: &Mask) -> String {
    cut(&typed(request), mask)
}

fn typed(request: &StartRequest) -> String {
    let process = &request.process;
    let words: Vec<&str> = std::iter::once(&process.cmd)
        .chain(&process.args)
        .map(String::as_str)
        .collect();
    // Most clients let a shell run what was typed, which is what tells something.
    match words[..] {
        ["/bin/bash", "-l", "-c", typed] => typed.to_owned(),
        _ => words.join(" "),
    }
}

/// The beginning of a text, masked and without control characters.
fn cut(text: &str, mask: &Mask) -> String {
    let (mut masking, mut masked) = (mask.stream(), String::new());
    let mut characters = text.chars();
    // What may be the beginning of a secret is held back, so none shows in part where the text is cut.
    while masked.chars().count() <= MAX_SHOWN {
        let piece: String = characters.by_ref().take(MAX_SHOWN).collect();
        if piece.is_empty() {
            masked.push_str(&masking.finish());
            break;
        }
        masked.push_str(&masking.push(&piece));
    }
    let mut escaped = masked.escape_debug();
    let mut shown: String = escaped.by_ref().take(MAX_SHOWN).collect();
    if escaped.next().is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use agentyard_envd::process::Config;
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

    fn mask(secret: &str) -> Mask {
        Mask::new(&[("TOKEN".parse().unwrap(), Secret::new(secret))]).unwrap()
    }

    #[test]
    fn a_command_shows_neither_secrets_nor_control_characters_and_not_at_length() {
        let mask = mask("hunter22hunter22");
        let text = shown(&start(&["-c", "echo hunter22hunter22 \u{1b}[0m"]), &mask);
        assert!(!text.contains("hunter22") && !text.contains('\u{1b}'), "{text}");
        for long in ["x", "\n", "é"] {
            let long = shown(&start(&["-c", &long.repeat(9000)]), &mask);
            assert_eq!(long.chars().count(), MAX_SHOWN + 1, "{long}");
            assert!(long.ends_with('…'), "{long}");
        }
        assert_eq!(shown(&start(&["-l", "-c", "id"]), &mask), "id");
    }

    #[test]
    fn no_part_of_a_secret_shows_where_a_text_is_cut() {
        let secret: String = ('a'..='z').cycle().take(1500).collect();
        let mask = mask(&secret);
        for before in [0, 1, 400, 499, 501, 999] {
            let text = format!("{}{secret}{secret}{secret}", "-".repeat(before));
            let shown = cut(&text, &mask);
            assert!(!shown.contains("abc"), "{before}: {shown}");
        }
    }

    #[test]
    fn only_what_changes_something_is_written_down() {
        let post = &Method::POST;
        let start = "/process.Process/Start";
        for method in [post, &Method::PUT] {
            assert_eq!(Deed::of(ENVD_PORT, method, start), Some(Deed::Start));
        }
        assert_eq!(Deed::of(ENVD_PORT, post, "/process.Process/List"), None);
        assert_eq!(Deed::of(ENVD_PORT, &Method::GET, "/files"), None);
        assert_eq!(Deed::of(ENVD_PORT, post, "/files"), Some(Deed::Write));
        assert_eq!(Deed::of(8080, post, "/execute"), None);
        assert_eq!(Deed::of(INTERPRETER_PORT, post, "/execute"), Some(Deed::RunCode));
    }

    #[test]
    fn what_is_done_is_told_with_what_it_is_done_to() {
        for (deed, message, told) in [
            (Deed::RunCode, r#"{"code":"1 + 1"}"#, "python: 1 + 1"),
            (Deed::RunCode, r#"{"code":"ls","language":"bash"}"#, "bash: ls"),
            (
                Deed::RunCode,
                r#"{"code":"x","context_id":"c1","env_vars":{"A":"b"}}"#,
                "context c1: x",
            ),
            (Deed::Write, "username=user&path=%2Fa%20b+c", "write /a b c"),
            (
                Deed::Write,
                "username=user&path=",
                "write files that the request names one by one",
            ),
            (Deed::MakeDirectory, r#"{"path":"/a"}"#, "make directory /a"),
            (Deed::Remove, r#"{"path":"a/b"}"#, "remove a/b"),
            (
                Deed::Move,
                r#"{"source":"/a","destination":"/b"}"#,
                "move /a to /b",
            ),
            // It is written down that somebody tried.
            (Deed::Remove, "garbled", "remove "),
        ] {
            assert_eq!(deed.told(message.as_bytes()), told, "{deed:?} {message}");
        }
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
