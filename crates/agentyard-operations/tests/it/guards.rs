//! Nothing can be added unguarded: every operation in the registry turns away whom it must.

use std::sync::Arc;

use agentyard_model::{Caller, Permission, Permissions, TenantId, Toolset};
use agentyard_operations::{Context, Face, Presentation, Progress, Registered, Reply, registry};
use agentyard_services::{CreateSandbox, Error, ErrorKind, RepoRequest, Result, Services};
use agentyard_testkit::TestPlatform;
use serde_json::{Map, Value, json};

/// Arguments with which each operation gets as far as its own check. An operation that
/// is not here fails the tests below.
fn arguments(operation: &Registered, platform: &TestPlatform, things: &Things) -> Map<String, Value> {
    let repository = platform.repository.path().display().to_string();
    let arguments = match operation.entry().name {
        "git_branch" | "git_tag" | "git_worktree" | "git_reflog" | "git_init" => {
            json!({ "path": repository })
        }
        "git_checkout" => json!({ "path": repository, "target": "main" }),
        "git_stash" => json!({ "path": repository, "mode": "list" }),
        "git_clean" => json!({ "path": repository, "dry_run": true }),
        "git_commit" => json!({ "path": repository, "message": "Begin", "allow_empty": true }),
        "git_diff" | "git_status" | "git_log" | "git_reset" | "git_set_working_dir" => {
            json!({ "path": repository })
        }
        "git_show" => json!({ "path": repository, "object": "HEAD" }),
        "git_blame" => json!({ "path": repository, "file_path": "README.md" }),
        "git_changelog_analyze" => json!({ "path": repository, "review_types": ["gaps", "storyline"] }),
        "git_wrapup_instructions" => json!({ "path": repository }),
        "git_add" => json!({ "path": repository, "all": true }),
        "git_cherry_pick" => json!({ "path": repository, "commits": ["HEAD"] }),
        "git_merge" => json!({ "path": repository, "branch": "HEAD" }),
        "git_rebase" => json!({ "path": repository, "upstream": "HEAD" }),
        "git_clone" => json!({ "url": repository, "path": format!("{repository}/clone") }),
        "git_fetch" | "git_pull" | "git_push" | "git_remote" => json!({ "path": repository }),
        "ls" | "env" => json!({ "workspace": repository }),
        "read_file" => json!({ "workspace": repository, "path": "README.md" }),
        "write_file" => {
            json!({ "workspace": repository, "path": "new.txt", "content": "x\n", "overwrite": true })
        }
        "edit_file" => {
            let edit = json!({ "old": "hello", "new": "hi" });
            json!({ "workspace": repository, "path": "README.md", "edits": [edit] })
        }
        "search" => json!({ "workspace": repository, "pattern": "hello" }),
        "git_clear_working_dir" | "whoami" | "token_list" | "audit_search" => json!({}),
        "make" => json!({ "workspace": repository, "dry_run": true }),
        "run_command" => json!({ "workspace": repository, "command": ["true"] }),
        "initialize_code_file" => {
            json!({ "workspace": repository, "filename": "code", "content": "x = 1\n" })
        }
        "append_to_code_file" => {
            json!({ "workspace": repository, "file_path": "README.md", "content": "y = 2\n" })
        }
        "overwrite_code_file" => json!({ "workspace": repository, "path": "over.py", "content": "z = 3\n" }),
        "execute_code" => json!({ "workspace": repository, "code": "print(1)" }),
        "execute_code_file" => json!({ "workspace": repository, "path": "script.py" }),
        "install_dependencies" => json!({ "workspace": repository, "packages": ["no-such-package-of-ours"] }),
        "check_installed_packages" => json!({ "workspace": repository, "packages": ["numpy"] }),
        "configure_environment" => json!({ "workspace": repository, "type": "venv" }),
        "get_environment_config" => json!({ "workspace": repository }),
        "read_code_file" => json!({ "workspace": repository, "file_path": "README.md" }),
        "list_executions" | "secret_list" => json!({}),
        "secret_set" => json!({ "name": "API_TOKEN", "value": "hunter22" }),
        "secret_remove" => json!({ "name": "API_TOKEN" }),
        "token_create" => json!({ "name": "child" }),
        "token_revoke" => json!({ "token": things.token }),
        "repo_add" => json!({ "url": repository, "name": "ours" }),
        "repo_list" => json!({}),
        "repo_get" | "repo_fetch" | "repo_branches" => json!({ "repo": "ours" }),
        "repo_remove" => json!({ "repo": "doomed", "confirm": true }),
        "workspace_list" | "workspace_conflicts" => json!({}),
        "workspace_open" => json!({ "repo": "ours", "branch": "new" }),
        "workspace_get" | "workspace_sync" | "workspace_undo" | "workspace_checkpoints" => {
            json!({ "workspace": "ours/standing" })
        }
        "workspace_close" => json!({ "workspace": "ours/doomed" }),
        "sandbox_create" | "sandbox_list" | "sandbox_snapshots" => json!({}),
        "sandbox_get" | "sandbox_connect" | "sandbox_snapshot" | "sandbox_fork" | "sandbox_metrics" => {
            json!({ "sandbox": things.sandbox })
        }
        "sandbox_run" => json!({ "sandbox": things.sandbox, "command": ["true"] }),
        "sandbox_set_timeout" => json!({ "sandbox": things.sandbox, "timeout_seconds": 60 }),
        "sandbox_set_network" => json!({ "sandbox": things.sandbox, "internet": false }),
        "sandbox_pause" => json!({ "sandbox": things.to_pause }),
        "sandbox_kill" => json!({ "sandbox": things.to_kill }),
        "sandbox_snapshot_remove" => json!({ "snapshot": things.snapshot }),
        "sandbox_clone" => json!({ "url": "https://git.example/a.git", "task": "try" }),
        "sandbox_pull" | "sandbox_push" | "sandbox_status" | "sandbox_diff" => {
            json!({ "sandbox": things.sandbox })
        }
        other => panic!("say with which arguments `{other}` is called here"),
    };
    let Value::Object(arguments) = arguments else {
        panic!("an object");
    };
    arguments
}

/// What operations are called on.
#[derive(Default)]
struct Things {
    token: String,
    sandbox: String,
    to_pause: String,
    to_kill: String,
    snapshot: String,
    /// Where the sandboxes are. All else is run on the host, from where package indexes are reached.
    with_sandboxes: Option<Arc<Services>>,
}

/// Operations on repositories in sandboxes, which are on other machines: none is reached here.
const ELSEWHERE: &[&str] = &[
    "sandbox_clone",
    "sandbox_pull",
    "sandbox_push",
    "sandbox_status",
    "sandbox_diff",
];

/// Whether a caller was let through to what the operation does.
fn is_let_through(operation: &Registered, result: &Result<Reply>) -> bool {
    match result {
        Ok(_) => true,
        Err(error) => {
            ELSEWHERE.contains(&operation.entry().name)
                && !matches!(error.kind(), ErrorKind::Forbidden | ErrorKind::Unauthenticated)
        }
    }
}

async fn call(
    platform: &TestPlatform,
    operation: &Registered,
    caller: &Caller,
    things: &Things,
) -> Result<Reply> {
    let is_of_sandboxes = operation.entry().toolset == Toolset::Sandbox;
    let services = things.with_sandboxes.as_ref().filter(|_| is_of_sandboxes);
    let context = Context {
        services: services.unwrap_or(&platform.services),
        caller,
        progress: &Progress::ignored(),
    };
    let arguments = arguments(operation, platform, things);
    operation
        .call(context, arguments, Presentation::default(), Face::Rest)
        .await
}

async fn platform_with_things() -> (TestPlatform, Things) {
    let platform = TestPlatform::new().await;
    // A remote that is always there: the repository itself.
    let repository = platform.repository.path().display().to_string();
    platform.repository.git(&["remote", "add", "origin", &repository]);
    platform.repository.write("script.py", "print(1)\n");
    let doomed = RepoRequest {
        url: "https://example.org/doomed.git".to_owned(),
        ..RepoRequest::default()
    };
    platform
        .services
        .repos
        .add(&Caller::local(), doomed)
        .await
        .unwrap();
    open_workspaces(&platform, &repository).await;
    let reply = call(
        &platform,
        registry().find("token_create").unwrap(),
        &Caller::local(),
        &Things::default(),
    )
    .await
    .unwrap();
    let Reply::Structured { value, .. } = reply else {
        panic!("a token");
    };
    let things = Things {
        token: value["id"].as_str().unwrap().to_owned(),
        ..sandboxes(&platform).await
    };
    (platform, things)
}

/// Some sandboxes, and a snapshot of one.
async fn sandboxes(platform: &TestPlatform) -> Things {
    let with_sandboxes = platform.another_process_with_sandboxes();
    let (services, local) = (&with_sandboxes.sandboxes, Caller::local());
    let mut made = Vec::new();
    for _ in 0..3 {
        let access = services.create(&local, CreateSandbox::default()).await.unwrap();
        made.push(access.sandbox.row.id);
    }
    Things {
        token: String::new(),
        sandbox: made[0].to_string(),
        to_pause: made[1].to_string(),
        to_kill: made[2].to_string(),
        snapshot: services
            .snapshot(&local, made[0], None)
            .await
            .unwrap()
            .id
            .to_string(),
        with_sandboxes: Some(with_sandboxes),
    }
}

/// One workspace in which something was done, and one to be closed.
async fn open_workspaces(platform: &TestPlatform, repository: &str) {
    let ours = json!({ "url": repository, "name": "ours" });
    let write = json!({ "workspace": "ours/standing", "path": "done.txt", "content": "done\n" });
    for (name, arguments) in [
        ("repo_add", ours),
        ("workspace_open", json!({ "repo": "ours", "branch": "standing" })),
        ("workspace_open", json!({ "repo": "ours", "branch": "doomed" })),
        ("write_file", write),
    ] {
        let context = Context {
            services: &platform.services,
            caller: &Caller::local(),
            progress: &Progress::ignored(),
        };
        let operation = registry().find(name).unwrap();
        let arguments = arguments.as_object().unwrap().clone();
        operation
            .call(context, arguments, Presentation::default(), Face::Rest)
            .await
            .unwrap();
    }
}

fn kind(result: Result<Reply>) -> Option<ErrorKind> {
    result.err().as_ref().map(Error::kind)
}

#[tokio::test]
async fn every_operation_answers_who_may_call_it() {
    let (platform, things) = platform_with_things().await;
    for operation in registry().iter() {
        let result = call(&platform, operation, &Caller::local(), &things).await;
        assert!(
            is_let_through(operation, &result),
            "{}: {result:?}",
            operation.entry().name
        );
    }
}

#[tokio::test]
async fn every_operation_refuses_an_anonymous_caller() {
    let (platform, things) = platform_with_things().await;
    let nobody = Caller {
        permissions: Permissions::ALL,
        ..Caller::anonymous()
    };
    for operation in registry().iter() {
        let result = call(&platform, operation, &nobody, &things).await;
        assert_eq!(
            kind(result),
            Some(ErrorKind::Unauthenticated),
            "{}",
            operation.entry().name
        );
    }
}

#[tokio::test]
async fn every_operation_refuses_a_caller_without_its_permission() {
    let (platform, things) = platform_with_things().await;
    for operation in registry().iter() {
        let Some(permission) = operation.entry().permission() else {
            continue;
        };
        let caller = Caller {
            permissions: Permissions::ALL.without([permission].into_iter().collect()),
            ..Caller::local()
        };
        let result = call(&platform, operation, &caller, &things).await;
        assert_eq!(
            kind(result),
            Some(ErrorKind::Forbidden),
            "{}",
            operation.entry().name
        );
    }
}

#[tokio::test]
async fn the_permission_that_is_declared_is_enough() {
    let (platform, things) = platform_with_things().await;
    for operation in registry().iter() {
        let caller = Caller {
            permissions: operation.entry().permission().into_iter().collect(),
            ..Caller::local()
        };
        let result = call(&platform, operation, &caller, &things).await;
        assert!(
            is_let_through(operation, &result),
            "{}: {result:?}",
            operation.entry().name
        );
    }
}

#[tokio::test]
async fn no_operation_shows_or_touches_what_is_another_tenants() {
    let (platform, things) = platform_with_things().await;
    let foreign = platform.add_tenant("elsewhere").await;
    let stranger = Caller {
        tenant: foreign,
        ..Caller::local()
    };
    for operation in registry().iter() {
        let name = operation.entry().name;
        match call(&platform, operation, &stranger, &things).await {
            Ok(Reply::Structured { json, .. }) => {
                for ours in [
                    things.token.as_str(),
                    &things.sandbox,
                    &TenantId::LOCAL.to_string(),
                    &platform.repository.path().display().to_string(),
                ] {
                    assert!(!json.contains(ours), "{name} shows {ours}: {json}");
                }
            }
            Ok(Reply::Text { text, .. }) => panic!("{name} shows {text}"),
            Err(_) if ELSEWHERE.contains(&name) => {}
            Err(error) => assert_eq!(error.kind(), ErrorKind::NotFound, "{name}: {error}"),
        }
    }
    let list = call(
        &platform,
        registry().find("token_list").unwrap(),
        &Caller::local(),
        &things,
    )
    .await
    .unwrap();
    let Reply::Structured { value, .. } = list else {
        panic!("a list");
    };
    assert_eq!(
        value["tokens"][0]["id"], things.token,
        "the stranger must not have revoked it"
    );
}

#[tokio::test]
async fn a_refused_change_is_written_down() {
    let (platform, things) = platform_with_things().await;
    let weak = Caller {
        permissions: Permissions::NONE,
        ..Caller::local()
    };
    let _ = call(
        &platform,
        registry().find("token_revoke").unwrap(),
        &weak,
        &things,
    )
    .await;
    let found = call(
        &platform,
        registry().find("audit_search").unwrap(),
        &Caller::local(),
        &things,
    )
    .await
    .unwrap();
    let Reply::Structured { value, .. } = found else {
        panic!("records");
    };
    assert_eq!(value["records"][0]["action"], "token_revoke");
    assert_eq!(value["records"][0]["outcome"], "denied");
}

#[tokio::test]
async fn who_may_only_read_lists_remotes_and_changes_none() {
    let (platform, _) = platform_with_things().await;
    let reader = Caller {
        permissions: [Permission::ProjectRead].into_iter().collect(),
        ..Caller::local()
    };
    let repository = platform.repository.path().display().to_string();
    let operation = registry().find("git_remote").unwrap();
    for (mode, expected) in [
        ("list", None),
        ("get-url", None),
        ("add", Some(ErrorKind::Forbidden)),
        ("set_url", Some(ErrorKind::Forbidden)),
        ("rename", Some(ErrorKind::Forbidden)),
        ("remove", Some(ErrorKind::Forbidden)),
    ] {
        let Value::Object(arguments) = json!({
            "path": repository, "mode": mode, "name": "origin", "newName": "other", "url": "https://a.example/b",
            "confirm": true
        }) else {
            panic!("an object");
        };
        let context = Context {
            services: &platform.services,
            caller: &reader,
            progress: &Progress::ignored(),
        };
        let result = operation
            .call(context, arguments, Presentation::default(), Face::Rest)
            .await;
        assert_eq!(kind(result), expected, "{mode}");
    }
}
