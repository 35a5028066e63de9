//! Clone, fetch, pull, and what remotes there are.

use std::fs;

use agentyard_git::{
    BranchName, CloneOptions, Cloned, Error, FetchOptions, IntegrationResult, PullOptions, RefChange, Remote,
    RemoteName, RemoteUrl,
};

use crate::network_support::{Remotes, everything, program};
use crate::support::{GO_ON, message};

fn branch(name: &str) -> BranchName {
    BranchName::new(name).unwrap()
}

fn remote(name: &str) -> RemoteName {
    RemoteName::new(name).unwrap()
}

fn clone(remotes: &Remotes, options: &CloneOptions) -> Result<Cloned, Error> {
    program().clone_repository(&remotes.yard.roots(), options, &GO_ON, &|_| {})
}

fn to(remotes: &Remotes, path: &str) -> CloneOptions {
    let url = RemoteUrl::parse(&remotes.path("server.git").display().to_string()).unwrap();
    CloneOptions::new(url, &remotes.yard.root().join(path)).unwrap()
}

#[test]
fn a_fetch_tells_what_moved_came_and_went() {
    let remotes = Remotes::new();
    remotes.git("there", &["push", "--quiet", "origin", "main:old"]);
    remotes.work("here", |work| work.fetch(&everything())).unwrap();
    let (old, before) = (
        remotes.tip("server.git", "old"),
        remotes.tip("server.git", "main"),
    );
    remotes.git("server.git", &["branch", "--quiet", "-D", "old"]);
    remotes.moves("new", "new\n");
    remotes.git("there", &["tag", "v1"]);
    remotes.git("there", &["push", "--quiet", "origin", "v1"]);
    let fetched = remotes
        .work("here", |work| {
            work.fetch(&FetchOptions {
                prune: true,
                ..everything()
            })
        })
        .unwrap();
    let now = remotes.tip("server.git", "main");
    let change = |name: &str, old: Option<&str>, new: Option<&str>| RefChange {
        name: name.to_owned(),
        old: old.map(|id| id.parse().unwrap()),
        new: new.map(|id| id.parse().unwrap()),
    };
    assert_eq!(fetched.remote, "origin");
    assert_eq!(
        fetched.changes,
        [
            change("origin/main", Some(&before), Some(&now)),
            change("origin/old", Some(&old), None),
            change("v1", None, Some(&now)),
        ]
    );
    let again = remotes.work("here", |work| work.fetch(&everything())).unwrap();
    assert_eq!(again.changes, []);
}

#[test]
fn a_fetch_can_be_shallow_and_whole_again() {
    let remotes = Remotes::new();
    remotes.moves("a", "a\n");
    remotes.moves("b", "b\n");
    let options = CloneOptions {
        depth: Some(1),
        ..to(&remotes, "shallow")
    };
    clone(&remotes, &options).unwrap();
    assert_eq!(remotes.git("shallow", &["rev-list", "--count", "HEAD"]), "1\n");
    remotes
        .work("shallow", |work| {
            work.fetch(&FetchOptions {
                depth: Some(2),
                ..everything()
            })
        })
        .unwrap();
    assert_eq!(remotes.git("shallow", &["rev-list", "--count", "HEAD"]), "2\n");
    remotes
        .work("shallow", |work| {
            work.fetch(&FetchOptions {
                unshallow: true,
                ..everything()
            })
        })
        .unwrap();
    assert_eq!(remotes.git("shallow", &["rev-list", "--count", "HEAD"]), "3\n");
}

#[test]
fn a_fetch_says_what_is_missing() {
    let remotes = Remotes::new();
    let absent = remotes.work("here", |work| {
        work.fetch(&FetchOptions {
            remote: Some(remote("upstream")),
            ..everything()
        })
    });
    assert_eq!(message(absent), "there is no remote upstream; there are: origin");
    let absent = remotes.work("here", |work| {
        work.fetch(&FetchOptions {
            branch: Some(branch("nope")),
            ..everything()
        })
    });
    assert!(matches!(absent, Err(Error::Missing { .. })), "{absent:?}");
}

#[test]
fn a_clone_is_made_in_a_new_directory() {
    let remotes = Remotes::new();
    let cloned = clone(&remotes, &to(&remotes, "a/b c/clone")).unwrap();
    assert_eq!(
        cloned,
        Cloned {
            path: remotes.path("a/b c/clone"),
            url: remotes.path("server.git").display().to_string(),
            branch: Some("main".to_owned()),
            commit: Some(remotes.tip("server.git", "main").parse().unwrap()),
        }
    );
    assert_eq!(
        fs::read_to_string(remotes.path("a/b c/clone/file")).unwrap(),
        "one\n"
    );
    assert_eq!(remotes.git("a/b c/clone", &["status", "--porcelain"]), "");
    assert!(!remotes.path("a/b c/clone/.git/hooks").exists(), "no template");
}

#[test]
fn a_clone_goes_into_an_empty_directory_and_into_no_other() {
    let remotes = Remotes::new();
    fs::create_dir(remotes.path("empty")).unwrap();
    clone(&remotes, &to(&remotes, "empty")).unwrap();
    let refused = clone(&remotes, &to(&remotes, "here"));
    assert!(matches!(refused, Err(Error::State { .. })), "{refused:?}");
}

#[test]
fn a_clone_can_be_bare_a_mirror_or_of_one_branch() {
    let remotes = Remotes::new();
    remotes.git("server.git", &["branch", "topic"]);
    let bare = CloneOptions {
        bare: true,
        ..to(&remotes, "bare.git")
    };
    assert_eq!(clone(&remotes, &bare).unwrap().branch.as_deref(), Some("main"));
    let mirror = CloneOptions {
        mirror: true,
        ..to(&remotes, "mirror.git")
    };
    clone(&remotes, &mirror).unwrap();
    remotes.moves("new", "new\n");
    let fetched = remotes
        .work("mirror.git", |work| work.fetch(&everything()))
        .unwrap();
    assert_eq!(fetched.changes.len(), 1, "{fetched:?}");
    assert_eq!(
        remotes.tip("mirror.git", "main"),
        remotes.tip("server.git", "main")
    );
    let single = CloneOptions {
        single_branch: true,
        branch: Some(branch("topic")),
        ..to(&remotes, "single")
    };
    assert_eq!(clone(&remotes, &single).unwrap().branch.as_deref(), Some("topic"));
    remotes.work("single", |work| work.fetch(&everything())).unwrap();
    assert_eq!(
        remotes.git("single", &["for-each-ref", "--format=%(refname)", "refs/remotes"]),
        "refs/remotes/origin/topic\n"
    );
}

#[test]
fn a_clone_of_nothing_leaves_nothing() {
    let remotes = Remotes::new();
    fs::create_dir(remotes.path("plain")).unwrap();
    let options = CloneOptions {
        branch: Some(branch("nope")),
        ..to(&remotes, "x/y/z")
    };
    let failed = clone(&remotes, &options);
    assert!(matches!(failed, Err(Error::Missing { .. })), "{failed:?}");
    assert!(!remotes.path("x").exists());
    let url = RemoteUrl::parse(&remotes.path("plain").display().to_string()).unwrap();
    let options = CloneOptions::new(url, &remotes.path("clone")).unwrap();
    assert!(matches!(
        clone(&remotes, &options),
        Err(Error::NotARepository { .. })
    ));
    assert!(!remotes.path("clone").exists());
}

#[test]
fn a_clone_of_an_empty_repository_works() {
    let remotes = Remotes::new();
    remotes
        .yard
        .git(&["init", "--quiet", "--bare", "--object-format=sha256", "empty.git"]);
    let url = RemoteUrl::parse(&remotes.path("empty.git").display().to_string()).unwrap();
    let options = CloneOptions::new(url, &remotes.path("clones/")).unwrap();
    let cloned = clone(&remotes, &options).unwrap();
    assert_eq!(cloned.path, remotes.path("clones/empty"));
    assert_eq!(cloned.commit, None);
}

#[test]
fn a_pull_moves_ahead_merges_or_rebases() {
    let remotes = Remotes::new();
    let pull = |options: PullOptions| remotes.work("here", |work| work.pull(&options));
    let plain = pull(PullOptions::default()).unwrap();
    assert_eq!(plain.integrated.result, IntegrationResult::UpToDate);

    remotes.moves("new", "new\n");
    let pulled = pull(PullOptions::default()).unwrap();
    assert_eq!(pulled.integrated.result, IntegrationResult::FastForward);
    assert_eq!(pulled.integrated.changed.paths, ["new"]);
    assert_eq!(
        pulled.integrated.head.map(|id| id.to_string()),
        Some(remotes.tip("server.git", "main"))
    );

    remotes.moves("newer", "newer\n");
    remotes.commit("here", "own", "own\n");
    let only = pull(PullOptions {
        fast_forward_only: true,
        ..PullOptions::default()
    });
    assert!(matches!(only, Err(Error::State { .. })), "{only:?}");
    let pulled = pull(PullOptions::default()).unwrap();
    assert_eq!(pulled.integrated.result, IntegrationResult::Merged);
    assert_eq!(
        remotes.git("here", &["rev-list", "--count", "--merges", "HEAD"]),
        "1\n"
    );

    remotes.git("here", &["reset", "--quiet", "--hard", "HEAD^1"]);
    let pulled = pull(PullOptions {
        rebase: Some(true),
        ..PullOptions::default()
    })
    .unwrap();
    assert_eq!(
        pulled.integrated.result,
        IntegrationResult::Rebased { commits: 1 }
    );
    assert_eq!(remotes.tip("here", "HEAD^"), remotes.tip("server.git", "main"));
}

#[test]
fn a_pull_with_conflicts_names_them_and_waits() {
    for rebase in [false, true] {
        let remotes = Remotes::new();
        remotes.moves("file", "theirs\n");
        remotes.commit("here", "file", "ours\n");
        let options = PullOptions {
            rebase: Some(rebase),
            ..PullOptions::default()
        };
        let pulled = remotes.work("here", |work| work.pull(&options)).unwrap();
        let IntegrationResult::Stopped(conflicts) = pulled.integrated.result else {
            panic!("no conflicts");
        };
        let files: Vec<_> = conflicts.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(files, ["file"]);
        let marker = if rebase { "rebase-merge" } else { "MERGE_HEAD" };
        assert!(remotes.path("here/.git").join(marker).exists());
    }
}

#[test]
fn a_pull_into_an_unborn_branch_works() {
    let remotes = Remotes::new();
    remotes
        .yard
        .git(&["init", "--quiet", "--initial-branch=main", "fresh"]);
    let server = remotes.path("server.git").display().to_string();
    remotes.git("fresh", &["remote", "add", "origin", &server]);
    let pulled = remotes
        .work("fresh", |work| work.pull(&PullOptions::default()))
        .unwrap();
    assert_eq!(pulled.integrated.result, IntegrationResult::FastForward);
    assert_eq!(fs::read_to_string(remotes.path("fresh/file")).unwrap(), "one\n");
}

#[test]
fn remotes_are_added_changed_renamed_and_removed() {
    let remotes = Remotes::new();
    let url = |text: &str| RemoteUrl::parse(text).unwrap();
    let listed = |name: &str, fetch: &str, push: &str| Remote {
        name: name.to_owned(),
        fetch_url: fetch.to_owned(),
        push_url: push.to_owned(),
    };
    let server = remotes.path("server.git").display().to_string();
    remotes
        .work("here", |work| {
            work.add_remote(&remote("up"), &url("https://me@git.example/a.git"))
        })
        .unwrap();
    let twice = remotes.work("here", |work| {
        work.add_remote(&remote("up"), &url("https://git.example/b.git"))
    });
    assert!(matches!(twice, Err(Error::State { .. })));
    remotes
        .work("here", |work| {
            work.set_remote_url(&remote("up"), &url("git@git.example:a.git"), true)
        })
        .unwrap();
    remotes
        .work("here", |work| work.rename_remote(&remote("up"), &remote("down")))
        .unwrap();
    assert_eq!(
        remotes.open("here").remotes(),
        [
            listed("down", "https://git.example/a.git", "git@git.example:a.git"),
            listed("origin", &server, &server),
        ]
    );
    let asked = remotes.work("here", |work| work.remove_remote(&remote("origin"), false));
    assert!(matches!(asked, Err(Error::Refused { .. })), "{asked:?}");
    let tip = remotes.tip("here", "origin/main");
    let removed = remotes
        .work("here", |work| work.remove_remote(&remote("origin"), true))
        .unwrap();
    assert_eq!(removed.url, server);
    assert_eq!(remotes.tip("here", &removed.kept[0].reference), tip);
    assert_eq!(remotes.open("here").remotes().len(), 1);
}

#[test]
fn addresses_that_may_not_be_reached_are_not_stored() {
    let remotes = Remotes::new();
    let outside = remotes.yard.outside().display().to_string();
    for text in [
        "http://git.example/a",
        "https://127.0.0.1/a",
        "https://[::1]/a",
        "git@10.0.0.1:a",
        &outside,
    ] {
        let url = RemoteUrl::parse(text).unwrap();
        let refused = remotes.work("here", |work| work.add_remote(&remote("up"), &url));
        assert!(
            matches!(refused, Err(Error::Refused { .. } | Error::OutsideRoots { .. })),
            "{text}: {refused:?}"
        );
    }
    assert_eq!(remotes.open("here").remotes().len(), 1);
}
