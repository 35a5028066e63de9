//! This repository itself, read in process and by git.

use std::path::Path;

use agentyard_git::{BranchQuery, LogQuery, Repository, Roots, TagQuery};

use crate::support::{GO_ON, command};

/// The repository in which this file is. Tests run in a checkout; without one there is nothing to compare.
fn here() -> (std::path::PathBuf, Repository) {
    let top = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap();
    let mut roots = vec![top.clone()];
    roots.extend(agentyard_git::repository_elsewhere(&top));
    let roots = Roots::new(roots).unwrap();
    let repository = Repository::open(&roots.resolve(&top).unwrap()).unwrap();
    (top, repository)
}

fn git(top: &Path, arguments: &[&str]) -> Vec<String> {
    let output = command("git")
        .args(["-c", "safe.directory=*"])
        .args(arguments)
        .current_dir(top)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(ToOwned::to_owned).collect()
}

#[test]
fn its_history_is_that_of_git() {
    let (top, repository) = here();
    let query = LogQuery {
        max_count: 500,
        stat: true,
        ..LogQuery::default()
    };
    let page = repository.log(&query, &GO_ON).unwrap();
    let ours: Vec<String> = page
        .commits
        .iter()
        .map(|commit| format!("{} {}", commit.id, commit.subject))
        .collect();
    assert_eq!(ours, git(&top, &["log", "-500", "--format=%H %s"]));

    for commit in page
        .commits
        .iter()
        .filter(|commit| commit.parents.len() == 1)
        .take(60)
    {
        let stat = commit.stat.as_ref().unwrap();
        let theirs = git(
            &top,
            &[
                "show",
                "--format=",
                "--shortstat",
                "-M",
                "--no-textconv",
                &commit.id.to_string(),
            ],
        );
        let count = |what: &str| -> u64 {
            let line = theirs.first().map_or("", String::as_str);
            line.split(", ")
                .find(|part| part.contains(what))
                .and_then(|part| part.trim().split(' ').next()?.parse().ok())
                .unwrap_or(0)
        };
        assert_eq!(
            (stat.files_changed as u64, stat.insertions, stat.deletions),
            (count("file"), count("insertion"), count("deletion")),
            "{}",
            commit.id
        );
    }
}

#[test]
fn its_references_are_those_of_git() {
    let (top, repository) = here();
    let query = BranchQuery {
        local: true,
        limit: 1000,
        ..BranchQuery::default()
    };
    let page = repository.branches(&query, &GO_ON).unwrap();
    let ours: Vec<String> = page
        .branches
        .iter()
        .map(|branch| format!("{} {}", branch.name, branch.commit))
        .collect();
    let format = "--format=%(refname:lstrip=2) %(objectname)";
    assert_eq!(ours, git(&top, &["for-each-ref", format, "refs/heads"]));

    let query = TagQuery {
        limit: 1000,
        ..TagQuery::default()
    };
    let tags = repository.tags(&query, &GO_ON).unwrap().tags;
    let ours: Vec<&str> = tags.iter().map(|tag| tag.name.as_str()).collect();
    assert_eq!(
        ours,
        git(
            &top,
            &["for-each-ref", "--format=%(refname:lstrip=2)", "refs/tags"]
        )
    );
}
