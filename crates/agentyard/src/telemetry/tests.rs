//! Telemetry is global to a process, and the SDK reads the environment of its process. So each
//! test here starts this very test program again, as a child that plays one part.

mod collector;

use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use opentelemetry::KeyValue;

use self::collector::{Collector, Manner};
use super::*;

/// The variable that tells a child its part.
const PART: &str = "AGENTYARD_TEST_TELEMETRY_PART";

/// The variable that tells a child the format of its log.
const FORMAT: &str = "AGENTYARD_TEST_TELEMETRY_FORMAT";

/// What an attacker would like to have logged.
const HOSTILE: &str = "x\n2026-01-01T00:00:00Z ERROR agentyard: forged\r\u{1b}[2J\u{9b}31m\u{7f}\u{202e}";

#[derive(Debug, thiserror::Error)]
#[error("outer {HOSTILE}")]
struct Outer(#[source] std::fmt::Error);

#[test]
fn child() {
    let environment = Environment::of_process();
    let Some(part) = environment.text(PART).unwrap() else {
        return;
    };
    let settings = LogSettings {
        filter: "info".to_owned(),
        format: match environment.text(FORMAT).unwrap() {
            Some("human") => LogFormat::Human,
            Some("json") => LogFormat::Json,
            _ => LogFormat::Auto,
        },
    };
    let face = if part == "serve" {
        Face::Server
    } else {
        Face::Stdio
    };
    let telemetry = start(&settings, face, &environment).unwrap();
    match part {
        "log" => log_hostile_things(),
        "export" | "serve" => measure(),
        "quiet" => assert!(telemetry.traces.is_none() && telemetry.meters.is_none()),
        other => panic!("unknown part {other}"),
    }
    if part == "serve" {
        tracing::info!(target: "agentyard", metrics = telemetry.metrics_renderer()(), "measured");
    }
    telemetry.shutdown();
}

fn log_hostile_things() {
    let span =
        tracing::info_span!(target: "agentyard", "request", path = HOSTILE, later = tracing::field::Empty);
    span.record("later", HOSTILE);
    let _entered = span.enter();
    let error = Outer(std::fmt::Error);
    let error = &error as &(dyn std::error::Error + 'static);
    tracing::info!(target: "agentyard", number = 7, plain = "git/status", text = HOSTILE, shown = %HOSTILE, debugged = ?HOSTILE, error, "message {HOSTILE}");
    tracing::info!(target: "rmcp::service", "secret request");
    tracing::debug!(target: "agentyard", "too fine");
}

fn measure() {
    let span = tracing::info_span!(target: "agentyard", "the-span-of-the-test", colour = "green");
    span.in_scope(|| tracing::info!(target: "agentyard", "inside"));
    drop(span);
    tracing::info_span!(target: "hyper", "a-span-of-a-library").in_scope(|| {});
    let meter = global::meter("agentyard");
    let counter = meter
        .u64_counter("agentyard.test.calls")
        .with_description("Calls")
        .build();
    counter.add(3, &[KeyValue::new("operation", "git\"_status\n")]);
}

/// Starts the child with these variables and nothing else.
fn run(variables: &[(&str, &str)]) -> Output {
    prepare(variables).output().unwrap()
}

#[expect(clippy::disallowed_methods, reason = "the test starts itself")]
fn prepare(variables: &[(&str, &str)]) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([
            "--exact",
            "telemetry::tests::child",
            "--nocapture",
            "--test-threads=1",
        ])
        .env_clear()
        .envs(variables.iter().copied())
        .stdin(Stdio::null());
    command
}

/// What the child wrote to standard error, having checked that it ended well and that
/// standard output has what the test harness prints and no more.
fn log_of(output: &Output) -> String {
    let log = String::from_utf8(output.stderr.clone()).unwrap();
    assert!(output.status.success(), "{log}");
    let printed = String::from_utf8(output.stdout.clone()).unwrap();
    for line in printed.lines().filter(|line| !line.is_empty()) {
        assert!(
            line.starts_with("running 1") || line.starts_with("test "),
            "on standard output: {line}"
        );
    }
    log
}

#[test]
fn people_read_lines_that_nobody_can_forge() {
    let log = log_of(&run(&[(PART, "log"), (FORMAT, "human")]));
    let line = log.strip_suffix('\n').unwrap();
    assert!(!line.contains(escape::is_unsafe), "{line}");
    const ESCAPED: &str =
        r"x\n2026-01-01T00:00:00Z ERROR agentyard: forged\r\u{1b}[2J\u{9b}31m\u{7f}\u{202e}";
    let (time, rest) = line.split_once(' ').unwrap();
    assert!(time.starts_with("20") && time.ends_with('Z'), "{time}");
    let quoted = format!("{HOSTILE:?}");
    let quoted_twice = format!("{quoted:?}");
    let chain = format!(
        "{:?}",
        format!("outer {HOSTILE}: an error occurred when formatting an argument")
    );
    assert_eq!(
        rest.trim_start(),
        format!(
            "INFO request{{path={quoted} later={quoted}}}: agentyard: message {ESCAPED} number=7 plain=git/status text={quoted} \
             shown={quoted} debugged={quoted_twice} error={chain}"
        )
    );
}

#[test]
fn machines_read_one_json_object_a_line() {
    // Nothing says which format: standard error is not a terminal here.
    let log = log_of(&run(&[(PART, "log")]));
    let line = log.strip_suffix('\n').unwrap();
    assert!(!line.contains(escape::is_unsafe), "{line}");
    let mut event: serde_json::Value = serde_json::from_str(line).unwrap();
    assert!(event["timestamp"].take().as_str().unwrap().ends_with('Z'));
    assert_eq!(
        event,
        serde_json::json!({
            "timestamp": null,
            "level": "INFO",
            "target": "agentyard",
            "message": format!("message {HOSTILE}"),
            "number": 7,
            "plain": "git/status",
            "text": HOSTILE,
            "shown": HOSTILE,
            "debugged": format!("{HOSTILE:?}"),
            "error": format!("outer {HOSTILE}: an error occurred when formatting an argument"),
            "spans": [{ "name": "request", "path": HOSTILE, "later": HOSTILE }],
        })
    );
}

#[test]
fn nothing_is_made_that_nobody_asked_for() {
    let output = run(&[(PART, "quiet")]);
    assert_eq!(log_of(&output), "");
}

#[test]
fn a_reader_that_went_away_stops_nothing() {
    let mut command = prepare(&[(PART, "log")]);
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    let status = command.stdout(Stdio::null()).stderr(writer).status().unwrap();
    assert!(status.success(), "{status}");
}

#[test]
fn a_server_tells_its_metrics() {
    let log = log_of(&run(&[(PART, "serve")]));
    let line = log.lines().find(|line| line.contains("measured")).unwrap();
    let event: serde_json::Value = serde_json::from_str(line).unwrap();
    let metrics = event["metrics"].as_str().unwrap();
    assert!(
        metrics.contains("# HELP agentyard_test_calls_total Calls\n"),
        "{metrics}"
    );
    assert!(
        metrics.contains("agentyard_test_calls_total{operation=\"git\\\"_status\\n\"} 3\n"),
        "{metrics}"
    );
    let version = env!("CARGO_PKG_VERSION");
    assert!(metrics.contains("service_name=\"agentyard\""), "{metrics}");
    assert!(
        metrics.contains(&format!("service_version=\"{version}\"")),
        "{metrics}"
    );
}

#[test]
fn a_collector_receives_spans_and_metrics() {
    let collector = Collector::start(Manner::Answering);
    let output = run(&[
        (PART, "export"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url),
        ("OTEL_EXPORTER_OTLP_HEADERS", "x-key=open%20sesame"),
        ("OTEL_SERVICE_NAME", "yard-of-the-test"),
        ("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=lab"),
        ("OTEL_SERVICE_VERSION", "9.9.9"),
    ]);
    log_of(&output);
    let received: Vec<_> = collector.received.try_iter().collect();
    let of = |path: &str| {
        let matching: Vec<_> = received.iter().filter(|request| request.path == path).collect();
        assert!(!matching.is_empty(), "nothing at {path}");
        assert!(
            matching
                .iter()
                .all(|request| request.head.contains("x-key: open sesame"))
        );
        assert!(
            matching
                .iter()
                .all(|request| request.head.contains("content-type: application/x-protobuf"))
        );
        matching
            .iter()
            .flat_map(|request| request.body.clone())
            .collect::<Vec<u8>>()
    };
    let spans = of("/v1/traces");
    for text in [
        "the-span-of-the-test",
        "green",
        "inside",
        "yard-of-the-test",
        "deployment.environment",
        "9.9.9",
    ] {
        assert!(contains(&spans, text), "{text}");
    }
    assert!(!contains(&spans, "a-span-of-a-library"));
    let metrics = of("/v1/metrics");
    for text in [
        "agentyard.test.calls",
        "git\"_status\n",
        "yard-of-the-test",
        "9.9.9",
    ] {
        assert!(contains(&metrics, text), "{text}");
    }
}

#[test]
fn a_collector_that_never_answers_does_not_hold_up_the_end() {
    let collector = Collector::start(Manner::Silent);
    let begun = Instant::now();
    let output = run(&[(PART, "export"), ("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url)]);
    let took = begun.elapsed();
    assert!(took < SHUTDOWN_TIMEOUT + Duration::from_secs(2), "{took:?}");
    assert!(log_of(&output).contains("could not be sent"));
}

#[test]
fn a_wrong_endpoint_is_told_and_work_goes_on() {
    let output = run(&[(PART, "export"), ("OTEL_EXPORTER_OTLP_ENDPOINT", "not a url")]);
    let log = log_of(&output);
    assert!(
        log.contains("telemetry is not exported") && log.contains("OTEL_EXPORTER_OTLP_"),
        "{log}"
    );
    assert!(log.contains("inside"), "{log}");
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}
