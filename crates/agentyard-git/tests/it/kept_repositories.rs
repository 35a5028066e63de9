//! A repository that is kept open is as safe as one that is opened each time, and as up to date.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use agentyard_git::{Error, KeepLimits, KeptRepositories, Repository, Roots, StatusOptions};

use crate::support::{GO_ON, Yard, foreign_repository, message};

struct KeptYard {
    yard: Yard,
    roots: Roots,
    kept: KeptRepositories,
}

impl KeptYard {
    fn new(yard: Yard) -> Self {
        Self {
            roots: yard.roots(),
            kept: KeptRepositories::new(KeepLimits::default()),
            yard,
        }
    }

    fn open_in(&self, path: impl AsRef<Path>) -> Result<Arc<Repository>, Error> {
        self.kept.open(&self.roots.resolve(&self.yard.path(path))?)
    }

    fn open(&self) -> Result<Arc<Repository>, Error> {
        self.open_in("")
    }

    /// Opens it until it is kept. What was written within the last step of the clock is not relied upon.
    fn open_until_kept(&self) -> Arc<Repository> {
        self.open_in_until_kept("")
    }

    fn open_in_until_kept(&self, path: &str) -> Arc<Repository> {
        loop {
            let (one, other) = (self.open_in(path).unwrap(), self.open_in(path).unwrap());
            if Arc::ptr_eq(&one, &other) && self.has_settled(path) {
                return one;
            }
        }
    }

    /// Whether the clock has moved on since anything in the git directory was changed.
    fn has_settled(&self, path: &str) -> bool {
        let changed_at = fs::metadata(self.yard.path(path).join(".git"))
            .unwrap()
            .modified()
            .unwrap();
        changed_at
            .elapsed()
            .is_ok_and(|elapsed| elapsed.as_millis() > 100)
    }

    fn branch(&self) -> Option<String> {
        let status = self.open().unwrap().status(&StatusOptions::default(), &GO_ON);
        status.unwrap().head.branch
    }

    fn refusal(&self) -> String {
        message(self.open()).replace(&*self.yard.root().to_string_lossy(), "ROOT")
    }
}

#[test]
fn it_is_opened_once() {
    let yard = KeptYard::new(Yard::with_commit());
    fs::create_dir(yard.yard.path("below")).unwrap();
    let first = yard.open_until_kept();
    assert!(Arc::ptr_eq(&first, &yard.open().unwrap()));
    assert!(Arc::ptr_eq(&first, &yard.open_in("below").unwrap()));
}

#[test]
fn what_is_in_it_may_change() {
    let yard = KeptYard::new(Yard::with_commit());
    let first = yard.open_until_kept();
    yard.yard.git(&["checkout", "--quiet", "-b", "other"]);
    assert_eq!(yard.branch().as_deref(), Some("other"));
    yard.yard.write("file", "changed\n");
    yard.yard.commit("second");
    assert!(Arc::ptr_eq(&first, &yard.open().unwrap()));
    assert_eq!(
        yard.open()
            .unwrap()
            .status(&StatusOptions::default(), &GO_ON)
            .unwrap(),
        yard.yard.status()
    );
}

#[test]
fn other_settings_are_read() {
    let yard = KeptYard::new(Yard::with_commit());
    let first = yard.open_until_kept();
    yard.yard.set_executable("file", true);
    let modified = |repository: &Repository| {
        let status = repository.status(&StatusOptions::default(), &GO_ON).unwrap();
        status.unstaged.modified
    };
    assert_eq!(modified(&first), ["file"]);
    yard.yard.configure("[core] fileMode = false");
    assert_eq!(modified(&yard.open().unwrap()), [""; 0]);
    yard.yard.configure("[core] bare = true");
    assert_eq!(yard.open().unwrap().worktree(), None);
    yard.yard.configure("[extensions] refStorage = reftable");
    assert!(yard.refusal().contains("a reference storage other than files"));
}

#[test]
fn a_link_to_the_outside_is_refused_when_it_appears() {
    for place in [
        "refs/heads/evil",
        "refs/evil",
        "HEAD2",
        "info/evil",
        "objects/pack/evil",
        "logs/evil",
        "objects/aa",
    ] {
        let yard = KeptYard::new(Yard::with_commit());
        let foreign = foreign_repository(&yard.yard);
        yard.open_until_kept();
        yard.yard
            .link(foreign.join("file"), Path::new(".git").join(place));
        assert_eq!(
            yard.refusal(),
            format!(
                "the repository at ROOT/.git is refused: its {place} link leads outside the directories that may be used here"
            )
        );
        fs::remove_file(yard.yard.path(".git").join(place)).unwrap();
        assert_eq!(yard.branch().as_deref(), Some("main"));
    }
}

#[test]
fn alternates_are_refused_when_they_appear() {
    let yard = KeptYard::new(Yard::with_commit());
    let foreign = foreign_repository(&yard.yard);
    yard.open_until_kept();
    let objects = foreign.join(".git/objects");
    yard.yard
        .write(".git/objects/info/alternates", objects.to_str().unwrap());
    assert!(
        yard.refusal()
            .ends_with("leads outside the directories that may be used here")
    );
}

#[test]
fn alternates_are_checked_each_time() {
    let yard = KeptYard::new(Yard::with_commit());
    let foreign = foreign_repository(&yard.yard);
    fs::create_dir_all(yard.yard.path("shared/pack")).unwrap();
    yard.yard.write(
        ".git/objects/info/alternates",
        yard.yard.path("shared").to_str().unwrap(),
    );
    // Not before the clock has moved on, so that nothing else makes it be checked again.
    while !yard.has_settled("") {}
    for _ in 0..3 {
        yard.open().unwrap();
    }
    yard.yard.link(foreign.join("file"), "shared/pack/evil");
    assert!(
        yard.refusal()
            .ends_with("leads outside the directories that may be used here")
    );
}

#[test]
fn a_reference_that_grows_is_refused() {
    let yard = KeptYard::new(Yard::with_commit());
    yard.open_until_kept();
    let reference = fs::File::options()
        .write(true)
        .open(yard.yard.path(".git/refs/heads/main"));
    reference.unwrap().set_len(1 << 30).unwrap();
    assert_eq!(
        yard.refusal(),
        "the repository at ROOT/.git is refused: its refs/heads/main is too large"
    );
}

#[test]
fn another_repository_in_its_place_is_another() {
    let yard = KeptYard::new(Yard::with_commit());
    let first = yard.open_until_kept();
    fs::rename(yard.yard.path(".git"), yard.yard.path("former")).unwrap();
    yard.yard.git(&["init", "--quiet", "--initial-branch=new"]);
    assert_eq!(yard.branch().as_deref(), Some("new"));
    fs::remove_dir_all(yard.yard.path(".git")).unwrap();
    assert!(matches!(yard.open(), Err(Error::NotARepository { .. })));
    fs::rename(yard.yard.path("former"), yard.yard.path(".git")).unwrap();
    assert_eq!(yard.branch().as_deref(), Some("main"));
    assert_eq!(first.git_dir(), yard.open().unwrap().git_dir());
}

#[test]
fn a_repository_that_moved_is_known_by_its_new_name() {
    let yard = Yard::empty();
    fs::create_dir(yard.path("one")).unwrap();
    yard.git_in(&yard.path("one"), &["init", "--quiet"]);
    let yard = KeptYard::new(yard);
    yard.open_in_until_kept("one");
    fs::rename(yard.yard.path("one"), yard.yard.path("two")).unwrap();
    let moved = yard.open_in("two").unwrap();
    assert_eq!(moved.worktree(), Some(&*yard.yard.path("two")));
    assert_eq!(moved.git_dir(), yard.yard.path("two/.git"));
}

#[test]
fn packs_that_were_cut_short_do_no_harm() {
    let yard = KeptYard::new(Yard::with_commit());
    for number in 0..200 {
        yard.yard
            .write(format!("file-{number}"), format!("{number}\n").repeat(500));
    }
    yard.yard.commit("second");
    yard.yard.git(&["gc", "--quiet"]);
    let first = yard.open_until_kept();
    first.status(&StatusOptions::default(), &GO_ON).unwrap();
    first.log(&Default::default(), &GO_ON).unwrap();
    for entry in fs::read_dir(yard.yard.path(".git/objects/pack")).unwrap() {
        let path = entry.unwrap().path();
        let mut permissions = fs::metadata(&path).unwrap().permissions();
        #[expect(
            clippy::permissions_set_readonly_false,
            reason = "in a directory of this test"
        )]
        permissions.set_readonly(false);
        fs::set_permissions(&path, permissions).unwrap();
        fs::File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_len(0)
            .unwrap();
    }
    // Reading what is no longer there would end this process.
    assert!(yard.open().unwrap().log(&Default::default(), &GO_ON).is_err());
}

#[test]
fn objects_that_were_packed_are_found() {
    let yard = KeptYard::new(Yard::with_commit());
    yard.open_until_kept();
    for _ in 0..3 {
        yard.yard
            .write("file", format!("{:?}\n", std::time::Instant::now()));
        yard.yard.commit("more");
        yard.yard.git(&["gc", "--quiet", "--prune=now"]);
        let log = yard.open().unwrap().log(&Default::default(), &GO_ON).unwrap();
        assert_eq!(log.commits, yard.yard.log(&Default::default()).commits);
    }
}

#[test]
fn replaced_commits_are_read_in_place_of_the_others() {
    let yard = KeptYard::new(Yard::with_commit());
    yard.yard.commit("second");
    yard.open_until_kept();
    yard.yard.git(&["replace", "--graft", "HEAD"]);
    let count = || {
        yard.open()
            .unwrap()
            .log(&Default::default(), &GO_ON)
            .unwrap()
            .commits
            .len()
    };
    assert_eq!(count(), 1);
    yard.yard.git(&["pack-refs", "--all"]);
    assert_eq!(count(), 1);
    yard.yard.git(&["replace", "--delete", "HEAD"]);
    assert_eq!(count(), 2);
}

#[test]
fn no_more_are_kept_than_there_should_be() {
    let yard = Yard::empty();
    for name in ["one", "two", "three"] {
        fs::create_dir(yard.path(name)).unwrap();
        yard.git_in(&yard.path(name), &["init", "--quiet"]);
    }
    let roots = yard.roots();
    let kept = KeptRepositories::new(KeepLimits {
        repositories: 2,
        ..KeepLimits::default()
    });
    let open = |name: &str| kept.open(&roots.resolve(&yard.path(name)).unwrap()).unwrap();
    let first = Arc::downgrade(&open("one"));
    open("two");
    assert!(first.upgrade().is_some());
    open("three");
    assert!(first.upgrade().is_none());
}

#[test]
fn other_roots_have_repositories_of_their_own() {
    let yard = KeptYard::new(Yard::with_commit());
    let first = yard.open_until_kept();
    let directory = yard.yard.confined("");
    let other = yard.kept.open(&directory).unwrap();
    assert!(!Arc::ptr_eq(&first, &other));
}

#[test]
fn what_is_forgotten_is_let_go_of() {
    let yard = KeptYard::new(Yard::with_commit());
    let first = Arc::downgrade(&yard.open_until_kept());
    yard.kept.forget(&yard.yard.path("elsewhere"));
    assert!(first.upgrade().is_some());
    yard.kept.forget(&yard.yard.root());
    assert!(first.upgrade().is_none());
}

#[test]
fn a_repository_that_was_removed_is_let_go_of() {
    let yard = Yard::empty();
    for name in ["one", "two"] {
        fs::create_dir(yard.path(name)).unwrap();
        yard.git_in(&yard.path(name), &["init", "--quiet"]);
    }
    let yard = KeptYard::new(yard);
    let first = Arc::downgrade(&yard.open_in("one").unwrap());
    fs::remove_dir_all(yard.yard.path("one")).unwrap();
    yard.open_in("two").unwrap();
    assert!(first.upgrade().is_none());
}
