//! Branches, as git lists them.

use std::sync::atomic::AtomicBool;

use agentyard_git::{Branch, BranchPage, BranchQuery, BranchSort, Distance, Error, Place, Revision};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::log_differential::{generated, of_cases, step, write_commit_graph};
use crate::support::{GO_ON, Yard};

/// Five branches: `done` is merged into `main`; `topic` and `a/deep` are not; `topic` follows `origin/topic`, and
/// `gone` what was deleted.
fn grown() -> Yard {
    let yard = Yard::new();
    yard.commit("root");
    yard.git(&["branch", "done"]);
    yard.commit("second");
    yard.git(&["checkout", "--quiet", "-b", "topic"]);
    yard.commit("topic 1");
    yard.git(&["update-ref", "refs/remotes/origin/topic", "HEAD"]);
    yard.git(&[
        "symbolic-ref",
        "refs/remotes/origin/HEAD",
        "refs/remotes/origin/topic",
    ]);
    yard.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    yard.commit("topic 2\nin two lines\x1b[1m\n\nbody");
    yard.commit("topic 3");
    yard.git(&["checkout", "--quiet", "-b", "a/deep", "main"]);
    yard.commit("deep");
    yard.git(&["branch", "gone", "main"]);
    yard.git(&["checkout", "--quiet", "main"]);
    yard.configure(
        "[remote \"origin\"]\n\turl = x\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\
         [branch \"topic\"]\n\tremote = origin\n\tmerge = refs/heads/topic\n\
         [branch \"gone\"]\n\tremote = origin\n\tmerge = refs/heads/gone",
    );
    yard
}

proptest! {
    #![proptest_config(of_cases(8))]

    #[test]
    fn distances_and_filters_are_those_of_git(steps in vec(step(), 1..30), with_graph in any::<bool>()) {
        let yard = generated(&steps);
        write_commit_graph(&yard, with_graph);
        for branch in ["b0", "b1", "b2"] {
            yard.configure(&format!("[branch \"{branch}\"]\n\tremote = .\n\tmerge = refs/heads/main"));
        }
        for branch in list(&yard, &all()).branches {
            let range = format!("{}...main", branch.name);
            let counts = yard.git(&["rev-list", "--left-right", "--count", &range]);
            let distance = branch.upstream.map(|upstream| upstream.distance.unwrap());
            let shown = distance.map_or("0\t0".to_owned(), |distance| format!("{}\t{}", distance.ahead, distance.behind));
            prop_assert_eq!(shown, counts.trim());
            let (contains, merged) = (revision(&branch.name), revision(&branch.name));
            let contains = names(&yard, &BranchQuery { contains, ..all() });
            prop_assert_eq!(contains, for_each_ref(&yard, &["--contains", &branch.name]));
            let merged = names(&yard, &BranchQuery { merged, ..all() });
            prop_assert_eq!(merged, for_each_ref(&yard, &["--merged", &branch.name]));
        }
    }
}

fn list(yard: &Yard, query: &BranchQuery) -> BranchPage {
    yard.open().branches(query, &GO_ON).unwrap()
}

fn names(yard: &Yard, query: &BranchQuery) -> Vec<String> {
    let branches = list(yard, query).branches.into_iter();
    branches.map(|branch| branch.name).collect()
}

fn all() -> BranchQuery {
    BranchQuery {
        remote: true,
        distances: true,
        ..BranchQuery::default()
    }
}

fn revision(text: &str) -> Option<Revision> {
    Some(Revision::new(text).unwrap())
}

fn for_each_ref(yard: &Yard, arguments: &[&str]) -> Vec<String> {
    let mut line = vec!["for-each-ref", "--format=%(refname:lstrip=2)"];
    line.extend(arguments);
    line.extend(["refs/heads", "refs/remotes"]);
    yard.git(&line).lines().map(str::to_owned).collect()
}

#[test]
fn everything_about_a_branch() {
    let yard = grown();
    let page = list(&yard, &all());
    let find = |name: &str| -> Branch {
        let mut found = page.branches.iter().filter(|branch| branch.name == name);
        found.next().unwrap().clone()
    };
    let topic = find("topic");
    assert_eq!(topic.commit.to_string(), yard.git(&["rev-parse", "topic"]).trim());
    assert_eq!(topic.subject, "topic 3");
    let upstream = topic.upstream.unwrap();
    assert_eq!(upstream.name, "origin/topic");
    assert_eq!(upstream.distance, Some(Distance { ahead: 2, behind: 1 }));
    assert!(!topic.upstream_gone && !topic.current && !topic.remote);

    let gone = find("gone");
    assert_eq!(gone.upstream.unwrap().distance, None);
    assert!(gone.upstream_gone);
    assert!(find("main").current);
    assert_eq!(find("main").upstream, None);
    let remote_head = find("origin/HEAD");
    assert_eq!(remote_head.alias_of.as_deref(), Some("origin/topic"));
    assert!(remote_head.remote);
    assert!(!format!("{page:?}").contains("\\u{1b}"));
}

#[test]
fn distances_are_counted_only_on_request() {
    let yard = grown();
    let query = BranchQuery {
        pattern: Some("topic".to_owned()),
        ..BranchQuery::default()
    };
    let upstream = list(&yard, &query).branches.remove(0).upstream.unwrap();
    assert_eq!(
        (upstream.name.as_str(), upstream.distance),
        ("origin/topic", None)
    );
}

#[test]
fn kinds_and_orders_are_those_of_git() {
    let yard = grown();
    for is_packed in [false, true] {
        if is_packed {
            yard.git(&["pack-refs", "--all"]);
        }
        assert_eq!(names(&yard, &all()), for_each_ref(&yard, &[]));
        let newest = BranchQuery {
            sort: BranchSort::Newest,
            ..all()
        };
        assert_eq!(
            names(&yard, &newest),
            for_each_ref(&yard, &["--sort=refname", "--sort=-committerdate"])
        );
    }
    let local = BranchQuery::default();
    assert_eq!(names(&yard, &local), ["a/deep", "done", "gone", "main", "topic"]);
    let remote = BranchQuery {
        local: false,
        ..all()
    };
    assert_eq!(names(&yard, &remote), ["origin/HEAD", "origin/topic"]);
}

#[test]
fn filters_by_history_are_those_of_git() {
    let yard = grown();
    yard.git(&["checkout", "--quiet", "a/deep"]);
    yard.git(&["merge", "--quiet", "--no-edit", "topic~1"]);
    for with_graph in [false, true] {
        if with_graph {
            yard.git(&["commit-graph", "write", "--reachable"]);
            yard.git(&["checkout", "--quiet", "-b", "not-in-graph", "topic"]);
            yard.commit("not in the graph");
        }
        for commit in [
            "main",
            "done",
            "topic",
            "a/deep",
            "origin/topic",
            "topic~1",
            "HEAD",
        ] {
            let id = yard.git(&["rev-parse", commit]);
            let check = |query: &BranchQuery, option: &str| {
                let expected = for_each_ref(&yard, &[&format!("{option}={}", id.trim())]);
                assert_eq!(names(&yard, query), expected, "{option} {commit}");
            };
            let (merged, contains) = (revision(commit), revision(commit));
            check(&BranchQuery { merged, ..all() }, "--merged");
            check(&BranchQuery { contains, ..all() }, "--contains");
            let no_merged = revision(commit);
            check(&BranchQuery { no_merged, ..all() }, "--no-merged");
        }
    }
}

#[test]
fn pages_and_patterns() {
    let yard = grown();
    let page = |skip, limit| {
        let query = BranchQuery {
            skip,
            limit,
            ..BranchQuery::default()
        };
        let page = list(&yard, &query);
        let names = page.branches.into_iter().map(|branch| branch.name);
        (names.collect::<Vec<_>>().join(" "), page.total, page.more)
    };
    assert_eq!(page(0, 2), ("a/deep done".to_owned(), 5, true));
    assert_eq!(page(3, 2), ("main topic".to_owned(), 5, false));
    assert_eq!(page(9, usize::MAX), (String::new(), 5, false));
    for (pattern, expected) in [
        ("o", &["done", "gone", "topic"][..]),
        ("/", &["a/deep"]),
        ("*", &[]),
    ] {
        let query = BranchQuery {
            pattern: Some(pattern.to_owned()),
            ..BranchQuery::default()
        };
        assert_eq!(names(&yard, &query), expected);
    }
}

#[test]
fn branches_of_other_worktrees_are_told() {
    let yard = grown();
    yard.git(&["worktree", "add", "--quiet", "linked", "topic"]);
    let outside = yard.outside().join("elsewhere");
    yard.git(&["worktree", "add", "--quiet", outside.to_str().unwrap(), "done"]);
    let worktrees = |directory: &str| -> Vec<(String, bool, Option<Place>)> {
        let repository = yard.try_open(directory).unwrap();
        let page = repository.branches(&BranchQuery::default(), &GO_ON).unwrap();
        let marked = page
            .branches
            .into_iter()
            .filter(|branch| branch.current || branch.worktree.is_some());
        marked
            .map(|branch| (branch.name, branch.current, branch.worktree))
            .collect()
    };
    let inside = |path: std::path::PathBuf| Some(Place::Inside(path.to_str().unwrap().to_owned()));
    assert_eq!(
        worktrees(""),
        [
            ("done".to_owned(), false, Some(Place::Outside)),
            ("main".to_owned(), true, None),
            ("topic".to_owned(), false, inside(yard.path("linked"))),
        ]
    );
    assert_eq!(
        worktrees("linked"),
        [
            ("done".to_owned(), false, Some(Place::Outside)),
            ("main".to_owned(), false, inside(yard.root())),
            ("topic".to_owned(), true, None),
        ]
    );
}

#[test]
fn broken_branches_do_not_hide_the_others() {
    let yard = Yard::with_commit();
    yard.write(".git/refs/heads/broken", "not an id\n");
    yard.write(
        ".git/refs/heads/dangling",
        "1234567890123456789012345678901234567890\n",
    );
    for sort in [BranchSort::Name, BranchSort::Newest] {
        let query = BranchQuery { sort, ..all() };
        assert_eq!(names(&yard, &query), ["main"]);
    }
    let contains = revision("HEAD");
    assert_eq!(names(&yard, &BranchQuery { contains, ..all() }), ["main"]);
}

#[test]
fn an_empty_repository_has_no_branches() {
    let yard = Yard::new();
    assert_eq!(list(&yard, &all()), BranchPage::default());
}

#[test]
fn a_range_is_no_commit() {
    let yard = grown();
    let query = BranchQuery {
        contains: revision("main..topic"),
        ..all()
    };
    let answer = yard.open().branches(&query, &GO_ON);
    assert!(matches!(answer, Err(Error::InvalidRevision { .. })));
}

#[test]
fn a_cancelled_list_ends() {
    let yard = grown();
    let answer = yard.open().branches(&all(), &AtomicBool::new(true));
    assert!(matches!(answer, Err(Error::Cancelled)));
}
