//! Repositories, branches, tags, working trees and reflogs, as a client sees them.

use agentyard_model::{Caller, Permission, Permissions};
use agentyard_operations::{Context, Face, Presentation, Progress, Reply, registry};
use agentyard_services::{Error, ErrorKind};
use agentyard_testkit::TestPlatform;
use serde_json::{Value, json};

async fn call_as(
    platform: &TestPlatform,
    caller: &Caller,
    name: &str,
    mut arguments: Value,
) -> Result<(Value, String), Error> {
    let context = Context {
        services: &platform.services,
        caller,
        progress: &Progress::ignored(),
    };
    let given = arguments.as_object_mut().unwrap();
    if !given.contains_key("path") {
        given.insert("path".to_owned(), top(platform).into());
    }
    let operation = registry().find(name).unwrap();
    let reply = operation
        .call(context, given.clone(), Presentation::default(), Face::Rest)
        .await?;
    match reply {
        Reply::Structured { value, json, .. } => Ok((value, json)),
        Reply::Text { text, .. } => panic!("text: {text}"),
    }
}

async fn call(platform: &TestPlatform, name: &str, arguments: Value) -> Result<Value, Error> {
    let answer = call_as(platform, &Caller::local(), name, arguments).await;
    answer.map(|(value, _)| value)
}

fn top(platform: &TestPlatform) -> String {
    platform.repository.path().display().to_string()
}

fn head(platform: &TestPlatform) -> String {
    platform.repository.git(&["rev-parse", "HEAD"]).trim().to_owned()
}

fn reader() -> Caller {
    Caller {
        permissions: [Permission::ProjectRead].into_iter().collect::<Permissions>(),
        ..Caller::local()
    }
}

#[tokio::test]
async fn a_list_of_many_branches_is_small() {
    let platform = TestPlatform::new().await;
    let head = head(&platform);
    let directory = platform.repository.path().join(".git/refs/heads/feature");
    std::fs::create_dir(&directory).unwrap();
    for number in 0..200 {
        std::fs::write(directory.join(format!("topic-{number:03}")), format!("{head}\n")).unwrap();
    }
    let arguments = json!({ "pattern": "topic-" });
    let (value, json) = call_as(&platform, &Caller::local(), "git_branch", arguments)
        .await
        .unwrap();
    assert_eq!(value["branches"].as_array().unwrap().len(), 200);
    assert_eq!(value["current"], "main");
    let on_the_wire = serde_json::to_string(&json).unwrap().len();
    assert!(on_the_wire <= 16_000, "{on_the_wire} bytes");

    let page = json!({ "pattern": "topic-", "limit": 150 });
    let value = call(&platform, "git_branch", page).await.unwrap();
    assert_eq!(
        (&value["total"], &value["next_cursor"]),
        (&json!(200), &json!("150"))
    );
    let rest = json!({ "pattern": "topic-", "limit": 150, "cursor": "150" });
    let value = call(&platform, "git_branch", rest).await.unwrap();
    assert_eq!(value["branches"].as_array().unwrap().len(), 50);
    assert_eq!(value["branches"][49]["name"], "feature/topic-199");
    assert!(value.get("next_cursor").is_none());
}

#[tokio::test]
async fn branches_through_their_life() {
    let platform = TestPlatform::new().await;
    let created = call(
        &platform,
        "git_branch",
        json!({ "mode": "create", "branchName": "topic" }),
    )
    .await;
    let expected = json!({ "repository": top(&platform), "branch": "topic", "commit": head(&platform) });
    assert_eq!(created.unwrap(), expected);
    let rename = json!({ "mode": "rename", "branch_name": "topic", "new_branch_name": "subject" });
    assert!(call(&platform, "git_branch", rename).await.is_ok());
    let merged = json!({ "merged": true });
    let listed = call(&platform, "git_branch", merged).await.unwrap();
    let short = &head(&platform)[..10];
    assert_eq!(
        listed["branches"],
        json!([{ "name": "main", "commit": short }, { "name": "subject", "commit": short }])
    );
    assert_eq!(
        call(&platform, "git_branch", json!({ "no_merged": true }))
            .await
            .unwrap()["branches"],
        json!([])
    );
    let delete = json!({ "mode": "delete", "branch_name": "subject" });
    let error = call(&platform, "git_branch", delete).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Forbidden);
    assert!(error.hints().join(" ").contains("confirm: true"), "{error:?}");
    let delete = json!({ "mode": "delete", "branch_name": "subject", "confirm": true });
    let deleted = call(&platform, "git_branch", delete).await.unwrap();
    let kept = deleted["kept"].as_str().unwrap();
    assert_eq!(
        platform.repository.git(&["rev-parse", kept]).trim(),
        head(&platform)
    );
    let current = call(&platform, "git_branch", json!({ "mode": "show-current" })).await;
    let expected = json!({ "repository": top(&platform), "current": "main", "commit": head(&platform) });
    assert_eq!(current.unwrap(), expected);
    let error = call(&platform, "git_branch", json!({ "mode": "create" }))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}

#[tokio::test]
async fn flags_are_not_smuggled_in() {
    let platform = TestPlatform::new().await;
    for (name, arguments) in [
        ("git_branch", json!({ "mode": "create", "branch_name": "--list" })),
        (
            "git_branch",
            json!({ "mode": "create", "branch_name": "x", "start_point": "--force" }),
        ),
        ("git_branch", json!({ "mode": "rename", "new_branch_name": "-f" })),
        (
            "git_branch",
            json!({ "mode": "set_upstream", "upstream": "--unset" }),
        ),
        ("git_branch", json!({ "merged": "--output=x" })),
        ("git_tag", json!({ "mode": "create", "tag_name": "-d" })),
        (
            "git_tag",
            json!({ "mode": "create", "tag_name": "x", "commit": "--force" }),
        ),
        (
            "git_tag",
            json!({ "mode": "verify", "tag_name": "--format=%(x)" }),
        ),
        (
            "git_worktree",
            json!({ "mode": "add", "worktree_path": "w", "branch": "--force" }),
        ),
        (
            "git_worktree",
            json!({ "mode": "add", "worktree_path": "w", "commitish": "--detach" }),
        ),
        ("git_reflog", json!({ "ref": "--all" })),
        ("git_init", json!({ "path": "new", "initial_branch": "--bare" })),
    ] {
        let error = call(&platform, name, arguments.clone()).await.unwrap_err();
        assert_eq!(
            error.kind(),
            ErrorKind::InvalidInput,
            "{name} {arguments}: {error}"
        );
    }
    assert_eq!(platform.repository.git(&["for-each-ref"]).lines().count(), 1);
}

#[tokio::test]
async fn who_only_reads_changes_nothing() {
    let platform = TestPlatform::new().await;
    let new = platform.repository.path().join("new").display().to_string();
    for (name, arguments) in [
        ("git_branch", json!({ "mode": "create", "branch_name": "x" })),
        (
            "git_branch",
            json!({ "mode": "delete", "branch_name": "x", "confirm": true }),
        ),
        ("git_branch", json!({ "mode": "rename", "new_branch_name": "x" })),
        (
            "git_branch",
            json!({ "mode": "set_upstream", "upstream": "main" }),
        ),
        ("git_branch", json!({ "mode": "unset_upstream" })),
        ("git_tag", json!({ "mode": "create", "tag_name": "x" })),
        (
            "git_tag",
            json!({ "mode": "delete", "tag_name": "x", "confirm": true }),
        ),
        ("git_worktree", json!({ "mode": "add", "worktree_path": "x" })),
        ("git_worktree", json!({ "mode": "remove", "worktree_path": "x" })),
        (
            "git_worktree",
            json!({ "mode": "move", "worktree_path": "x", "new_path": "y" }),
        ),
        ("git_worktree", json!({ "mode": "prune", "dry_run": true })),
        ("git_worktree", json!({ "mode": "lock", "worktree_path": "x" })),
        ("git_worktree", json!({ "mode": "unlock", "worktree_path": "x" })),
        ("git_init", json!({ "path": new })),
        (
            "git_set_working_dir",
            json!({ "path": new, "initialize_if_not_present": true }),
        ),
    ] {
        let result = call_as(&platform, &reader(), name, arguments.clone()).await;
        let kind = result.map_err(|error| error.kind());
        assert_eq!(kind, Err(ErrorKind::Forbidden), "{name} {arguments}");
    }
    assert!(!std::path::Path::new(&new).exists());
}

#[tokio::test]
async fn tags_through_their_life() {
    let platform = TestPlatform::new().await;
    let create = json!({ "mode": "create", "tag_name": "v1.0", "message": "One\n\nbody" });
    let expected = json!({
        "repository": top(&platform), "tag": "v1.0", "commit": head(&platform), "annotated": true
    });
    assert_eq!(call(&platform, "git_tag", create).await.unwrap(), expected);
    let listed = call(&platform, "git_tag", json!({ "detail": "minimal" }))
        .await
        .unwrap();
    let short = &head(&platform)[..10];
    assert_eq!(listed["tags"], json!([{ "name": "v1.0", "commit": short }]));
    let listed = call(
        &platform,
        "git_tag",
        json!({ "detail": "full", "commit": "HEAD" }),
    )
    .await
    .unwrap();
    assert_eq!(
        (&listed["tags"][0]["body"], &listed["tags"][0]["tagger"]),
        (&json!("body"), &json!("Grace <grace@example.org>"))
    );
    let verify = json!({ "mode": "verify", "tag_name": "v1.0" });
    let (verified, _) = call_as(&platform, &reader(), "git_tag", verify).await.unwrap();
    let expected = json!({
        "repository": top(&platform), "tag": "v1.0", "verified": false, "warning": "the tag is not signed"
    });
    assert_eq!(verified, expected);
    let delete = json!({ "mode": "delete", "tag_name": "v1.0", "confirm": true });
    let deleted = call(&platform, "git_tag", delete).await.unwrap();
    assert!(
        deleted["kept"]
            .as_str()
            .unwrap()
            .starts_with("refs/agentyard/kept/")
    );
}

#[tokio::test]
async fn working_trees_through_their_life() {
    let platform = TestPlatform::new().await;
    let add = json!({ "mode": "add", "worktreePath": "trees/a", "branch": "topic" });
    let added = call(&platform, "git_worktree", add).await.unwrap();
    let path = platform.repository.path().join("trees/a");
    assert_eq!(
        added,
        json!({
            "repository": top(&platform), "worktree": path.display().to_string(),
            "branch": "topic", "commit": head(&platform)
        })
    );
    let listed = call(&platform, "git_worktree", json!({})).await.unwrap();
    let short = &head(&platform)[..10];
    assert_eq!(
        listed["worktrees"],
        json!([
            { "path": top(&platform), "branch": "main", "commit": short, "main": true, "current": true },
            { "path": path.display().to_string(), "branch": "topic", "commit": short },
        ])
    );
    std::fs::write(path.join("new"), "new\n").unwrap();
    let remove = json!({ "mode": "remove", "worktree_path": "trees/a" });
    let error = call(&platform, "git_worktree", remove).await.unwrap_err();
    assert!(error.message().contains("1 untracked"), "{error:?}");
    let remove = json!({ "mode": "remove", "worktree_path": "trees/a", "confirm": true });
    let removed = call(&platform, "git_worktree", remove).await.unwrap();
    let kept = format!("{}:new", removed["kept"][0].as_str().unwrap());
    assert_eq!(platform.repository.git(&["show", &kept]), "new\n");
    let pruned = call(&platform, "git_worktree", json!({ "mode": "prune" }))
        .await
        .unwrap();
    assert_eq!(pruned["pruned"], json!([]));
}

#[tokio::test]
async fn a_reflog_is_paged() {
    let platform = TestPlatform::new().await;
    platform.repository.commit("second");
    platform.repository.commit("third");
    let page = call(&platform, "git_reflog", json!({ "max_count": 2 }))
        .await
        .unwrap();
    assert_eq!(page["ref"], "HEAD");
    assert_eq!(page["entries"][0]["selector"], "HEAD@{0}");
    assert_eq!(
        (&page["entries"][0]["action"], &page["entries"][0]["message"]),
        (&json!("commit"), &json!("third"))
    );
    let rest = json!({ "ref": "main", "cursor": page["next_cursor"] });
    let rest = call(&platform, "git_reflog", rest).await.unwrap();
    assert_eq!(rest["entries"].as_array().unwrap().len(), 1);
    assert_eq!(rest["entries"][0]["selector"], "main@{2}");
}

#[tokio::test]
async fn a_repository_is_made_where_it_is_wanted() {
    let platform = TestPlatform::new().await;
    let new = platform
        .repository
        .path()
        .join("nested/new")
        .display()
        .to_string();
    let made = call(
        &platform,
        "git_init",
        json!({ "path": new, "initial_branch": "trunk" }),
    )
    .await;
    let expected = json!({ "repository": new, "branch": "trunk", "object_format": "sha1" });
    assert_eq!(made.unwrap(), expected);
    let again = call(&platform, "git_init", json!({ "path": new, "bare": true }))
        .await
        .unwrap();
    let expected = json!({ "repository": new, "branch": "trunk", "object_format": "sha1", "existing": true });
    assert_eq!(again, expected);
    // Relative to the working directory, which has to be set first.
    let error = call(&platform, "git_init", json!({ "path": "x" }))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    call(&platform, "git_set_working_dir", json!({ "path": new }))
        .await
        .unwrap();
    let made = call(&platform, "git_init", json!({ "path": "../x" }))
        .await
        .unwrap();
    assert_eq!(made["repository"], format!("{}/nested/x", top(&platform)));
    let outside = call(&platform, "git_init", json!({ "path": "../../../x" }))
        .await
        .unwrap_err();
    assert_eq!(outside.kind(), ErrorKind::Forbidden);
}

#[tokio::test]
async fn a_working_directory_need_not_be_in_a_repository() {
    let platform = TestPlatform::new().await;
    std::fs::remove_dir_all(platform.repository.path().join(".git")).unwrap();
    let path = top(&platform);
    let set = |more: Value| {
        let mut arguments = json!({ "path": path });
        arguments
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        call(&platform, "git_set_working_dir", arguments)
    };
    assert_eq!(set(json!({})).await.unwrap_err().kind(), ErrorKind::NotFound);
    let chosen = set(json!({ "validate_git_repo": false })).await.unwrap();
    assert_eq!(chosen, json!({ "working_directory": path }));
    let made = set(json!({ "initialize_if_not_present": true })).await.unwrap();
    assert_eq!(
        (&made["initialized"], &made["repository"], &made["branch"]),
        (&json!(true), &json!(path), &json!("main"))
    );
    assert!(
        set(json!({ "initialize_if_not_present": true }))
            .await
            .unwrap()
            .get("initialized")
            .is_none()
    );
}

#[tokio::test]
async fn a_list_shows_what_was_just_configured() {
    let platform = TestPlatform::new().await;
    let listed = call(&platform, "git_branch", json!({})).await.unwrap();
    assert!(listed["branches"][0].get("upstream").is_none());
    for arguments in [
        json!({ "mode": "create", "branch_name": "topic" }),
        json!({ "mode": "set_upstream", "branch_name": "topic", "upstream": "main" }),
    ] {
        call(&platform, "git_branch", arguments).await.unwrap();
    }
    platform.repository.commit("second");
    let listed = call(&platform, "git_branch", json!({ "pattern": "topic" }))
        .await
        .unwrap();
    let topic = &listed["branches"][0];
    assert_eq!(
        (&topic["upstream"], &topic["behind"]),
        (&json!("main"), &json!(1))
    );
    let unset = json!({ "mode": "unset_upstream", "branch_name": "topic" });
    call(&platform, "git_branch", unset).await.unwrap();
    let listed = call(&platform, "git_branch", json!({ "pattern": "topic" }))
        .await
        .unwrap();
    assert!(listed["branches"][0].get("upstream").is_none());
}
