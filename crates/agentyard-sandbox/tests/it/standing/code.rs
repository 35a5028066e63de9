//! Code that is run in a sandbox, cell by cell.

use agentyard_envd::{Body, Exchange as _, INTERPRETER_PORT, PORT_HEADER, full};
use agentyard_sandbox::Standing;
use http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};

use super::stand_up;
use crate::support::Place;

async fn begin(standing: &Standing, execution: &Value) -> Body {
    let request = Request::post("/execute").header(PORT_HEADER, INTERPRETER_PORT);
    let request = request.body(full(execution.to_string())).unwrap();
    let answer = standing.exchange(request).await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    answer.into_body()
}

async fn execute(standing: &Standing, execution: &Value) -> Vec<Value> {
    let body = begin(standing, execution)
        .await
        .collect()
        .await
        .unwrap()
        .to_bytes();
    let lines = std::str::from_utf8(&body).unwrap().lines();
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

async fn python(standing: &Standing, code: &str) -> Vec<Value> {
    execute(standing, &json!({ "code": code })).await
}

/// The value of the last expression.
fn value(events: &[Value]) -> &str {
    let main = events.iter().find(|event| event["is_main_result"] == true);
    main.unwrap_or_else(|| panic!("{events:?}"))["text"]
        .as_str()
        .unwrap()
}

fn printed(events: &[Value]) -> String {
    let printed = events.iter().filter(|event| event["type"] == "stdout");
    printed.map(|event| event["text"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn cells_run_inside_and_keep_what_they_leave() {
    let place = Place::new();
    let standing = stand_up(&place).await;
    python(&standing, "import os\nx = 6").await;
    assert_eq!(
        value(&python(&standing, "x * 7, os.getcwd()").await),
        "(42, '/home/user')"
    );
    let told = python(
        &standing,
        "!echo from a program\nimport subprocess\nsubprocess.run(['true']).returncode",
    )
    .await;
    assert_eq!((printed(&told).as_str(), value(&told)), ("from a program\n", "0"));
    let told = python(&standing, "1 / 0").await;
    let error = told.iter().find(|event| event["type"] == "error").unwrap();
    assert_eq!(error["name"], "ZeroDivisionError");
    assert!(
        error["traceback"]
            .as_str()
            .unwrap()
            .contains("line 1, in <module>")
    );
    standing.take_down().await;
}

#[tokio::test]
async fn cells_cannot_do_more_than_other_programs() {
    let place = Place::new();
    let standing = stand_up(&place).await;
    let code = "def refused(path):\n    try:\n        open(path, 'w')\n        return False\n    except OSError:\n        \
                return True\n[refused(path) for path in ('/usr/x', '/etc/passwd', '/run/agentyard')]";
    assert_eq!(value(&python(&standing, code).await), "[True, True, True]");
    standing.take_down().await;
}

#[tokio::test]
async fn whoever_leaves_interrupts_the_cell_inside() {
    let place = Place::new();
    let standing = stand_up(&place).await;
    let code = "kept = 5\nprint('on')\nimport time\ntime.sleep(600)";
    let mut body = begin(&standing, &json!({ "code": code })).await;
    loop {
        let frame = body.frame().await.unwrap().unwrap();
        if std::str::from_utf8(frame.data_ref().unwrap())
            .unwrap()
            .contains("on\\n")
        {
            break;
        }
    }
    drop(body);
    assert_eq!(value(&python(&standing, "kept").await), "5");
    standing.take_down().await;
}

#[tokio::test]
async fn other_languages_run_inside_too() {
    let place = Place::new();
    let standing = stand_up(&place).await;
    let told = execute(
        &standing,
        &json!({ "code": "echo $((6 * 7)); pwd", "language": "bash" }),
    )
    .await;
    assert_eq!(printed(&told), "42\n/home/user\n");
    let told = execute(
        &standing,
        &json!({ "code": "[6 * 7, process.cwd()]", "language": "js" }),
    )
    .await;
    assert_eq!(value(&told), "[ 42, '/home/user' ]");
    standing.take_down().await;
}

#[tokio::test]
async fn packages_can_be_installed_and_imported_at_once() {
    let place = Place::new();
    let standing = stand_up(&place).await;
    let wheel = "import zipfile\n\
                 with zipfile.ZipFile('tiny-1.0-py3-none-any.whl', 'w') as wheel:\n    \
                 wheel.writestr('tiny.py', 'answer = 42')\n    \
                 about = 'tiny-1.0.dist-info/'\n    \
                 wheel.writestr(about + 'METADATA', 'Metadata-Version: 2.1\\nName: tiny\\nVersion: 1.0\\n')\n    \
                 wheel.writestr(about + 'WHEEL', 'Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')\n    \
                 wheel.writestr(about + 'RECORD', '')";
    python(&standing, wheel).await;
    let told = python(
        &standing,
        "!pip install --no-index ./tiny-1.0-py3-none-any.whl\nimport tiny\ntiny.answer",
    )
    .await;
    assert_eq!(value(&told), "42");
    assert!(
        printed(&told).contains("Successfully installed tiny-1.0"),
        "{told:?}"
    );
    standing.take_down().await;
}
