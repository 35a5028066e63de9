//! Every operation as a command, and the binary's own.

use agentyard_testkit::TestRepository;
use serde_json::Value;

use crate::support::{Place, text};

#[test]
fn operations_are_commands() {
    let (place, repository) = (Place::new(), TestRepository::with_commit("a.txt", "a"));
    repository.write("a.txt", "b");
    let status = place
        .command(&["git", "status", "--json"])
        .current_dir(repository.path())
        .output()
        .unwrap();
    let status: Value = serde_json::from_slice(&status.stdout).unwrap();
    assert_eq!(status["unstaged"]["modified"][0], "a.txt", "{status}");
    let plain = place
        .command(&["git", "status"])
        .current_dir(repository.path())
        .output()
        .unwrap();
    let plain = text(&plain.stdout);
    assert!(
        plain.contains("branch: main") && !plain.contains('\u{1b}'),
        "no colours into a pipe: {plain}"
    );
}

#[test]
fn a_command_works_anywhere_in_its_repository() {
    let (place, repository) = (Place::new(), TestRepository::with_commit("deep/er/a.txt", "a"));
    let inside = repository.path().join("deep/er");
    let output = place
        .command(&["git", "log", "--json"])
        .current_dir(inside)
        .output()
        .unwrap();
    let log: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(log["commits"][0]["subject"], "Begin", "{}", text(&output.stderr));
}

#[test]
fn exit_codes_tell_kinds_of_failure_apart() {
    let place = Place::new();
    let code = |arguments: &[&str]| place.run(arguments).status.code();
    assert_eq!(code(&["git", "log", "--max-count", "many"]), Some(2));
    assert_eq!(code(&["git", "status", "--path", "/", "--root", "/tmp"]), Some(3));
    assert_eq!(code(&["git", "status"]), Some(4));
    assert_eq!(
        code(&["token", "revoke", "tok_00000000000000000000000000000000"]),
        Some(4)
    );
    assert_eq!(code(&["whoami", "--server", "http://127.0.0.1:1"]), Some(7));
    assert_eq!(code(&["nonsense"]), Some(2));
    assert_eq!(
        code(&["serve", "--listen", "0.0.0.0:0", "--auth", "none"]),
        Some(2)
    );
    assert_eq!(code(&["--set", "http.lisen=x", "config", "show"]), Some(2));
}

#[test]
fn a_token_is_made_listed_and_revoked() {
    let place = Place::new();
    let made = place.json(&[
        "token",
        "create",
        "ci",
        "--role",
        "dev",
        "--permissions",
        "project:read",
        "--permissions",
        "admin:users",
        "--json",
    ]);
    assert!(made["secret"].as_str().unwrap().starts_with("ay_"));
    assert_eq!(made["permissions"], serde_json::json!(["project:read"]));
    assert_eq!(
        made["dropped_permissions"],
        serde_json::json!(["admin:users"]),
        "the role does not hold it"
    );
    let list = place.json(&["token", "list", "--json"]);
    assert_eq!(list["tokens"][0]["name"], "ci");
    assert!(!list.to_string().contains(made["secret"].as_str().unwrap()));
    let revoked = place.json(&["token", "revoke", made["id"].as_str().unwrap(), "--json"]);
    assert!(revoked["revoked_at"].is_string());
    let audit = place.json(&["audit", "search", "--json"]);
    assert_eq!(audit["records"][0]["action"], "token_revoke");
    assert_eq!(place.json(&["audit", "verify", "--json"])["whole"], true);
}

#[test]
fn the_configuration_says_where_each_value_comes_from() {
    let place = Place::new();
    let directory = place.home().join(".config/agentyard");
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(
        directory.join("agentyard.toml"),
        "[http]\ndrain_seconds = 7\n[auth.jwt]\nsecret = \"very-secret-very-secret-very-secret\"\n",
    )
    .unwrap();
    let output = place
        .command(&["config", "show", "--set", "output.max_tokens=9"])
        .env("AGENTYARD_HTTP_LISTEN", "127.0.0.1:9999")
        .output()
        .unwrap();
    let shown = text(&output.stdout);
    let line = |key: &str| {
        shown
            .lines()
            .find(|line| line.contains(key))
            .unwrap_or_default()
            .to_owned()
    };
    assert!(line("http.drain_seconds").contains("agentyard.toml:2"), "{shown}");
    assert!(line("http.listen").contains("AGENTYARD_HTTP_LISTEN"), "{shown}");
    assert!(line("output.max_tokens").contains("--set"), "{shown}");
    assert!(
        line("auth.jwt.secret").contains("********") && !shown.contains("very-secret"),
        "{shown}"
    );
    std::fs::write(directory.join("agentyard.toml"), "[http]\ndrain_secnds = 7\n").unwrap();
    let refused = text(&place.run(&["config", "show"]).stderr);
    assert!(
        refused.contains("drain_secnds") && refused.contains("drain_seconds"),
        "{refused}"
    );
}

#[test]
fn help_and_completions_know_the_operations() {
    let place = Place::new();
    let help = text(&place.run(&["--help"]).stdout);
    for word in ["serve", "mcp", "doctor", "git", "token", "audit", "whoami"] {
        assert!(help.contains(word), "{word}: {help}");
    }
    assert!(!help.contains("conformance"), "{help}");
    let script = text(&place.run(&["completions", "bash"]).stdout);
    assert!(
        script.contains("max-count"),
        "the flags of operations are completed"
    );
}

#[test]
fn migrate_and_doctor_say_what_they_found() {
    let place = Place::new();
    let first = place.json(&["migrate", "--json"]);
    assert!(!first["applied"].as_array().unwrap().is_empty());
    let again = place.json(&["migrate", "--json"]);
    assert_eq!(again["applied"], serde_json::json!([]));
    let output = place.run(&["doctor", "--json"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(report.to_string().contains("git"), "{report}");
}
