//! Code files: begun, added to, replaced and read, and never anywhere else than they may be.

use agentyard_model::{Caller, Subject};
use agentyard_operations::{Context, Face, Presentation, Progress, Reply, registry};
use agentyard_services::{ErrorKind, Result};
use agentyard_testkit::TestPlatform;
use serde_json::{Value, json};

async fn call_as(platform: &TestPlatform, caller: &Caller, tool: &str, arguments: Value) -> Result<Reply> {
    let context = Context {
        services: &platform.services,
        caller,
        progress: &Progress::ignored(),
    };
    let Value::Object(arguments) = arguments else {
        panic!("an object");
    };
    let operation = registry().find(tool).unwrap();
    operation
        .call(context, arguments, Presentation::default(), Face::Rest)
        .await
}

/// A call in the repository of the platform.
async fn call(platform: &TestPlatform, tool: &str, mut arguments: Value) -> Result<Reply> {
    arguments["workspace"] = platform.repository.path().display().to_string().into();
    call_as(platform, &Caller::local(), tool, arguments).await
}

async fn object(platform: &TestPlatform, tool: &str, arguments: Value) -> Value {
    call(platform, tool, arguments).await.unwrap().into_object()
}

/// The kind of a failure, and what it says with all its hints.
async fn failure(platform: &TestPlatform, tool: &str, arguments: Value) -> (ErrorKind, String) {
    let error = call(platform, tool, arguments).await.unwrap_err();
    (error.kind(), format!("{error} {}", error.hints().join(" ")))
}

fn content(platform: &TestPlatform, path: &str) -> String {
    std::fs::read_to_string(platform.repository.path().join(path)).unwrap()
}

#[tokio::test]
async fn a_file_is_begun_added_to_replaced_and_read_by_the_names_of_the_original() {
    let platform = TestPlatform::new().await;
    let begun = object(
        &platform,
        "initialize_code_file",
        json!({ "filename": "fib", "content": "def fib(n):" }),
    )
    .await;
    assert_eq!(
        begun,
        json!({ "path": "fib.py", "result": "created", "size_bytes": 11 })
    );
    // What has no line end gets one before more is added.
    let added = json!({ "file_path": "fib.py", "content": "    pass\n" });
    let added = object(&platform, "append_to_code_file", added).await;
    assert_eq!(
        added,
        json!({ "path": "fib.py", "result": "changed", "size_bytes": 21 })
    );
    assert_eq!(content(&platform, "fib.py"), "def fib(n):\n    pass\n");
    // As code names it that runs there.
    let read = object(
        &platform,
        "read_code_file",
        json!({ "filePath": "/workspace/fib.py" }),
    )
    .await;
    let text = read["text"].as_str().unwrap();
    assert!(
        text.starts_with("[fib.py: 21 bytes") && text.ends_with("    pass\n"),
        "{text}"
    );
    let replaced = json!({ "path": "fib", "content": "x = 1\n" });
    object(&platform, "overwrite_code_file", replaced).await;
    assert_eq!(content(&platform, "fib.py"), "x = 1\n");
    let window = json!({ "path": "fib", "offset": 2 });
    let window = object(&platform, "read_code_file", window).await;
    assert!(
        window["text"].as_str().unwrap().contains("none from there on"),
        "{window}"
    );
}

#[tokio::test]
async fn beginning_a_file_twice_never_replaces_it() {
    let platform = TestPlatform::new().await;
    let begin = |content: &str| json!({ "filename": "a.py", "content": content });
    object(&platform, "initialize_code_file", begin("x = 1\n")).await;
    let again = object(&platform, "initialize_code_file", begin("x = 1\n")).await;
    assert_eq!(again["result"], "unchanged");
    let (kind, said) = failure(&platform, "initialize_code_file", begin("x = 2\n")).await;
    assert_eq!(kind, ErrorKind::Conflict);
    assert!(said.contains("overwrite_code_file"), "{said}");
    assert_eq!(content(&platform, "a.py"), "x = 1\n");
}

#[tokio::test]
async fn only_a_file_that_is_there_is_added_to_and_only_so_much() {
    let platform = TestPlatform::new().await;
    let add = |content: &str| json!({ "file_path": "long.py", "content": content });
    let (kind, said) = failure(&platform, "append_to_code_file", add("x")).await;
    assert_eq!(kind, ErrorKind::NotFound);
    assert!(said.contains("initialize_code_file"), "{said}");
    let long = std::fs::File::create(platform.repository.path().join("long.py")).unwrap();
    long.set_len(50_000_000).unwrap();
    let (kind, said) = failure(&platform, "append_to_code_file", add("x")).await;
    assert_eq!(kind, ErrorKind::Conflict);
    assert!(
        said.contains("50000000") && said.contains("nothing was added"),
        "{said}"
    );
    assert_eq!(long.metadata().unwrap().len(), 50_000_000);
    // The next call works.
    long.set_len(0).unwrap();
    object(&platform, "append_to_code_file", add("x = 1\n")).await;
    assert_eq!(content(&platform, "long.py"), "x = 1\n");
}

#[tokio::test]
async fn no_name_leads_out_of_the_tree() {
    let platform = TestPlatform::new().await;
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret.py"), "secret = 1\n").unwrap();
    let tree = platform.repository.path();
    std::os::unix::fs::symlink(outside.path(), tree.join("out")).unwrap();
    std::os::unix::fs::symlink(outside.path().join("secret.py"), tree.join("link.py")).unwrap();
    std::os::unix::fs::symlink(outside.path().join("new.py"), tree.join("dangling.py")).unwrap();
    let absolute = outside.path().join("secret.py").display().to_string();
    for path in [
        "../secret.py",
        "a/../../secret.py",
        "/workspace/../secret.py",
        &absolute,
        "/etc/passwd",
        "out/secret.py",
        "link.py",
        "dangling.py",
        ".git/hooks/post-commit",
        ".GIT/config",
        "a\0b",
        "",
    ] {
        for tool in [
            "initialize_code_file",
            "append_to_code_file",
            "overwrite_code_file",
            "read_code_file",
        ] {
            let mut arguments = json!({ "path": path });
            if tool != "read_code_file" {
                arguments["content"] = "x = 1\n".into();
            }
            let result = call(&platform, tool, arguments).await;
            assert!(result.is_err(), "{tool} {path:?}: {result:?}");
        }
    }
    let left: Vec<_> = std::fs::read_dir(outside.path()).unwrap().collect();
    assert_eq!(left.len(), 1);
    assert_eq!(
        std::fs::read_to_string(outside.path().join("secret.py")).unwrap(),
        "secret = 1\n"
    );
}

#[tokio::test]
async fn who_names_no_place_has_one_that_nobody_else_has() {
    let platform = TestPlatform::new().await;
    let (ada, eve) = ["ada", "eve"]
        .map(|name| Caller {
            subject: Subject::External {
                issuer: "https://issuer.example".to_owned(),
                subject: name.to_owned(),
            },
            ..Caller::local()
        })
        .into();
    let tenant = platform.add_tenant("elsewhere").await;
    let stranger = Caller {
        tenant,
        ..ada.clone()
    };
    let begin = json!({ "filename": "mine", "content": "x = 1\n" });
    call_as(&platform, &ada, "initialize_code_file", begin)
        .await
        .unwrap();
    let read = json!({ "file_path": "mine.py" });
    let mine = call_as(&platform, &ada, "read_code_file", read.clone())
        .await
        .unwrap();
    let mine = mine.into_object();
    assert!(mine["text"].as_str().unwrap().contains("x = 1"), "{mine}");
    for other in [&eve, &stranger] {
        let error = call_as(&platform, other, "read_code_file", read.clone())
            .await
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
    }
    // A working directory is stronger.
    let tree = platform.repository.path().display().to_string();
    call_as(&platform, &ada, "git_set_working_dir", json!({ "path": tree }))
        .await
        .unwrap();
    let error = call_as(&platform, &ada, "read_code_file", read)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}
