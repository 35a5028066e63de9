use expect_test::{Expect, expect};
use serde_json::json;

use super::*;

fn put_entry(text: &str) -> Result<String, String> {
    let fields = [("command", json!("agentyard")), ("args", json!(["mcp"]))];
    let change = Change {
        section: "mcp_servers",
        fields: &fields,
        superseded: &["command", "args", "url", "bearer_token_env_var"],
    };
    put(text, &change, Path::new("config.toml")).map_err(|error| error.to_string())
}

fn check(text: &str, expected: &Expect) {
    let edited = put_entry(text).unwrap();
    expected.assert_eq(&edited);
    assert_eq!(put_entry(&edited).unwrap(), edited);
}

#[test]
fn an_empty_file_gets_our_table_alone() {
    check(
        "",
        &expect![[r#"
            [mcp_servers.agentyard]
            command = "agentyard"
            args = ["mcp"]
        "#]],
    );
}

#[test]
fn comments_and_order_stay() {
    check(
        "# My settings\nmodel = \"o9\"   # the best\n\n[mcp_servers.other] # theirs\ncommand = 'x'\n\n[projects.\"/a\"]\ntrust_level = \"trusted\"\n# the end\n",
        &expect![[r#"
            # My settings
            model = "o9"   # the best

            [mcp_servers.other] # theirs
            command = 'x'

            [mcp_servers.agentyard]
            command = "agentyard"
            args = ["mcp"]

            [projects."/a"]
            trust_level = "trusted"
            # the end
        "#]],
    );
}

#[test]
fn an_older_entry_of_ours_is_renewed_and_what_people_added_stays() {
    check(
        "[mcp_servers.agentyard]\nurl = \"https://old.example/mcp\"\nstartup_timeout_sec = 20 # slow\nbearer_token_env_var = \"T\"\n",
        &expect![[r#"
            [mcp_servers.agentyard]
            startup_timeout_sec = 20 # slow
            command = "agentyard"
            args = ["mcp"]
        "#]],
    );
}

#[test]
fn an_inline_table_is_understood() {
    check(
        "mcp_servers = { other = { command = \"x\" } }\n",
        &expect![[r#"
            mcp_servers = { other = { command = "x" } , agentyard.command = "agentyard", agentyard.args = ["mcp"] }
        "#]],
    );
}

#[test]
fn an_entry_that_says_the_same_in_another_layout_is_left_alone() {
    let text = "[mcp_servers.agentyard]\nargs = [\n  'mcp', # stdio\n]\ncommand = 'agentyard'\n";
    assert_eq!(put_entry(text).unwrap(), text);
}

#[test]
fn a_broken_file_is_refused_with_its_line() {
    let error = put_entry("a = 1\nb = = 2\n").unwrap_err();
    assert!(
        error.starts_with("config.toml:2: the file is not valid TOML: "),
        "{error}"
    );
}

#[test]
fn something_else_in_our_place_is_refused() {
    for (text, key) in [
        ("mcp_servers = 1", "mcp_servers"),
        ("mcp_servers.agentyard = 1", "mcp_servers.agentyard"),
    ] {
        let error = put_entry(text).unwrap_err();
        assert!(
            error.starts_with(&format!("config.toml: `{key}` is no table")),
            "{error}"
        );
    }
}
