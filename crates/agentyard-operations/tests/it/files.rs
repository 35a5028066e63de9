//! The tools for files, through the registry.

use agentyard_model::Caller;
use agentyard_operations::{Context, Face, Level, Presentation, Progress, Reply, registry};
use agentyard_services::{ErrorKind, Result};
use agentyard_testkit::TestPlatform;
use serde_json::{Value, json};

async fn call_within(
    platform: &TestPlatform,
    tool: &str,
    arguments: Value,
    shown: Presentation,
) -> Result<Reply> {
    let context = Context {
        services: &platform.services,
        caller: &Caller::local(),
        progress: &Progress::ignored(),
    };
    let Value::Object(mut arguments) = arguments else {
        panic!("an object");
    };
    let tree = platform.repository.path().display().to_string();
    arguments.insert("workspace".to_owned(), tree.into());
    registry()
        .find(tool)
        .unwrap()
        .call(context, arguments, shown, Face::Rest)
        .await
}

async fn call(platform: &TestPlatform, tool: &str, arguments: Value) -> Result<Reply> {
    call_within(platform, tool, arguments, Presentation::default()).await
}

async fn text(platform: &TestPlatform, tool: &str, arguments: Value) -> String {
    match call(platform, tool, arguments).await.unwrap() {
        Reply::Text { text, .. } => text,
        Reply::Structured { json, .. } => panic!("text, not {json}"),
    }
}

async fn object(platform: &TestPlatform, tool: &str, arguments: Value) -> Value {
    match call(platform, tool, arguments).await.unwrap() {
        Reply::Structured { value, .. } => value,
        Reply::Text { text, .. } => panic!("an object, not {text}"),
    }
}

/// The kind of a failure, and what it says with all its hints.
async fn failure(platform: &TestPlatform, tool: &str, arguments: Value) -> (ErrorKind, String) {
    let error = call(platform, tool, arguments).await.unwrap_err();
    (error.kind(), format!("{error} {}", error.hints().join(" ")))
}

#[tokio::test]
async fn a_file_is_made_read_edited_and_found() {
    let platform = TestPlatform::new().await;
    let content = "fn main() {\n    old();\n}\n";
    let written = object(
        &platform,
        "write_file",
        json!({ "path": "src/main.rs", "content": content }),
    )
    .await;
    assert_eq!(
        (&written["result"], &written["size_bytes"]),
        (&json!("created"), &json!(25))
    );
    let hash = written["hash"].as_str().unwrap();
    assert_eq!(
        text(
            &platform,
            "read_file",
            json!({ "path": "src/main.rs", "lineNumbers": true })
        )
        .await,
        format!(
            "[src/main.rs: 25 bytes, hash {hash}, 3 lines]\n     1\tfn main() {{\n     2\t    old();\n     3\t}}\n"
        )
    );
    let edits = json!([{ "old": "old()", "new": "new()" }]);
    let arguments = json!({ "path": "src/main.rs", "edits": edits, "expected_hash": hash });
    let mut dry = arguments.clone();
    dry["dry_run"] = true.into();
    let tried = object(&platform, "edit_file", dry).await;
    let edited = object(&platform, "edit_file", arguments.clone()).await;
    assert_eq!(tried, edited);
    assert_eq!(
        edited["diff"],
        "@@ -1,3 +1,3 @@\n fn main() {\n-    old();\n+    new();\n }\n"
    );
    assert_eq!(
        text(&platform, "search", json!({ "pattern": "new\\(\\)" })).await,
        "src/main.rs:2:    new();\n[2 files searched]\n"
    );
    let (kind, said) = failure(&platform, "edit_file", arguments).await;
    assert_eq!(kind, ErrorKind::Conflict);
    assert!(
        said.contains(edited["hash"].as_str().unwrap()) && said.contains("read it again"),
        "{said}"
    );
}

#[tokio::test]
async fn each_change_is_in_the_audit_log_and_a_try_is_not() {
    let platform = TestPlatform::new().await;
    object(&platform, "write_file", json!({ "path": "a", "content": "x" })).await;
    let edits = json!([{ "old": "x", "new": "y" }]);
    object(
        &platform,
        "edit_file",
        json!({ "path": "a", "edits": edits, "dry_run": true }),
    )
    .await;
    object(&platform, "edit_file", json!({ "path": "a", "edits": edits })).await;
    failure(&platform, "edit_file", json!({ "path": "a", "edits": edits })).await;
    let context = Context {
        services: &platform.services,
        caller: &Caller::local(),
        progress: &Progress::ignored(),
    };
    let found = registry()
        .find("audit_search")
        .unwrap()
        .call(context, Default::default(), Presentation::default(), Face::Rest)
        .await
        .unwrap();
    let Reply::Structured { value, .. } = found else {
        panic!("records");
    };
    let records: Vec<String> = value["records"]
        .as_array()
        .unwrap()
        .iter()
        .map(|record| format!("{} {}", record["action"], record["outcome"]).replace('"', ""))
        .collect();
    assert_eq!(records, ["edit_file failed", "edit_file done", "write_file done"]);
}

#[tokio::test]
async fn a_listing_goes_on_where_a_page_ended() {
    let platform = TestPlatform::new().await;
    platform.repository.write(".gitignore", "*.log\n");
    platform.repository.write("b.log", "");
    platform.repository.write("with space/ü", "1");
    let all = object(&platform, "ls", json!({ "depth": 2 })).await;
    assert_eq!(
        all,
        json!({ "entries": [
            { "path": ".gitignore", "size_bytes": 6 },
            { "path": "README.md", "size_bytes": 6 },
            { "path": "b.log", "size_bytes": 0, "ignored": true },
            { "path": "with space", "type": "dir" },
            { "path": "with space/ü", "size_bytes": 1 },
        ] })
    );
    let mut paths = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let mut arguments = json!({ "depth": 2, "limit": 1 });
        if !cursor.is_null() {
            arguments["cursor"] = cursor;
        }
        let page = object(&platform, "ls", arguments).await;
        paths.extend(page["entries"].as_array().unwrap().clone());
        cursor = page["next_cursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(Value::Array(paths), all["entries"]);
    let full = object(&platform, "ls", json!({ "path": "README.md", "detail": "full" })).await;
    assert!(
        full["entries"][0]["modified_at"].as_str().unwrap().ends_with('Z'),
        "{full}"
    );
}

/// Wherever an answer is cut for its size, the next one goes on there.
#[tokio::test]
async fn small_answers_together_tell_everything() {
    let platform = TestPlatform::new().await;
    for number in 0..30 {
        let line = format!("needle {number} {}\n", "x".repeat(60));
        platform
            .repository
            .write(&format!("dir/{number:02}.txt"), &line.repeat(2));
    }
    let small = Presentation {
        level: Level::Standard,
        max_bytes: 1500,
    };
    let mut lines = Vec::new();
    let mut arguments = json!({ "pattern": "needle" });
    loop {
        let reply = call_within(&platform, "search", arguments.clone(), small)
            .await
            .unwrap();
        let Reply::Text { text, next } = reply else {
            panic!("text");
        };
        assert!(text.len() <= 1500);
        lines.extend(
            text.lines()
                .filter(|line| !line.starts_with('['))
                .map(ToOwned::to_owned),
        );
        match next {
            Some(next) => arguments["cursor"] = next.as_str().into(),
            None => break,
        }
    }
    assert_eq!(lines.len(), 60);
    assert!(lines.is_sorted());

    platform.repository.write(
        "long",
        &(1..=300)
            .map(|number| format!("line {number}\n"))
            .collect::<String>(),
    );
    let mut read = 0;
    let mut offset = 1;
    loop {
        let reply = call_within(
            &platform,
            "read_file",
            json!({ "path": "long", "offset": offset }),
            small,
        )
        .await;
        let Ok(Reply::Text { text, .. }) = reply else {
            panic!("text");
        };
        assert!(text.len() <= 1500);
        read += text.lines().filter(|line| line.starts_with("line ")).count();
        match text.split_once("[more: call again with offset=") {
            Some((_, rest)) => offset = rest.trim_end_matches("]\n").parse().unwrap(),
            None => break,
        }
    }
    assert_eq!(read, 300);
}

#[tokio::test]
async fn binary_files_travel_as_base64() {
    let platform = TestPlatform::new().await;
    let written = json!({ "path": "x.bin", "content": "AAEC\n/w==", "base64": true });
    assert_eq!(object(&platform, "write_file", written).await["size_bytes"], 4);
    let described = text(&platform, "read_file", json!({ "path": "x.bin" })).await;
    assert!(
        described.contains("binary, application/octet-stream; `base64`"),
        "{described}"
    );
    let bytes = text(
        &platform,
        "read_file",
        json!({ "path": "x.bin", "base64": true, "offset": 1 }),
    )
    .await;
    assert!(bytes.ends_with("bytes 1 to 4]\nAQL/\n"), "{bytes}");
    let (kind, _) = failure(
        &platform,
        "write_file",
        json!({ "path": "y", "content": "?", "base64": true }),
    )
    .await;
    assert_eq!(kind, ErrorKind::InvalidInput);
}

#[tokio::test]
async fn a_file_that_is_there_is_replaced_when_that_is_meant() {
    let platform = TestPlatform::new().await;
    let arguments = json!({ "path": "README.md", "content": "new\n" });
    let (kind, said) = failure(&platform, "write_file", arguments.clone()).await;
    assert_eq!(kind, ErrorKind::Conflict);
    assert!(said.contains("overwrite"), "{said}");
    let mut meant = arguments.clone();
    meant["overwrite"] = true.into();
    assert_eq!(
        object(&platform, "write_file", meant.clone()).await["result"],
        "replaced"
    );
    assert_eq!(
        object(&platform, "write_file", meant).await["result"],
        "unchanged"
    );
}

#[tokio::test]
async fn what_leads_elsewhere_is_refused() {
    let platform = TestPlatform::new().await;
    std::os::unix::fs::symlink("/etc", platform.repository.path().join("etc")).unwrap();
    for (path, expected) in [
        ("etc/passwd", ErrorKind::Forbidden),
        ("git~1/config", ErrorKind::Forbidden),
        ("../x", ErrorKind::InvalidInput),
        ("/etc/passwd", ErrorKind::InvalidInput),
        (".git/config", ErrorKind::InvalidInput),
    ] {
        let (kind, said) = failure(&platform, "read_file", json!({ "path": path })).await;
        assert_eq!(kind, expected, "{path}: {said}");
        let write = json!({ "path": path, "content": "x", "overwrite": true });
        let (kind, said) = failure(&platform, "write_file", write).await;
        assert_eq!(kind, expected, "{path}: {said}");
    }
    let (kind, _) = failure(&platform, "read_file", json!({ "path": "nothing" })).await;
    assert_eq!(kind, ErrorKind::NotFound);
}

#[tokio::test]
async fn the_environment_names_programs_and_what_the_project_offers() {
    let platform = TestPlatform::new().await;
    platform
        .repository
        .write("Makefile", "all: test\n\ntest:\n\t@true\n");
    let environment = object(&platform, "env", json!({})).await;
    assert_eq!(
        environment["project"],
        json!([{ "file": "Makefile", "tool": "make", "tasks": ["all", "test"] }])
    );
    assert_eq!(
        environment["platform"],
        format!("linux {}", std::env::consts::ARCH)
    );
    let tools = environment["tools"].as_array().unwrap();
    let git = tools.iter().find(|tool| tool["name"] == "git").unwrap();
    assert!(git["version"].as_str().unwrap().starts_with('2'), "{git}");
    assert!(git.get("path").is_none());
}
