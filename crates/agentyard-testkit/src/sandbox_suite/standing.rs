//! What a sandbox that stays does, whoever keeps it.

use std::collections::BTreeMap;
use std::time::Duration;

use agentyard_envd::client::{self, Messages, Ran};
use agentyard_envd::process::{self, Config, Event, EventMessage, StartRequest};
use agentyard_envd::{Exchange as _, empty, full};
use agentyard_sandbox::{EndCause, STANDING_HOME, Sandbox, Site, Standing};
use http_body_util::BodyExt as _;
use tokio::time::timeout;

use super::place::{PATIENCE, lives, unique, until};

/// How much of a program's output is kept.
const KEPT: usize = 1 << 20;

/// Stands one up.
pub async fn stood(sandbox: &dyn Sandbox, site: Site) -> Standing {
    sandbox.stand_up(site).await.expect("a sandbox that stays")
}

/// A script, to be run by the daemon inside.
#[must_use]
pub fn script(text: &str) -> StartRequest {
    StartRequest {
        process: Config {
            cmd: "/bin/bash".to_owned(),
            args: vec!["-c".to_owned(), text.to_owned()],
            ..Config::default()
        },
        stdin: Some(false),
        ..StartRequest::default()
    }
}

/// Runs a script inside, to its end.
pub async fn ran(standing: &Standing, text: &str) -> Ran {
    let request = script(text);
    let ran = client::run(standing, &request, PATIENCE, KEPT);
    timeout(PATIENCE, ran).await.expect("it ends").expect("it runs")
}

/// What a script says.
pub async fn said(standing: &Standing, text: &str) -> String {
    String::from_utf8_lossy(&ran(standing, text).await.stdout).into_owned()
}

/// Starts a script that goes on, and waits until it runs.
pub async fn started(standing: &Standing, text: &str) -> (u32, Messages<EventMessage>) {
    let mut events: Messages<EventMessage> =
        client::stream(standing, process::SERVICE, "Start", &script(text), None)
            .await
            .expect("it starts");
    loop {
        match next(&mut events).await {
            Event::Start { pid } => return (pid, events),
            Event::Keepalive {} => {}
            other => panic!("{other:?}"),
        }
    }
}

async fn next(events: &mut Messages<EventMessage>) -> Event {
    let message = timeout(PATIENCE, events.next()).await.expect("something happens");
    message.expect("the stream holds").expect("it goes on").event
}

/// A program's outputs come apart, with its exit code, and its environment is the sandbox's and its own.
pub async fn runs_commands(sandbox: &dyn Sandbox, mut site: Site) {
    site.environment.push(("GIVEN".to_owned(), "a b".to_owned()));
    let standing = stood(sandbox, site).await;
    let ran = ran(&standing, "echo out; echo err >&2; echo $GIVEN; exit 3").await;
    assert_eq!(
        (ran.stdout.as_slice(), ran.stderr.as_slice()),
        (&b"out\na b\n"[..], &b"err\n"[..])
    );
    assert_eq!((ran.end.exit_code, ran.end.exited), (3, true));
    let mut own = script("echo $OWN; pwd");
    own.process.envs = BTreeMap::from([("OWN".to_owned(), "own".to_owned())]);
    own.process.cwd = Some("/tmp".to_owned());
    let ran = client::run(&standing, &own, PATIENCE, KEPT)
        .await
        .expect("it runs");
    assert_eq!(ran.stdout, b"own\n/tmp\n");
    standing.take_down().await;
}

/// Programs start in the home directory of somebody who is not root.
pub async fn has_a_home_and_a_user(sandbox: &dyn Sandbox, site: Site) {
    let standing = stood(sandbox, site).await;
    let seen = said(
        &standing,
        "pwd; echo $HOME; id -u; touch ~/made /tmp/made && echo writable",
    )
    .await;
    let lines: Vec<&str> = seen.lines().collect();
    assert_eq!(lines[..2], [STANDING_HOME, STANDING_HOME], "{seen}");
    assert_ne!(lines[2], "0");
    assert_eq!(lines[3], "writable");
    standing.take_down().await;
}

/// Files are written and read, by calls and by programs.
pub async fn keeps_files(sandbox: &dyn Sandbox, site: Site) {
    let standing = stood(sandbox, site).await;
    let path = format!("{STANDING_HOME}/below/file");
    client::write_file(&standing, &path, full("by a call"))
        .await
        .expect("it is written");
    assert_eq!(
        said(&standing, &format!("cat {path}; echo -n more >> {path}")).await,
        "by a call"
    );
    let read = client::read_file(&standing, &path).await.expect("it is there");
    let read = read.collect().await.expect("all of it").to_bytes();
    assert_eq!(&read[..], b"by a callmore");
    assert!(client::read_file(&standing, "/home/user/absent").await.is_err());
    standing.take_down().await;
}

/// A program that goes on does not keep others from running, and is ended by one of them.
pub async fn runs_programs_beside_each_other(sandbox: &dyn Sandbox, site: Site) {
    let standing = stood(sandbox, site).await;
    let (pid, mut events) = started(&standing, "exec sleep 1000").await;
    assert_eq!(ran(&standing, &format!("kill {pid}")).await.end.exit_code, 0);
    loop {
        if let Event::End(end) = next(&mut events).await {
            assert!(!end.exited, "{end:?}");
            break;
        }
    }
    standing.take_down().await;
}

/// What ran before it was frozen runs on afterwards, and what was asked meanwhile is answered then.
pub async fn goes_on_after_it_was_frozen(sandbox: &dyn Sandbox, site: Site) {
    let standing = stood(sandbox, site).await;
    let (pid, _events) = started(&standing, "exec sleep 1000").await;
    standing.freeze().await.expect("it is frozen");
    let (answered, thawed) = tokio::join!(said(&standing, "echo answered"), standing.thaw());
    thawed.expect("it is thawed");
    assert_eq!(answered, "answered\n");
    assert_eq!(
        said(&standing, &format!("kill -0 {pid} && echo lives")).await,
        "lives\n"
    );
    standing.take_down().await;
}

/// Taking one down ends everybody in it.
pub async fn ends_when_it_is_taken_down(sandbox: &dyn Sandbox, site: Site) {
    let standing = stood(sandbox, site).await;
    let word = unique();
    let (_, _events) = started(&standing, &format!("exec setsid bash -c 'sleep 1000; :' {word}")).await;
    until("it runs", || lives(&word)).await;
    standing.take_down().await;
    gone(&standing, &word).await;
}

/// So it is when everybody is frozen.
pub async fn ends_when_it_is_taken_down_frozen(sandbox: &dyn Sandbox, site: Site) {
    let standing = stood(sandbox, site).await;
    let word = unique();
    let (_, _events) = started(&standing, &format!("exec bash -c 'sleep 1000; :' {word}")).await;
    until("it runs", || lives(&word)).await;
    standing.freeze().await.expect("it is frozen");
    timeout(PATIENCE, standing.take_down()).await.expect("in time");
    gone(&standing, &word).await;
}

async fn gone(standing: &Standing, word: &str) {
    let ended = timeout(PATIENCE, standing.ended()).await.expect("in time");
    assert_eq!(ended, EndCause::Stopped);
    until("nobody is left", || !lives(word)).await;
    let request = http::Request::get("/health").body(empty()).expect("a request");
    assert!(standing.exchange(request).await.is_err(), "nobody answers");
}

/// Nobody holds it any more: it ends.
pub async fn ends_when_nobody_holds_it(sandbox: &dyn Sandbox, site: Site) {
    let standing = stood(sandbox, site).await;
    let word = unique();
    let (_, events) = started(&standing, &format!("exec bash -c 'sleep 1000; :' {word}")).await;
    until("it runs", || lives(&word)).await;
    drop((events, standing));
    until("nobody is left", || !lives(&word)).await;
}

/// Without a network nobody is reached, not even this machine.
pub async fn reaches_nobody_without_a_network(sandbox: &dyn Sandbox, site: Site) {
    let standing = stood(sandbox, site).await;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let reach = format!("(exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null && echo reached || echo alone");
    assert_eq!(said(&standing, &reach).await, "alone\n");
    let _ = timeout(Duration::from_secs(30), standing.take_down()).await;
}
