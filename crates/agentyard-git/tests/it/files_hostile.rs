//! A tree that wants to be read or written elsewhere.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};

use agentyard_git::{Error, FileTree, ListQuery, RepositoryPath, SearchQuery, WriteOptions};

use crate::files_support::{OVERWRITE, edit, list, path, search, text};
use crate::support::{GO_ON, Yard};

/// Links to the outside, of every form.
fn with_links() -> Yard {
    let yard = Yard::with_commit();
    fs::write(yard.outside().join("secret"), "secret\n").unwrap();
    yard.link(yard.outside(), "absolute");
    yard.link("../outside", "relative");
    yard.link("../outside/secret", "to-file");
    yard.link("../outside/new", "to-nothing");
    yard.link("nested/../../outside", "winding");
    yard.link("absolute", "chained");
    yard.write("nested/x", "");
    yard
}

#[test]
fn no_link_leads_out_for_reading_or_writing() {
    let yard = with_links();
    for name in [
        "absolute/secret",
        "relative/secret",
        "to-file",
        "winding/secret",
        "chained/secret",
        "to-nothing",
        "relative/new",
        "absolute/a/b/new",
    ] {
        let read = yard.read_file(name);
        assert!(matches!(read, Err(Error::Refused { .. })), "{name}: {read:?}");
        let written = yard.write_file(name, "owned", &OVERWRITE);
        assert!(
            matches!(written, Err(Error::Refused { .. })),
            "{name}: {written:?}"
        );
        let edited = yard.edit_file(name, &[edit("secret", "owned")]);
        assert!(matches!(edited, Err(Error::Refused { .. })), "{name}: {edited:?}");
    }
    for name in ["absolute", "relative", "winding", "chained"] {
        assert!(yard.files().list(&list(name), &GO_ON).is_err(), "{name}");
        let query = SearchQuery {
            path: path(name),
            ..search("secret")
        };
        assert!(yard.files().search(&query, &GO_ON).is_err(), "{name}");
    }
    assert!(yard.search_files(&search("secret")).files.is_empty());
    let deep = ListQuery {
        depth: 10,
        ..list(".")
    };
    let entries = yard.list_files(&deep).entries;
    assert!(!entries.iter().any(|entry| entry.path.contains("secret")));
    assert_eq!(fs::read_dir(yard.outside()).unwrap().count(), 1);
    assert_eq!(
        fs::read_to_string(yard.outside().join("secret")).unwrap(),
        "secret\n"
    );
}

#[test]
fn links_inside_the_tree_are_followed() {
    let yard = Yard::with_commit();
    yard.write("a/b/c", "text\n");
    yard.link("a/../a/b", "inner");
    yard.link(yard.path("a"), "absolute");
    yard.link("../../file", "a/b/up");
    yard.link("loop-2", "loop-1");
    yard.link("loop-1", "loop-2");
    for name in ["inner/c", "absolute/b/c"] {
        let file = yard.read_file(name).unwrap();
        assert_eq!((file.path.as_str(), text(&file).as_str()), ("a/b/c", "text\n"));
    }
    assert_eq!(yard.read_file("inner/up").unwrap().path, "file");
    assert!(matches!(yard.read_file("loop-1"), Err(Error::State { .. })));
    // What a link leads to is made inside, too.
    yard.link("a/new", "to-new");
    assert_eq!(
        yard.write_file("to-new", "x", &WriteOptions::default())
            .unwrap()
            .path,
        "a/new"
    );
}

#[test]
fn an_absolute_path_inside_the_tree_is_taken_for_what_it_means() {
    let yard = Yard::with_commit();
    let tree = yard.files();
    let root = yard.root().display().to_string();
    assert_eq!(tree.path_in(&format!("{root}/a/b")).unwrap(), path("a/b"));
    assert_eq!(tree.path_in(&root).unwrap(), path("."));
    for outside in [
        "/etc/passwd",
        &format!("{root}/../outside"),
        &format!("{root}/.git/config"),
        &format!("{root}x"),
    ] {
        assert!(tree.path_in(outside).is_err(), "{outside}");
    }
}

/// What some file system takes for `.git`, at any depth, whether it is there or not.
#[test]
fn git_directories_are_neither_read_nor_written() {
    let yard = Yard::with_commit();
    yard.write("sub/x", "");
    yard.link(".git", "innocent");
    yard.link("innocent/config", "settings");
    for name in [
        ".git/config",
        "sub/.git",
        "sub/.git/hooks/post-checkout",
        ".GIT/config",
        "sub/.Git/config",
        "git~1/config",
        "sub/GIT~1",
        ".git./config",
        ".git /config",
        ".git::$INDEX_ALLOCATION/config",
        ".g\u{200c}it/config",
        "new/.git/config",
        "innocent/config",
        "innocent/hooks/pre-commit",
        "settings",
    ] {
        let Ok(file) = RepositoryPath::new(name) else {
            continue;
        };
        let tree = yard.files();
        let read = tree.read(&file, &Default::default(), &GO_ON);
        assert!(matches!(read, Err(Error::Refused { .. })), "{name}: {read:?}");
        let written = tree.write(&file, b"[core]\n", &OVERWRITE, &GO_ON);
        assert!(
            matches!(written, Err(Error::Refused { .. })),
            "{name}: {written:?}"
        );
        assert!(
            tree.list(
                &ListQuery {
                    path: file,
                    ..list(".")
                },
                &GO_ON
            )
            .is_err(),
            "{name}"
        );
    }
    assert!(yard.files().list(&list("innocent"), &GO_ON).is_err());
    assert_eq!(yard.all_paths(), ["file", "innocent", "settings", "sub", "sub/x"]);
    let everything = SearchQuery {
        ignored: true,
        ..search("repositoryformatversion")
    };
    assert!(yard.search_files(&everything).files.is_empty());
}

#[test]
fn a_git_directory_is_known_by_any_name() {
    let yard = Yard::with_commit();
    yard.git(&["init", "--quiet", "--bare", "bare"]);
    yard.write("bare/hooks/x", "needle\n");
    for name in ["bare/config", "bare/hooks/x", "bare/new"] {
        assert!(
            matches!(yard.read_file(name), Err(Error::Refused { .. })),
            "{name}"
        );
        let written = yard.write_file(name, "x", &OVERWRITE);
        assert!(
            matches!(written, Err(Error::Refused { .. })),
            "{name}: {written:?}"
        );
    }
    assert!(yard.search_files(&search("needle")).files.is_empty());
    for inside in ["bare", "bare/hooks", ".git", ".git/objects"] {
        assert!(FileTree::open(&yard.confined(inside)).is_err(), "{inside}");
    }
}

#[test]
fn pipes_sockets_and_devices_are_not_opened() {
    let yard = Yard::with_commit();
    yard.shell("mkfifo pipe && mkfifo .gitignore && mknod zero c 1 5");
    let _socket = std::os::unix::net::UnixListener::bind(yard.path("socket")).unwrap();
    for name in ["pipe", "zero", "socket"] {
        let read = yard.read_file(name);
        assert!(matches!(read, Err(Error::Invalid { .. })), "{name}: {read:?}");
        let written = yard.write_file(name, "x", &OVERWRITE);
        assert!(
            matches!(written, Err(Error::Invalid { .. })),
            "{name}: {written:?}"
        );
        assert!(yard.edit_file(name, &[edit("a", "b")]).is_err(), "{name}");
    }
    let query = SearchQuery {
        path: path("pipe"),
        ..search("x")
    };
    assert_eq!(yard.search_files(&query).left_out, 1);
    assert_eq!(found_files(&yard, "content"), ["file"]);
    assert!(
        yard.files()
            .project_files(&["pipe", "zero", "file"], &GO_ON)
            .unwrap()
            .len()
            == 1
    );
}

fn found_files(yard: &Yard, pattern: &str) -> Vec<String> {
    let page = yard.search_files(&search(pattern));
    page.files.into_iter().map(|file| file.path).collect()
}

/// How often each race is run. Working by path loses it within a few hundred rounds.
const ROUNDS: usize = 300;

struct SetOnDrop<'flag>(&'flag AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Swaps `name` and a link to the outside, again and again, while `work` is done.
fn race(yard: &Yard, name: &str, target: &std::path::Path, mut work: impl FnMut(usize)) {
    let (here, aside, link) = (yard.path(name), yard.path("aside"), yard.path("link-aside"));
    symlink(target, &link).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let _ = fs::rename(&here, &aside);
                let _ = fs::rename(&link, &here);
                let _ = fs::rename(&here, &link);
                let _ = fs::rename(&aside, &here);
            }
        });
        let _done = SetOnDrop(&done);
        (0..ROUNDS).for_each(&mut work);
    });
}

#[test]
fn a_directory_swapped_for_a_link_is_not_followed_out() {
    let yard = Yard::with_commit();
    yard.write("dir/file", "inside\n");
    fs::write(yard.outside().join("file"), "secret\n").unwrap();
    let tree = yard.files();
    race(&yard, "dir", &yard.outside(), |round| {
        if let Ok(file) = tree.read(&path("dir/file"), &Default::default(), &GO_ON) {
            assert_eq!(text(&file), "inside\n");
        }
        let _ = tree.write(
            &path("dir/new"),
            format!("{round}").as_bytes(),
            &OVERWRITE,
            &GO_ON,
        );
        let page = tree.search(&search("secret"), &GO_ON).unwrap();
        assert!(page.files.is_empty(), "{page:?}");
    });
    let outside: Vec<_> = fs::read_dir(yard.outside())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(outside, ["file"]);
}

#[test]
fn a_file_swapped_for_a_link_or_a_git_directory_is_not_followed() {
    let yard = Yard::with_commit();
    yard.write("swapped", "inside\n");
    fs::write(yard.outside().join("secret"), "secret\n").unwrap();
    let tree = yard.files();
    race(&yard, "swapped", &yard.outside().join("secret"), |_| {
        if let Ok(file) = tree.read(&path("swapped"), &Default::default(), &GO_ON) {
            assert_eq!(text(&file), "inside\n");
        }
        let _ = tree.edit(
            &path("swapped"),
            &[edit("secret", "owned")],
            &Default::default(),
            &GO_ON,
        );
    });
    assert_eq!(
        fs::read_to_string(yard.outside().join("secret")).unwrap(),
        "secret\n"
    );

    let yard = Yard::with_commit();
    yard.write("dir/config", "inside\n");
    let tree = yard.files();
    let before = yard.content(".git/config");
    race(&yard, "dir", &yard.path(".git"), |_| {
        if let Ok(file) = tree.read(&path("dir/config"), &Default::default(), &GO_ON) {
            assert_eq!(text(&file), "inside\n");
        }
        let _ = tree.write(&path("dir/config"), b"inside\n", &OVERWRITE, &GO_ON);
    });
    assert_eq!(yard.content(".git/config"), before);
}

/// Somebody else replaces a file while it is edited: one of the two is told, and nothing is lost unseen.
#[test]
fn a_file_changed_meanwhile_is_not_overwritten() {
    let yard = Yard::with_commit();
    let file = path("file");
    let done = AtomicBool::new(false);
    let tree = yard.files();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0_u32.. {
                if done.load(Ordering::Relaxed) {
                    return;
                }
                fs::write(yard.path("other"), format!("other {number}\ncontent\n")).unwrap();
                fs::rename(yard.path("other"), yard.path("file")).unwrap();
            }
        });
        let _done = SetOnDrop(&done);
        for _ in 0..ROUNDS {
            match tree.edit(&file, &[edit("content", "content!")], &Default::default(), &GO_ON) {
                Ok(_) | Err(Error::State { .. } | Error::Missing { .. }) => {}
                Err(error) => panic!("{error:?}"),
            }
        }
    });
    let left: Vec<_> = yard
        .all_paths()
        .into_iter()
        .filter(|name| name.contains("agentyard"))
        .collect();
    assert_eq!(left, [""; 0]);
}

#[test]
fn what_the_roots_leave_out_is_neither_read_nor_written_nor_shown() {
    let yard = Yard::with_commit();
    yard.write("state/agentyard.db", "secret\n");
    yard.write("state/trees/x", "secret\n");
    yard.link("state", "link");
    let roots = yard.roots().except(yard.path("state"));
    for closed in ["state", "state/trees", "link"] {
        let refused = roots.resolve(&yard.path(closed));
        assert!(
            matches!(refused, Err(Error::OutsideRoots { .. })),
            "{closed}: {refused:?}"
        );
    }
    let tree = FileTree::open(&roots.resolve(&yard.root()).unwrap()).unwrap();
    for file in ["state/agentyard.db", "state/trees/x", "link/agentyard.db"] {
        let read = tree.read(&path(file), &Default::default(), &GO_ON);
        assert!(matches!(read, Err(Error::Refused { .. })), "{file}: {read:?}");
        let written = tree.write(&path(file), b"x", &OVERWRITE, &GO_ON);
        assert!(
            matches!(written, Err(Error::Refused { .. })),
            "{file}: {written:?}"
        );
    }
    assert_eq!(tree.search(&search("secret"), &GO_ON).unwrap().files.len(), 0);
}

#[test]
fn what_the_roots_leave_out_need_not_be_there_yet() {
    let yard = Yard::with_commit();
    let roots = yard.roots().except(yard.path("later"));
    assert!(roots.resolve(&yard.path("later")).is_err());
    yard.write("later/x", "");
    let refused = roots.resolve(&yard.path("later"));
    assert!(matches!(refused, Err(Error::OutsideRoots { .. })), "{refused:?}");
}
