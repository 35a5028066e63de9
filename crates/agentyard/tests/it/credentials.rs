//! A token for a git host, from the environment of the server to the host, and nowhere else.

use std::path::Path;
use std::process::{Command, Output};

use agentyard_testkit::TestRepository;
use serde_json::Value;

use crate::git_host::GitHost;
use crate::support::{Place, text};

const TOKEN: &str = "tok/5ec7e7+5ec7e75ec7e75ec7e7";

/// `me:` and the token, as Basic authorization has them.
const ENCODED: &str = "bWU6dG9rLzVlYzdlNys1ZWM3ZTc1ZWM3ZTc1ZWM3ZTc=";

fn every_file_below(directory: &Path, visit: &mut dyn FnMut(&Path, &[u8])) {
    for entry in std::fs::read_dir(directory).unwrap().flatten() {
        if entry.file_type().unwrap().is_dir() {
            every_file_below(&entry.path(), visit);
        } else {
            visit(&entry.path(), &std::fs::read(entry.path()).unwrap_or_default());
        }
    }
}

struct Scene {
    place: Place,
    host: GitHost,
    _repositories: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let place = Place::new();
        std::fs::create_dir_all(place.home().join("tmp")).unwrap();
        std::fs::create_dir_all(place.home().join("work")).unwrap();
        let repositories = tempfile::tempdir().unwrap();
        let seed = TestRepository::with_commit("file", "one\n");
        let target = repositories.path().join("a.git").display().to_string();
        seed.git(&["clone", "--quiet", "--bare", ".", &target]);
        let host = GitHost::start(repositories.path(), format!("Basic {ENCODED}"), TOKEN.to_owned());
        Self {
            place,
            host,
            _repositories: repositories,
        }
    }

    fn run(&self, directory: &Path, arguments: &[&str]) -> Output {
        let mut command: Command = self.place.command(arguments);
        let root = self.place.home().join("work");
        command
            .args([
                "--json",
                "--set",
                "git.allowed_hosts=127.0.0.1",
                "--set",
                "log.filter=trace",
                "--root",
            ])
            .arg(root)
            .env("TMPDIR", self.place.home().join("tmp"))
            .env(
                "AGENTYARD_GIT_CREDENTIALS",
                format!("127.0.0.1:{}=me:{TOKEN}", self.host.port),
            )
            .current_dir(directory)
            .output()
            .unwrap()
    }
}

#[test]
fn a_token_reaches_its_host_and_is_found_nowhere_else() {
    let scene = Scene::new();
    let work = scene.place.home().join("work");
    let cloned = scene.run(&work, &["git", "clone", &scene.host.url("a.git"), "clone"]);
    assert!(cloned.status.success(), "{}", text(&cloned.stderr));
    let answer: Value = serde_json::from_slice(&cloned.stdout).unwrap();
    assert_eq!(answer["branch"], "main", "{answer}");

    let clone = work.join("clone");
    std::fs::write(clone.join("new"), "new\n").unwrap();
    for arguments in [
        &["add", "new"][..],
        &[
            "-c",
            "user.name=A",
            "-c",
            "user.email=a@example.org",
            "commit",
            "--quiet",
            "-m",
            "new",
        ],
    ] {
        let made = Command::new("git")
            .args(arguments)
            .current_dir(&clone)
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", text(&made.stderr));
    }
    let pushed = scene.run(&clone, &["git", "push"]);
    assert!(pushed.status.success(), "{}", text(&pushed.stderr));
    let fetched = scene.run(&clone, &["git", "fetch"]);
    assert!(fetched.status.success(), "{}", text(&fetched.stderr));
    // A host that sends back what it was given.
    let denied = scene.run(&work, &["git", "clone", &scene.host.url("denied.git"), "other"]);
    assert!(!denied.status.success());
    let told = text(&denied.stdout) + &text(&denied.stderr);
    assert!(told.contains("you sent Basic ********"), "{told}");

    assert!(*scene.host.served.lock().unwrap() >= 3);
    let traces = scene.host.traces.lock().unwrap();
    assert!(
        traces.iter().any(|trace| trace.starts_with("saw git")),
        "{traces:?}"
    );
    let found: Vec<_> = traces.iter().filter(|trace| !trace.starts_with("saw")).collect();
    assert!(found.is_empty(), "{found:?}");
    for output in [&cloned, &pushed, &fetched, &denied] {
        for said in [text(&output.stdout), text(&output.stderr)] {
            assert!(
                !said.contains(TOKEN) && !said.contains(ENCODED.trim_end_matches('=')),
                "{said}"
            );
        }
    }
    every_file_below(scene.place.home(), &mut |path, content| {
        let content = String::from_utf8_lossy(content);
        assert!(!content.contains(TOKEN), "{}", path.display());
        assert!(!content.contains(ENCODED), "{}", path.display());
    });
    let left = std::fs::read_dir(scene.place.home().join("tmp")).unwrap().count();
    assert_eq!(left, 0, "sockets go with their call");
}

#[test]
fn a_token_goes_to_no_other_host() {
    let scene = Scene::new();
    let other = GitHost::start(scene.place.home(), format!("Basic {ENCODED}"), TOKEN.to_owned());
    let work = scene.place.home().join("work");
    let denied = scene.run(&work, &["git", "clone", &other.url("a.git"), "clone"]);
    assert_eq!(denied.status.code(), Some(3), "{}", text(&denied.stderr));
    assert!(text(&denied.stderr).contains("AGENTYARD_GIT_CREDENTIALS"));
    assert_eq!(*other.served.lock().unwrap(), 0);
}
