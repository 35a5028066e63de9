//! Faults that are brought about on purpose: a git child that is killed, a server that is stopped, two servers on one
//! data directory, a disk that is full.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::model::State;
use super::yard::{SETTLING, Yard, call, git};
use crate::support::{PATIENCE, Server};

/// A workspace, through whichever server.
struct Workspace {
    id: String,
    path: std::path::PathBuf,
}

impl Workspace {
    fn open(address: &str, branch: &str) -> Self {
        let request = json!({ "repo": "project", "branch": branch });
        let opened = call(address, "POST", "/workspaces", &request)
            .unwrap()
            .done("workspace_open");
        Self {
            id: opened["workspace"].as_str().unwrap().to_owned(),
            path: opened["path"].as_str().unwrap().into(),
        }
    }

    fn try_write(&self, address: &str, file: &str, content: &str) -> (u16, Value) {
        let path = format!("/workspaces/{}/write_file", self.id);
        let body = json!({ "path": file, "content": content, "overwrite": true });
        let answer = call(address, "PUT", &path, &body).unwrap();
        (answer.status, answer.body)
    }

    fn write(&self, address: &str, file: &str, content: &str) {
        let (status, body) = self.try_write(address, file, content);
        assert!(status < 300, "{body}");
    }

    fn commit(&self, address: &str, message: &str, files: &[&str]) -> (u16, Value) {
        let body = json!({ "path": self.id, "message": message, "files_to_stage": files });
        let answer = call(address, "POST", "/git/commit", &body).unwrap();
        (answer.status, answer.body)
    }
}

/// The processes called git that a server has started, itself or through others.
fn gits_of(server: &Server) -> Vec<String> {
    let mut processes = Vec::new();
    for process in fs::read_dir("/proc").unwrap().flatten() {
        let number = process.file_name().to_string_lossy().into_owned();
        // `number (name) state parent …`, where the name may contain anything.
        let stat = fs::read_to_string(process.path().join("stat")).unwrap_or_default();
        if let Some((name, rest)) = stat.split_once('(').and_then(|(_, rest)| rest.rsplit_once(") ")) {
            let parent = rest.split(' ').nth(1).unwrap_or_default().to_owned();
            processes.push((number, parent, name.starts_with("git")));
        }
    }
    let mut family = vec![server.process().to_string()];
    let mut next = 0;
    while let Some(parent) = family.get(next).cloned() {
        let children = processes.iter().filter(|(_, other, _)| *other == parent);
        family.extend(children.map(|(number, _, _)| number.clone()));
        next += 1;
    }
    let is_git = |number: &String| processes.iter().any(|(other, _, git)| other == number && *git);
    family.retain(is_git);
    family
}

/// Kills the git child that is the so many-th to be seen until the work has ended.
fn kill_git(server: &Server, which: usize, has_ended: impl Fn() -> bool) {
    let mut seen = Vec::new();
    while !has_ended() {
        for git in gits_of(server) {
            if !seen.contains(&git) {
                if seen.len() == which {
                    return signal(&git, "-KILL");
                }
                seen.push(git);
            }
        }
    }
}

fn signal(process: &str, name: &str) {
    let _ = Command::new("kill").args([name, process]).status();
}

#[test]
fn after_the_death_of_a_git_child_the_next_call_works() {
    let yard = Yard::new(&[]);
    let server = yard.start();
    let address = server.address.as_str();
    yard.register(address);
    let workspace = Workspace::open(address, "work");
    let mut failed = 0;
    for round in 0..24 {
        let file = format!("own/{}.txt", round % 4);
        workspace.write(address, &file, &format!("{round}\n"));
        let message = format!("work {round}");
        let (status, body) = std::thread::scope(|scope| {
            let commit = scope.spawn(|| workspace.commit(address, &message, &[&file]));
            kill_git(&server, round % 4, || commit.is_finished());
            commit.join().unwrap()
        });
        let seen = State::seen(&workspace.path, "work");
        let is_there = seen.commits.contains(&message);
        if status < 300 {
            assert!(is_there, "{message} was acknowledged: {body}");
            continue;
        }
        failed += 1;
        let (status, body) = workspace.commit(address, &format!("work again {round}"), &[&file]);
        let nothing_to_do = is_there && body.to_string().contains("nothing");
        assert!(
            status < 300 || nothing_to_do,
            "round {round}: {body}\n{}",
            yard.log()
        );
    }
    assert!(failed > 0, "no git child was ever hit");
    yard.check_objects();
}

#[test]
fn two_servers_share_a_data_directory_and_survive_each_other() {
    let yard = Yard::new(&[]);
    let (first, second) = (yard.start(), yard.start());
    yard.register(&first.address);
    let workspace = Workspace::open(&first.address, "work");
    let mut servers = [first, second];
    for round in 0..12 {
        for (number, server) in servers.iter().enumerate() {
            let file = format!("own/{number}.txt");
            let content = format!("{round} by {number}\n");
            workspace.write(&server.address, &file, &content);
            assert_eq!(fs::read_to_string(workspace.path.join(&file)).unwrap(), content);
        }
        // One of them is killed in the middle of a call that holds the lock, and the other one goes on at once.
        let [killed, other] = &mut servers;
        let (killed_address, other_address) = (killed.address.clone(), other.address.clone());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let body = json!({ "with": "main", "path": workspace.id });
                let _ = call(&killed_address, "POST", "/git/pull", &body);
                let file = json!({ "path": workspace.id, "message": format!("work {round}"), "files_to_stage": ["own"] });
                let _ = call(&killed_address, "POST", "/git/commit", &file);
            });
            std::thread::sleep(Duration::from_millis(round * 8));
            signal(&killed.process().to_string(), "-KILL");
        });
        let started = Instant::now();
        workspace.write(&other_address, "own/2.txt", &format!("{round} after\n"));
        assert!(
            started.elapsed() < SETTLING,
            "the lock of a dead server was waited for"
        );
        let (status, body) = workspace.commit(&other_address, &format!("work after {round}"), &["own"]);
        assert!(status < 300, "{body}\n{}", yard.log());
        servers[0] = yard.start();
        servers.swap(0, 1);
    }
    let seen = State::seen(&workspace.path, "work");
    for round in 0..12 {
        assert!(seen.commits.contains(&format!("work after {round}")), "{seen:?}");
    }
    yard.check_objects();
}

#[test]
fn who_waits_for_a_server_that_stands_still_gets_through_when_it_goes_on() {
    let yard = Yard::new(&[]);
    let (first, second) = (yard.start(), yard.start());
    yard.register(&first.address);
    let workspace = Workspace::open(&first.address, "work");
    workspace.write(&second.address, "own/0.txt", "0\n");
    let stopped = first.process().to_string();
    std::thread::scope(|scope| {
        let commit = scope.spawn(|| workspace.commit(&first.address, "work first", &["own/0.txt"]));
        std::thread::sleep(Duration::from_millis(30));
        signal(&stopped, "-STOP");
        let write = scope.spawn(|| workspace.try_write(&second.address, "own/1.txt", "1\n"));
        // Long enough to be in each other's way, if they ever are.
        std::thread::sleep(Duration::from_millis(700));
        signal(&stopped, "-CONT");
        let (status, body) = commit.join().unwrap();
        assert!(status < 300, "{body}");
        let (status, body) = write.join().unwrap();
        assert!(status < 300, "{body}");
    });
    let seen = State::seen(&workspace.path, "work");
    assert_eq!(seen.commits, ["work first"]);
    assert_eq!(seen.tree["own/1.txt"], "1\n");
    assert_eq!(seen.head.len(), 1, "{seen:?}");
}

#[test]
fn a_full_disk_is_told_and_recovered_from_without_a_restart() {
    let yard = Yard::new(&[]);
    let data = yard.data();
    fs::create_dir(&data).unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=24m", "tmpfs"])
        .arg(&data)
        .status();
    if !mounted.is_ok_and(|status| status.success()) {
        return;
    }
    let server = yard.start();
    let address = server.address.as_str();
    yard.register(address);
    let workspace = Workspace::open(address, "work");
    workspace.write(address, "own/0.txt", "before\n");
    let filling = data.join("filling");
    fill(&filling);
    let (status, body) = workspace.try_write(address, "own/1.txt", &"x".repeat(1 << 20));
    assert!(status >= 400, "{body}");
    let (status, body) = workspace.commit(address, "work on a full disk", &["own/0.txt"]);
    assert!(status >= 400, "{body}");
    let read = format!("/workspaces/{}/read_file?path=own/0.txt", workspace.id);
    let read = call(address, "GET", &read, &Value::Null).unwrap();
    assert!(read.status < 300, "reads go on: {read:?}");
    fs::remove_file(&filling).unwrap();
    let started = Instant::now();
    workspace.write(address, "own/1.txt", "after\n");
    let (status, body) = workspace.commit(address, "work after", &["own"]);
    assert!(status < 300, "{body}\n{}", yard.log());
    assert!(started.elapsed() < PATIENCE);
    let seen = State::seen(&workspace.path, "work");
    assert_eq!(seen.tree["own/0.txt"], "before\n");
    assert_eq!(seen.tree["own/1.txt"], "after\n");
    assert_eq!(seen.commits, ["work after"]);
    git(
        &yard.mirror(),
        &["fsck", "--strict", "--no-dangling", "--no-progress"],
    );
    drop(server);
}

/// Writes until nothing more fits.
fn fill(path: &Path) {
    use std::io::Write as _;
    let mut file = fs::File::create(path).unwrap();
    for size in [1 << 16, 1 << 12, 1] {
        while file.write_all(&vec![0; size]).is_ok() {}
    }
}
