//! Processes in a sandbox that stays: started, listened to, talked to, ended.

use std::collections::BTreeMap;
use std::time::Duration;

use agentyard_envd::client::{self, CallError, Messages, Ran};
use agentyard_envd::connect::{Code, STREAM, message_frame};
use agentyard_envd::process::{
    Config, Data, End, Event, EventMessage, Info, Input, ListResponse, ProcessRequest, SERVICE, Selector,
    SendInputRequest, SendSignalRequest, Signal, StartRequest, StreamInputMessage,
};
use agentyard_envd::{Exchange as _, empty, full};
use agentyard_sandbox::{STANDING_HOME, Standing};
use http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use serde::Serialize;
use serde_json::{Value, json};

use super::stand_up;
use crate::support::Place;

/// How long anything here may take.
const TIME: Duration = Duration::from_secs(60);

/// More than any test says.
const MOST: usize = 64 * 1024 * 1024;

pub(super) fn program(words: &[&str]) -> StartRequest {
    StartRequest {
        process: Config {
            cmd: words[0].to_owned(),
            args: words[1..].iter().map(|word| (*word).to_owned()).collect(),
            ..Config::default()
        },
        stdin: Some(false),
        ..StartRequest::default()
    }
}

pub(super) fn shell(script: &str) -> StartRequest {
    program(&["/bin/bash", "-c", script])
}

async fn run(standing: &Standing, request: &StartRequest) -> Result<Ran, CallError> {
    client::run(standing, request, TIME, MOST).await
}

/// What it says, if it ends well.
async fn output(standing: &Standing, script: &str) -> String {
    let ran = run(standing, &shell(script)).await.unwrap();
    assert_eq!(ran.end.exit_code, 0, "{ran:?}");
    String::from_utf8(ran.stdout).unwrap()
}

pub(super) async fn start(standing: &Standing, request: &StartRequest) -> (u32, Messages<EventMessage>) {
    opened(
        client::stream(standing, SERVICE, "Start", request, None)
            .await
            .unwrap(),
    )
    .await
}

async fn connect(standing: &Standing, process: Selector) -> (u32, Messages<EventMessage>) {
    let request = ProcessRequest { process };
    opened(
        client::stream(standing, SERVICE, "Connect", &request, None)
            .await
            .unwrap(),
    )
    .await
}

async fn opened(mut events: Messages<EventMessage>) -> (u32, Messages<EventMessage>) {
    match events.next().await.unwrap().unwrap().event {
        Event::Start { pid } => (pid, events),
        other => panic!("{other:?} comes before the start"),
    }
}

/// What is said until it holds these words, or until the end.
pub(super) async fn until(events: &mut Messages<EventMessage>, words: &str) -> String {
    let mut said = String::new();
    while !said.contains(words) {
        match events.next().await.unwrap().unwrap().event {
            Event::Data(Data::Stdout(bytes) | Data::Pty(bytes)) => said += &String::from_utf8_lossy(&bytes),
            Event::End(end) => panic!("it ended before it said {words}: {end:?}, {said}"),
            _ => {}
        }
    }
    said
}

/// All that is said from now on, and how it ended. After the end there is nothing.
pub(super) async fn rest(events: &mut Messages<EventMessage>) -> (String, End) {
    let mut said = String::new();
    loop {
        match events.next().await.unwrap().unwrap().event {
            Event::Data(Data::Stdout(bytes) | Data::Pty(bytes)) => said += &String::from_utf8_lossy(&bytes),
            Event::End(end) => {
                assert!(events.next().await.unwrap().is_none());
                return (said, end);
            }
            _ => {}
        }
    }
}

pub(super) async fn call(
    standing: &Standing,
    method: &str,
    request: &(impl Serialize + Sync),
) -> Result<(), CallError> {
    client::call::<Value>(standing, SERVICE, method, request)
        .await
        .map(drop)
}

async fn list(standing: &Standing) -> Vec<Info> {
    let listed: ListResponse = client::call(standing, SERVICE, "List", &json!({})).await.unwrap();
    listed.processes
}

fn input(pid: u32, text: &str) -> SendInputRequest {
    SendInputRequest {
        process: Selector::Pid(pid),
        input: Input::Stdin(text.as_bytes().to_vec()),
    }
}

fn signal(pid: u32, signal: Signal) -> SendSignalRequest {
    SendSignalRequest {
        process: Selector::Pid(pid),
        signal,
    }
}

fn code<T: std::fmt::Debug>(result: Result<T, CallError>) -> Code {
    match result {
        Err(CallError::Refused(fault)) => {
            assert!(!fault.message.is_empty());
            fault.code
        }
        other => panic!("{other:?} is no refusal"),
    }
}

#[tokio::test]
async fn what_a_program_says_and_how_it_ends_is_told() {
    let place = Place::new();
    let standing = stand_up(&place).await;
    let ran = run(&standing, &shell("echo out; echo err >&2; exit 3"))
        .await
        .unwrap();
    assert_eq!((&ran.stdout[..], &ran.stderr[..]), (&b"out\n"[..], &b"err\n"[..]));
    assert_eq!((ran.end.exit_code, ran.end.exited), (3, true));
    assert_eq!(ran.end.error.as_deref(), Some("exit status 3"));
    let ran = run(&standing, &shell("kill -KILL $$")).await.unwrap();
    assert_eq!((ran.end.exit_code, ran.end.exited), (-1, false));
    assert_eq!(ran.end.status, "signal: killed");
    // What it leaves behind does not keep it from ending, and is not disturbed by that.
    let script = "(until [ -e go ]; do sleep 0.01; done; echo late; echo late > late) & echo now";
    assert_eq!(output(&standing, script).await, "now\n");
    let script = "touch go; until [ -s late ]; do sleep 0.01; done; cat late";
    assert_eq!(output(&standing, script).await, "late\n");
    standing.take_down().await;
}

#[tokio::test]
async fn programs_know_where_and_who_they_are() {
    let place = Place::new();
    let standing = stand_up(&place).await;
    let names = "echo $HOME $USER $LOGNAME $PWD; pwd; id -un; cat";
    let home = format!("{STANDING_HOME} user user {STANDING_HOME}\n{STANDING_HOME}\nuser\n");
    assert_eq!(output(&standing, names).await, home);

    let init = Request::post("/init")
        .body(full(r#"{"envVars":{"A":"init","B":"init"}}"#))
        .unwrap();
    assert_eq!(
        standing.exchange(init).await.unwrap().status(),
        StatusCode::NO_CONTENT
    );
    let shown = standing
        .exchange(Request::get("/envs").body(empty()).unwrap())
        .await
        .unwrap();
    let shown = shown.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(
        serde_json::from_slice::<Value>(&shown).unwrap(),
        json!({"A": "init", "B": "init"})
    );

    std::fs::create_dir(place.path().join("below")).unwrap();
    for cwd in ["below", "~/below", "/home/user/below"] {
        let mut request = shell("echo $A $B $PWD");
        request.process.cwd = Some(cwd.to_owned());
        request.process.envs = BTreeMap::from([("B".to_owned(), "request".to_owned())]);
        let ran = run(&standing, &request).await.unwrap();
        assert_eq!(ran.stdout, b"init request /home/user/below\n");
    }
    // A program without a directory is looked for in the PATH that it is given.
    std::fs::write(place.path().join("below/hello"), "#!/bin/sh\necho hello\n").unwrap();
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(place.path().join("below/hello"), executable).unwrap();
    let mut request = program(&["hello"]);
    assert_eq!(code(run(&standing, &request).await), Code::NotFound);
    request.process.envs = BTreeMap::from([("PATH".to_owned(), "/home/user/below:/bin".to_owned())]);
    assert_eq!(run(&standing, &request).await.unwrap().stdout, b"hello\n");
    standing.take_down().await;
}

#[tokio::test]
async fn what_cannot_be_started_is_refused_with_a_reason() {
    let place = Place::new();
    let standing = stand_up(&place).await;
    let mut request = shell("true");
    request.process.cwd = Some("/nowhere".to_owned());
    let refused = run(&standing, &request).await.unwrap_err();
    assert!(
        refused.to_string().contains("cwd '/nowhere' does not exist"),
        "{refused}"
    );
    assert_eq!(code::<Ran>(Err(refused)), Code::InvalidArgument);
    assert_eq!(
        code(run(&standing, &program(&["/bin/nothing"])).await),
        Code::NotFound
    );
    assert_eq!(
        code(run(&standing, &program(&["/etc/passwd"])).await),
        Code::InvalidArgument
    );
    assert_eq!(code(run(&standing, &program(&[""])).await), Code::InvalidArgument);
    assert_eq!(
        code(run(&standing, &program(&["/bin/echo", "a\0b"])).await),
        Code::InvalidArgument
    );
    let mut request = shell("true");
    request.process.envs = BTreeMap::from([("A=B".to_owned(), String::new())]);
    assert_eq!(code(run(&standing, &request).await), Code::InvalidArgument);
    let mut request = shell("true");
    request.tag = Some("t".repeat(300));
    assert_eq!(code(run(&standing, &request).await), Code::InvalidArgument);
    assert_eq!(
        code(call(&standing, "Nothing", &json!({})).await),
        Code::Unimplemented
    );
    standing.take_down().await;
}

#[tokio::test]
async fn nobody_becomes_root() {
    let place = Place::new();
    let standing = stand_up(&place).await;
    // `root:` and `user:`.
    for (name, wanted) in [("cm9vdDo=", StatusCode::FORBIDDEN), ("dXNlcjo=", StatusCode::OK)] {
        let request = Request::post(format!("/{SERVICE}/List"))
            .header("authorization", format!("Basic {name}"))
            .body(full("{}"))
            .unwrap();
        let answer = standing.exchange(request).await.unwrap();
        assert_eq!(answer.status(), wanted);
    }
    standing.take_down().await;
}

#[tokio::test]
async fn the_daemon_cannot_be_looked_into() {
    let place = Place::new();
    let standing = stand_up(&place).await;
    // Those that are started are as usual.
    let script = "cat /proc/self/environ > /dev/null && echo own; \
                  cat /proc/$PPID/environ 2>/dev/null || echo closed; \
                  ls /proc/$PPID/fd/ >/dev/null 2>&1 || echo closed; \
                  (echo > /proc/$PPID/fd/0) 2>/dev/null || echo closed";
    assert_eq!(output(&standing, script).await, "own\nclosed\nclosed\nclosed\n");
    standing.take_down().await;
}

#[tokio::test]
async fn a_process_is_talked_to_until_its_input_is_closed() {
    let place = Place::new();
    let standing = stand_up(&place).await;
    // When nothing is said about it, there is a standard input.
    let request = StartRequest {
        stdin: None,
        ..program(&["/bin/cat"])
    };
    let (pid, mut events) = start(&standing, &request).await;
    call(&standing, "SendInput", &input(pid, "one\n")).await.unwrap();
    assert_eq!(until(&mut events, "one\n").await, "one\n");
    call(&standing, "SendInput", &input(pid, "two\n")).await.unwrap();
    let process = Selector::Pid(pid);
    call(&standing, "CloseStdin", &ProcessRequest { process })
        .await
        .unwrap();
    let (said, end) = rest(&mut events).await;
    assert_eq!((said.as_str(), end.exit_code), ("two\n", 0));
    assert_eq!(
        code(call(&standing, "SendInput", &input(pid, "x")).await),
        Code::NotFound
    );

    let (pid, mut events) = start(&standing, &program(&["/bin/cat"])).await;
    let refused = call(&standing, "SendInput", &input(pid, "x")).await;
    assert!(matches!(code(refused), Code::NotFound | Code::FailedPrecondition));
    assert_eq!(rest(&mut events).await.1.exit_code, 0);
    standing.take_down().await;
}

#[tokio::test]
async fn much_input_is_taken_as_fast_as_the_process_reads() {
    let place = Place::new();
    let standing = stand_up(&place).await;
    let request = StartRequest {
        stdin: Some(true),
        tag: Some("count".to_owned()),
        ..shell("sleep 0.2; wc -c")
    };
    let (pid, mut events) = start(&standing, &request).await;
    let piece = "x".repeat(1 << 20);
    let mut frames = Vec::new();
    let mut add = |message: StreamInputMessage| frames.extend(message_frame(&message).unwrap());
    let process = Selector::Tag("count".to_owned());
    add(StreamInputMessage::Start { process });
    for _ in 0..3 {
        add(StreamInputMessage::Keepalive {});
        add(StreamInputMessage::Data {
            input: Input::Stdin(piece.clone().into_bytes()),
        });
    }
    let request = Request::post(format!("/{SERVICE}/StreamInput"))
        .header("content-type", STREAM)
        .body(full(frames))
        .unwrap();
    let answer = standing.exchange(request).await.unwrap();
    let answer = answer.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(&answer[..], b"\0\0\0\0\x02{}\x02\0\0\0\x02{}");
    call(&standing, "SendInput", &input(pid, &piece)).await.unwrap();
    let process = Selector::Pid(pid);
    call(&standing, "CloseStdin", &ProcessRequest { process })
        .await
        .unwrap();
    assert_eq!(rest(&mut events).await.0.trim(), (4 << 20).to_string());
    standing.take_down().await;
}

#[tokio::test]
async fn signals_reach_a_process_and_its_children() {
    let place = Place::new();
    let standing = stand_up(&place).await;
    let (pid, mut events) = start(
        &standing,
        &shell("trap 'echo asked; exit 7' TERM; echo up; sleep 1000 & wait"),
    )
    .await;
    until(&mut events, "up").await;
    call(&standing, "SendSignal", &signal(pid, Signal::Terminate))
        .await
        .unwrap();
    let (said, end) = rest(&mut events).await;
    assert_eq!((said.as_str(), end.exit_code), ("asked\n", 7));
    let (pid, mut events) = start(&standing, &shell("sleep 1000 & echo $!; wait")).await;
    let child = until(&mut events, "\n").await;
    call(&standing, "SendSignal", &signal(pid, Signal::Kill))
        .await
        .unwrap();
    assert_eq!(rest(&mut events).await.1.status, "signal: killed");
    let gone = format!("while kill -0 {} 2>/dev/null; do sleep 0.01; done", child.trim());
    output(&standing, &gone).await;
    assert_eq!(
        code(call(&standing, "SendSignal", &signal(pid, Signal::Kill)).await),
        Code::NotFound
    );
    assert_eq!(
        code(call(&standing, "SendSignal", &signal(9999, Signal::Kill)).await),
        Code::NotFound
    );
    standing.take_down().await;
}

#[tokio::test]
async fn a_process_ends_when_its_time_is_over() {
    let place = Place::new();
    let standing = stand_up(&place).await;
    let request = StartRequest {
        tag: Some("slow".to_owned()),
        ..shell("echo up; sleep 1000")
    };
    let time = Some(Duration::from_millis(300));
    let stream = client::stream(&standing, SERVICE, "Start", &request, time)
        .await
        .unwrap();
    let (_, mut events) = opened(stream).await;
    let (_, mut listening) = connect(&standing, Selector::Tag("slow".to_owned())).await;
    let refused = loop {
        match events.next().await {
            Ok(message) => assert!(matches!(message.unwrap().event, Event::Data(_))),
            Err(error) => break error,
        }
    };
    assert_eq!(code::<()>(Err(refused)), Code::DeadlineExceeded);
    // Others learn how it ended.
    assert_eq!(rest(&mut listening).await.1.status, "signal: killed");
    assert_eq!(list(&standing).await, []);
    standing.take_down().await;
}

#[tokio::test]
async fn a_process_outlives_its_stream_and_is_found_again() {
    let place = Place::new();
    let standing = stand_up(&place).await;
    let request = StartRequest {
        tag: Some("server".to_owned()),
        stdin: Some(true),
        ..shell("echo up; read line; echo $line; read line; exit $line")
    };
    let (pid, mut events) = start(&standing, &request).await;
    until(&mut events, "up").await;
    drop(events);
    // Those who went away take nobody's place.
    for _ in 0..50 {
        connect(&standing, Selector::Pid(pid)).await;
    }
    let (found, mut first) = connect(&standing, Selector::Pid(pid)).await;
    let (_, mut second) = connect(&standing, Selector::Tag("server".to_owned())).await;
    assert_eq!(found, pid);
    let listed = list(&standing).await;
    assert_eq!(listed.len(), 1);
    assert_eq!((listed[0].pid, listed[0].tag.as_deref()), (pid, Some("server")));
    assert_eq!(listed[0].config, request.process);
    call(&standing, "SendInput", &input(pid, "hello\n"))
        .await
        .unwrap();
    assert_eq!(until(&mut first, "hello").await, "hello\n");
    assert_eq!(until(&mut second, "hello").await, "hello\n");
    call(&standing, "SendInput", &input(pid, "5\n")).await.unwrap();
    assert_eq!(rest(&mut first).await.1.exit_code, 5);
    assert_eq!(rest(&mut second).await.1.exit_code, 5);
    // It is over, and how it ended can still be asked.
    assert_eq!(list(&standing).await, []);
    let (_, mut late) = connect(&standing, Selector::Pid(pid)).await;
    assert_eq!(rest(&mut late).await.1.exit_code, 5);
    let process = Selector::Tag("nobody".to_owned());
    let mut stream: Messages<EventMessage> =
        client::stream(&standing, SERVICE, "Connect", &ProcessRequest { process }, None)
            .await
            .unwrap();
    assert_eq!(code(stream.next().await), Code::NotFound);
    standing.take_down().await;
}

#[tokio::test]
async fn ten_megabytes_arrive_whole_though_the_reader_is_slow() {
    let place = Place::new();
    let standing = stand_up(&place).await;
    let script = "head -c 10485760 /dev/zero | tr '\\0' x; echo written > written; echo end >&2";
    let (_, mut events) = start(&standing, &shell(script)).await;
    // A reader that takes nothing holds up its own process, and nobody else.
    let other = shell("head -c 4194304 /dev/zero; sleep 0.2; test -e written; echo $? >&2");
    let ran = run(&standing, &other).await.unwrap();
    assert_eq!((ran.stdout.len(), &ran.stderr[..]), (4_194_304, &b"1\n"[..]));
    let (said, end) = rest(&mut events).await;
    assert_eq!(end.exit_code, 0);
    assert_eq!(said.len(), 10_485_760);
    assert!(said.bytes().all(|byte| byte == b'x'));
    standing.take_down().await;
}

#[tokio::test]
async fn a_process_to_which_nobody_listens_does_not_stand_still() {
    let place = Place::new();
    let standing = stand_up(&place).await;
    let script = "read go; head -c 20000000 /dev/zero; echo done > done";
    let request = StartRequest {
        stdin: Some(true),
        ..shell(script)
    };
    let (pid, events) = start(&standing, &request).await;
    // One that stops to listen halfway sets it free too.
    let (_, stalled) = connect(&standing, Selector::Pid(pid)).await;
    drop(events);
    call(&standing, "SendInput", &input(pid, "go\n")).await.unwrap();
    drop(stalled);
    output(&standing, "until [ -s done ]; do sleep 0.01; done").await;
    standing.take_down().await;
}

#[tokio::test]
async fn many_that_nobody_reads_do_not_hold_up_the_others() {
    let place = Place::new();
    let standing = stand_up(&place).await;
    let mut stalled = Vec::new();
    for _ in 0..40 {
        stalled.push(start(&standing, &program(&["/usr/bin/yes"])).await);
    }
    assert_eq!(list(&standing).await.len(), 40);
    let ran = run(&standing, &shell("head -c 4194304 /dev/zero")).await.unwrap();
    assert_eq!(ran.stdout.len(), 4_194_304);
    standing.take_down().await;
}

#[tokio::test]
async fn a_hundred_processes_leave_nothing() {
    let place = Place::new();
    let standing = stand_up(&place).await;
    // The daemon, this shell and its parts, and those of bubblewrap; zombies would be among them.
    let count = "$(ls -d /proc/[0-9]* | wc -l)";
    let before = output(&standing, &format!("echo {count}")).await;
    for number in 0..100 {
        let said = output(&standing, &format!("echo {number}; (sleep 0 &)")).await;
        assert_eq!(said, format!("{number}\n"));
    }
    let settled = format!("until [ {count} -le {} ]; do sleep 0.01; done", before.trim());
    output(&standing, &settled).await;
    assert_eq!(list(&standing).await, []);
    standing.take_down().await;
}
