//! Merge, rebase and cherry-pick as a client sees them: a conflict is an answer with what to call next.

use agentyard_model::Caller;
use agentyard_operations::{Context, Face, Presentation, Progress, Reply, registry};
use agentyard_services::{ErrorKind, Result};
use agentyard_testkit::TestPlatform;
use serde_json::{Value, json};

/// A repository whose `main` and `side` changed the same line.
async fn diverged() -> TestPlatform {
    let platform = TestPlatform::new().await;
    let repository = &platform.repository;
    repository.git(&["branch", "--move", "main"]);
    repository.write("both", "base\n");
    repository.commit("base");
    repository.git(&["checkout", "--quiet", "-b", "side"]);
    repository.write("both", "theirs\n");
    repository.commit("theirs");
    repository.git(&["checkout", "--quiet", "main"]);
    repository.write("both", "ours\n");
    repository.commit("ours");
    platform
}

async fn call(platform: &TestPlatform, operation: &str, mut arguments: Value) -> Result<Value> {
    arguments["path"] = json!(platform.repository.path());
    let Value::Object(arguments) = arguments else {
        panic!("an object");
    };
    let context = Context {
        services: &platform.services,
        caller: &Caller::local(),
        progress: &Progress::ignored(),
    };
    let reply = registry()
        .find(operation)
        .unwrap()
        .call(context, arguments, Presentation::default(), Face::Rest)
        .await?;
    match reply {
        Reply::Structured { value, .. } => Ok(value),
        Reply::Text { text, .. } => panic!("text: {text}"),
    }
}

fn resolve(platform: &TestPlatform) {
    platform.repository.write("both", "resolved\n");
    platform.repository.git(&["add", "both"]);
}

#[tokio::test]
async fn a_merge_stops_with_conflicts_and_next_calls_and_is_continued() {
    let platform = diverged().await;
    let tried = call(
        &platform,
        "git_merge",
        json!({ "branch": "side", "dryRun": true }),
    )
    .await
    .unwrap();
    assert_eq!(
        (&tried["result"], &tried["files"]),
        (&json!("would_conflict"), &json!(["both"]))
    );

    let stopped = call(&platform, "git_merge", json!({ "branch": "side" }))
        .await
        .unwrap();
    assert_eq!(stopped["result"], "conflicts");
    let mut file = stopped["conflicts"]["files"][0].clone();
    file["hunks"][0]["base"]["label"].take();
    assert_eq!(
        file,
        json!({
            "path": "both",
            "conflict": "both_modified",
            "hunks": [{
                "lines": [1, 7],
                "ours": { "label": "HEAD", "text": "ours\n" },
                "base": { "label": null, "text": "base\n" },
                "theirs": { "label": "side", "text": "theirs\n" },
            }],
        })
    );
    assert_eq!(
        stopped["next"],
        json!([
            "resolve the files, then git_add {\"paths\":[\"both\"]}",
            "git_merge {\"mode\":\"continue\"}",
            "git_merge {\"mode\":\"abort\"}",
        ])
    );
    let status = call(&platform, "git_status", json!({})).await.unwrap();
    assert_eq!(
        (&status["operation"], &status["next"][0]),
        (&json!("merge"), &json!("git_merge {\"mode\":\"continue\"}"))
    );

    let early = call(&platform, "git_merge", json!({ "mode": "continue" })).await;
    assert_eq!(early.unwrap_err().kind(), ErrorKind::Conflict);
    resolve(&platform);
    let merged = call(&platform, "git_merge", json!({ "mode": "continue" }))
        .await
        .unwrap();
    assert_eq!(
        (&merged["result"], &merged["files"]),
        (&json!("merged"), &json!(["both"]))
    );
}

#[tokio::test]
async fn a_merge_is_aborted_as_other_servers_clients_ask_for_it() {
    let platform = diverged().await;
    call(&platform, "git_merge", json!({ "branch": "side" }))
        .await
        .unwrap();
    let aborted = call(&platform, "git_merge", json!({ "branch": "side", "abort": true }))
        .await
        .unwrap();
    assert_eq!(aborted["result"], "aborted");
    assert!(
        aborted["kept"]
            .as_str()
            .unwrap()
            .starts_with("refs/agentyard/kept/")
    );

    call(&platform, "git_cherry_pick", json!({ "commits": ["side"] }))
        .await
        .unwrap();
    resolve(&platform);
    let picked = call(
        &platform,
        "git_cherry_pick",
        json!({ "commits": ["side"], "continueOperation": true }),
    )
    .await
    .unwrap();
    assert_eq!(
        (&picked["result"], picked["picked"].as_array().unwrap().len()),
        (&json!("done"), 1)
    );
}

#[tokio::test]
async fn a_rebase_says_how_far_it_is() {
    let platform = diverged().await;
    let stopped = call(&platform, "git_rebase", json!({ "upstream": "side" }))
        .await
        .unwrap();
    assert_eq!(stopped["result"], "stopped");
    assert_eq!(stopped["conflicts"]["files"][0]["path"], "both");
    let (rebase, next) = (&stopped["rebase"], &stopped["next"]);
    assert_eq!(
        (&rebase["branch"], &rebase["step"], &rebase["total"]),
        (&json!("main"), &json!(1), &json!(1))
    );
    assert_eq!(next[2], "git_rebase {\"mode\":\"skip\"}");
    let status = call(&platform, "git_status", json!({})).await.unwrap();
    assert_eq!(&status["rebase"], rebase);
    resolve(&platform);
    let rebased = call(&platform, "git_rebase", json!({ "mode": "continue" }))
        .await
        .unwrap();
    assert_eq!(
        (&rebased["result"], &rebased["commits"]),
        (&json!("rebased"), &json!(1))
    );
}

#[tokio::test]
async fn a_plan_rewrites_history_and_names_where_the_old_one_is() {
    let platform = diverged().await;
    let rebased = call(
        &platform,
        "git_rebase",
        json!({ "upstream": "HEAD~1", "plan": ["reword HEAD Another message"] }),
    )
    .await
    .unwrap();
    assert_eq!(rebased["result"], "rebased");
    let repository = &platform.repository;
    assert_eq!(
        repository.git(&["log", "-1", "--format=%s"]).trim(),
        "Another message"
    );
    let kept = rebased["kept"].as_str().unwrap();
    assert_eq!(repository.git(&["log", "-1", "--format=%s", kept]).trim(), "ours");
}
