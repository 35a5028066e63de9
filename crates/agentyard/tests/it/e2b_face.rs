//! E2B's face as bytes: who is let in, what is refused and how, and what passes in and out of sandboxes. That the
//! official clients work is tried with them.

mod websockets;
mod yard;

use serde_json::{Value, json};

use crate::support::PATIENCE;
use yard::{Answer, NO_TOKEN, Yard};

#[test]
fn tokens_are_api_keys_here_and_nowhere_else() {
    let yard = Yard::start(&[]);
    let list = |headers: &[(&str, &str)]| yard.ask("GET /v2/sandboxes", headers, "");
    assert_eq!(list(&[]).fault().0, 401);
    assert_eq!(list(&[("X-API-KEY", "ay_wrong")]).fault().0, 401);
    assert_eq!(list(&[("X-API-KEY", &yard.key)]).json(), json!([]));
    let bearer = format!("Bearer {}", yard.key);
    assert_eq!(list(&[("Authorization", &bearer)]).status, 200);
    let both = [("X-API-KEY", &*yard.key), ("Authorization", "Bearer ay_other")];
    assert_eq!(list(&both).fault().0, 400);
    let elsewhere = yard.ask("GET /api/v1/whoami", &[("X-API-KEY", &yard.key)], "");
    assert_eq!(elsewhere.status, 401);
}

#[test]
fn whoever_may_see_a_sandbox_and_not_use_it_is_not_told_its_token() {
    let yard = Yard::start(&[]);
    let sandbox = yard.create(json!({}));
    let bearer = format!("Bearer {}", yard.key);
    let headers = [("Authorization", &*bearer), ("Content-Type", "application/json")];
    let wanted = json!({ "name": "onlooker", "permissions": ["agent:run", "project:read"] });
    let made = yard.ask("POST /api/v1/tokens", &headers, &wanted.to_string());
    let onlooker = made.json()["secret"].as_str().unwrap().to_owned();
    let told = |key: &str, line: &str| yard.ask(line, &[("X-API-KEY", key)], "");
    let one = format!("GET /sandboxes/{}", sandbox.id);
    assert_eq!(told(&yard.key, &one).json()["envdAccessToken"], *sandbox.access);
    let seen = told(&onlooker, &one);
    assert_eq!(seen.json()["sandboxID"], *sandbox.id, "{}", seen.text());
    assert_eq!(seen.json().get("envdAccessToken"), None);
    let used = told(&onlooker, &format!("POST /v2/sandboxes/{}/connect", sandbox.id));
    assert_eq!(used.fault().0, 403);
}

#[test]
fn without_authentication_any_key_will_do() {
    let yard = Yard::start(&["--auth", "none"]);
    assert_eq!(
        yard.ask("GET /v2/sandboxes", &[("X-API-KEY", "e2b_whatever")], "")
            .status,
        200
    );
}

#[test]
fn what_is_not_there_is_said_in_words_that_clients_read() {
    let yard = Yard::start(&[]);
    let nobody = "a0b1c2d3e4f5g6h7i8j9";
    assert_eq!(
        yard.call(&format!("GET /sandboxes/{nobody}"), &Value::Null)
            .fault()
            .0,
        404
    );
    assert_eq!(
        yard.call(&format!("DELETE /sandboxes/{nobody}"), &Value::Null)
            .fault()
            .0,
        404
    );
    let timeout = yard.call(
        &format!("POST /sandboxes/{nobody}/timeout"),
        &json!({ "timeout": 5 }),
    );
    assert_eq!(timeout.fault().0, 404);
    assert_eq!(
        yard.call("DELETE /templates/nothing", &Value::Null).fault().0,
        404
    );
    for line in [
        "POST /v3/templates",
        "GET /templates",
        "GET /templates/aliases/base",
        "GET /volumes",
        "POST /secrets",
        "GET /v2/sandboxes/x/logs",
    ] {
        assert_eq!(yard.call(line, &Value::Null).fault().0, 501, "{line}");
    }
    assert_eq!(yard.call("PATCH /sandboxes", &Value::Null).fault().0, 405);
    assert_eq!(yard.call("POST /v2/sandboxes", &json!({})).fault().0, 400);
    let mcp = yard.call(
        "POST /v2/sandboxes",
        &json!({ "templateID": "base", "mcp": { "github": {} } }),
    );
    assert!(mcp.fault().1.contains("`mcp`"), "{}", mcp.text());

    let dead = yard.ask(
        "GET /health",
        &[("E2b-Sandbox-Id", nobody), ("X-Access-Token", "x")],
        "",
    );
    assert_eq!(dead.fault(), (502, format!("The sandbox {nobody} was not found")));
    let odd = yard.ask("GET /health", &[("E2b-Sandbox-Id", "<b>../x")], "");
    assert_eq!(odd.fault(), (502, "The sandbox bx was not found".to_owned()));
    let port = yard.ask(
        "GET /",
        &[("E2b-Sandbox-Id", nobody), ("E2b-Sandbox-Port", "0")],
        "",
    );
    assert_eq!(port.fault().0, 400);
}

#[test]
fn a_sandbox_lives_through_all_its_states() {
    let yard = Yard::start(&[]);
    let sandbox = yard.create(json!({ "metadata": { "user": "ada" }, "envVars": { "A": "1" } }));
    let path = format!("/sandboxes/{}", sandbox.id);
    let detail = yard.call(&format!("GET {path}"), &Value::Null).json();
    assert_eq!(detail["state"], "running", "{detail}");
    assert_eq!(detail["metadata"], json!({ "user": "ada" }));
    assert_eq!(detail["envdAccessToken"], sandbox.access);
    assert_eq!(detail["domain"], Value::Null);

    assert_eq!(
        yard.call(&format!("POST {path}/timeout"), &json!({ "timeout": 600 }))
            .status,
        204
    );
    assert_eq!(
        yard.call(&format!("POST {path}/refreshes"), &json!({ "duration": 60 }))
            .status,
        204
    );
    assert_eq!(
        yard.call("GET /sandboxes", &Value::Null).json()[0]["sandboxID"],
        sandbox.id
    );
    let connected = yard.call(&format!("POST {path}/connect"), &json!({ "timeout": 60 }));
    assert_eq!(connected.status, 200, "{}", connected.text());
    assert_eq!(
        yard.call(&format!("POST {path}/resume"), &json!({})).fault().0,
        409
    );

    assert_eq!(yard.call(&format!("POST {path}/pause"), &json!({})).status, 204);
    assert_eq!(
        yard.call(&format!("POST {path}/pause"), &json!({})).fault().0,
        409
    );
    let asleep = yard.visit(&sandbox, "49983", sandbox.access(), "GET /health", "");
    assert!(asleep.fault().1.contains("was not found"), "{}", asleep.text());
    let paused = yard
        .call("GET /v2/sandboxes?state=paused&metadata=user%3Dada", &Value::Null)
        .json();
    assert_eq!(paused[0]["sandboxID"], sandbox.id, "{paused}");
    assert_eq!(
        yard.call("GET /v2/sandboxes?state=running", &Value::Null).json(),
        json!([])
    );
    assert_eq!(
        yard.call("GET /v2/sandboxes?metadata=user%3Dbob", &Value::Null)
            .json(),
        json!([])
    );
    let resumed = yard.call(&format!("POST /v2{path}/connect"), &json!({}));
    assert_eq!(resumed.status, 201, "{}", resumed.text());
    assert_eq!(resumed.json()["envdAccessToken"], sandbox.access);
    assert_eq!(
        yard.visit(&sandbox, "49983", sandbox.access(), "GET /health", "")
            .status,
        204
    );

    let snapshot = yard.call(&format!("POST {path}/snapshots"), &json!({ "name": "kept" }));
    assert_eq!(snapshot.status, 201, "{}", snapshot.text());
    let snapshot = snapshot.json()["snapshotID"].as_str().unwrap().to_owned();
    let listed = yard.call(&format!("GET /snapshots?sandboxID={}", sandbox.id), &Value::Null);
    assert_eq!(listed.json()[0]["snapshotID"], snapshot, "{}", listed.text());
    let again = yard.create(json!({ "templateID": snapshot }));
    assert_eq!(
        yard.call(&format!("DELETE /templates/{snapshot}"), &Value::Null)
            .status,
        204
    );
    let forks = yard.call(
        &format!("POST {path}/fork"),
        &json!({ "count": 2, "timeout": 60 }),
    );
    assert_eq!(forks.status, 201, "{}", forks.text());
    assert_eq!(forks.json().as_array().unwrap().len(), 2);
    assert!(
        forks.json()[0]["sandbox"]["envdAccessToken"].is_string(),
        "{}",
        forks.text()
    );

    let metrics = yard.call(&format!("GET {path}/metrics"), &Value::Null);
    assert!(metrics.json().is_array(), "{}", metrics.text());
    let network = yard.call(
        &format!("PUT {path}/network"),
        &json!({ "allow_internet_access": false }),
    );
    assert_eq!(network.status, 204, "{}", network.text());
    assert_eq!(yard.call(&format!("DELETE {path}"), &Value::Null).status, 204);
    assert_eq!(yard.call(&format!("DELETE {path}"), &Value::Null).fault().0, 404);
    assert_eq!(
        yard.call(&format!("DELETE /sandboxes/{}", again.id), &Value::Null)
            .status,
        204
    );
}

#[test]
fn a_page_of_a_list_says_where_the_next_begins() {
    let yard = Yard::start(&[]);
    let (one, two) = (yard.create(json!({})), yard.create(json!({})));
    let first = yard.call("GET /v2/sandboxes?limit=1", &Value::Null);
    let next = first.header("x-next-token").unwrap().to_owned();
    let second = yard.call(
        &format!("GET /v2/sandboxes?limit=1&nextToken={next}"),
        &Value::Null,
    );
    let id = |answer: &Answer| answer.json()[0]["sandboxID"].as_str().unwrap().to_owned();
    assert_eq!((id(&first), id(&second)), (two.id, one.id), "the newest first");
    assert_eq!(second.header("x-next-token"), None);
}

#[test]
fn the_same_key_makes_the_same_sandbox() {
    let yard = Yard::start(&[]);
    let create = |body: &Value| {
        let headers = [("X-API-KEY", &*yard.key), ("Idempotency-Key", "one-2")];
        yard.ask("POST /v2/sandboxes", &headers, &body.to_string())
    };
    let wish = json!({
        "templateID": "base", "timeout": 120, "metadata": { "task": "1" }, "envVars": { "A": "1" },
    });
    let first = create(&wish);
    assert_eq!(first.status, 201, "{}", first.text());
    let second = create(&wish);
    assert_eq!(second.status, 201, "{}", second.text());
    assert_eq!(second.json(), first.json());
    for (field, value) in [
        ("timeout", json!(121)),
        ("metadata", json!({ "task": "2" })),
        ("envVars", json!({ "A": "2" })),
        ("templateID", json!("code-interpreter-v1")),
        ("autoPause", json!(true)),
        ("allow_internet_access", json!(false)),
    ] {
        let mut other = wish.clone();
        other[field] = value;
        let (status, message) = create(&other).fault();
        assert_eq!(status, 409, "{field}: {message}");
        assert!(message.contains("use a new key"), "{message}");
    }
    assert_eq!(
        create(&wish).json(),
        first.json(),
        "a wish that was refused changes nothing"
    );
}

#[test]
fn a_sandbox_opens_to_its_own_tokens_only() {
    let yard = Yard::start(&[]);
    let (sandbox, other) = (yard.create(json!({})), yard.create(json!({})));
    let health = |token| yard.visit(&sandbox, "49983", token, "GET /health", "");
    assert_eq!(health(sandbox.access()).status, 204);
    for wrong in [
        NO_TOKEN,
        other.access(),
        sandbox.traffic(),
        ("X-Access-Token", &*sandbox.traffic),
    ] {
        assert_eq!(health(wrong).fault().0, 401, "{wrong:?}");
    }
    assert_eq!(health(("X-API-KEY", &yard.key)).fault().0, 401);

    let port = |token| yard.visit(&sandbox, "3000", token, "GET /", "");
    assert!(port(sandbox.traffic()).fault().1.contains("port is not open"));
    assert!(port(sandbox.access()).fault().1.contains("port is not open"));
    for wrong in [NO_TOKEN, other.traffic()] {
        assert_eq!(port(wrong).fault().0, 403, "{wrong:?}");
    }
}

#[test]
fn who_guesses_is_shut_out() {
    let yard = Yard::start(&["--set", "http.failed_attempts_per_minute=3"]);
    let sandbox = yard.create(json!({}));
    let health = |token| yard.visit(&sandbox, "49983", token, "GET /health", "");
    assert_eq!(health(sandbox.access()).status, 204);
    for _ in 0..3 {
        assert_eq!(health(("X-Access-Token", "guess")).fault().0, 401);
    }
    assert_eq!(health(("X-Access-Token", "guess")).fault().0, 429);
    assert_eq!(health(sandbox.access()).status, 204, "who is known is not");
}

#[test]
fn signed_addresses_open_one_file() {
    let yard = Yard::start(&[]);
    let (sandbox, _other) = (yard.create(json!({})), yard.create(json!({})));
    let path = "/home/user/a.txt";
    let write = format!(
        "POST /files?path={path}&signature={}",
        sandbox.signature(path, "write", None)
    );
    let octets = [("Content-Type", "application/octet-stream")];
    let written = yard.ask(&write, &octets, "hello");
    assert_eq!(written.status, 200, "{}", written.text());
    let read = |signature: &str, more: &str| {
        yard.ask(
            &format!("GET /files?path={path}&signature={signature}{more}"),
            &[],
            "",
        )
    };
    let signature = sandbox.signature(path, "read", None);
    let answer = read(&signature, "");
    assert_eq!((answer.status, answer.text().as_str()), (200, "hello"));
    assert_eq!(answer.header("content-security-policy"), Some("sandbox"));

    let future = 4_102_444_800;
    let until = sandbox.signature(path, "read", Some(future));
    assert_eq!(
        read(&until, &format!("&signature_expiration={future}")).status,
        200
    );
    assert_eq!(read(&until, "").fault().0, 401, "the end is signed, too");
    let expired = sandbox.signature(path, "read", Some(1));
    assert_eq!(read(&expired, "&signature_expiration=1").fault().0, 401);
    assert_eq!(read(&sandbox.signature(path, "write", None), "").fault().0, 401);
    assert_eq!(
        read(&sandbox.signature("/etc/passwd", "read", None), "")
            .fault()
            .0,
        401
    );
    assert_eq!(read("v1_", "").fault().0, 401);
    assert_eq!(read(&signature, "&signature_expiration=soon").fault().0, 400);
    // A second file in the same query, before or after the one that was signed, is not opened.
    for query in [
        format!("%70ath={path}&path=/etc/passwd&signature={signature}"),
        format!("path={path}&path=/etc/passwd&signature={signature}"),
        format!("path={path}&p%61th=/etc/passwd&signature={signature}"),
    ] {
        let answer = yard.ask(&format!("GET /files?{query}"), &[], "");
        assert_eq!((answer.status, answer.text().as_str()), (200, "hello"), "{query}");
    }
}

#[test]
fn servers_in_a_sandbox_learn_no_token_and_cannot_act_on_our_origin() {
    let yard = Yard::start(&[]);
    let sandbox = yard.create(json!({}));
    yard.start_server(&sandbox, 3000);
    let answer = yard.await_server(&sandbox, "3000", sandbox.traffic());
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.header("set-cookie"), None);
    assert_eq!(answer.header("content-security-policy"), Some("sandbox"));
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    assert!(!answer.text().contains("token"), "{}", answer.text());
    assert!(!answer.text().contains("e2b-sandbox-id"), "{}", answer.text());

    let page = [
        ("E2b-Sandbox-Id", &*sandbox.id),
        ("E2b-Sandbox-Port", "3000"),
        sandbox.traffic(),
        ("Origin", "https://evil.example.org"),
    ];
    assert_eq!(yard.ask("GET /", &page, "").fault().0, 403);
}

#[test]
fn public_ports_have_origins_of_their_own() {
    let yard = Yard::start(&["--set", "http.sandbox_domain=box.example.org"]);
    let sandbox = yard.create(json!({ "network": { "allowPublicTraffic": true } }));
    yard.start_server(&sandbox, 3000);
    assert_eq!(yard.await_server(&sandbox, "3000", NO_TOKEN).status, 200);
    let host = format!("3000-{}.box.example.org", sandbox.id);
    let page = yard.ask_at(&host, "GET /", &[("Origin", "https://elsewhere.example.org")], "");
    assert_eq!(page.status, 200, "{}", page.text());
    assert_eq!(page.header("set-cookie"), Some("a=b"));
    assert_eq!(page.header("content-security-policy"), None);
    let daemon = format!("49983-{}.box.example.org", sandbox.id);
    assert_eq!(yard.ask_at(&daemon, "GET /health", &[], "").fault().0, 401);
    assert_eq!(
        yard.ask_at(&daemon, "GET /health", &[sandbox.access()], "")
            .status,
        204
    );
    assert_eq!(
        yard.ask_at(
            "api.box.example.org",
            "GET /v2/sandboxes",
            &[("X-API-KEY", &yard.key)],
            ""
        )
        .status,
        200
    );
    // A page there reaches nothing of ours.
    assert_eq!(
        yard.ask_at(&host, "GET /api", &[], "").header("set-cookie"),
        Some("a=b")
    );
    assert_eq!(
        yard.ask_at("x.box.example.org", "GET /healthz", &[], "").status,
        403
    );
}

#[test]
fn uploads_are_bounded() {
    let yard = Yard::start(&["--set", "http.max_sandbox_upload_bytes=1000"]);
    let sandbox = yard.create(json!({}));
    let headers = [
        ("E2b-Sandbox-Id", &*sandbox.id),
        sandbox.access(),
        ("Content-Type", "application/octet-stream"),
    ];
    let upload = |length: usize| yard.ask("POST /files?path=a", &headers, &"x".repeat(length));
    assert_eq!(upload(1000).status, 200);
    let (status, message) = upload(1001).fault();
    assert_eq!(status, 413);
    assert!(
        message.contains("1000 bytes") && message.contains("http.max_sandbox_upload_bytes"),
        "{message}"
    );
}

#[test]
fn who_waits_for_a_sandbox_does_not_keep_others_from_the_server() {
    let yard = Yard::start(&["--set", "http.max_concurrent_requests=8"]);
    let sandbox = yard.create(json!({}));
    yard.start_server(&sandbox, 3000);
    assert_eq!(yard.await_server(&sandbox, "3000", sandbox.traffic()).status, 200);
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            let tell = tell.clone();
            scope.spawn(|| {
                let tell = tell;
                let answer = yard.visit(&sandbox, "3000", sandbox.traffic(), "GET /wait", "");
                // Nobody listens to those that come last.
                let _ = tell.send(answer.fault());
            });
        }
        for _ in 0..4 {
            let (status, message) = told.recv_timeout(PATIENCE).unwrap();
            assert!(
                status == 503 && message.contains("your tenant"),
                "{status} {message}"
            );
        }
        assert_eq!(yard.call("GET /v2/sandboxes", &Value::Null).status, 200);
        let killed = yard.call(&format!("DELETE /sandboxes/{}", sandbox.id), &Value::Null);
        assert_eq!(killed.status, 204);
    });
}
