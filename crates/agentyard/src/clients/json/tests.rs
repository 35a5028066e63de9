use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde_json::{Map, json};

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

/// Any JSON value, with texts that look like the syntax around them.
fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        r#"[a-z"\\{}\[\],:/ \n\u{e4}]{0,6}"#.prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            any_object(inner).prop_map(Value::from),
        ]
    })
}

fn any_object(values: impl Strategy<Value = Value>) -> impl Strategy<Value = Map<String, Value>> {
    let names = prop_oneof![
        Just("mcpServers".to_owned()),
        Just("agentyard".to_owned()),
        Just("url".to_owned()),
        r#"[a-z"\\{}:]{0,4}"#.prop_map(String::from),
    ];
    proptest::collection::btree_map(names, values, 0..4).prop_map(|members| members.into_iter().collect())
}

proptest! {
    #[test]
    fn whatever_the_file_holds_only_our_entry_changes(root in any_object(any_value()), pretty in any::<bool>()) {
        let text = if pretty { serde_json::to_string_pretty(&root) } else { serde_json::to_string(&root) }.unwrap();
        let servers = root.get("mcpServers").cloned().unwrap_or_else(|| json!({}));
        let Some(servers) = servers.as_object() else {
            prop_assert!(put_entry(&text).is_err());
            return Ok(());
        };
        let mut entry = servers.get("agentyard").and_then(Value::as_object).cloned().unwrap_or_default();
        entry.remove("url");
        entry.insert("command".to_owned(), json!("agentyard"));
        entry.insert("args".to_owned(), json!(["mcp"]));
        let mut servers = servers.clone();
        servers.insert("agentyard".to_owned(), Value::Object(entry));
        let mut expected = root.clone();
        expected.insert("mcpServers".to_owned(), Value::Object(servers));

        let edited = put_entry(&text).unwrap();
        prop_assert_eq!(serde_json::from_str::<Value>(&edited).unwrap(), Value::Object(expected));
        prop_assert_eq!(put_entry(&edited).unwrap(), edited);
    }

    #[test]
    fn no_text_makes_the_editor_stumble(text in r#"[{}\[\]",:/*a\\ \n1\u{e4}]{0,24}"#) {
        if let Ok(edited) = put_entry(&text) {
            prop_assert!(serde_json::from_str::<Value>(&edited).is_ok(), "{}", edited);
        }
    }
}
