//! `process.Process`: programs that are started, talked to, and ended. Messages as protocol buffers write them in JSON.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The path of its calls: `/process.Process/Start`.
pub const SERVICE: &str = "process.Process";

/// A program to be started.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Config {
    /// The program.
    pub cmd: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// What is added to the sandbox's environment.
    pub envs: BTreeMap<String, String>,
    /// Where it starts; the home directory when nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
}

/// The size of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Size {
    /// Its columns.
    pub cols: u32,
    /// Its rows.
    pub rows: u32,
}

/// A terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Pty {
    /// Its size.
    pub size: Size,
}

/// `Start`, which answers with [`EventMessage`]s.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct StartRequest {
    /// What to start.
    pub process: Config,
    /// In which terminal, if in one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pty: Option<Pty>,
    /// By what it can be found again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// Whether it is going to be sent input. When nothing is said, it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdin: Option<bool>,
}

/// Which process is meant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Selector {
    /// The one with this number.
    Pid(u32),
    /// The one with this tag.
    Tag(String),
}

/// `Connect`, which answers with [`EventMessage`]s, and `CloseStdin`, which answers with nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessRequest {
    /// Which one.
    pub process: Selector,
}

/// One message of a stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventMessage {
    /// What happened.
    pub event: Event,
}

/// What happens to a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Event {
    /// It runs.
    Start {
        /// Its number.
        pid: u32,
    },
    /// It said something.
    Data(Data),
    /// It is over.
    End(End),
    /// Nothing, so that nobody thinks the connection dead.
    Keepalive {},
}

/// What a process says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Data {
    /// On standard output.
    Stdout(#[serde(with = "crate::connect::base64_bytes")] Vec<u8>),
    /// On standard error.
    Stderr(#[serde(with = "crate::connect::base64_bytes")] Vec<u8>),
    /// In its terminal.
    Pty(#[serde(with = "crate::connect::base64_bytes")] Vec<u8>),
}

/// How a process ended.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct End {
    /// Its exit code; -1 where a signal ended it.
    pub exit_code: i32,
    /// Whether it ended by itself.
    pub exited: bool,
    /// How it ended, in words: `exit status 3`, `signal: killed`.
    pub status: String,
    /// The same where it went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What a process is sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Input {
    /// For standard input.
    Stdin(#[serde(with = "crate::connect::base64_bytes")] Vec<u8>),
    /// For its terminal.
    Pty(#[serde(with = "crate::connect::base64_bytes")] Vec<u8>),
}

/// `SendInput`, which answers with nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SendInputRequest {
    /// Which one.
    pub process: Selector,
    /// What.
    pub input: Input,
}

/// One message of `StreamInput`, which answers with nothing when the last one came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StreamInputMessage {
    /// To which process; the first message.
    Start {
        /// Which one.
        process: Selector,
    },
    /// What it is sent.
    Data {
        /// What.
        input: Input,
    },
    /// Nothing.
    Keepalive {},
}

/// `SendSignal`, which answers with nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SendSignalRequest {
    /// Which one.
    pub process: Selector,
    /// What.
    pub signal: Signal,
}

/// The signals that can be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Signal {
    /// None.
    #[serde(rename = "SIGNAL_UNSPECIFIED")]
    Unspecified,
    /// Please end.
    #[serde(rename = "SIGNAL_SIGTERM")]
    Terminate,
    /// End.
    #[serde(rename = "SIGNAL_SIGKILL")]
    Kill,
}

/// `Update`, which answers with nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpdateRequest {
    /// Which one.
    pub process: Selector,
    /// Its terminal's new size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pty: Option<Pty>,
}

/// What `List` answers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ListResponse {
    /// Those that run.
    pub processes: Vec<Info>,
}

/// A process that runs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Info {
    /// As what it was started.
    pub config: Config,
    /// Its number.
    pub pid: u32,
    /// By what it can be found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_written_as_protocol_buffers_write_them() {
        let event = EventMessage {
            event: Event::Data(Data::Stdout(b"hi\n".to_vec())),
        };
        let text = serde_json::to_string(&event).unwrap();
        assert_eq!(text, r#"{"event":{"data":{"stdout":"aGkK"}}}"#);
        assert_eq!(serde_json::from_str::<EventMessage>(&text).unwrap(), event);
        let text = r#"{"process":{"cmd":"/bin/bash","args":["-l","-c","id"]},"stdin":false}"#;
        let request: StartRequest = serde_json::from_str(text).unwrap();
        assert_eq!(
            (request.process.args.len(), request.stdin, request.pty),
            (3, Some(false), None)
        );
        let text = r#"{"process":{"pid":7},"signal":"SIGNAL_SIGKILL"}"#;
        let request: SendSignalRequest = serde_json::from_str(text).unwrap();
        assert_eq!(
            (request.process, request.signal),
            (Selector::Pid(7), Signal::Kill)
        );
        let text = r#"{"data":{"input":{"stdin":"aGkK"}}}"#;
        let message: StreamInputMessage = serde_json::from_str(text).unwrap();
        let input = Input::Stdin(b"hi\n".to_vec());
        assert_eq!(message, StreamInputMessage::Data { input });
    }
}
