//! Which branches would conflict, before anybody merges them.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use agentyard_git::{
    Collision, CollisionKind, Contender, Error, Forecast, Forecasts, MAX_COLLIDING_FILES, ObjectId,
};

use crate::support::{GO_ON, Yard};

/// A repository with one file of ten lines, and a branch for each of these, which changes files as it says.
fn branches(changes: &[(&str, &[(&str, &str)])]) -> Yard {
    let yard = Yard::new();
    yard.write("file", lines(None));
    yard.write("other", "other\n");
    yard.commit("first");
    for (branch, files) in changes {
        yard.git(&["checkout", "--quiet", "-b", branch, "main"]);
        for (path, content) in *files {
            yard.write(path, content);
        }
        yard.commit(branch);
    }
    yard.git(&["checkout", "--quiet", "main"]);
    yard
}

/// Ten lines, of which perhaps one is changed.
fn lines(changed: Option<(usize, &str)>) -> String {
    (0..10).fold(String::new(), |text, line| match changed {
        Some((at, new)) if at == line => format!("{text}{new}\n"),
        _ => format!("{text}line {line}\n"),
    })
}

fn id(yard: &Yard, revision: &str) -> ObjectId {
    yard.git(&["rev-parse", revision]).trim().parse().unwrap()
}

fn contenders(yard: &Yard, branches: &[&str]) -> Vec<Contender> {
    let contender = |branch: &&str| Contender {
        name: (*branch).to_owned(),
        head: id(yard, branch),
        work: None,
        target: None,
    };
    branches.iter().map(contender).collect()
}

fn forecast(yard: &Yard, branches: &[&str], target: Option<&str>) -> Forecast {
    let target = target.map(|target| id(yard, target));
    let mut contenders = contenders(yard, branches);
    for contender in &mut contenders {
        contender.target = target;
    }
    let answer = yard
        .open()
        .forecast(&Forecasts::default(), &contenders, None, &GO_ON);
    answer.unwrap()
}

/// Who collides with whom, in which files.
/// One side, the other, and the files with their kinds.
type Told<'a> = (usize, Option<usize>, Vec<(&'a str, CollisionKind)>);

fn told(collisions: &[Collision]) -> Vec<Told<'_>> {
    collisions
        .iter()
        .map(|collision| {
            let files = collision.files.iter().map(|file| (file.path.as_str(), file.kind));
            (collision.ours, collision.theirs, files.collect())
        })
        .collect()
}

#[test]
fn pairs_and_the_target_are_told_apart() {
    let (first, last, also_first) = (
        lines(Some((0, "a"))),
        lines(Some((9, "b"))),
        lines(Some((0, "c"))),
    );
    let yard = branches(&[
        ("first", &[("file", &first)]),
        ("last", &[("file", &last)]),
        ("also-first", &[("file", &also_first)]),
    ]);
    yard.write("file", lines(Some((9, "main"))));
    yard.commit("on main");
    let found = forecast(&yard, &["first", "last", "also-first"], Some("main"));
    assert_eq!(
        told(&found.pairs),
        [(0, Some(2), vec![("file", CollisionKind::Content)])]
    );
    assert_eq!(
        told(&found.against_target),
        [(1, None, vec![("file", CollisionKind::Content)])]
    );
    assert_eq!((found.compared, found.uncompared), (6, 0));
}

#[test]
fn a_focus_leaves_out_what_others_have_with_each_other() {
    let [a, b, c] = ["a", "b", "c"].map(|new| lines(Some((0, new))));
    let yard = branches(&[
        ("one", &[("file", &a)]),
        ("two", &[("file", &b)]),
        ("three", &[("file", &c)]),
    ]);
    let contenders = contenders(&yard, &["one", "two", "three"]);
    let answer = yard
        .open()
        .forecast(&Forecasts::default(), &contenders, Some(1), &GO_ON);
    let found = answer.unwrap();
    let content = || vec![("file", CollisionKind::Content)];
    assert_eq!(
        told(&found.pairs),
        [(0, Some(1), content()), (1, Some(2), content())]
    );
    assert_eq!(found.compared, 2);
}

#[test]
fn each_conflict_has_its_kind() {
    let yard = Yard::new();
    for name in [
        "changed", "deleted", "binary", "renamed", "type", "dir/one", "dir/two",
    ] {
        yard.write(name, lines(Some((0, name))));
    }
    yard.commit("first");
    for side in ["ours", "theirs"] {
        yard.git(&["checkout", "--quiet", "-b", side, "main"]);
        yard.write("changed", lines(Some((5, side))));
        yard.write("added", side);
        yard.write("binary", format!("\0{side}"));
        yard.shell(&format!("mv renamed renamed-by-{side}"));
        yard.remove("type");
        if side == "ours" {
            yard.remove("deleted");
            yard.write("both", "a file");
            yard.shell("mv dir moved");
            yard.link("changed", "type");
        } else {
            yard.write("deleted", "changed");
            yard.write("both/below", "a directory");
            yard.write("dir/three", "new");
            yard.write("type/below", "a directory");
        }
        yard.commit(side);
    }
    let found = forecast(&yard, &["ours", "theirs"], None);
    use CollisionKind::{
        Binary, BothAdded, Content, DeletedAndChanged, DirectoryAndFile, DirectoryRenamed, Renamed,
    };
    assert_eq!(
        told(&found.pairs),
        [(
            0,
            Some(1),
            vec![
                ("added", BothAdded),
                ("binary", Binary),
                ("both", DirectoryAndFile),
                ("changed", Content),
                ("deleted", DeletedAndChanged),
                ("moved/three", DirectoryRenamed),
                ("renamed", Renamed),
                ("renamed-by-ours", Renamed),
                ("renamed-by-theirs", Renamed),
                ("type", DirectoryAndFile),
            ]
        )]
    );
}

#[test]
fn equal_branches_and_ancestors_do_not_conflict() {
    let changed = lines(Some((0, "a")));
    let yard = branches(&[("ahead", &[("file", &changed)])]);
    yard.git(&["branch", "same", "ahead"]);
    let found = forecast(&yard, &["ahead", "same", "main"], Some("main"));
    assert_eq!(
        found,
        Forecast {
            compared: 6,
            ..Forecast::default()
        }
    );
}

#[test]
fn branches_without_a_common_commit_share_an_empty_one() {
    let yard = branches(&[]);
    yard.git(&["checkout", "--quiet", "--orphan", "stranger"]);
    yard.write("file", "something else\n");
    yard.commit("strange");
    let found = forecast(&yard, &["main", "stranger"], None);
    assert_eq!(
        told(&found.pairs),
        [(0, Some(1), vec![("file", CollisionKind::BothAdded)])]
    );
}

#[test]
fn several_merge_bases_are_merged() {
    let (top, bottom) = (lines(Some((0, "top"))), lines(Some((9, "bottom"))));
    let yard = branches(&[("one", &[("file", &top)]), ("two", &[("file", &bottom)])]);
    // Each takes the other's first commit in, so that both of these are merge bases.
    yard.git(&["branch", "two-before", "two"]);
    yard.git(&["checkout", "--quiet", "two"]);
    yard.git(&["merge", "--quiet", "--no-edit", "one"]);
    yard.git(&["checkout", "--quiet", "one"]);
    yard.git(&["merge", "--quiet", "--no-edit", "two-before"]);
    assert_eq!(
        yard.git(&["merge-base", "--all", "one", "two"]).lines().count(),
        2
    );
    assert_eq!(forecast(&yard, &["one", "two"], None).pairs, []);

    for branch in ["one", "two"] {
        yard.git(&["checkout", "--quiet", branch]);
        let text = fs::read_to_string(yard.path("file")).unwrap();
        yard.write("file", text.replace("line 5", branch));
        yard.commit("in the middle");
    }
    let found = forecast(&yard, &["one", "two"], None);
    assert_eq!(
        told(&found.pairs),
        [(0, Some(1), vec![("file", CollisionKind::Content)])]
    );
}

#[test]
fn work_that_nobody_committed_counts() {
    let changed = lines(Some((0, "a")));
    let yard = branches(&[("first", &[("file", &changed)])]);
    yard.write("file", lines(Some((0, "b"))));
    yard.write("new/file", "not tracked\n");
    let repository = yard.open();
    let work = repository.working_tree(&GO_ON).unwrap();
    let mut contenders = contenders(&yard, &["main", "first"]);
    let cache = Forecasts::default();
    let before = repository.forecast(&cache, &contenders, None, &GO_ON).unwrap();
    assert_eq!(before.pairs, []);
    contenders[0].work = Some(Arc::new(work));
    let found = repository.forecast(&cache, &contenders, None, &GO_ON).unwrap();
    assert_eq!(
        told(&found.pairs),
        [(0, Some(1), vec![("file", CollisionKind::Content)])]
    );
}

#[test]
fn attributes_choose_among_what_is_built_in() {
    let yard = Yard::new();
    yard.configure("[merge \"evil\"]\n\tdriver = touch pwned\n[merge \"union\"]\n\tdriver = touch pwned");
    yard.write(
        ".gitattributes",
        "*.union merge=union\n*.whole -merge\n*.evil merge=evil\n",
    );
    yard.write("sub/.gitattributes", "*.union binary\n");
    let files = ["a.union", "b.whole", "c.evil", "sub/d.union", "e.text"];
    for path in files {
        yard.write(path, lines(None));
    }
    yard.commit("first");
    for (side, at) in [("ours", 0), ("theirs", 9)] {
        yard.git(&["checkout", "--quiet", "-b", side, "main"]);
        for path in files {
            yard.write(path, lines(Some((at, side))));
        }
        yard.write("a.union", lines(Some((5, side))));
        yard.commit(side);
    }
    let found = forecast(&yard, &["ours", "theirs"], None);
    let binary = |path| (path, CollisionKind::Binary);
    assert_eq!(
        told(&found.pairs),
        [(0, Some(1), vec![binary("b.whole"), binary("sub/d.union")])]
    );
    assert!(!yard.path("pwned").exists());
}

#[test]
fn files_too_large_to_be_merged_are_in_conflict() {
    let large = "x\n".repeat(2 << 20) + "end\n";
    let yard = Yard::new();
    yard.write("large", &large);
    yard.commit("first");
    for (side, content) in [
        ("ours", format!("ours\n{large}")),
        ("theirs", format!("{large}theirs\n")),
    ] {
        yard.git(&["checkout", "--quiet", "-b", side, "main"]);
        yard.write("large", content);
        yard.commit(side);
    }
    let found = forecast(&yard, &["ours", "theirs"], None);
    assert_eq!(
        told(&found.pairs),
        [(0, Some(1), vec![("large", CollisionKind::Binary)])]
    );
}

#[test]
fn a_submodule_that_both_moved_is_in_conflict() {
    let yard = branches(&[]);
    for (side, commit) in [("base", "1"), ("ours", "2"), ("theirs", "3")] {
        let from = if side == "base" { "main" } else { "base" };
        yard.git(&["checkout", "--quiet", "-b", side, from]);
        let entry = format!("160000,{},module", commit.repeat(40));
        yard.git(&["update-index", "--add", "--cacheinfo", &entry]);
        yard.git(&["commit", "--quiet", "--message", side]);
    }
    let found = forecast(&yard, &["ours", "theirs"], None);
    assert_eq!(
        told(&found.pairs),
        [(0, Some(1), vec![("module", CollisionKind::Submodule)])]
    );
}

#[test]
fn a_file_that_both_moved_alike_does_not_conflict_where_one_put_a_submodule_in_its_old_place() {
    let yard = branches(&[]);
    for branch in ["ours", "theirs"] {
        yard.git(&["checkout", "--quiet", "-b", branch, "main"]);
        yard.git(&["mv", "file", "moved"]);
        yard.commit(branch);
    }
    let submodule = format!("160000,{},file", "a".repeat(40));
    yard.git(&["update-index", "--add", "--cacheinfo", &submodule]);
    yard.git(&["commit", "--quiet", "--amend", "--no-edit"]);
    yard.git(&["checkout", "--quiet", "--force", "main"]);
    assert_eq!(told(&forecast(&yard, &["ours", "theirs"], None).pairs), []);
    assert!(
        !yard.git(&["merge-tree", "ours", "theirs"]).is_empty(),
        "git agrees"
    );
}

#[test]
fn a_contender_that_cannot_be_read_is_left_out() {
    let (one, two) = (lines(Some((0, "a"))), lines(Some((0, "b"))));
    let yard = branches(&[("one", &[("file", &one)]), ("two", &[("file", &two)])]);
    let mut contenders = contenders(&yard, &["one", "one", "two"]);
    contenders[0].head = id(&yard, "one:file");
    let found = yard
        .open()
        .forecast(&Forecasts::default(), &contenders, None, &GO_ON)
        .unwrap();
    assert_eq!(found.unreadable, [0]);
    assert_eq!(
        told(&found.pairs),
        [(1, Some(2), vec![("file", CollisionKind::Content)])]
    );
}

#[test]
fn long_lists_are_cut_and_counted() {
    let yard = Yard::new();
    yard.commit("first");
    for side in ["ours", "theirs"] {
        yard.git(&["checkout", "--quiet", "-b", side, "main"]);
        for number in 0..MAX_COLLIDING_FILES + 5 {
            yard.write(format!("file-{number}"), side);
        }
        yard.commit(side);
    }
    let found = forecast(&yard, &["ours", "theirs"], None);
    let [collision] = found.pairs.as_slice() else {
        panic!("{found:?}");
    };
    assert_eq!(
        (collision.files.len(), collision.total),
        (MAX_COLLIDING_FILES, MAX_COLLIDING_FILES + 5)
    );
}

#[test]
fn what_was_found_out_once_is_not_worked_out_again() {
    let (one, two) = (lines(Some((0, "a"))), lines(Some((0, "b"))));
    let yard = branches(&[("one", &[("file", &one)]), ("two", &[("file", &two)])]);
    let cache = Forecasts::default();
    let contenders = contenders(&yard, &["one", "two"]);
    let kinds = |cache: &Forecasts| {
        let found = yard.open().forecast(cache, &contenders, None, &GO_ON).unwrap();
        found.pairs[0].files[0].kind
    };
    assert_eq!(kinds(&cache), CollisionKind::Content);
    // Without the file it cannot be found out.
    let blob = id(&yard, "one:file").to_string();
    fs::remove_file(yard.path(format!(".git/objects/{}/{}", &blob[..2], &blob[2..]))).unwrap();
    assert_eq!(kinds(&cache), CollisionKind::Content);
    assert_eq!(kinds(&Forecasts::default()), CollisionKind::Binary);
}

#[test]
fn many_are_foreseen_by_several_threads_in_order() {
    let yard = Yard::new();
    yard.write("file", lines(None));
    yard.commit("first");
    let names: Vec<String> = (0..12).map(|number| format!("branch-{number}")).collect();
    for (number, name) in names.iter().enumerate() {
        yard.git(&["checkout", "--quiet", "-b", name, "main"]);
        yard.write("file", lines(Some(((number % 3) * 4, name))));
        yard.commit(name);
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let found = forecast(&yard, &names, Some("main"));
    let pairs: Vec<_> = found
        .pairs
        .iter()
        .map(|collision| (collision.ours, collision.theirs))
        .collect();
    let all = (0..12).flat_map(|ours| (ours + 1..12).map(move |theirs| (ours, theirs)));
    let expected = all.filter(|(ours, theirs)| ours % 3 == theirs % 3);
    assert_eq!(
        pairs,
        expected
            .map(|(ours, theirs)| (ours, Some(theirs)))
            .collect::<Vec<_>>()
    );
    assert_eq!((found.compared, found.against_target), (78, vec![]));
}

#[test]
fn nothing_is_written_and_nobody_is_kept_waiting() {
    let (one, two) = (lines(Some((0, "a"))), lines(Some((9, "b"))));
    let yard = branches(&[("one", &[("file", &one)]), ("two", &[("file", &two)])]);
    let before = yard.git(&["count-objects"]);
    assert_eq!(forecast(&yard, &["one", "two"], Some("main")).pairs, []);
    assert_eq!(yard.git(&["count-objects"]), before);
    let stopped = AtomicBool::new(true);
    let answer = yard.open().forecast(
        &Forecasts::default(),
        &contenders(&yard, &["one", "two"]),
        None,
        &stopped,
    );
    assert!(matches!(answer, Err(Error::Cancelled)));
}
