//! A server with all that its clients need: keys, a git host, somebody to reach.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use agentyard_model::Clock;
use agentyard_store::{Store, StoreSettings};
use agentyard_testkit::TestRepository;
use serde_json::Value;

use super::clients::{self, Client};
use super::leftovers;
use crate::git_host::{self, GitHost};
use crate::support::{Place, Server, text};

/// What the git host wants to hear from `token`.
pub(super) const PASSWORD: &str = "5ec7e7-for-the-git-host";

/// `token:` and the password, as Basic authorization has them.
const AUTHORIZATION: &str = "Basic dG9rZW46NWVjN2U3LWZvci10aGUtZ2l0LWhvc3Q=";

/// Programs of the system only: these are in every sandbox, and the packages were made for its Python.
const SEARCH_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

pub(super) struct Scene {
    server: Option<Server>,
    place: Place,
    host: GitHost,
    repositories: tempfile::TempDir,
    administrator: String,
    keys: Keys,
}

/// Keys of one who runs code, of one who may do so but sees nothing of others, and of one who may only look.
struct Keys {
    own: String,
    stranger: String,
    reader: String,
}

impl Scene {
    pub(super) fn new() -> Self {
        let repositories = tempfile::tempdir().unwrap();
        let seed = TestRepository::with_commit("README.md", "one\n");
        let bare = repositories.path().join("a.git").display().to_string();
        seed.git(&["clone", "--quiet", "--bare", ".", &bare]);
        let place = Place::new();
        let host = GitHost::start(repositories.path(), AUTHORIZATION.to_owned(), PASSWORD.to_owned());
        let server = serve(&place, &host);
        let administrator = token_in(&server.greeting);
        let url = server.url();
        let key = |name: &str, more: &[&str]| {
            let made = place
                .command(&["token", "create", name, "--json", "--server", &url])
                .args(more)
                .env("AGENTYARD_TOKEN", &administrator)
                .output()
                .unwrap();
            assert!(made.status.success(), "{}", text(&made.stderr));
            let made: Value = serde_json::from_slice(&made.stdout).unwrap();
            made["secret"].as_str().unwrap().to_owned()
        };
        let keys = Keys {
            own: key("own", &[]),
            stranger: key("stranger", &["--permissions", "agent:run"]),
            reader: key("reader", &["--permissions", "project:read"]),
        };
        Self {
            server: Some(server),
            place,
            host,
            repositories,
            administrator,
            keys,
        }
    }

    pub(super) fn home(&self) -> &Path {
        self.place.home()
    }

    /// The administrator's own key.
    pub(super) fn administrator(&self) -> String {
        self.administrator.clone()
    }

    /// The key of the administrator of another tenant. No command makes one, so it is put into the server's database
    /// while it serves.
    pub(super) fn administrator_of_another_tenant(&self) -> String {
        let settings = StoreSettings {
            data_dir: self.home().join(".local/share/agentyard"),
            ..StoreSettings::default()
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.unwrap().block_on(async {
            let store = Store::lazy(settings, Clock::System);
            let tenant = agentyard_testkit::add_tenant(&store, "elsewhere").await;
            let secret = agentyard_testkit::add_administrator(&store, tenant).await;
            store.close().await;
            secret.expose().to_owned()
        })
    }

    /// Stops the server as an operator would, and starts it again where it was.
    pub(super) fn restart(&mut self) {
        assert!(
            self.server.take().unwrap().terminate(),
            "the server stops cleanly"
        );
        self.server = Some(serve(&self.place, &self.host));
    }

    /// Runs a script with several clients at the same time.
    pub(super) fn drive(&self, script: &str, clients: &[Client]) {
        let failures: Vec<String> = std::thread::scope(|scope| {
            let running: Vec<_> = clients
                .iter()
                .map(|client| scope.spawn(|| self.attempt(*client, script, &[])))
                .collect();
            running
                .into_iter()
                .filter_map(|one| one.join().unwrap().err())
                .collect()
        });
        assert!(failures.is_empty(), "{}", failures.join("\n"));
    }

    /// Runs a script with one client and more variables.
    pub(super) fn run(&self, client: Client, script: &str, variables: &[(&str, String)]) {
        if let Err(failure) = self.attempt(client, script, variables) {
            panic!("{failure}");
        }
    }

    fn attempt(&self, client: Client, script: &str, variables: &[(&str, String)]) -> Result<(), String> {
        let mut command = client.command(script);
        let output = self
            .like_the_hosted_service(&mut command)
            .envs(variables.iter().map(|(name, value)| (*name, value.as_str())))
            .env("STRANGER_API_KEY", &self.keys.stranger)
            .env("READER_API_KEY", &self.keys.reader)
            .env("SANDBOX_PACKAGES", clients::sandbox_packages())
            .env("GIT_URL", self.git_url())
            .env("GIT_PASSWORD", PASSWORD)
            .output()
            .unwrap();
        if output.status.success() {
            return Ok(());
        }
        let Output {
            status,
            stdout,
            stderr,
        } = output;
        Err(format!(
            "{script} with {client:?} ({status}):\n{}{}",
            text(&stdout),
            text(&stderr)
        ))
    }

    /// The three variables that bring a program from the hosted service to us, and nothing of this machine's own.
    fn like_the_hosted_service<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        let url = self.server.as_ref().unwrap().url();
        command
            .env_remove("PYTHONPATH")
            .env("PATH", SEARCH_PATH)
            .env("HOME", self.home())
            .env("E2B_API_KEY", &self.keys.own)
            .env("E2B_API_URL", &url)
            .env("E2B_SANDBOX_URL", &url)
            .stdin(Stdio::null())
    }

    pub(super) fn start_git_tools(&self) -> Child {
        let mut command = clients::python();
        command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/e2b/git_tools.py"));
        self.like_the_hosted_service(&mut command)
            .env("GITHUB_TOKEN", PASSWORD)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// Where sandboxes find the repository.
    pub(super) fn git_url(&self) -> String {
        format!("http://{}/a.git", git_host::NAME)
    }

    /// What git says of the repository on the host.
    pub(super) fn git(&self, arguments: &[&str]) -> String {
        let output = Command::new("git")
            .arg("--git-dir")
            .arg(self.repositories.path().join("a.git"))
            .args(arguments)
            .output()
            .unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    /// Somebody else's commit on the host's main branch.
    pub(super) fn commit_on_main(&self, file: &str, content: &str) {
        let work = tempfile::tempdir().unwrap();
        let bare = self.repositories.path().join("a.git");
        let run = |arguments: &[&str]| {
            let output = Command::new("git")
                .args([
                    "-c",
                    "user.name=somebody",
                    "-c",
                    "user.email=somebody@example.com",
                ])
                .args(arguments)
                .current_dir(work.path())
                .output()
                .unwrap();
            assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
        };
        run(&["clone", "--quiet", &bare.display().to_string(), "."]);
        std::fs::write(work.path().join(file), content).unwrap();
        run(&["add", "--all"]);
        run(&["commit", "--quiet", "--message", &format!("Change {file}")]);
        run(&["push", "--quiet", "origin", "HEAD:main"]);
    }

    /// What a command of ours prints, asked of the server by its administrator.
    pub(super) fn say(&self, arguments: &[&str]) -> String {
        let url = self.server.as_ref().unwrap().url();
        let mut command = self.place.command(arguments);
        if arguments[..2] != ["audit", "verify"] {
            command.args(["--server", &url]);
        }
        let output = command
            .env("AGENTYARD_TOKEN", &self.administrator)
            .output()
            .unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    pub(super) fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.say(arguments)).unwrap()
    }

    /// Sees that nothing is left, and that the server stops well.
    pub(super) fn end(mut self) {
        let listed = self.json(&["sandbox", "list", "--json"]);
        assert_eq!(listed["sandboxes"].as_array().map_or(0, Vec::len), 0, "{listed}");
        let server = self.server.take().unwrap();
        let process = server.process();
        assert!(server.terminate(), "the server stops cleanly");
        leftovers::assert_none(process, self.home());
    }
}

fn serve(place: &Place, host: &GitHost) -> Server {
    let address = format!("127.0.0.1:{}", crate::support::free_port());
    let proxy = format!("sandbox.proxy=http://127.0.0.1:{}", host.port);
    let packages = format!("sandbox.read_only={}", clients::sandbox_packages().display());
    let settings = [
        "sandbox.network=full",
        "sandbox.registries=git.example:80,open.example:80,other.example:80",
        &proxy,
        &packages,
    ];
    let mut command = place.command(&["serve", "--listen", &address]);
    for setting in settings {
        command.args(["--set", setting]);
    }
    command.env("PATH", SEARCH_PATH).stderr(Stdio::null());
    Server::of(&mut command, &address)
}

fn token_in(greeting: &str) -> String {
    let line = greeting.lines().find(|line| line.trim().starts_with("ay_"));
    line.expect("a token").trim().to_owned()
}
