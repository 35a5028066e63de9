//! Which repositories may run their own programs, as a person says at a terminal.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use agentyard_testkit::TestRepository;
use serde_json::Value;

use crate::support::{Place, text};

/// A repository whose hook says that it ran.
fn repository_with_hook() -> TestRepository {
    let repository = TestRepository::with_commit("a.txt", "a");
    let hook = repository.path().join(".git/hooks/post-index-change");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\ntouch ran\n").unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    repository
}

fn run(place: &Place, directory: &Path, arguments: &[&str]) -> Result<Value, String> {
    let output = place
        .command(arguments)
        .arg("--json")
        .current_dir(directory)
        .output()
        .unwrap();
    if output.status.success() {
        return Ok(serde_json::from_slice(&output.stdout).unwrap());
    }
    Err(text(&output.stderr))
}

#[test]
fn a_hook_runs_only_while_its_repository_is_trusted() {
    let (place, repository) = (Place::new(), repository_with_hook());
    let top = repository.path().canonicalize().unwrap();
    let ran = top.join("ran");
    let add_something = |content: &str| {
        repository.write("a.txt", content);
        run(&place, &top, &["git", "add", "--all"]).unwrap();
        let did_run = ran.exists();
        let _ = fs::remove_file(&ran);
        did_run
    };
    assert!(!add_something("b"), "nobody has said anything");

    let trusted = run(&place, &top, &["trust", "."]).unwrap();
    assert_eq!(trusted["may_run"][0], "hook post-index-change", "{trusted}");
    assert!(add_something("c"), "a person has vouched for it");
    let listed = run(&place, &top, &["trust", "--list"]).unwrap();
    assert_eq!(
        listed["trusted"][0]["repository"],
        top.join(".git").to_str().unwrap(),
        "{listed}"
    );

    run(&place, &top, &["trust", "--revoke", "."]).unwrap();
    assert!(!add_something("d"), "and then no longer");
    assert!(
        run(&place, &top, &["trust", "--revoke", "."])
            .unwrap_err()
            .contains("is not trusted")
    );
}

#[test]
fn another_repository_in_the_same_place_is_not_trusted() {
    let (place, repository) = (Place::new(), repository_with_hook());
    let top = repository.path().canonicalize().unwrap();
    run(&place, &top, &["trust", "."]).unwrap();
    fs::rename(top.join(".git"), top.join("old")).unwrap();
    repository.git(&["clone", "--quiet", "--bare", "old", ".git"]);
    repository.git(&["config", "core.bare", "false"]);
    fs::create_dir_all(top.join(".git/hooks")).unwrap();
    fs::copy(
        top.join("old/hooks/post-index-change"),
        top.join(".git/hooks/post-index-change"),
    )
    .unwrap();
    repository.write("a.txt", "b");
    run(&place, &top, &["git", "add", "--all"]).unwrap();
    assert!(!top.join("ran").exists());
}

#[test]
fn a_linked_worktree_works_where_it_is_and_shares_the_trust() {
    let (place, repository) = (Place::new(), repository_with_hook());
    let elsewhere = tempfile::tempdir().unwrap();
    let linked = elsewhere.path().join("linked");
    repository.git(&["worktree", "add", "--quiet", linked.to_str().unwrap()]);
    let status = run(&place, &linked, &["git", "status"]).unwrap();
    assert_eq!(status["branch"], "linked");
    let trusted = run(&place, &linked, &["trust", "."]).unwrap();
    let common = repository.path().canonicalize().unwrap().join(".git");
    assert_eq!(trusted["trusted"], common.to_str().unwrap());
}

#[test]
fn a_git_file_that_only_claims_to_belong_somewhere_opens_nothing() {
    let (place, repository) = (Place::new(), TestRepository::with_commit("a.txt", "a"));
    let elsewhere = tempfile::tempdir().unwrap();
    let victim = repository.path().join(".git");
    fs::write(
        elsewhere.path().join(".git"),
        format!("gitdir: {}\n", victim.display()),
    )
    .unwrap();
    let refusal = run(&place, elsewhere.path(), &["git", "log"]).unwrap_err();
    assert!(refusal.contains("outside the directories"), "{refusal}");
}
