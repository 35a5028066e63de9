//! The git tools that read, through the registry.

use agentyard_model::Caller;
use agentyard_operations::{Context, Face, Presentation, Progress, Reply, registry};
use agentyard_services::Result;
use agentyard_testkit::TestPlatform;
use serde_json::{Value, json};

async fn try_call(platform: &TestPlatform, tool: &str, arguments: Value) -> Result<Reply> {
    let context = Context {
        services: &platform.services,
        caller: &Caller::local(),
        progress: &Progress::ignored(),
    };
    let Value::Object(mut arguments) = arguments else {
        panic!("an object");
    };
    let repository = platform.repository.path().display().to_string();
    arguments.insert("path".to_owned(), repository.into());
    let operation = registry().find(tool).unwrap();
    operation
        .call(context, arguments, Presentation::default(), Face::Rest)
        .await
}

async fn text(platform: &TestPlatform, tool: &str, arguments: Value) -> String {
    let repository = platform.repository.path().display().to_string();
    match try_call(platform, tool, arguments).await.unwrap() {
        Reply::Text { text, .. } => text.replace(&repository, "REPO"),
        Reply::Structured { json, .. } => panic!("text, not {json}"),
    }
}

async fn object(platform: &TestPlatform, tool: &str, arguments: Value) -> Value {
    match try_call(platform, tool, arguments).await.unwrap() {
        Reply::Structured { value, .. } => value,
        Reply::Text { text, .. } => panic!("an object, not {text}"),
    }
}

#[tokio::test]
async fn differences_are_text_that_begins_with_the_totals() {
    let platform = TestPlatform::new().await;
    platform.repository.write("README.md", "hello\nworld\n");
    platform.repository.write("new", "1\n");
    let diff = text(&platform, "git_diff", json!({ "includeUntracked": true })).await;
    assert_eq!(
        diff,
        "REPO: 2 files changed, +2 -0\nM README.md +1 -0\n? new +1 -0\n\
         diff --git a/README.md b/README.md\nindex ce01362..94954ab 100644\n--- a/README.md\n+++ b/README.md\n\
         @@ -1 +1,2 @@\n hello\n+world\n\
         diff --git a/new b/new\nnew file mode 100644\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+1\n"
    );
    assert_eq!(
        text(&platform, "git_diff", json!({ "name_only": true })).await,
        "REPO: 1 file changed, +1 -0\nREADME.md\n"
    );
    assert_eq!(
        text(&platform, "git_diff", json!({ "staged": true })).await,
        "REPO: no differences\n"
    );
    let both = try_call(
        &platform,
        "git_diff",
        json!({ "staged": true, "source": "HEAD", "target": "HEAD" }),
    )
    .await;
    assert!(both.unwrap_err().message().contains("staged"));
}

#[tokio::test]
async fn a_diff_that_changed_between_pages_begins_anew() {
    let platform = TestPlatform::new().await;
    platform.repository.write("README.md", "one\n");
    let stale = format!("{:016x}+1.0", 7);
    let diff = text(&platform, "git_diff", json!({ "cursor": stale })).await;
    assert!(
        diff.starts_with("[what differs has changed since the page before; this begins anew]\nREPO: 1 file"),
        "{diff}"
    );
    let wrong = try_call(&platform, "git_diff", json!({ "cursor": "nonsense" })).await;
    assert!(wrong.is_err());
}

#[tokio::test]
async fn objects_are_shown() {
    let platform = TestPlatform::new().await;
    platform.repository.write("src/a.txt", "1\n2\n3\n");
    platform.repository.commit("Add a file\n\nBecause.");
    let commit = text(&platform, "git_show", json!({ "object": "HEAD" })).await;
    assert!(commit.starts_with("REPO: commit "), "{commit}");
    assert!(
        commit.contains("\nauthor: Ann Author <ann@example.org> 2026-11-01T10:00:00Z\n"),
        "{commit}"
    );
    assert!(
        commit.contains("\n\nAdd a file\n\nBecause.\n\n1 file changed, +3 -0\nA src/a.txt +3 -0\n"),
        "{commit}"
    );
    let file = json!({ "object": "HEAD:src/a.txt", "start_line": 2, "end_line": 2 });
    let file = text(&platform, "git_show", file).await;
    assert_eq!(
        file,
        "REPO: blob 01e79c32a8c99c557f0757da7cb6d65b3414466d, 6 bytes\n[lines 2 to 2 of 3]\n2\n"
    );
    let tree = text(
        &platform,
        "git_show",
        json!({ "object": "HEAD", "file_path": "src" }),
    )
    .await;
    assert!(tree.ends_with("\n100644 blob 6 a.txt\n"), "{tree}");
    let raw = text(
        &platform,
        "git_show",
        json!({ "object": "HEAD", "format": "raw" }),
    )
    .await;
    assert!(
        raw.contains("\ntree ") && raw.contains("\nauthor Ann Author <ann@example.org> "),
        "{raw}"
    );
    platform
        .repository
        .git(&["tag", "--annotate", "--message", "first", "v1"]);
    let tag = text(&platform, "git_show", json!({ "object": "v1" })).await;
    assert!(tag.starts_with("REPO: tag v1 ") && tag.contains("first"), "{tag}");
}

#[tokio::test]
async fn lines_are_grouped_by_their_commits() {
    let platform = TestPlatform::new().await;
    platform.repository.write("README.md", "hello\nworld\n");
    let blame = text(&platform, "git_blame", json!({ "file_path": "README.md" })).await;
    let (head, rest) = blame.split_once('\n').unwrap();
    assert_eq!(head, "REPO: README.md");
    assert!(
        rest.contains(" 2026-11-01 Ann Author: Begin\n    1 hello\n(not committed)\n    2 world\n"),
        "{rest}"
    );
}

#[tokio::test]
async fn the_log_tells_more_on_request() {
    let platform = TestPlatform::new().await;
    platform.repository.write("a", "needle\n");
    platform.repository.commit("Add a");
    let log = object(
        &platform,
        "git_log",
        json!({ "stat": true, "show_signature": true }),
    )
    .await;
    let commit = &log["commits"][0];
    assert_eq!(
        commit["stat"],
        json!({ "files_changed": 1, "insertions": 1, "deletions": 0, "files": ["A a +1 -0"] })
    );
    assert_eq!(commit["signature"], "none");
    let found = object(
        &platform,
        "git_log",
        json!({ "pickaxe": "needle", "order": "topo", "all": true }),
    )
    .await;
    assert_eq!(found["commits"].as_array().unwrap().len(), 1);
    assert_eq!(found["commits"][0]["subject"], "Add a");
    let merges = object(&platform, "git_log", json!({ "merges": "only" })).await;
    assert_eq!(merges["commits"], json!([]));
    let patches = text(&platform, "git_log", json!({ "patch": true })).await;
    assert!(
        patches.contains("\nAdd a\n\nA a +1 -0\ndiff --git a/a b/a\n"),
        "{patches}"
    );
    assert!(patches.contains("\nBegin\n\nA README.md +1 -0\n"), "{patches}");
}

#[tokio::test]
async fn the_history_is_reviewed() {
    let platform = TestPlatform::new().await;
    platform
        .repository
        .write("CHANGELOG.md", "# Changelog\n## 1.0.0\n- Parser for dates\n");
    platform.repository.commit("docs: Begin a changelog");
    platform.repository.git(&["tag", "v0.9.0"]);
    platform.repository.write("src/a", "x\n");
    platform.repository.commit("feat(parser): Fancy lookahead");
    let types = [
        "security",
        "features",
        "storyline",
        "gaps",
        "breaking_changes",
        "quality",
    ];
    let review = object(
        &platform,
        "git_changelog_analyze",
        json!({ "review_types": types }),
    )
    .await;
    assert_eq!(review["changelog"], "CHANGELOG.md");
    assert_eq!(review["releases"][0]["kinds"], json!({ "feature": 1 }));
    assert_eq!(review["releases"][1]["tag"], "v0.9.0");
    assert_eq!(review["reviews"].as_array().unwrap().len(), types.len());
    assert_eq!(review["reviews"][1]["findings"][0]["note"], "parser; in src");
    let gaps: Vec<&str> = review["reviews"][3]["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| finding["note"].as_str().unwrap())
        .collect();
    assert_eq!(
        gaps,
        [
            "feature, not in CHANGELOG.md",
            "a tag without an entry in CHANGELOG.md",
            "an entry in CHANGELOG.md without a tag"
        ]
    );
    let since = json!({ "review_types": ["features"], "since_tag": "v0.9.0" });
    assert_eq!(
        object(&platform, "git_changelog_analyze", since).await["commits"],
        1
    );
    let widened = json!({ "review_types": ["features"], "since_tag": "v0.9.0", "branch": "HEAD..HEAD" });
    assert!(
        try_call(&platform, "git_changelog_analyze", widened)
            .await
            .is_err()
    );
}

#[tokio::test]
async fn what_is_left_to_do_follows_from_the_state() {
    let platform = TestPlatform::new().await;
    platform.repository.git(&["tag", "v1.2.3"]);
    platform.repository.write("src/a", "x\n");
    platform.repository.commit("feat: Add a");
    platform.repository.write("src/b \"c\"", "x\n");
    let wrapup = object(
        &platform,
        "git_wrapup_instructions",
        json!({ "acknowledgement": "Y", "create_tag": true }),
    )
    .await;
    assert_eq!(
        (&wrapup["since"], &wrapup["bump"]),
        (&json!("v1.2.3"), &json!("minor"))
    );
    assert_eq!(wrapup["next_version"], "v1.3.0");
    let calls: Vec<&str> = wrapup["steps"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|step| step["call"].as_str())
        .collect();
    assert_eq!(
        calls,
        [
            r#"git_diff {"target":"HEAD","include_untracked":true}"#,
            r#"git_add {"paths":["\"src/b \\\"c\\\"\""]}"#,
            r#"git_commit {"message":"…"}"#,
            r#"git_tag {"mode":"create","tag_name":"v1.3.0","message":"Release v1.3.0"}"#,
            r#"git_push {"set_upstream":true,"tags":true}"#,
        ]
    );
    assert_eq!(
        wrapup["documents"][0],
        json!({ "path": "README.md", "role": "readme", "touched": false })
    );
}

#[tokio::test]
async fn conflicts_come_before_everything_else() {
    let platform = TestPlatform::new().await;
    let repository = &platform.repository;
    repository.git(&["checkout", "--quiet", "-b", "topic"]);
    repository.write("README.md", "theirs\n");
    repository.commit("theirs");
    repository.git(&["checkout", "--quiet", "main"]);
    repository.write("README.md", "ours\n");
    repository.commit("ours");
    repository.git(&["read-tree", "-m", "-i", "HEAD~1", "HEAD", "topic"]);
    let wrapup = object(&platform, "git_wrapup_instructions", json!({})).await;
    assert_eq!(
        wrapup["steps"][0],
        json!({
            "text": "Resolve all conflicts (1), then stage the files.",
            "call": r#"git_add {"paths":["README.md"]}"#
        })
    );
    let diff = text(&platform, "git_diff", json!({ "stat": true })).await;
    assert!(diff.contains("\nU README.md "), "{diff}");
}

#[tokio::test]
async fn a_new_repository_has_nothing_to_wrap_up() {
    let platform = TestPlatform::new().await;
    let wrapup = object(&platform, "git_wrapup_instructions", json!({})).await;
    assert_eq!(wrapup["uncommitted_files"], 0);
    assert_eq!(wrapup["commits"].as_array().unwrap().len(), 1);
    assert_eq!(wrapup["branch"], "main");
}
