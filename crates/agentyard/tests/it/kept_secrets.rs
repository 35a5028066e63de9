//! Secrets that executions are granted: set from a terminal or over MCP, and in no answer, log or file.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Output, Stdio};

use serde_json::json;

use crate::support::{Place, StdioClient, content, text};

const VALUE: &str = "hunter22-hunter22";

/// Runs a command that finds this on its standard input.
fn told(place: &Place, arguments: &[&str], input: &str) -> Output {
    let mut child = place
        .command(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

/// Whether any file below holds the value.
fn holds_value(directory: &Path) -> bool {
    std::fs::read_dir(directory).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        if path.is_dir() {
            return holds_value(&path);
        }
        let bytes = std::fs::read(&path).unwrap_or_default();
        bytes
            .windows(VALUE.len())
            .any(|window| window == VALUE.as_bytes())
    })
}

#[test]
fn a_secret_is_read_from_standard_input_and_shown_nowhere() {
    let place = Place::new();
    let arguments = ["secret", "set", "API_TOKEN", "--set", "log.filter=trace"];
    let set = told(&place, &arguments, &format!("{VALUE}\n"));
    let said = text(&set.stdout) + &text(&set.stderr);
    assert!(set.status.success(), "{said}");
    assert!(!said.contains(VALUE), "{said}");
    let listed = place.json(&["secret", "list", "--json"]);
    assert_eq!(listed["secrets"][0]["name"], "API_TOKEN", "{listed}");
    assert!(!holds_value(place.home()));
    let key = place.home().join(".local/share/agentyard/secret.key");
    assert_eq!(key.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    place.json(&["secret", "remove", "API_TOKEN", "--json"]);
    assert_eq!(place.json(&["secret", "list", "--json"])["secrets"], json!([]));
}

#[test]
fn a_value_that_is_no_secret_is_refused() {
    let place = Place::new();
    for (input, code) in [("", 2), ("abc\n", 2)] {
        let set = told(&place, &["secret", "set", "API_TOKEN"], input);
        assert_eq!(set.status.code(), Some(code), "{}", text(&set.stderr));
    }
    let set = told(&place, &["secret", "set", "PATH"], VALUE);
    assert_eq!(set.status.code(), Some(2));
    assert!(!text(&set.stderr).contains(VALUE));
}

#[test]
fn over_mcp_a_secret_is_set_and_not_shown() {
    let place = Place::new();
    let mut client = StdioClient::initialized(&place, place.home(), &[]);
    let set = json!({ "name": "secret_set", "arguments": { "name": "API_TOKEN", "value": VALUE } });
    let answer = client.request(2, "tools/call", set);
    assert_eq!(content(&answer)["name"], "API_TOKEN", "{answer}");
    let list = json!({ "name": "list_executions", "arguments": {} });
    let executions = client.request(3, "tools/call", list);
    assert_eq!(content(&executions)["executions"], json!([]), "{executions}");
    assert!(!format!("{answer}{executions}").contains(VALUE));
}
