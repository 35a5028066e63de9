//! Tags, as git lists them.

use std::sync::atomic::AtomicBool;

use agentyard_git::{Error, Revision, TagPage, TagQuery, TagSort, TagTarget};

use crate::support::{GO_ON, Yard};

fn list(yard: &Yard, query: &TagQuery) -> TagPage {
    yard.open().tags(query, &GO_ON).unwrap()
}

fn names(yard: &Yard, query: &TagQuery) -> Vec<String> {
    list(yard, query).tags.into_iter().map(|tag| tag.name).collect()
}

fn tagged() -> Yard {
    let yard = Yard::new();
    for name in [
        "v1.9", "v1.10", "v2.0-rc1", "v1.01", "v1.0", "v1.00", "x/10a", "x/9", "v2.0",
    ] {
        yard.commit(name);
        yard.git(&["tag", name]);
    }
    yard.git(&[
        "tag",
        "--annotate",
        "--message",
        "old\n\nbody\n\x1b[1mof it",
        "annotated",
        "v1.10",
    ]);
    yard.git(&[
        "tag",
        "--annotate",
        "--message",
        "of a tag",
        "nested",
        "annotated",
    ]);
    yard.git(&["tag", "of-a-tree", "HEAD^{tree}"]);
    yard
}

fn sorted(sort: TagSort) -> TagQuery {
    TagQuery {
        sort,
        ..TagQuery::default()
    }
}

#[test]
fn orders_are_those_of_git() {
    let yard = tagged();
    for is_packed in [false, true] {
        if is_packed {
            yard.git(&["pack-refs", "--all"]);
        }
        for (sort, option) in [
            (TagSort::Name, "--sort=refname"),
            (TagSort::Version, "--sort=-version:refname"),
            (TagSort::Newest, "--sort=-creatordate"),
        ] {
            let theirs = yard.git(&["tag", "--sort=refname", option]);
            assert_eq!(
                names(&yard, &sorted(sort)),
                theirs.lines().collect::<Vec<_>>(),
                "{option}"
            );
        }
    }
}

#[test]
fn versions_are_ordered_like_git_does() {
    let yard = Yard::with_commit();
    let parts = [
        "0", "00", "1", "01", "001", "10", "9", "a", "a1", "a01", "1a", "09",
    ];
    let mut commands = String::new();
    let id = yard.git(&["rev-parse", "HEAD"]);
    for one in parts {
        for other in parts {
            commands.push_str(&format!("create refs/tags/{one}.{other} {id}"));
        }
    }
    yard.write(".git/commands", commands);
    yard.shell("git update-ref --stdin <.git/commands");
    let query = TagQuery {
        limit: 1000,
        ..sorted(TagSort::Version)
    };
    let theirs = yard.git(&["tag", "--sort=-version:refname"]);
    assert_eq!(names(&yard, &query), theirs.lines().collect::<Vec<_>>());
}

#[test]
fn everything_about_a_tag() {
    let yard = tagged();
    let page = list(&yard, &TagQuery::default());
    let find = |name: &str| page.tags.iter().find(|tag| tag.name == name).unwrap().clone();
    let id = |revision: &str| yard.git(&["rev-parse", revision]).trim().to_owned();

    let light = find("v1.10");
    assert_eq!(
        (light.target.to_string(), light.target_kind),
        (id("v1.10"), TagTarget::Commit)
    );
    assert_eq!(light.annotation, None);
    let committed = yard.git(&["log", "-1", "--format=%ct", "v1.10"]);
    assert_eq!(
        light.created_at.unwrap().as_second().to_string(),
        committed.trim()
    );

    let annotated = find("annotated");
    let annotation = annotated.annotation.unwrap();
    assert_eq!(annotated.target, light.target);
    assert_eq!(annotation.id.to_string(), id("annotated"));
    assert_eq!(
        (annotation.subject.as_str(), annotation.body.as_str()),
        ("old", "body\n[1mof it")
    );
    let tagger = annotation.tagger.unwrap();
    assert_eq!(
        (tagger.name.as_str(), tagger.email.as_str()),
        ("Grace", "grace@example.org")
    );
    assert_eq!(annotated.created_at, Some(tagger.at));
    assert!(!annotation.signed);

    let nested = find("nested");
    assert_eq!(nested.target, light.target);
    assert_eq!(nested.annotation.unwrap().subject, "of a tag");
    let tree = find("of-a-tree");
    assert_eq!((tree.target_kind, tree.created_at), (TagTarget::Tree, None));
}

#[test]
fn signatures_are_noticed_and_left_out() {
    let yard = Yard::with_commit();
    let id = yard.git(&["rev-parse", "HEAD"]);
    let tag = format!(
        "object {}\ntype commit\ntag signed\ntagger A <a@b> 12 +0000\n\nsubject\n\n\
         -----BEGIN PGP SIGNATURE-----\n\nsecret\n-----END PGP SIGNATURE-----\n",
        id.trim()
    );
    yard.write(".git/tag", tag);
    let id = yard.git(&["hash-object", "-t", "tag", "-w", ".git/tag"]);
    yard.git(&["update-ref", "refs/tags/signed", id.trim()]);
    let annotation = list(&yard, &TagQuery::default())
        .tags
        .remove(0)
        .annotation
        .unwrap();
    assert!(annotation.signed);
    assert_eq!(
        (annotation.subject.as_str(), annotation.body.as_str()),
        ("subject", "")
    );
}

#[test]
fn tags_that_contain_a_commit_are_those_of_git() {
    let yard = tagged();
    for commit in ["v1.10", "v2.0", "v1.9", "v1.0~1"] {
        let query = TagQuery {
            contains: Some(Revision::new(commit).unwrap()),
            ..TagQuery::default()
        };
        let theirs = yard.git(&["tag", "--contains", commit]);
        assert_eq!(
            names(&yard, &query),
            theirs.lines().collect::<Vec<_>>(),
            "{commit}"
        );
    }
}

#[test]
fn pages_and_patterns() {
    let yard = tagged();
    for sort in [TagSort::Name, TagSort::Newest] {
        let whole = names(&yard, &sorted(sort));
        let query = TagQuery {
            skip: 3,
            limit: 2,
            ..sorted(sort)
        };
        let page = list(&yard, &query);
        assert_eq!((page.total, page.more), (whole.len(), true));
        assert_eq!(names(&yard, &query), whole[3..5]);
        let rest = list(&yard, &TagQuery { skip: 10, ..query });
        assert_eq!((rest.tags.len(), rest.more), (2, false));
    }
    let query = TagQuery {
        pattern: Some("x/".to_owned()),
        ..TagQuery::default()
    };
    assert_eq!(names(&yard, &query), ["x/10a", "x/9"]);
}

#[test]
fn broken_tags_are_left_out() {
    let yard = Yard::with_commit();
    yard.git(&["tag", "good"]);
    yard.write(".git/refs/tags/broken", "not an id\n");
    yard.write(
        ".git/refs/tags/dangling",
        "1234567890123456789012345678901234567890\n",
    );
    for sort in [TagSort::Name, TagSort::Newest, TagSort::Version] {
        assert_eq!(names(&yard, &sorted(sort)), ["good"]);
    }
}

#[test]
fn a_cancelled_list_ends() {
    let answer = tagged().open().tags(&TagQuery::default(), &AtomicBool::new(true));
    assert!(matches!(answer, Err(Error::Cancelled)));
}
