//! Sandboxes that stay: what becomes of them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agentyard_model::{
    Caller, Lifecycle, PageRequest, Permission, Permissions, SandboxFilter, SandboxId, SandboxState,
};
use agentyard_services::{
    CreateSandbox, ErrorKind, Result, SandboxAccess, SandboxCommand, SandboxRan, SandboxSettings, Services,
};
use agentyard_testkit::{TestPlatform, sandbox_settings};

use crate::yard::{ann, audit, kind, local, of_tenant};

pub(crate) async fn platform() -> TestPlatform {
    TestPlatform::with_sandboxes(sandbox_settings()).await
}

pub(crate) async fn create_with(services: &Services, request: CreateSandbox) -> Result<SandboxAccess> {
    services.sandboxes.create(&local(), request).await
}

pub(crate) async fn create(services: &Services) -> SandboxId {
    let made = create_with(services, CreateSandbox::default()).await.unwrap();
    made.sandbox.row.id
}

pub(crate) async fn script(services: &Services, id: SandboxId, text: &str) -> Result<SandboxRan> {
    let command = SandboxCommand {
        script: Some(text.to_owned()),
        ..SandboxCommand::default()
    };
    services.sandboxes.run(&local(), id, command).await
}

pub(crate) async fn said(services: &Services, id: SandboxId, text: &str) -> String {
    let ran = script(services, id, text).await.unwrap();
    assert_eq!(ran.exit_code, Some(0), "{ran:?}");
    ran.stdout.text.trim_end().to_owned()
}

async fn state(services: &Services, id: SandboxId) -> Option<SandboxState> {
    let found = services.sandboxes.get(&local(), id).await;
    found.ok().map(|details| details.row.state)
}

/// The directories of sandboxes that are on disk, in all yards.
fn on_disk(platform: &TestPlatform) -> Vec<String> {
    let names = |directory: &Path| -> Vec<String> {
        let entries = std::fs::read_dir(directory).into_iter().flatten();
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    };
    let top = platform.data().join("sandboxes");
    let yards = names(&top).into_iter();
    yards
        .flat_map(|yard| names(&top.join(yard).join("sandboxes")))
        .collect()
}

fn pausing() -> CreateSandbox {
    CreateSandbox {
        lifecycle: Lifecycle {
            auto_pause: true,
            auto_resume: true,
            files_only: false,
        },
        ..CreateSandbox::default()
    }
}

#[tokio::test]
async fn a_sandbox_is_made_used_and_killed() {
    let platform = platform().await;
    let services = &platform.services;
    let request = CreateSandbox {
        environment: [("GREETING".to_owned(), "hello".to_owned())].into(),
        metadata: [("task".to_owned(), "7".to_owned())].into(),
        ..CreateSandbox::default()
    };
    let made = create_with(services, request).await.unwrap();
    let row = &made.sandbox.row;
    assert_eq!(
        (row.state, row.template.as_str()),
        (SandboxState::Running, "base")
    );
    assert_eq!(row.ends_at, platform.clock.now().after(Duration::from_secs(300)));
    assert_ne!(made.access_token.expose(), made.traffic_token.expose());
    assert_eq!(
        said(services, row.id, "echo $GREETING from $PWD as $USER").await,
        "hello from /home/user as user"
    );
    let failed = script(services, row.id, "echo no >&2; exit 3").await.unwrap();
    assert_eq!((failed.exit_code, failed.stderr.text.as_str()), (Some(3), "no\n"));
    services.sandboxes.kill(&local(), row.id).await.unwrap();
    assert_eq!(
        kind(services.sandboxes.get(&local(), row.id).await),
        ErrorKind::NotFound
    );
    assert_eq!(
        kind(services.sandboxes.kill(&local(), row.id).await),
        ErrorKind::NotFound
    );
    assert_eq!(on_disk(&platform), Vec::<String>::new());
    for action in ["sandbox_create", "sandbox_run", "sandbox_kill"] {
        assert!(!audit(&platform, action).await.is_empty(), "{action}");
    }
}

#[tokio::test]
async fn a_command_ends_when_its_time_is_up() {
    let platform = platform().await;
    let services = &platform.services;
    let id = create(services).await;
    let command = SandboxCommand {
        command: vec!["sleep".to_owned(), "100".to_owned()],
        timeout: Some(Duration::from_secs(1)),
        ..SandboxCommand::default()
    };
    let ran = services.sandboxes.run(&local(), id, command).await.unwrap();
    assert!(ran.timed_out || ran.exit_code.is_none(), "{ran:?}");
    services.end().await;
}

#[tokio::test]
async fn its_time_is_prolonged_and_runs_out() {
    let platform = platform().await;
    let (services, clock) = (&platform.services, &platform.clock);
    let id = create(services).await;
    let sandboxes = &services.sandboxes;
    let minute = Duration::from_secs(60);
    let shorter = sandboxes
        .connect(&local(), id, Some(minute), false)
        .await
        .unwrap();
    assert_eq!(
        shorter.sandbox.row.ends_at,
        clock.now().after(Duration::from_secs(300)),
        "connecting never takes time away"
    );
    let set = sandboxes.set_timeout(&local(), id, minute).await.unwrap();
    assert_eq!(set.row.ends_at, clock.now().after(minute));
    let longest = SandboxSettings::default().max_timeout;
    let too_long = sandboxes
        .set_timeout(&local(), id, longest + Duration::from_secs(1))
        .await;
    assert_eq!(kind(too_long), ErrorKind::InvalidInput);
    clock.advance(minute + Duration::from_secs(1));
    sandboxes.tend().await;
    // The task that looks at the clock by itself may have been quicker, and still be at it.
    while state(services, id).await.is_some() || !on_disk(&platform).is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(audit(&platform, "sandbox_expire").await.len(), 1);
}

#[tokio::test]
async fn one_that_pauses_itself_is_paused_and_wakes_with_what_it_had() {
    let platform = platform().await;
    let (services, clock) = (&platform.services, &platform.clock);
    let id = create_with(services, pausing()).await.unwrap().sandbox.row.id;
    said(
        services,
        id,
        "echo kept > file; sleep 1000 >/dev/null 2>&1 & echo $! > pid",
    )
    .await;
    clock.advance(Duration::from_secs(301));
    services.sandboxes.tend().await;
    while state(services, id).await != Some(SandboxState::Paused) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let again = services.sandboxes.pause(&local(), id, true).await;
    assert_eq!(kind(again), ErrorKind::Conflict);
    // Whoever uses it wakes it.
    assert_eq!(
        said(services, id, "cat file; kill -0 $(cat pid) && echo alive").await,
        "kept\nalive"
    );
    assert_eq!(state(services, id).await, Some(SandboxState::Running));
    services.end().await;
}

#[tokio::test]
async fn one_that_does_not_wake_itself_wakes_when_it_is_connected_to() {
    let platform = platform().await;
    let services = &platform.services;
    let id = create(services).await;
    let sandboxes = &services.sandboxes;
    said(services, id, "echo kept > file").await;
    let paused = sandboxes.pause(&local(), id, false).await.unwrap();
    assert!(!paused.row.in_memory);
    assert_eq!(kind(script(services, id, "true").await), ErrorKind::Conflict);
    assert_eq!(
        kind(sandboxes.set_timeout(&local(), id, Duration::from_secs(5)).await),
        ErrorKind::Conflict
    );
    let connected = sandboxes.connect(&local(), id, None, false).await.unwrap();
    assert!(connected.resumed);
    assert_eq!(said(services, id, "cat file").await, "kept");
    sandboxes.pause(&local(), id, true).await.unwrap();
    sandboxes.kill(&local(), id).await.unwrap();
    assert_eq!(on_disk(&platform), Vec::<String>::new());
}

#[tokio::test]
async fn a_restart_keeps_the_paused_and_ends_the_others() {
    let platform = platform().await;
    let services = &platform.services;
    let request = CreateSandbox {
        environment: [("GREETING".to_owned(), "hello".to_owned())].into(),
        ..CreateSandbox::default()
    };
    let paused = create_with(services, request).await.unwrap().sandbox.row.id;
    let running = create(services).await;
    said(services, paused, "echo kept > file").await;
    services.sandboxes.pause(&local(), paused, true).await.unwrap();
    services.end().await;
    assert_eq!(state(services, running).await, None);
    assert_eq!(on_disk(&platform), [paused.to_string()]);
    // The yard is still this process's, so another one cannot have it.
    let other = platform.another_process_with_sandboxes();
    let taken = other.sandboxes.connect(&local(), paused, None, false).await;
    assert_eq!(kind(taken), ErrorKind::Unavailable);
}

#[tokio::test]
async fn what_a_process_that_died_left_is_put_in_order() {
    let platform = platform().await;
    let first = platform.another_process_with_sandboxes();
    let paused = create(&first).await;
    let running = create(&first).await;
    said(&first, paused, "echo kept > file").await;
    first.sandboxes.pause(&local(), paused, true).await.unwrap();
    drop(first);
    let second = &platform.services;
    while state(second, running).await.is_some() {
        second.sandboxes.tend().await;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(on_disk(&platform), [paused.to_string()]);
    let ended = audit(&platform, "sandbox_end").await;
    assert_eq!(ended[0].target, format!("{running} (ended by a restart)"));
    let connected = second.sandboxes.connect(&local(), paused, None, false).await;
    assert!(connected.unwrap().resumed);
    assert_eq!(said(second, paused, "cat file").await, "kept");
    second.end().await;
}

#[tokio::test]
async fn one_whose_daemon_is_gone_is_removed() {
    let platform = platform().await;
    let services = &platform.services;
    let id = create(services).await;
    let standing = services.sandboxes.standing(&local(), id).await.unwrap();
    standing.take_down().await;
    while state(services, id).await.is_some() || !on_disk(&platform).is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(
        audit(&platform, "sandbox_end").await[0]
            .target
            .starts_with(&id.to_string())
    );
}

#[tokio::test]
async fn tenants_are_apart_and_others_need_a_permission() {
    let platform = platform().await;
    let sandboxes = &platform.services.sandboxes;
    let id = create(&platform.services).await;
    let stranger = of_tenant(platform.add_tenant("elsewhere").await);
    let (filter, page) = (SandboxFilter::default(), PageRequest::new(None, None));
    assert_eq!(kind(sandboxes.get(&stranger, id).await), ErrorKind::NotFound);
    assert_eq!(kind(sandboxes.kill(&stranger, id).await), ErrorKind::NotFound);
    let theirs = sandboxes.list(&stranger, &filter, &page).await.unwrap();
    assert!(theirs.items.is_empty());
    let of = |permissions: &[Permission]| Caller {
        permissions: permissions.iter().copied().collect::<Permissions>(),
        ..ann()
    };
    let runs = of(&[Permission::AgentRun]);
    assert_eq!(kind(sandboxes.get(&runs, id).await), ErrorKind::Forbidden);
    assert!(
        sandboxes
            .list(&runs, &filter, &page)
            .await
            .unwrap()
            .items
            .is_empty()
    );
    let sees = of(&[Permission::AgentRun, Permission::ProjectRead]);
    assert!(sandboxes.get(&sees, id).await.is_ok());
    assert_eq!(
        sandboxes.list(&sees, &filter, &page).await.unwrap().items.len(),
        1
    );
    assert_eq!(
        kind(sandboxes.access_token(&sees, id).await),
        ErrorKind::Forbidden
    );
    assert_eq!(kind(sandboxes.kill(&sees, id).await), ErrorKind::Forbidden);
    // Nor are its files to be had by way of a snapshot.
    let snapshot = sandboxes
        .snapshot(&local(), id, Some("deps".to_owned()))
        .await
        .unwrap();
    for template in ["deps".to_owned(), snapshot.id.to_string()] {
        let request = CreateSandbox {
            template: Some(template),
            ..CreateSandbox::default()
        };
        for caller in [&runs, &sees] {
            assert_eq!(
                kind(sandboxes.create(caller, request.clone()).await),
                ErrorKind::Forbidden
            );
        }
        assert_eq!(
            kind(sandboxes.create(&stranger, request.clone()).await),
            ErrorKind::NotFound
        );
        let uses = of(&[Permission::AgentRun, Permission::ProjectWrite]);
        assert!(sandboxes.create(&uses, request).await.is_ok());
    }
    let writes = of(&[Permission::ProjectWrite]);
    let nothing = sandboxes.create(&writes, CreateSandbox::default()).await;
    assert_eq!(kind(nothing), ErrorKind::Forbidden);
    platform.services.end().await;
}

#[tokio::test]
async fn there_are_only_so_many_and_only_known_templates() {
    let settings = SandboxSettings {
        most_of_tenant: 1,
        templates: [("big".to_owned(), "docker.io/library/debian".to_owned())].into(),
        ..sandbox_settings()
    };
    let platform = TestPlatform::with_sandboxes(settings).await;
    let services = &platform.services;
    let of = |template: &str| CreateSandbox {
        template: Some(template.to_owned()),
        ..CreateSandbox::default()
    };
    let unknown = create_with(services, of("nope")).await.unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::NotFound);
    assert!(
        unknown.hints()[0].contains("base, big, code-interpreter-v1"),
        "{unknown:?}"
    );
    let image = create_with(services, of("big")).await.unwrap_err();
    assert_eq!(image.kind(), ErrorKind::InvalidInput);
    assert!(image.hints()[0].contains("podman"), "{image:?}");
    create_with(services, of("code-interpreter-v1")).await.unwrap();
    let full = create_with(services, CreateSandbox::default()).await.unwrap_err();
    assert_eq!(full.kind(), ErrorKind::LimitExceeded);
    assert_eq!(on_disk(&platform).len(), 1);
    services.end().await;
}

#[tokio::test]
async fn a_request_that_is_sent_again_gives_the_same_sandbox() {
    let platform = platform().await;
    let services = &platform.services;
    let keyed = |metadata: &str| CreateSandbox {
        idempotency_key: Some("key".to_owned()),
        metadata: [("n".to_owned(), metadata.to_owned())].into(),
        ..CreateSandbox::default()
    };
    let (one, other) = tokio::join!(
        create_with(services, keyed("1")),
        create_with(services, keyed("1"))
    );
    assert_eq!(one.unwrap().sandbox.row.id, other.unwrap().sandbox.row.id);
    let different = create_with(services, keyed("2")).await;
    assert_eq!(kind(different), ErrorKind::Conflict);
    assert_eq!(on_disk(&platform).len(), 1);
    services.end().await;
}

#[tokio::test]
async fn snapshots_and_forks_begin_with_the_files_of_another() {
    let platform = platform().await;
    let services = &platform.services;
    let sandboxes = &services.sandboxes;
    let id = create(services).await;
    said(services, id, "echo one > file").await;
    let snapshot = sandboxes
        .snapshot(&local(), id, Some("deps".to_owned()))
        .await
        .unwrap();
    let taken = sandboxes.snapshot(&local(), id, Some("deps".to_owned())).await;
    assert_eq!(kind(taken), ErrorKind::Conflict);
    said(services, id, "echo two > file").await;
    let request = CreateSandbox {
        template: Some("deps".to_owned()),
        ..CreateSandbox::default()
    };
    let from = create_with(services, request).await.unwrap().sandbox.row;
    assert_eq!(from.template, snapshot.id.to_string());
    assert_eq!(said(services, from.id, "cat file").await, "one");
    let forks = sandboxes.fork(&local(), id, 2, None).await.unwrap();
    assert_eq!(forks.len(), 2);
    for fork in forks {
        let fork = fork.unwrap().sandbox.row.id;
        assert_eq!(said(services, fork, "cat file; echo mine > file").await, "two");
    }
    assert_eq!(said(services, id, "cat file").await, "two");
    assert_eq!(
        kind(sandboxes.fork(&local(), id, 21, None).await),
        ErrorKind::InvalidInput
    );
    let page = PageRequest::new(None, None);
    let listed = sandboxes.snapshots(&local(), None, None, &page).await.unwrap();
    assert_eq!(
        listed.items,
        std::slice::from_ref(&snapshot),
        "that of the fork is nobody's"
    );
    sandboxes.remove_snapshot(&local(), "deps").await.unwrap();
    let gone = sandboxes
        .remove_snapshot(&local(), &snapshot.id.to_string())
        .await;
    assert_eq!(kind(gone), ErrorKind::NotFound);
    assert_eq!(said(services, from.id, "cat file").await, "one");
    services.end().await;
}

#[tokio::test]
async fn it_is_told_what_a_sandbox_takes() {
    let platform = platform().await;
    let services = &platform.services;
    let id = create(services).await;
    let samples = services
        .sandboxes
        .metrics(&local(), id, None, None)
        .await
        .unwrap();
    // Some may have been taken by themselves meanwhile.
    let last = samples.last().unwrap();
    assert!(last.memory_limit_bytes > 0 && last.cpu_count > 0, "{samples:?}");
    let later = platform.clock.now().after(Duration::from_secs(1));
    let none = services.sandboxes.metrics(&local(), id, Some(later), None).await;
    assert!(none.unwrap().is_empty());
    services.end().await;
}

#[tokio::test]
async fn one_that_is_ready_is_given_at_once_and_nothing_is_left_of_it() {
    let settings = SandboxSettings {
        spare: 1,
        ..sandbox_settings()
    };
    let platform = TestPlatform::with_sandboxes(settings).await;
    let services = &platform.services;
    create(services).await;
    while on_disk(&platform).len() < 2 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let (filter, page) = (SandboxFilter::default(), PageRequest::new(None, None));
    let listed = services.sandboxes.list(&local(), &filter, &page).await.unwrap();
    assert_eq!(listed.items.len(), 1, "nobody sees it");
    let ready = on_disk(&platform);
    let request = CreateSandbox {
        environment: BTreeMap::from([("GREETING".to_owned(), "hello".to_owned())]),
        ..CreateSandbox::default()
    };
    // It may be on disk for a moment before it can be given.
    let mut given = create_with(services, request.clone())
        .await
        .unwrap()
        .sandbox
        .row
        .id;
    if !ready.contains(&given.to_string()) {
        while on_disk(&platform).len() < 3 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        given = create_with(services, request).await.unwrap().sandbox.row.id;
    }
    assert_eq!(said(services, given, "echo $GREETING").await, "hello");
    services.end().await;
    assert_eq!(on_disk(&platform), Vec::<String>::new());
}

#[tokio::test]
async fn many_are_made_at_once() {
    let platform = platform().await;
    let services = Arc::clone(&platform.services);
    let mut making = tokio::task::JoinSet::new();
    for _ in 0..12 {
        let services = Arc::clone(&services);
        making.spawn(async move {
            let id = create(&services).await;
            said(&services, id, "echo here").await
        });
    }
    while let Some(made) = making.join_next().await {
        assert_eq!(made.unwrap(), "here");
    }
    services.end().await;
    assert_eq!(on_disk(&platform), Vec::<String>::new());
}
