//! E2B as the sandbox, where the service is Agentyard itself: what every sandbox does, and tools that run there.

use std::process::Command;

use agentyard_model::Secret;
use agentyard_sandbox::{E2b, E2bSettings, Limits, PoolSettings, Reach, Sandbox as _, Site};
use agentyard_testkit::TestRepository;
use agentyard_testkit::sandbox_suite::{every_command, every_standing};
use serde_json::{Value, json};

use crate::support::{PATIENCE, Place, Server, StdioClient, content, free_port};

/// A service, and the key to it.
struct Service {
    server: Server,
    key: String,
    _place: Place,
}

impl Service {
    fn start() -> Self {
        let place = Place::new();
        let server = Server::start(&place, &[]);
        let mut lines = server.greeting.lines();
        let key = lines
            .find(|line| line.trim().starts_with("ay_"))
            .expect("a token");
        Self {
            key: key.trim().to_owned(),
            server,
            _place: place,
        }
    }

    fn settings(&self) -> E2bSettings {
        E2bSettings {
            api_key: Secret::new(self.key.clone()),
            api_url: Some(self.server.url()),
            sandbox_url: Some(self.server.url()),
            ..E2bSettings::default()
        }
    }

    /// How many sandboxes there are.
    async fn count(&self) -> usize {
        self.listed("v2/sandboxes").await.len()
    }

    /// What the service tells of something that it has.
    async fn listed(&self, what: &str) -> Vec<Value> {
        let request = self.request(reqwest::Method::GET, what);
        let answer = request.send().await.unwrap();
        serde_json::from_str(&answer.text().await.unwrap()).unwrap()
    }

    fn request(&self, method: reqwest::Method, path: &str) -> reqwest::RequestBuilder {
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let request = client.request(method, format!("{}/{path}", self.server.url()));
        request.header("X-API-KEY", &self.key)
    }

    async fn until_empty(&self) {
        for _ in 0..600 {
            if self.count().await == 0 {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        panic!("sandboxes were left");
    }
}

/// A sandbox whose directories are the service's.
fn site() -> Site {
    Site {
        image: None,
        mounts: Vec::new(),
        environment: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
        reach: Reach::default(),
        limits: Limits::default(),
        lifetime: std::time::Duration::from_secs(300),
    }
}

#[tokio::test]
async fn commands_find_what_they_find_in_every_sandbox() {
    let service = Service::start();
    let e2b = E2b::new(service.settings()).unwrap();
    every_command(&e2b).await;
    let enforcement = e2b.enforcement().await;
    assert!(enforcement.breaches.is_empty(), "{enforcement:?}");
    let held = "size of files, open files, memory of each process, processor time of each process, processes of one \
                command: rlimits";
    assert_eq!(enforcement.holds.last().unwrap(), held, "{enforcement:?}");
    e2b.end().await;
    service.until_empty().await;
}

#[tokio::test]
async fn sandboxes_that_stay_do_what_all_of_them_do() {
    let service = Service::start();
    let e2b = E2b::new(service.settings()).unwrap();
    every_standing(&e2b, async || site()).await;
    e2b.end().await;
    service.until_empty().await;
}

#[tokio::test]
async fn sandboxes_wait_for_commands() {
    let service = Service::start();
    let pool = PoolSettings {
        min: 2,
        max: 3,
        ..PoolSettings::default()
    };
    let e2b = E2b::new(E2bSettings {
        pool: Some(pool),
        ..service.settings()
    })
    .unwrap();
    agentyard_testkit::sandbox_suite::commands::tells_how_it_ended_and_what_it_said(&e2b).await;
    while service.count().await < 3 {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    e2b.end().await;
    service.until_empty().await;
}

/// A client of a server whose sandboxes are the service's.
fn client_of(service: &Service, place: &Place, repository: &TestRepository) -> StdioClient {
    let mut command = place.command(&["mcp", "--set", "sandbox.backend=e2b", "--root"]);
    command
        .arg(repository.path())
        .env("E2B_API_KEY", &service.key)
        .env("E2B_API_URL", service.server.url())
        .env("E2B_SANDBOX_URL", service.server.url())
        // What is found first elsewhere may not work inside.
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .current_dir(repository.path());
    if let Some(index) = std::env::var_os("PIP_INDEX_URL") {
        command.env("PIP_INDEX_URL", index);
    }
    greeted(&mut command)
}

fn greeted(command: &mut Command) -> StdioClient {
    let mut client = StdioClient::of(command);
    client.request(1, "initialize", crate::support::initialize("2025-11-25"));
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    client
}

#[test]
fn the_tools_of_a_workspace_run_there() {
    let service = Service::start();
    let (place, repository) = (Place::new(), TestRepository::with_commit("file", "one\n"));
    let mut client = client_of(&service, &place, &repository);
    let script =
        "test ! -e .git && cat file && echo two >> file && mkdir sub && echo new > sub/new && echo $HOME";
    let arguments = json!({ "command": ["bash", "-c", script] });
    let ran = client.run_to_its_end(2, "run_command", arguments);
    assert_eq!(ran["exit_code"], 0, "{ran}");
    let said = ran["stdout"].as_str().unwrap_or_default();
    assert!(said.starts_with("one\n/home/user/agentyard/home/agent"), "{ran}");
    let read = |name: &str| std::fs::read_to_string(repository.path().join(name)).unwrap();
    assert_eq!(
        (read("file").as_str(), read("sub/new").as_str()),
        ("one\ntwo\n", "new\n")
    );

    // What changes here goes there, and what is removed there is removed here.
    std::fs::write(repository.path().join("file"), "three\n").unwrap();
    let arguments = json!({ "command": ["bash", "-c", "cat file && rm -r sub"] });
    let ran = client.run_to_its_end(3, "run_command", arguments);
    assert_eq!(ran["stdout"], "three\n", "{ran}");
    assert!(!repository.path().join("sub").exists());

    // So does code, in an environment that is made there.
    let code = "import sys; open('made', 'w').write('by code'); print(sys.prefix != sys.base_prefix)";
    let ran = client.run_to_its_end(4, "execute_code", json!({ "code": code }));
    assert_eq!(ran["stdout"], "True\n", "{ran}");
    assert_eq!(read("made"), "by code");
    let (ended_well, log) = client.close();
    assert!(ended_well, "{log}");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(service.until_empty());
}

#[test]
fn snapshots_and_forks_are_made_there() {
    let service = Service::start();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (place, repository) = (Place::new(), TestRepository::with_commit("file", "one\n"));
    let mut client = client_of(&service, &place, &repository);
    let mut number = 1;
    let mut ran = |client: &mut StdioClient, sandbox: &Value, script: &str| {
        number += 1;
        let arguments = json!({ "sandbox": sandbox, "script": script });
        let answer = content(&client.call(number, "sandbox_run", arguments));
        assert_eq!(answer["exit_code"], 0, "{answer}");
        answer["stdout"].as_str().unwrap_or_default().to_owned()
    };
    let arguments = json!({ "envs": ["COLOUR=blue"] });
    let first = content(&client.call(100, "sandbox_create", arguments))["id"].clone();
    assert_eq!(
        ran(&mut client, &first, "echo kept > ~/file; echo $COLOUR"),
        "blue\n"
    );

    let arguments = json!({ "sandbox": first, "name": "deps" });
    let snapshot = content(&client.call(101, "sandbox_snapshot", arguments))["id"].clone();
    assert_eq!(runtime.block_on(service.listed("snapshots")).len(), 1);
    assert_eq!(
        ran(&mut client, &first, "cat ~/file; echo later > ~/file"),
        "kept\n"
    );
    let arguments = json!({ "template": "deps" });
    let second = content(&client.call(102, "sandbox_create", arguments))["id"].clone();
    assert_eq!(ran(&mut client, &second, "cat ~/file"), "kept\n");

    let arguments = json!({ "sandbox": first, "count": 2 });
    let forked = content(&client.call(103, "sandbox_fork", arguments));
    let forks = forked["forks"].as_array().unwrap();
    assert_eq!(forks.len(), 2, "{forked}");
    for fork in forks {
        let id = &fork["sandbox"]["id"];
        assert_eq!(
            ran(&mut client, id, "cat ~/file; echo $COLOUR; echo x > ~/file"),
            "later\nblue\n"
        );
    }
    assert_eq!(ran(&mut client, &first, "cat ~/file"), "later\n");
    assert_eq!(runtime.block_on(service.count()), 4);

    // It is gone there before it is gone here, and who is made of it stays.
    let removed = client.call(104, "sandbox_snapshot_remove", json!({ "snapshot": "deps" }));
    assert_eq!(content(&removed)["removed"], snapshot);
    assert!(runtime.block_on(service.listed("snapshots")).is_empty());
    assert_eq!(ran(&mut client, &second, "cat ~/file"), "kept\n");
    let absent = client.call(105, "sandbox_create", json!({ "template": "deps" }));
    assert!(
        absent.to_string().contains("there is no template `deps`"),
        "{absent}"
    );

    // One that the service has lost is named as such, and can be removed all the same.
    let arguments = json!({ "sandbox": first, "name": "lost" });
    content(&client.call(106, "sandbox_snapshot", arguments));
    let theirs = runtime.block_on(service.listed("snapshots"))[0]["snapshotID"].clone();
    let path = format!("templates/{}", theirs.as_str().unwrap());
    let request = service.request(reqwest::Method::DELETE, &path);
    assert_eq!(runtime.block_on(request.send()).unwrap().status(), 204);
    let refused = client.call(107, "sandbox_create", json!({ "template": "lost" }));
    assert!(
        refused.to_string().contains("was refused by 127.0.0.1"),
        "{refused}"
    );
    content(&client.call(108, "sandbox_snapshot_remove", json!({ "snapshot": "lost" })));
    let left = content(&client.call(109, "sandbox_snapshots", json!({})));
    assert_eq!(left["snapshots"], json!([]), "{left}");
    let arguments = json!({ "sandbox": first, "name": "theirs" });
    content(&client.call(110, "sandbox_snapshot", arguments));
    let (ended_well, log) = client.close();
    assert!(ended_well, "{log}");
    runtime.block_on(service.until_empty());

    // Whoever makes sandboxes otherwise can do nothing with it, and it is there still for who does not.
    let mut command = place.command(&["mcp", "--root"]);
    command.arg(repository.path()).current_dir(repository.path());
    let mut client = greeted(&mut command);
    for (number, name, key) in [
        (2, "sandbox_create", "template"),
        (3, "sandbox_snapshot_remove", "snapshot"),
    ] {
        let refused = client.call(number, name, json!({ key: "theirs" }));
        assert!(refused.to_string().contains("are with a service"), "{refused}");
    }
    assert!(client.close().0);
    let mut client = client_of(&service, &place, &repository);
    let third = content(&client.call(2, "sandbox_create", json!({ "template": "theirs" })))["id"].clone();
    assert_eq!(ran(&mut client, &third, "cat ~/file"), "later\n");
    content(&client.call(3, "sandbox_snapshot_remove", json!({ "snapshot": "theirs" })));
    assert!(runtime.block_on(service.listed("snapshots")).is_empty());
    assert!(client.close().0);
    runtime.block_on(service.until_empty());
}

#[test]
fn packages_are_installed_into_environments_there() {
    let service = Service::start();
    let (place, repository) = (Place::new(), TestRepository::with_commit("file", "one\n"));
    let mut client = client_of(&service, &place, &repository);
    let arguments = json!({ "packages": ["six==1.17.0"] });
    let installed = client.run_to_its_end(2, "install_dependencies", arguments);
    assert_eq!(installed["installed"], json!(["six==1.17.0"]), "{installed}");
    // What was installed there is known here.
    let arguments = json!({ "packages": ["six", "absent"] });
    let checked = content(&client.call(20, "check_installed_packages", arguments));
    let expected = json!([
        { "name": "six", "installed": true, "version": "1.17.0" },
        { "name": "absent", "installed": false },
    ]);
    assert_eq!(checked["packages"], expected, "{checked}");
    let code = "import six, sys; print(six.__version__, six.__file__.startswith(sys.prefix))";
    let ran = client.run_to_its_end(30, "execute_code", json!({ "code": code }));
    assert_eq!(ran["stdout"], "1.17.0 True\n", "{ran}");
    // The next server finds it as it was, though its sandbox is another one.
    let (ended_well, log) = client.close();
    assert!(ended_well, "{log}");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(service.until_empty());
    let mut client = client_of(&service, &place, &repository);
    let ran = client.run_to_its_end(2, "execute_code", json!({ "code": code }));
    assert_eq!(ran["stdout"], "1.17.0 True\n", "{ran}");
    let (ended_well, log) = client.close();
    assert!(ended_well, "{log}");
    runtime.block_on(service.until_empty());
}

#[test]
fn a_server_starts_though_the_service_is_down_and_says_so() {
    let place = Place::new();
    let address = format!("127.0.0.1:{}", free_port());
    // Nobody listens there: that port is given to nobody.
    let nowhere = "http://127.0.0.1:1";
    let log = place.home().join("log");
    let settings = ["--set", "sandbox.backend=e2b", "--set", "e2b.pool_min=3"];
    let mut command = place.command(&[&["serve", "--listen", &address][..], &settings].concat());
    command
        .env("E2B_API_KEY", "key")
        .env("E2B_API_URL", nowhere)
        .env("E2B_SANDBOX_URL", nowhere)
        .stderr(std::fs::File::create(&log).unwrap());
    let _server = Server::of(&mut command, &address);
    let started = std::time::Instant::now();
    let said = || std::fs::read_to_string(&log).unwrap();
    while !said().contains("no sandboxes can be kept ready now") {
        assert!(started.elapsed() < PATIENCE, "{}", said());
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert!(said().contains("127.0.0.1 cannot be reached"), "{}", said());
}

#[test]
fn a_paused_sandbox_keeps_its_files_there() {
    let service = Service::start();
    let (place, repository) = (Place::new(), TestRepository::with_commit("file", "one\n"));
    let mut client = client_of(&service, &place, &repository);
    let sandbox = content(&client.call(2, "sandbox_create", json!({})))["id"].clone();
    let arguments = json!({ "sandbox": sandbox, "script": "echo kept > ~/file" });
    assert_eq!(content(&client.call(3, "sandbox_run", arguments))["exit_code"], 0);
    // Its files are nowhere else, so that it stays whatever is asked for.
    let arguments = json!({ "sandbox": sandbox, "files_only": true });
    content(&client.call(4, "sandbox_pause", arguments));
    let arguments = json!({ "sandbox": sandbox, "cold": true });
    content(&client.call(5, "sandbox_connect", arguments));
    let arguments = json!({ "sandbox": sandbox, "script": "cat ~/file" });
    let ran = content(&client.call(6, "sandbox_run", arguments));
    assert_eq!(ran["stdout"], "kept\n", "{ran}");
    // Paused or not, it ends with the server.
    content(&client.call(7, "sandbox_pause", json!({ "sandbox": sandbox })));
    let (ended_well, log) = client.close();
    assert!(ended_well, "{log}");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(service.until_empty());
    let mut client = client_of(&service, &place, &repository);
    let left = content(&client.call(2, "sandbox_list", json!({})));
    assert_eq!(left["sandboxes"], json!([]), "{left}");
    let (ended_well, log) = client.close();
    assert!(ended_well, "{log}");
}
