//! Fifty agents at once.

use std::collections::BTreeSet;
use std::sync::Barrier;

use serde_json::{Value, json};

use super::yard::{Yard, call, git};

const CLIENTS: usize = 50;

/// The branch that all push to in the end.
const SHARED: &str = "shared";

#[test]
fn fifty_clients_open_commit_and_push_at_the_same_time() {
    let yard = Yard::new(&["workspaces.max_per_repo=64"]);
    let server = yard.start();
    let address = server.address.as_str();
    yard.register(address);
    let together = Barrier::new(CLIENTS);
    std::thread::scope(|scope| {
        for number in 0..CLIENTS {
            let (yard, together) = (&yard, &together);
            scope.spawn(move || {
                let workspace = Client {
                    yard,
                    address,
                    number,
                }
                .open(together);
                workspace.commit("first");
                together.wait();
                workspace.push(None);
                workspace.commit("second");
                together.wait();
                workspace.push(Some(SHARED));
            });
        }
    });
    check_remote(&yard);
    check_worktrees(&yard, address);
    assert_eq!(yard.lock_files(), Vec::<std::path::PathBuf>::new());
    yard.check_objects();
    assert!(server.terminate(), "it stops cleanly");
    yard.wait_until_still();
}

struct Client<'a> {
    yard: &'a Yard,
    address: &'a str,
    number: usize,
}

struct Workspace<'a> {
    client: Client<'a>,
    id: String,
}

impl<'a> Client<'a> {
    fn branch(&self) -> String {
        format!("client-{}", self.number)
    }

    fn request(&self, method: &str, path: &str, body: &Value) -> Value {
        let answer = call(self.address, method, path, body).expect("the server answers");
        assert!(
            answer.status < 300,
            "{path} {body}: {answer:?}\n{}",
            self.yard.log()
        );
        answer.body
    }

    fn open(self, together: &Barrier) -> Workspace<'a> {
        together.wait();
        let request = json!({ "repo": "project", "branch": self.branch() });
        let opened = self.request("POST", "/workspaces", &request);
        let id = opened["workspace"].as_str().unwrap().to_owned();
        Workspace { client: self, id }
    }
}

impl Workspace<'_> {
    fn commit(&self, what: &str) {
        let branch = self.client.branch();
        let path = format!("{branch}/{what}.txt");
        let write = json!({ "path": path, "content": what });
        let route = format!("/workspaces/{}/write_file", self.id);
        self.client.request("PUT", &route, &write);
        let commit =
            json!({ "path": self.id, "message": format!("{branch} {what}"), "files_to_stage": [path] });
        self.client.request("POST", "/git/commit", &commit);
    }

    fn push(&self, remote_branch: Option<&str>) {
        let push = json!({ "path": self.id, "remote_branch": remote_branch });
        let pushed = self.client.request("POST", "/git/push", &push);
        assert!(pushed["conflicts"].is_null(), "{pushed}");
        assert_ne!(pushed["refs"][0]["outcome"], "rejected", "{pushed}");
    }
}

/// Every commit has arrived, and none twice.
fn check_remote(yard: &Yard) {
    let subjects = |branch: &str| -> Vec<String> {
        let log = git(&yard.remote(), &["log", "--format=%s", branch]);
        log.lines()
            .filter(|subject| subject.starts_with("client-"))
            .map(ToOwned::to_owned)
            .collect()
    };
    let mut expected = BTreeSet::new();
    for number in 0..CLIENTS {
        let first = format!("client-{number} first");
        assert_eq!(
            subjects(&format!("client-{number}")),
            std::slice::from_ref(&first)
        );
        expected.extend([first, format!("client-{number} second")]);
    }
    let shared = subjects(SHARED);
    assert_eq!(shared.len(), expected.len(), "{shared:?}");
    assert_eq!(shared.into_iter().collect::<BTreeSet<_>>(), expected);
}

/// Git knows each working tree once, on its branch, and finds nothing changed in it.
fn check_worktrees(yard: &Yard, address: &str) {
    let listed = git(&yard.mirror(), &["worktree", "list", "--porcelain"]);
    let branches: BTreeSet<&str> = listed
        .lines()
        .filter_map(|line| line.strip_prefix("branch refs/heads/client-"))
        .collect();
    assert_eq!(branches.len(), CLIENTS, "{listed}");
    assert!(!listed.contains("prunable"), "{listed}");
    for number in 0..CLIENTS {
        let path = format!("/workspaces/project%2Fclient-{number}");
        let workspace = call(address, "GET", &path, &Value::Null).unwrap();
        let workspace = workspace.done("workspace_get");
        assert_eq!(workspace["tree"]["clean"], true, "{workspace}");
    }
}
