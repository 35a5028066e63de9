//! Watching: where it begins and ends, and what it must not miss.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime};

use agentyard_git::{Error, KeepLimits, KeptRepositories, Roots, Status, StatusOptions};

use crate::support::{GO_ON, Yard};

/// Asks again and again for the status of what is in a yard.
pub(crate) struct Watcher<'yard> {
    yard: &'yard Yard,
    roots: Roots,
    kept: KeptRepositories,
}

impl<'yard> Watcher<'yard> {
    /// Watches from the second time on, however quick the first was.
    fn new(yard: &'yard Yard) -> Self {
        Self::with(yard, eager())
    }

    /// Of a repository that is watched by now.
    pub(crate) fn begun(yard: &'yard Yard) -> Self {
        Self::begun_in(yard, "")
    }

    /// As [`Watcher::begun`], when its working tree is not at the top.
    pub(crate) fn begun_in(yard: &'yard Yard, worktree: &str) -> Self {
        let watcher = Self::new(yard);
        watcher.check();
        watcher.check();
        assert!(watched_directories(&yard.path(worktree)) > 0);
        watcher
    }

    fn with(yard: &'yard Yard, limits: KeepLimits) -> Self {
        Self {
            yard,
            roots: yard.roots(),
            kept: KeptRepositories::new(limits),
        }
    }

    fn status_of(&self, path: &str) -> Status {
        self.try_status_of(path, &GO_ON).unwrap()
    }

    fn try_status_of(&self, path: &str, cancel: &AtomicBool) -> Result<Status, Error> {
        let directory = self.roots.resolve(&self.yard.path(path)).unwrap();
        let repository = self.kept.open(&directory).unwrap();
        repository.status(&StatusOptions::default(), cancel)
    }

    /// The status, which must be what a walk finds.
    pub(crate) fn check(&self) -> Status {
        let status = self.status_of("");
        assert_eq!(status, self.yard.status());
        status
    }
}

fn eager() -> KeepLimits {
    KeepLimits {
        watch_from: Duration::ZERO,
        ..KeepLimits::default()
    }
}

/// How many directories this process watches below another, as the kernel says.
fn watched_directories(top: &Path) -> usize {
    let mut inodes = BTreeSet::new();
    let mut pending = vec![top.to_owned()];
    while let Some(directory) = pending.pop() {
        inodes.insert(format!("ino:{:x}", fs::metadata(&directory).unwrap().ino()));
        let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap());
        pending.extend(
            entries
                .filter(|entry| entry.file_type().unwrap().is_dir())
                .map(|entry| entry.path()),
        );
    }
    let descriptors = fs::read_dir("/proc/self/fdinfo").unwrap();
    descriptors
        .filter_map(|descriptor| fs::read_to_string(descriptor.ok()?.path()).ok())
        .flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>())
        .filter(|line| line.starts_with("inotify ") && line.split(' ').any(|word| inodes.contains(word)))
        .count()
}

pub(crate) fn yard_with_directories() -> Yard {
    let yard = Yard::with_commit();
    for directory in ["one", "one/two", "three"] {
        yard.write(format!("{directory}/file"), "content\n");
    }
    yard.commit("directories");
    yard
}

#[test]
fn watching_begins_with_the_second_status() {
    let yard = yard_with_directories();
    let watcher = Watcher::new(&yard);
    watcher.check();
    assert_eq!(watched_directories(&yard.root()), 0);
    watcher.check();
    // The top, three directories and the git directory.
    assert_eq!(watched_directories(&yard.root()), 5);
    drop(watcher);
    assert_eq!(watched_directories(&yard.root()), 0);
}

#[test]
fn what_is_quick_is_not_watched() {
    let yard = yard_with_directories();
    let limits = KeepLimits {
        watch_from: Duration::MAX,
        ..KeepLimits::default()
    };
    let watcher = Watcher::with(&yard, limits);
    for _ in 0..3 {
        watcher.check();
    }
    assert_eq!(watched_directories(&yard.root()), 0);
}

#[test]
fn ignored_directories_are_not_watched_and_untracked_ones_are() {
    let yard = yard_with_directories();
    yard.write(".gitignore", "ignored/\n");
    yard.write("ignored/below/file", "");
    yard.write("untracked/below/file", "");
    let watcher = Watcher::begun(&yard);
    assert_eq!(watched_directories(&yard.path("ignored")), 0);
    assert_eq!(watched_directories(&yard.path("untracked")), 2);
    fs::remove_dir_all(yard.path("untracked/below")).unwrap();
    assert_eq!(watcher.check().untracked, [".gitignore"]);
    assert_eq!(watched_directories(&yard.root()), 6);
}

#[test]
fn beyond_the_limit_nothing_is_watched() {
    let yard = yard_with_directories();
    for (limit, watched) in [(4, 0), (5, 5)] {
        let limits = KeepLimits {
            watched_directories: limit,
            ..eager()
        };
        let watcher = Watcher::with(&yard, limits);
        for _ in 0..3 {
            watcher.check();
        }
        assert_eq!(watched_directories(&yard.root()), watched);
        yard.write("one/new", limit.to_string());
        assert_eq!(watcher.check().untracked, ["one/new"]);
    }
}

#[test]
fn directories_that_come_and_go_do_not_use_up_the_limit() {
    let yard = yard_with_directories();
    let limits = KeepLimits {
        watched_directories: 8,
        ..eager()
    };
    let watcher = Watcher::with(&yard, limits);
    for round in 0..20 {
        watcher.check();
        yard.write(format!("new-{round}/file"), "");
        watcher.check();
        fs::remove_dir_all(yard.path(format!("new-{round}"))).unwrap();
        yard.write("one/two/file", round.to_string());
    }
    watcher.check();
    assert_eq!(watched_directories(&yard.root()), 5);
}

#[test]
fn a_repository_that_is_no_longer_kept_is_no_longer_watched() {
    let yard = Yard::empty();
    for name in ["one", "two"] {
        yard.write(format!("{name}/below/file"), "");
        yard.git_in(&yard.path(name), &["init", "--quiet"]);
        yard.git_in(&yard.path(name), &["add", "."]);
    }
    let limits = KeepLimits {
        repositories: 1,
        ..eager()
    };
    let watcher = Watcher::with(&yard, limits);
    for name in ["one", "two"] {
        watcher.status_of(name);
        watcher.status_of(name);
    }
    assert_eq!(watched_directories(&yard.path("one")), 0);
    assert_eq!(watched_directories(&yard.path("two")), 3);
}

#[test]
fn more_events_than_the_kernel_keeps_are_survived() {
    let yard = yard_with_directories();
    let watcher = Watcher::begun(&yard);
    yard.write("one/file", "changed before\n");
    // Two directories in turn, so that the kernel does not take one event for the repetition of another.
    for number in 0..5_000 {
        fs::write(yard.path("one/busy"), number.to_string()).unwrap();
        fs::write(yard.path("three/busy"), number.to_string()).unwrap();
    }
    yard.write("one/two/file", "changed after\n");
    let status = watcher.check();
    assert_eq!(status.unstaged.modified, ["one/file", "one/two/file"]);
    yard.write("three/file", "changed later\n");
    assert_eq!(watcher.check().unstaged.modified.len(), 3);
}

#[test]
fn writing_by_another_name_is_noticed() {
    let yard = yard_with_directories();
    // Both where the other name was there before, and where it is made later, inside the tree.
    fs::hard_link(yard.path("one/file"), yard.outside().join("other")).unwrap();
    let watcher = Watcher::begun(&yard);
    fs::write(yard.outside().join("other"), "changed\n").unwrap();
    assert_eq!(watcher.check().unstaged.modified, ["one/file"]);
    fs::hard_link(yard.path("three/file"), yard.path("one/other")).unwrap();
    watcher.check();
    fs::write(yard.path("one/other"), "changed\n").unwrap();
    assert_eq!(watcher.check().unstaged.modified, ["one/file", "three/file"]);
    fs::create_dir(yard.path("new")).unwrap();
    watcher.check();
    fs::hard_link(yard.path("one/two/file"), yard.path("new/other")).unwrap();
    fs::write(yard.path("new/other"), "changed\n").unwrap();
    assert_eq!(watcher.check().unstaged.modified.len(), 3);
}

#[test]
fn a_file_that_is_kept_open_is_noticed_each_time() {
    let yard = yard_with_directories();
    let watcher = Watcher::begun(&yard);
    let mut file = fs::File::options()
        .append(true)
        .open(yard.path("one/file"))
        .unwrap();
    file.write_all(b"more").unwrap();
    assert_eq!(watcher.check().unstaged.modified, ["one/file"]);
    file.set_len("content\n".len() as u64).unwrap();
    assert_eq!(watcher.check().unstaged.modified, [""; 0]);
}

#[test]
fn a_status_that_was_cancelled_loses_nothing() {
    let yard = yard_with_directories();
    let watcher = Watcher::begun(&yard);
    yard.write("one/file", "changed\n");
    let outcome = watcher.try_status_of("", &AtomicBool::new(true));
    assert!(matches!(outcome, Err(Error::Cancelled)));
    assert_eq!(watcher.check().unstaged.modified, ["one/file"]);
}

#[test]
fn linked_worktrees_are_watched_with_their_own_index() {
    let yard = yard_with_directories();
    yard.git(&["worktree", "add", "--quiet", "linked"]);
    let watcher = Watcher::new(&yard);
    let check = || {
        let status = watcher.status_of("linked");
        assert_eq!(status, yard.status_of("linked"));
        status
    };
    check();
    check();
    assert_eq!(watched_directories(&yard.path("linked")), 4);
    assert_eq!(watched_directories(&yard.path(".git/worktrees/linked")), 1);
    yard.write("linked/one/new", "");
    assert_eq!(check().untracked, ["one/new"]);
    yard.git_in(&yard.path("linked"), &["add", "one/new"]);
    assert_eq!(check().staged.added, ["one/new"]);
    yard.write("linked/three/new", "");
    yard.write(".git/info/exclude", "new\n");
    assert_eq!(check().untracked, [""; 0]);
}

#[test]
fn a_submodule_is_looked_at_each_time() {
    let yard = yard_with_directories();
    yard.write("sub/file", "content\n");
    yard.git_in(&yard.path("sub"), &["init", "--quiet"]);
    yard.git_in(&yard.path("sub"), &["add", "."]);
    yard.git_in(&yard.path("sub"), &["commit", "--quiet", "--message", "first"]);
    yard.commit("a submodule");
    let watcher = Watcher::begun(&yard);
    yard.git_in(
        &yard.path("sub"),
        &["commit", "--quiet", "--allow-empty", "--message", "second"],
    );
    assert_eq!(watcher.check().unstaged.modified, ["sub"]);
}

#[test]
fn several_may_ask_while_others_write() {
    let yard = yard_with_directories();
    let watcher = Watcher::begun(&yard);
    let directory = watcher.roots.resolve(&yard.root()).unwrap();
    let (kept, directory) = (&watcher.kept, &directory);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(move || {
                for _ in 0..50 {
                    let repository = kept.open(directory).unwrap();
                    let status = repository.status(&StatusOptions::default(), &GO_ON).unwrap();
                    assert_eq!(status.head.branch.as_deref(), Some("main"));
                }
            });
        }
        for number in 0..200 {
            yard.write(format!("one/new-{}", number % 7), number.to_string());
            fs::create_dir_all(yard.path("three/below")).unwrap();
            yard.write("three/below/file", number.to_string());
            fs::remove_dir_all(yard.path("three/below")).unwrap();
        }
    });
    watcher.check();
}

#[test]
fn a_directory_swapped_for_a_link_does_not_show_what_is_outside() {
    let yard = yard_with_directories();
    yard.write("one/untracked", "");
    fs::write(yard.outside().join("secret"), "").unwrap();
    let watcher = Watcher::begun(&yard);
    fs::rename(yard.path("one"), yard.path("aside")).unwrap();
    yard.link(yard.outside(), "one");
    let status = watcher.check();
    assert!(!format!("{status:?}").contains("secret"));
    assert_eq!(status.unstaged.deleted, ["one/file", "one/two/file"]);
}

#[test]
fn rules_written_by_another_name_are_noticed() {
    for (place, untracked) in [
        (".gitignore", "one/new"),
        ("one/.gitignore", "one/new"),
        ("new/.gitignore", "new/"),
    ] {
        let yard = yard_with_directories();
        yard.write("one/new", "");
        yard.write(place, "nothing\n*ignore\n");
        yard.write("new/new", "");
        fs::hard_link(yard.path(place), yard.outside().join("rules")).unwrap();
        let watcher = Watcher::new(&yard);
        for _ in 0..3 {
            assert!(watcher.check().untracked.contains(&untracked.to_owned()));
        }
        fs::write(yard.outside().join("rules"), "new\n*ignore\n").unwrap();
        assert!(!watcher.check().untracked.contains(&untracked.to_owned()));
    }
}

#[test]
fn files_that_the_index_did_not_vouch_for_are_looked_at_with_the_next_one() {
    let yard = Yard::with_commit();
    yard.configure("[core] trustCTime = false\ncheckStat = minimal");
    let then = SystemTime::now() - Duration::from_secs(1000);
    let set_time = |path: &str, time| {
        let file = fs::File::options().append(true).open(yard.path(path)).unwrap();
        file.set_modified(time).unwrap();
    };
    set_time("file", then);
    yard.git(&["update-index", "--refresh"]);
    yard.write("file", "CONTENT\n");
    set_time("file", then);
    // As if both were written at the same moment: only reading the file tells.
    set_time(".git/index", then);
    let watcher = Watcher::begun(&yard);
    assert_eq!(watcher.check().unstaged.modified, ["file"]);
    // As if the index was written later, and knew.
    set_time(".git/index", SystemTime::now());
    assert_eq!(watcher.check().unstaged.modified, [""; 0]);
}
