//! Repositories whose parts are elsewhere: files, links, alternates.

use std::fs;

use agentyard_git::{Error, LogQuery, Repository, Roots};

use crate::support::{GO_ON, Yard, assert_harmless, foreign_repository, refusal};

#[test]
fn a_git_file_that_leads_outside_is_refused() {
    let yard = Yard::empty();
    let foreign = foreign_repository(&yard);
    for target in [
        foreign.join(".git"),
        "../../outside/foreign/.git".into(),
        yard.outside().join("missing"),
    ] {
        yard.write("tree/.git", format!("gitdir: {}\n", target.display()));
        assert_eq!(
            refusal(&yard, "tree"),
            "the repository at ROOT/tree is refused: its .git file leads outside the directories that may be used here"
        );
    }
}

#[test]
fn a_git_link_that_leads_outside_is_refused() {
    let yard = Yard::empty();
    let foreign = foreign_repository(&yard);
    for (name, target) in [
        ("dir", foreign.join(".git")),
        ("missing", yard.outside().join("missing")),
    ] {
        yard.link(target, format!("{name}/.git"));
        assert_eq!(
            refusal(&yard, name),
            format!(
                "the repository at ROOT/{name} is refused: its .git link leads outside the directories that may be used here"
            )
        );
    }
    // A link that stays inside is as good as a directory.
    yard.git(&["init", "--quiet", "real"]);
    yard.link("../real/.git", "linked/.git");
    assert_eq!(yard.try_open("linked").unwrap().git_dir(), yard.path("real/.git"));
}

#[test]
fn a_common_directory_outside_is_refused() {
    let yard = Yard::with_commit();
    let foreign = foreign_repository(&yard);
    yard.git(&["worktree", "add", "--quiet", "linked"]);
    yard.write(
        ".git/worktrees/linked/commondir",
        format!("{}\n", foreign.join(".git").display()),
    );
    assert_eq!(
        refusal(&yard, "linked"),
        "the repository at ROOT/.git/worktrees/linked is refused: its commondir file leads outside the directories that may be used here"
    );
}

#[test]
fn alternates_outside_are_refused() {
    let yard = Yard::with_commit();
    let foreign = foreign_repository(&yard).join(".git/objects");
    let expected = "the repository at ROOT/.git is refused: its objects/info/alternates file leads outside the directories that may be used here";
    for target in [
        foreign.display().to_string(),
        format!("\"{}\"", foreign.display()),
        "../../../outside/foreign/.git/objects".to_owned(),
        "/nonexistent/objects".to_owned(),
    ] {
        yard.write(".git/objects/info/alternates", format!("# comment\n{target}\n"));
        assert_eq!(refusal(&yard, ""), expected);
    }
    // At second hand, too.
    yard.git(&["init", "--quiet", "middle"]);
    yard.write(".git/objects/info/alternates", "../../middle/.git/objects\n");
    assert!(yard.try_open("").is_ok());
    yard.write(
        "middle/.git/objects/info/alternates",
        format!("{}\n", foreign.display()),
    );
    assert_eq!(refusal(&yard, ""), expected);
    // In a circle, there is no way out; gix has its own opinion of that.
    yard.write("middle/.git/objects/info/alternates", "../../.git/objects\n");
    assert_harmless(&yard);
}

#[test]
fn alternates_inside_are_used() {
    let yard = Yard::with_commit();
    yard.git(&["clone", "--quiet", "--shared", ".", "shared"]);
    let repository = yard.try_open("shared").unwrap();
    assert_eq!(
        repository
            .log(&LogQuery::default(), &GO_ON)
            .unwrap()
            .commits
            .len(),
        1
    );
}

#[test]
fn links_inside_the_git_directory_must_stay_inside() {
    let foreign_parts = [
        "config",
        "HEAD",
        "index",
        "packed-refs",
        "info",
        "objects",
        "refs",
        "objects/pack",
        "refs/heads",
        "logs",
        "shallow",
    ];
    for part in foreign_parts {
        let yard = Yard::with_commit();
        let foreign = foreign_repository(&yard);
        let own = yard.path(".git").join(part);
        _ = fs::remove_file(&own);
        _ = fs::remove_dir_all(&own);
        std::os::unix::fs::symlink(foreign.join(".git").join(part), &own).unwrap();
        assert!(!assert_harmless(&yard).contains("secret"));
        assert!(yard.try_open("").is_err(), "{part}");
    }
    for link in [
        "refs/heads/leak",
        "refs/tags/deep/leak",
        "objects/ab",
        "objects/pack/pack-1.idx",
        "logs/refs/leak",
        "objects/info/commit-graph",
        "LEAK",
    ] {
        let yard = Yard::with_commit();
        yard.link("/etc/passwd", format!(".git/{link}"));
        let expected = format!(
            "the repository at ROOT/.git is refused: its {link} link leads outside the directories that may be used here"
        );
        assert_eq!(refusal(&yard, ""), expected);
    }
}

#[test]
fn another_tenant_is_out_of_reach_although_the_repository_knows_its_objects() {
    let yard = Yard::with_commit();
    let foreign = foreign_repository(&yard);
    let id = yard.git_in(&foreign, &["rev-parse", "HEAD"]);
    yard.write(".git/refs/heads/main", &id);
    assert!(matches!(
        yard.open().log(&LogQuery::default(), &GO_ON),
        Err(Error::Read { .. } | Error::UnknownRevision { .. })
    ));
    assert_harmless(&yard);
}

#[test]
fn two_roots_may_share_a_repository() {
    let yard = Yard::with_commit();
    yard.git(&["worktree", "add", "--quiet", "linked"]);
    fs::create_dir(yard.path("main-tree")).unwrap();
    let only_linked = Roots::new([yard.path("linked")]).unwrap();
    let directory = only_linked.resolve(&yard.path("linked")).unwrap();
    assert!(matches!(
        Repository::open(&directory),
        Err(Error::RepositoryEscapes { .. })
    ));
    let both = Roots::new([yard.path("linked"), yard.path(".git")]).unwrap();
    let directory = both.resolve(&yard.path("linked")).unwrap();
    assert!(Repository::open(&directory).is_ok());
}
