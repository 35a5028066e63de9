//! A process is killed at any moment of its work on mirrors and views; the next one goes on.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use agentyard_git::{BranchName, NewView, ObjectId, RemoteUrl, Roots, TreeSettings, Trees, Way};

use crate::network_support::program;
use crate::support::{GO_ON, command};
use crate::trees_support::{KEY, Orchard};

/// Tells the inner run where its directories are.
const MARKER: &str = "AGENTYARD_GIT_TEST_KILLED";

/// How often it is killed, each time a little later.
const ROUNDS: u64 = 12;

fn inner_root() -> Option<PathBuf> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the outer run of this test speaks to the inner one by it"
    )]
    std::env::var_os(MARKER).map(PathBuf::from)
}

/// Makes a mirror, and opens and closes views of two commits, until it is killed.
fn work_until_killed(root: PathBuf) {
    let trees = Trees::new(TreeSettings {
        directory: root.join("data"),
        way: Some(Way::Overlay),
        obstacle: None,
        owner: None,
    });
    let (git, source) = (program(), root.join("source"));
    let url = RemoteUrl::parse(&source.display().to_string()).unwrap();
    let roots = Roots::new([source]).unwrap();
    let commits = std::fs::read_to_string(root.join("commits")).unwrap();
    let commits: Vec<ObjectId> = commits.lines().map(|line| line.parse().unwrap()).collect();
    loop {
        trees
            .create_mirror(&git, KEY, &url, &roots, &GO_ON, &|_| {})
            .unwrap();
        trees
            .fetch_mirror(&git, KEY, &url, &roots, &GO_ON, &|_| {})
            .unwrap();
        for (number, start) in commits.iter().enumerate() {
            let name = format!("topic-{number}");
            let branch = BranchName::new(name.clone()).unwrap();
            let new = NewView {
                name: &name,
                branch: &branch,
                start: *start,
            };
            trees.open_view(&git, KEY, &new, &GO_ON, &|_| {}).unwrap();
        }
        for number in 0..commits.len() {
            trees.close_view(KEY, &format!("topic-{number}"), &GO_ON).unwrap();
        }
        trees.prune_bases(KEY, &[], &GO_ON).unwrap();
        trees.remove_mirror(KEY, &GO_ON).unwrap();
    }
}

#[test]
fn whatever_a_killed_process_left_is_finished_or_removed() {
    if let Some(root) = inner_root() {
        work_until_killed(root);
        return;
    }
    let orchard = Orchard::empty();
    for file in 0..40 {
        orchard.write(&format!("directory-{}/{file}", file % 7), "content\n");
    }
    let first = orchard.commit("first");
    orchard.write("directory-1/1", "changed\n");
    let second = orchard.commit("second");
    orchard.yard.write("commits", format!("{first}\n{second}\n"));
    let has_worked = AtomicBool::new(false);
    for round in 0..ROUNDS {
        let mut inner = command(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "trees_killed::whatever_a_killed_process_left_is_finished_or_removed",
            ])
            .env_clear()
            .env(MARKER, orchard.yard.root())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        // Which moment it meets is left to chance; what must hold holds at all of them.
        std::thread::sleep(Duration::from_millis(40 + 37 * round));
        inner.kill().unwrap();
        let ended = inner.wait().unwrap();
        assert_eq!(
            ended.code(),
            None,
            "it failed before it was killed, in round {round}"
        );
        has_worked.fetch_or(!orchard.leftovers().is_empty(), Ordering::Relaxed);

        orchard.create_mirror().unwrap();
        let view = orchard.try_view("topic-0", "topic-0", second).unwrap();
        assert_eq!(orchard.changes(&view), "", "round {round}");
        for name in orchard.trees.names(KEY).unwrap() {
            orchard.close(&name);
        }
        assert!(
            orchard.leftovers().is_empty(),
            "{round}: {:?}",
            orchard.leftovers()
        );
    }
    assert!(has_worked.into_inner());
}
