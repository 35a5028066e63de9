use expect_test::{Expect, expect};
use serde_json::json;

use super::*;

fn put_entry(text: &str) -> Result<String, String> {
    let fields = [("command", json!("agentyard")), ("args", json!(["mcp"]))];
    let change = Change {
        section: "mcpServers",
        fields: &fields,
        superseded: &["type", "command", "args", "url", "headers"],
    };
    put(text, &change, Path::new("settings.json")).map_err(|error| error.to_string())
}

/// Puts the entry into a text, and again into the result, which must not change any more.
fn check(text: &str, expected: &Expect) {
    let edited = put_entry(text).unwrap();
    expected.assert_eq(&edited);
    assert_eq!(put_entry(&edited).unwrap(), edited);
    serde_json::from_str::<Value>(&edited).unwrap();
}

#[test]
fn an_empty_file_becomes_our_document() {
    let expected = expect![[r#"
        {
          "mcpServers": {
            "agentyard": {
              "command": "agentyard",
              "args": [
                "mcp"
              ]
            }
          }
        }
    "#]];
    check("", &expected);
    check(" \n", &expected);
}

#[test]
fn what_is_there_stays_as_it_is() {
    check(
        "{\n\t\"zeta\": 1.50,\n\t\"mcpServers\": {\n\t\t\"other\": { \"command\": \"x\" }\n\t},\n\t\"alpha\": [ 1,2 ]\n}\n\n",
        &expect![[r#"
            {
            	"zeta": 1.50,
            	"mcpServers": {
            		"other": { "command": "x" },
            		"agentyard": {
            			"command": "agentyard",
            			"args": [
            				"mcp"
            			]
            		}
            	},
            	"alpha": [ 1,2 ]
            }

        "#]],
    );
}

#[test]
fn a_missing_section_is_added_at_the_end() {
    check(
        "{\n    \"theme\": \"dark\"\n}",
        &expect![[r#"
            {
                "theme": "dark",
                "mcpServers": {
                    "agentyard": {
                        "command": "agentyard",
                        "args": [
                            "mcp"
                        ]
                    }
                }
            }"#]],
    );
}

#[test]
fn an_empty_section_or_file_object_is_filled() {
    check(
        "{\n  \"mcpServers\": {}\n}\n",
        &expect![[r#"
            {
              "mcpServers": {
                "agentyard": {
                  "command": "agentyard",
                  "args": [
                    "mcp"
                  ]
                }
              }
            }
        "#]],
    );
    check(
        "{ }\n",
        &expect![[r#"
            {
              "mcpServers": {
                "agentyard": {
                  "command": "agentyard",
                  "args": [
                    "mcp"
                  ]
                }
              }
            }
        "#]],
    );
}

#[test]
fn a_compact_file_stays_compact() {
    check(
        r#"{"a":1,"mcpServers":{"x":{}}}"#,
        &expect![[r#"{"a":1,"mcpServers":{"x":{},"agentyard":{"command":"agentyard","args":["mcp"]}}}"#]],
    );
}

#[test]
fn line_breaks_of_another_system_are_kept() {
    let edited = put_entry("{\r\n  \"a\": 1\r\n}\r\n").unwrap();
    assert_eq!(edited.matches('\n').count(), edited.matches("\r\n").count());
}

#[test]
fn an_older_entry_of_ours_is_renewed_and_what_people_added_stays() {
    check(
        r#"{
  "mcpServers": {
    "agentyard": {
      "type": "http",
      "timeout": 5000,
      "url": "https://old.example/mcp",
      "env": { "A":  "1" },
      "headers": { "Authorization": "Bearer x" }
    },
    "other": {}
  }
}
"#,
        &expect![[r#"
            {
              "mcpServers": {
                "agentyard": {
                  "command": "agentyard",
                  "args": [
                    "mcp"
                  ],
                  "timeout": 5000,
                  "env": { "A":  "1" }
                },
                "other": {}
              }
            }
        "#]],
    );
}

#[test]
fn an_entry_that_says_the_same_in_another_layout_is_left_alone() {
    let text = r#"{"mcpServers": {"agentyard": {"args":["mcp"], "trust": true,   "command":"agentyard"}}}"#;
    assert_eq!(put_entry(text).unwrap(), text);
}

#[test]
fn a_broken_file_is_refused_with_its_line() {
    assert_eq!(
        put_entry("{\n  \"a\": 1\n  \"b\": 2\n}").unwrap_err(),
        "settings.json:3: the file is not valid JSON: expected `,` or `}` at line 3 column 3; \
         correct it, it was left as it is"
    );
}

#[test]
fn comments_are_refused_and_the_entry_is_shown() {
    let error = put_entry("{\n  // mine\n  \"a\": 1,\n}").unwrap_err();
    assert!(error.contains("holds comments"), "{error}");
    assert!(error.contains("\"agentyard\": {"), "{error}");
}

#[test]
fn something_else_in_our_place_is_refused() {
    for (text, key) in [("[]", "the file"), ("{\"mcpServers\": []}", "mcpServers")] {
        let error = put_entry(text).unwrap_err();
        assert!(
            error.starts_with(&format!("settings.json: `{key}` is no object")),
            "{error}"
        );
    }
}
