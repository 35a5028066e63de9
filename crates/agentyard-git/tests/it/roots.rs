//! Paths are inside the roots, or refused.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use agentyard_git::{Error, Roots};

use crate::support::{Yard, message};

#[test]
fn directories_inside_a_root_are_found() {
    let yard = Yard::empty();
    fs::create_dir_all(yard.path("a/b")).unwrap();
    assert_eq!(yard.confined("a/b").path(), yard.path("a/b"));
    assert_eq!(yard.confined("").path(), yard.root());
    assert_eq!(yard.confined("a/./b/../b//").path(), yard.path("a/b"));
    let base = yard.confined("a");
    assert_eq!(
        yard.roots().resolve_from(&base, Path::new("b")).unwrap().path(),
        yard.path("a/b")
    );
    assert_eq!(
        yard.roots().resolve_from(&base, &yard.root()).unwrap().path(),
        yard.root()
    );
}

#[test]
fn links_are_followed_while_they_stay_inside() {
    let yard = Yard::empty();
    fs::create_dir_all(yard.path("real/dir")).unwrap();
    yard.link("real", "relative");
    yard.link(yard.path("real"), "absolute");
    yard.link("relative/../absolute/dir", "chain");
    yard.link("../outside/../root/real", "detour");
    for path in [
        "relative/dir",
        "absolute/dir",
        "chain",
        "absolute/../absolute/dir",
    ] {
        assert_eq!(yard.confined(path).path(), yard.path("real/dir"), "{path}");
    }
    // This one leaves the root on its way back into it.
    assert!(matches!(
        yard.roots().resolve(&yard.path("detour")),
        Err(Error::OutsideRoots { .. })
    ));
}

#[test]
fn leaving_the_roots_is_refused_in_the_same_words_whatever_is_there() {
    let yard = Yard::empty();
    let outside = yard.outside();
    fs::create_dir(outside.join("exists")).unwrap();
    fs::write(outside.join("file"), "").unwrap();
    for name in ["exists", "file", "missing"] {
        let target = outside.join(name);
        yard.link(&target, format!("absolute-{name}"));
        yard.link(format!("../outside/{name}"), format!("relative-{name}"));
        yard.link(format!("absolute-{name}"), format!("chained-{name}"));
        for path in [
            target.clone(),
            yard.path(format!("absolute-{name}")),
            yard.path(format!("absolute-{name}/below")),
            yard.path(format!("relative-{name}")),
            yard.path(format!("chained-{name}")),
            yard.path(format!("../outside/{name}")),
            yard.path(format!("nothing/../../outside/{name}")),
        ] {
            let expected = format!(
                "{} is outside the directories that may be used here",
                path.display()
            );
            let said = message(yard.roots().resolve(&path));
            let is_missing_inside = path.starts_with(yard.path("nothing"));
            assert!(said == expected || is_missing_inside, "{said}");
        }
    }
    for path in ["/", "/etc", "/proc/self/root/etc", "/nonexistent"] {
        assert!(matches!(
            yard.roots().resolve(Path::new(path)),
            Err(Error::OutsideRoots { .. })
        ));
    }
}

#[test]
fn a_name_that_begins_like_a_root_is_not_inside_it() {
    let yard = Yard::empty();
    let neighbour = yard.root().with_file_name("root-2");
    fs::create_dir(&neighbour).unwrap();
    assert!(matches!(
        yard.roots().resolve(&neighbour),
        Err(Error::OutsideRoots { .. })
    ));
}

#[test]
fn magic_links_are_not_followed() {
    let yard = Yard::empty();
    yard.link("/proc/self/root", "magic");
    yard.link("/proc/self/cwd", "here");
    assert!(matches!(
        yard.roots().resolve(&yard.path("magic/etc")),
        Err(Error::OutsideRoots { .. })
    ));
    assert!(matches!(
        yard.roots().resolve(&yard.path("here")),
        Err(Error::OutsideRoots { .. })
    ));
}

#[test]
fn what_is_not_a_directory_is_said_to_be_none() {
    let yard = Yard::empty();
    yard.write("file", "");
    yard.link("loop", "loop");
    assert!(matches!(
        yard.roots().resolve(&yard.path("file")),
        Err(Error::NotADirectory { .. })
    ));
    assert!(matches!(
        yard.roots().resolve(&yard.path("file/below")),
        Err(Error::NotADirectory { .. })
    ));
    assert!(matches!(
        yard.roots().resolve(&yard.path("missing")),
        Err(Error::NotFound { .. })
    ));
    assert!(matches!(
        yard.roots().resolve(&yard.path("loop")),
        Err(Error::OpenDirectory { .. })
    ));
}

#[test]
fn malformed_paths_are_refused() {
    let yard = Yard::empty();
    let latin1 = yard.path(OsStr::from_bytes(b"gr\xfcn"));
    fs::create_dir(&latin1).unwrap();
    let long = yard.path("x".repeat(300));
    for path in [
        Path::new(""),
        Path::new("relative"),
        Path::new("~"),
        &latin1,
        Path::new("/tmp/nul\0byte"),
        &long,
    ] {
        assert!(
            matches!(yard.roots().resolve(path), Err(Error::InvalidPath { .. })),
            "{path:?}"
        );
    }
    assert!(message(yard.roots().resolve(&latin1)).contains(r"gr\374n"));
}

#[test]
fn a_root_may_be_given_by_a_link_and_is_then_known_by_both_names() {
    let yard = Yard::empty();
    fs::create_dir(yard.path("real")).unwrap();
    yard.link("real", "alias");
    fs::create_dir(yard.path("real/below")).unwrap();
    let roots = Roots::new([yard.path("alias")]).unwrap();
    for name in ["alias/below", "real/below"] {
        assert_eq!(
            roots.resolve(&yard.path(name)).unwrap().path(),
            yard.path("real/below")
        );
    }
    assert!(roots.resolve(&yard.root()).is_err());
}

#[test]
fn roots_must_exist_and_be_absolute() {
    let yard = Yard::empty();
    assert!(matches!(
        Roots::new([yard.path("missing")]),
        Err(Error::OpenRoot { .. })
    ));
    assert!(matches!(
        Roots::new(["relative".into()]),
        Err(Error::InvalidPath { .. })
    ));
}

#[test]
fn without_roots_nothing_is_inside() {
    let yard = Yard::empty();
    assert!(matches!(
        Roots::new([]).unwrap().resolve(&yard.root()),
        Err(Error::OutsideRoots { .. })
    ));
}
