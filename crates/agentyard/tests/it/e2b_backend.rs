//! E2B as the sandbox, where the service is Agentyard itself: what every sandbox does, and tools that run there.

use agentyard_model::Secret;
use agentyard_sandbox::{E2b, E2bSettings, Limits, PoolSettings, Reach, Sandbox as _, Site};
use agentyard_testkit::TestRepository;
use agentyard_testkit::sandbox_suite::{every_command, every_standing};
use serde_json::{Value, json};

use crate::support::{Place, Server, StdioClient};

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
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let request = client.get(format!("{}/v2/sandboxes", self.server.url()));
        let answer = request.header("X-API-KEY", &self.key).send().await.unwrap();
        let listed: Vec<Value> = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
        listed.len()
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

#[test]
fn the_tools_of_a_workspace_run_there() {
    let service = Service::start();
    let (place, repository) = (Place::new(), TestRepository::with_commit("file", "one\n"));
    let mut command = place.command(&["mcp", "--set", "sandbox.backend=e2b", "--root"]);
    command
        .arg(repository.path())
        .env("E2B_API_KEY", &service.key)
        .env("E2B_API_URL", service.server.url())
        .env("E2B_SANDBOX_URL", service.server.url())
        .current_dir(repository.path());
    let mut client = StdioClient::of(&mut command);
    client.request(1, "initialize", crate::support::initialize("2025-11-25"));
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
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
