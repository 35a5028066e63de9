//! Finding repositories.

use std::fs;
use std::os::unix::fs::chown;

use agentyard_git::{Error, Repository, Roots};

use crate::support::{Yard, message};

#[test]
fn a_repository_is_found_from_anywhere_inside_it() {
    let yard = Yard::with_commit();
    fs::create_dir_all(yard.path("deep/er")).unwrap();
    for path in ["", "deep", "deep/er"] {
        let repository = yard.try_open(path).unwrap();
        assert_eq!(repository.worktree(), Some(yard.root().as_path()));
        assert_eq!(repository.git_dir(), yard.path(".git"));
        assert_eq!(repository.common_dir(), yard.path(".git"));
    }
}

#[test]
fn the_search_ends_at_the_root() {
    let yard = Yard::with_commit();
    fs::create_dir_all(yard.path("inner/deep")).unwrap();
    let roots = Roots::new([yard.path("inner")]).unwrap();
    let directory = roots.resolve(&yard.path("inner/deep")).unwrap();
    let expected = format!(
        "{} is not in a git repository; choose another directory, or initialise one here",
        yard.path("inner/deep").display()
    );
    assert_eq!(message(Repository::open(&directory)), expected);
}

#[test]
fn linked_worktrees_and_submodules_are_found_by_their_git_file() {
    let yard = Yard::with_commit();
    yard.git(&["worktree", "add", "--quiet", "-b", "topic", "linked"]);
    let linked = yard.try_open("linked").unwrap();
    assert_eq!(linked.worktree(), Some(yard.path("linked").as_path()));
    assert_eq!(linked.git_dir(), yard.path(".git/worktrees/linked"));
    assert_eq!(linked.common_dir(), yard.path(".git"));

    yard.git(&["init", "--quiet", "source"]);
    yard.git_in(
        &yard.path("source"),
        &["commit", "--quiet", "--allow-empty", "--message", "x"],
    );
    yard.git(&["submodule", "--quiet", "add", "./source", "sub"]);
    let submodule = yard.try_open("sub").unwrap();
    assert_eq!(submodule.worktree(), Some(yard.path("sub").as_path()));
    assert_eq!(submodule.git_dir(), yard.path(".git/modules/sub"));
}

#[test]
fn a_bare_repository_is_opened_when_named_and_not_stumbled_upon() {
    let yard = Yard::empty();
    yard.git(&["init", "--quiet", "--bare", "bare.git"]);
    let repository = yard.try_open("bare.git").unwrap();
    assert_eq!(repository.worktree(), None);
    assert!(matches!(
        yard.try_open("bare.git/refs"),
        Err(Error::NotARepository { .. })
    ));
}

#[test]
fn a_repository_that_calls_itself_bare_has_no_working_tree() {
    let yard = Yard::with_commit();
    yard.configure("[core]\n\tbare = true");
    assert_eq!(yard.open().worktree(), None);
}

#[test]
fn a_worktree_elsewhere_inside_the_roots_is_used() {
    let yard = Yard::empty();
    fs::create_dir(yard.path("tree")).unwrap();
    yard.git(&["init", "--quiet", "--separate-git-dir=store", "repo"]);
    assert_eq!(yard.try_open("repo").unwrap().git_dir(), yard.path("store"));
    yard.git_in(&yard.path("repo"), &["config", "core.worktree", "../tree"]);
    assert_eq!(
        yard.try_open("repo").unwrap().worktree(),
        Some(yard.path("tree").as_path())
    );
}

#[test]
fn a_directory_without_a_repository_is_named() {
    let yard = Yard::empty();
    fs::create_dir_all(yard.path("plain/.git")).unwrap();
    assert!(matches!(yard.try_open("plain"), Err(Error::NotARepository { path }) if path.ends_with("plain")));
}

#[test]
fn broken_repositories_are_refused_with_the_reason() {
    let yard = Yard::empty();
    let refusal = |name: &str| message(yard.try_open(name)).replace(&*yard.root().to_string_lossy(), "ROOT");
    yard.write("nowhere/.git", "gitdir: ../missing\n");
    assert_eq!(
        refusal("nowhere"),
        "the repository at ROOT/nowhere is refused: its .git file leads to something that does not exist"
    );
    yard.write("nothing/.git", "");
    assert_eq!(
        refusal("nothing"),
        "the repository at ROOT/nothing is refused: its .git file names no directory"
    );
    fs::create_dir(yard.path("plain")).unwrap();
    yard.write("wrong/.git", "gitdir: ../plain\n");
    assert_eq!(
        refusal("wrong"),
        "the repository at ROOT/wrong is refused: its .git file does not name a git directory"
    );
    yard.git(&["init", "--quiet", "config"]);
    yard.write("config/.git/config", "[core\n");
    assert_eq!(
        refusal("config"),
        "the repository at ROOT/config/.git could not be opened"
    );
}

#[test]
fn reference_tables_are_not_read_as_if_they_were_files() {
    let yard = Yard::empty();
    if !yard
        .try_git_in(&yard.root(), &["init", "--quiet", "--ref-format=reftable"])
        .status
        .success()
    {
        panic!("this git is too old for the tests");
    }
    assert!(matches!(
        yard.try_open(""),
        Err(Error::UnsupportedRepository { .. })
    ));
}

#[test]
fn root_may_open_what_belongs_to_somebody_else() {
    let yard = Yard::with_commit();
    if chown(yard.path(".git"), Some(12345), Some(12345)).is_err() {
        eprintln!("SKIPPED: only root can give files away");
        return;
    }
    assert!(yard.try_open("").is_ok());
}

#[test]
fn a_repository_survives_being_renamed_while_it_is_open() {
    let yard = Yard::empty();
    yard.git(&["init", "--quiet", "--initial-branch=main", "repo"]);
    yard.write("repo/file", "");
    let repository = yard.try_open("repo").unwrap();
    fs::rename(yard.path("repo"), yard.path("renamed")).unwrap();
    yard.link(yard.outside(), "repo");
    let status = repository
        .status(&agentyard_git::StatusOptions::default(), &crate::support::GO_ON)
        .unwrap();
    assert_eq!(status.untracked, ["file"]);
    assert_eq!(status.head.branch.as_deref(), Some("main"));
}
