//! Somebody changes the tree while it is read.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use agentyard_git::{Error, Repository, StatusOptions};

use crate::support::{GO_ON, Yard};

/// How often each race is run. Reading by path loses it within a few hundred rounds.
const ROUNDS: usize = 200;

/// Swaps a directory and a link to the outside, again and again, while `read` is called.
fn race(yard: &Yard, directory: &str, mut read: impl FnMut()) {
    let path = yard.path(directory);
    let aside = yard.path("aside");
    let link = yard.path("link-aside");
    std::os::unix::fs::symlink(yard.outside(), &link).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                fs::rename(&path, &aside).unwrap();
                fs::rename(&link, &path).unwrap();
                fs::rename(&path, &link).unwrap();
                fs::rename(&aside, &path).unwrap();
            }
        });
        // Also when `read` panics: the scope waits for its thread.
        let _done = SetOnDrop(&done);
        for _ in 0..ROUNDS {
            read();
        }
    });
}

struct SetOnDrop<'flag>(&'flag AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_directory_swapped_for_a_link_does_not_show_what_is_outside() {
    let yard = Yard::with_commit();
    yard.write("dir/sub/tracked", "content\n");
    yard.write("dir/tracked", "content\n");
    // Looked into before `dir`, which gives time to swap it after it was listed.
    for number in 0..100 {
        yard.write(format!("later/{number}/tracked"), "content\n");
        yard.write(format!("later-{number}/tracked"), "content\n");
    }
    yard.commit("second");
    yard.write("dir/untracked", "");
    fs::create_dir(yard.outside().join("sub")).unwrap();
    fs::write(yard.outside().join("secret"), "").unwrap();
    fs::write(yard.outside().join("sub/secret"), "").unwrap();
    let repository = yard.open();
    race(&yard, "dir", || {
        let status = repository.status(&StatusOptions::default(), &GO_ON).unwrap();
        assert!(!format!("{status:?}").contains("secret"));
    });
}

#[test]
fn a_path_swapped_for_a_link_resolves_inside_or_not_at_all() {
    let yard = Yard::empty();
    fs::create_dir_all(yard.path("dir/repository")).unwrap();
    yard.git_in(
        &yard.path("dir/repository"),
        &["init", "--quiet", "--initial-branch=main"],
    );
    let foreign = yard.outside().join("repository");
    fs::create_dir(&foreign).unwrap();
    yard.git_in(&foreign, &["init", "--quiet", "--initial-branch=secret"]);
    let roots = yard.roots();
    let path = yard.path("dir/repository");
    race(&yard, "dir", || {
        let opened = roots
            .resolve(&path)
            .and_then(|directory| Repository::open(&directory));
        match opened {
            Ok(repository) => {
                let status = repository.status(&StatusOptions::default(), &GO_ON).unwrap();
                assert_eq!(status.head.branch.as_deref(), Some("main"));
            }
            Err(
                Error::OutsideRoots { .. }
                | Error::NotFound { .. }
                | Error::NotARepository { .. }
                | Error::RepositoryEscapes { .. }
                | Error::RepositoryMalformed { .. },
            ) => {}
            Err(error) => panic!("{error:?}"),
        }
    });
}
