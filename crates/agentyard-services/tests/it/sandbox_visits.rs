//! Sandboxes that stay: who may talk to them, and what is written down of it.

use agentyard_envd::connect::message_frame;
use agentyard_envd::process::{Config, StartRequest};
use agentyard_envd::{ENVD_PORT, INTERPRETER_PORT, empty, full};
use agentyard_model::{Caller, RequestId, SandboxNetwork, Secret, SecretName, Subject};
use agentyard_services::{
    CreateSandbox, ErrorKind, Result, SandboxAccess, Services, SignedFile, TokenRequest,
};
use agentyard_testkit::TestPlatform;
use base64::Engine as _;
use http::{Method, Request, StatusCode};
use http_body_util::BodyExt as _;
use sha2::{Digest as _, Sha256};

use crate::sandboxes::{create_with, platform, said, script};
use crate::yard::{ann, audit, kind, local};

async fn made(services: &Services) -> SandboxAccess {
    create_with(services, CreateSandbox::default()).await.unwrap()
}

#[tokio::test]
async fn a_port_opens_to_its_token_only() {
    let platform = platform().await;
    let sandboxes = &platform.services.sandboxes;
    let (one, other) = (made(&platform.services).await, made(&platform.services).await);
    let id = one.sandbox.row.id;
    let visit = |port, token: Option<Secret>| async move {
        let visited = sandboxes.visit(id, port, token.as_ref()).await;
        visited.map(|visit| (visit.sandbox(), visit.port()))
    };
    let (access, traffic) = (Some(one.access_token.clone()), Some(one.traffic_token.clone()));
    assert_eq!(visit(ENVD_PORT, access.clone()).await.unwrap(), (id, ENVD_PORT));
    assert!(visit(INTERPRETER_PORT, access.clone()).await.is_ok());
    assert!(visit(INTERPRETER_PORT, traffic.clone()).await.is_ok());
    assert!(visit(3000, traffic.clone()).await.is_ok());
    for (token, runs) in [(&one.traffic_token, false), (&one.access_token, true)] {
        let visit = sandboxes.visit(id, INTERPRETER_PORT, Some(token)).await.unwrap();
        let list = Request::get("/contexts").body(empty()).unwrap();
        assert_eq!(
            sandboxes.exchange(&visit, list).await.unwrap().status(),
            StatusCode::OK
        );
        let code = Request::post("/execute")
            .body(full(r#"{"code": "echo", "language": "bash"}"#))
            .unwrap();
        let ran = sandboxes.exchange(&visit, code).await;
        match runs {
            true => assert_eq!(ran.unwrap().status(), StatusCode::OK),
            false => assert_eq!(kind(ran.map(drop)), ErrorKind::Unauthenticated),
        }
    }
    for refused in [
        visit(ENVD_PORT, traffic).await,
        visit(ENVD_PORT, None).await,
        visit(3000, None).await,
        visit(ENVD_PORT, Some(other.access_token.clone())).await,
        visit(ENVD_PORT, Some(Secret::new("ab"))).await,
    ] {
        assert_eq!(kind(refused), ErrorKind::Unauthenticated);
    }
    let public = SandboxNetwork {
        public_traffic: Some(true),
        ..SandboxNetwork::default()
    };
    let request = CreateSandbox {
        network: public,
        ..CreateSandbox::default()
    };
    let open = create_with(&platform.services, request)
        .await
        .unwrap()
        .sandbox
        .row
        .id;
    assert!(sandboxes.visit(open, 3000, None).await.is_ok());
    for shut in [ENVD_PORT, INTERPRETER_PORT] {
        assert_eq!(
            kind(sandboxes.visit(open, shut, None).await),
            ErrorKind::Unauthenticated
        );
    }
    sandboxes.kill(&local(), id).await.unwrap();
    let gone = sandboxes.visit(id, ENVD_PORT, access.as_ref()).await.unwrap_err();
    assert_eq!(
        (gone.kind(), gone.message().to_owned()),
        (ErrorKind::NotFound, format!("The sandbox {id} was not found"))
    );
    platform.services.end().await;
}

#[tokio::test]
async fn whoever_may_run_nothing_any_more_has_no_sandbox_either() {
    let platform = platform().await;
    let services = &platform.services;
    let request = TokenRequest {
        name: "bot".parse().unwrap(),
        role: None,
        permissions: None,
        expires_in_days: None,
    };
    let issued = services.tokens.create(&local(), request).await.unwrap();
    let bot = services
        .identities
        .by_token(&issued.secret, RequestId::new())
        .await;
    let bot: Caller = bot.unwrap().unwrap();
    assert!(matches!(bot.subject, Subject::Token { .. }));
    let made = services
        .sandboxes
        .create(&bot, CreateSandbox::default())
        .await
        .unwrap();
    let id = made.sandbox.row.id;
    let visit = || services.sandboxes.visit(id, ENVD_PORT, Some(&made.access_token));
    assert!(visit().await.is_ok());
    services.tokens.revoke(&local(), issued.token.id).await.unwrap();
    assert_eq!(kind(visit().await), ErrorKind::Forbidden);
    services.end().await;
}

async fn start(platform: &TestPlatform, access: &SandboxAccess, text: &str) -> StatusCode {
    start_by(platform, access, Method::POST, "/process.Process/Start", text)
        .await
        .unwrap()
}

/// The same by another method, or another spelling of the call.
async fn start_by(
    platform: &TestPlatform,
    access: &SandboxAccess,
    method: Method,
    path: &str,
    text: &str,
) -> Result<StatusCode> {
    let sandboxes = &platform.services.sandboxes;
    let visit = sandboxes
        .visit(access.sandbox.row.id, ENVD_PORT, Some(&access.access_token))
        .await?;
    let start = StartRequest {
        process: Config {
            cmd: "/bin/bash".to_owned(),
            args: ["-l", "-c", text].map(str::to_owned).to_vec(),
            ..Config::default()
        },
        ..StartRequest::default()
    };
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", "application/connect+json")
        .header("x-access-token", access.access_token.expose())
        .body(full(message_frame(&start).unwrap()))
        .unwrap();
    let answer = sandboxes.exchange(&visit, request).await?;
    let status = answer.status();
    let said = answer.into_body().collect().await.unwrap().to_bytes();
    assert!(!said.is_empty());
    Ok(status)
}

#[tokio::test]
async fn nothing_is_started_that_is_not_written_down() {
    let platform = platform().await;
    let made = made(&platform.services).await;
    for path in [
        "//process.Process/Start",
        "/process.Process//Start",
        "/process.Process/%53tart",
        "/./process.Process/Start",
    ] {
        let started = start_by(&platform, &made, Method::POST, path, "touch ~/started").await;
        assert_eq!(kind(started), ErrorKind::InvalidInput, "{path}");
    }
    let path = "/process.Process/Start";
    let put = start_by(&platform, &made, Method::PUT, path, "touch ~/started").await;
    assert_eq!(
        put.unwrap(),
        StatusCode::OK,
        "streams are refused in their last frame"
    );
    assert_eq!(audit(&platform, "sandbox_process_start").await.len(), 1);
    let looked = script(&platform.services, made.sandbox.row.id, "test ! -e ~/started").await;
    assert_eq!(looked.unwrap().exit_code, Some(0));
    platform.services.end().await;
}

#[tokio::test]
async fn what_is_started_and_changed_is_written_down_without_secrets() {
    let platform = platform().await;
    let request = CreateSandbox {
        environment: [("API_TOKEN".to_owned(), "hunter22hunter22".to_owned())].into(),
        ..CreateSandbox::default()
    };
    let made = create_with(&platform.services, request).await.unwrap();
    let id = made.sandbox.row.id;
    let status = start(&platform, &made, "echo hunter22hunter22").await;
    assert_eq!(status, StatusCode::OK);
    let started = audit(&platform, "sandbox_process_start").await;
    assert_eq!(started.len(), 1);
    assert!(
        started[0].target.starts_with(&format!("{id}: echo ")) && !started[0].target.contains("hunter22"),
        "{}",
        started[0].target
    );
    assert_eq!(started[0].actor, local().subject.to_string());
    let sandboxes = &platform.services.sandboxes;
    let visit = sandboxes
        .visit(id, ENVD_PORT, Some(&made.access_token))
        .await
        .unwrap();
    for (address, kind, body) in [
        (
            "/files?path=%2Fhome%2Fuser%2Fa&username=user",
            "application/octet-stream",
            "content",
        ),
        (
            "/filesystem.Filesystem/MakeDir",
            "application/json",
            r#"{"path":"below"}"#,
        ),
        (
            "/filesystem.Filesystem/Move",
            "application/json",
            r#"{"source":"a","destination":"below/b"}"#,
        ),
        (
            "/filesystem.Filesystem/Remove",
            "application/json",
            r#"{"path":"hunter22hunter22"}"#,
        ),
    ] {
        let request = Request::post(address).header("content-type", kind);
        let answer = sandboxes
            .exchange(&visit, request.body(full(body)).unwrap())
            .await;
        assert_eq!(answer.unwrap().status(), StatusCode::OK, "{address}");
    }
    let changed = audit(&platform, "sandbox_file_change").await;
    let changed: Vec<&str> = changed.iter().map(|row| row.target.as_str()).collect();
    let expected = [
        "remove ***API_TOKEN***",
        "move a to below/b",
        "make directory below",
        "write /home/user/a",
    ];
    assert_eq!(changed, expected.map(|what| format!("{id}: {what}")));
    let moved = said(&platform.services, id, "cat below/b").await;
    assert_eq!(moved, "content", "what was looked at was handed on");
    let interpreter = sandboxes
        .visit(id, INTERPRETER_PORT, Some(&made.access_token))
        .await
        .unwrap();
    let code = Request::post("/execute")
        .body(full(r#"{"code":"1 + 1 # hunter22hunter22"}"#))
        .unwrap();
    let answer = sandboxes.exchange(&interpreter, code).await.unwrap();
    let said = answer.into_body().collect().await.unwrap().to_bytes();
    assert!(
        String::from_utf8_lossy(&said).contains(r#""text":"2""#),
        "{said:?}"
    );
    let run = audit(&platform, "sandbox_run_code").await;
    assert_eq!(run[0].target, format!("{id}: python: 1 + 1 # ***API_TOKEN***"));
    let read = Request::get("/health").body(empty()).unwrap();
    let read = sandboxes.exchange(&visit, read).await.unwrap();
    assert_eq!(read.status(), StatusCode::NO_CONTENT);
    platform.services.end().await;
}

#[tokio::test]
async fn traffic_wakes_only_those_that_want_it() {
    let platform = platform().await;
    let sandboxes = &platform.services.sandboxes;
    for wakes in [true, false] {
        let request = CreateSandbox {
            lifecycle: agentyard_model::Lifecycle {
                auto_resume: wakes,
                ..agentyard_model::Lifecycle::default()
            },
            ..CreateSandbox::default()
        };
        let made = create_with(&platform.services, request).await.unwrap();
        let id = made.sandbox.row.id;
        sandboxes.pause(&local(), id, true).await.unwrap();
        let visit = sandboxes.visit(id, ENVD_PORT, Some(&made.access_token)).await;
        if wakes {
            let request = Request::get("/health").body(empty()).unwrap();
            let answer = sandboxes.exchange(&visit.unwrap(), request).await.unwrap();
            assert_eq!(answer.status(), StatusCode::NO_CONTENT);
            assert!(sandboxes.get(&local(), id).await.unwrap().row.paused_at.is_none());
        } else {
            assert_eq!(kind(visit), ErrorKind::NotFound);
        }
    }
    platform.services.end().await;
}

#[tokio::test]
async fn a_signed_address_opens_one_file() {
    let platform = platform().await;
    let sandboxes = &platform.services.sandboxes;
    let made = made(&platform.services).await;
    let id = made.sandbox.row.id;
    let now = platform.clock.now().as_microseconds() / 1_000_000;
    let text = format!("/a:read:user:{}:{}", made.access_token.expose(), now + 60);
    let digest = Sha256::digest(text.as_bytes());
    let encoded = base64::engine::general_purpose::STANDARD_NO_PAD.encode(digest);
    let signature = format!("v1_{encoded}");
    let file = SignedFile {
        sandbox: None,
        path: "/a",
        write: false,
        user: "user",
        expiration: Some(now + 60),
        signature: &signature,
    };
    assert_eq!(sandboxes.visit_signed(file).await.unwrap().sandbox(), id);
    let named = SignedFile {
        sandbox: Some(id),
        ..file
    };
    assert_eq!(sandboxes.visit_signed(named).await.unwrap().sandbox(), id);
    for wrong in [
        SignedFile { path: "/b", ..file },
        SignedFile { write: true, ..file },
        SignedFile {
            expiration: None,
            ..file
        },
        SignedFile {
            signature: "v1_",
            ..file
        },
    ] {
        assert_eq!(
            kind(sandboxes.visit_signed(wrong).await),
            ErrorKind::Unauthenticated,
            "{wrong:?}"
        );
    }
    platform.clock.advance(std::time::Duration::from_secs(61));
    assert_eq!(
        kind(sandboxes.visit_signed(file).await),
        ErrorKind::Unauthenticated
    );
    platform.services.end().await;
}

/// A sandbox says by its notes which remote and which secret its repository needs, and who made it wrote them.
#[tokio::test]
async fn a_token_for_git_goes_into_no_sandbox_of_somebody_else() {
    let platform = platform().await;
    let services = &platform.services;
    let name: SecretName = "DEPLOY_TOKEN".parse().unwrap();
    let value = Secret::new("hunter22hunter22");
    services.secrets.set(&local(), &name, &value).await.unwrap();
    let notes = [
        ("agentyard.git.url", "https://git.example/a.git"),
        ("agentyard.git.branch", "agent-a-1"),
        ("agentyard.git.base", "main"),
        ("agentyard.git.agent", "a"),
        ("agentyard.git.secret", "DEPLOY_TOKEN"),
    ];
    let request = CreateSandbox {
        metadata: notes
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
        environment: [("PATH".to_owned(), "/home/user/bin:/usr/bin:/bin".to_owned())].into(),
        ..CreateSandbox::default()
    };
    let id = create_with(services, request).await.unwrap().sandbox.row.id;
    // A git that tells whatever it is told.
    let git = "mkdir -p ~/bin /workspace/repo; printf '#!/bin/bash\nenv >> /tmp/told\n' > ~/bin/git; chmod +x ~/bin/git";
    assert_eq!(script(services, id, git).await.unwrap().exit_code, Some(0));
    let told = async |caller: &Caller| {
        services.sandbox_git.pull(caller, id).await.unwrap();
        let told = script(services, id, "cat /tmp/told; rm /tmp/told").await.unwrap();
        assert!(told.stdout.text.contains("GIT_AUTHOR_NAME="), "{told:?}");
        told.stdout.text.contains(value.expose())
    };
    assert!(!told(&ann()).await);
    assert!(told(&local()).await);
    services.end().await;
}
