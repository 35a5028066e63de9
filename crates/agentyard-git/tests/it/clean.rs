//! Removing what git does not know, and locks that nobody holds.

use std::fs;
use std::path::Path;

use agentyard_git::{CheckpointSeries, CleanOptions, Cleaned, Error, Lock, RepositoryPath};

use crate::support::{Yard, command, message};

fn all() -> CleanOptions {
    CleanOptions {
        directories: true,
        confirm: true,
        ..CleanOptions::default()
    }
}

fn clean(yard: &Yard, options: &CleanOptions) -> Result<Cleaned, Error> {
    yard.work(|work| work.clean(options))
}

fn kept(yard: &Yard, cleaned: &Cleaned, path: &str) -> String {
    let reference = &cleaned.kept.as_ref().unwrap().reference;
    yard.git(&["show", &format!("{reference}:{path}")])
}

#[test]
fn files_are_removed_when_that_is_confirmed_and_kept() {
    let yard = Yard::with_commit();
    yard.write(".gitignore", "*.log\n");
    yard.write(".gitattributes", "* text=auto\n");
    yard.write("src/tracked", "x\n");
    yard.commit("more");
    yard.write("src/a\nb", "new\r\n");
    yard.write("-rf", "new\n");
    yard.write("dir/deep/file", "new\n");
    yard.write("x.log", "log\n");
    yard.write("file", "changed\n");
    yard.link("/etc/passwd", "link");

    let careful = CleanOptions::default();
    let refusal = clean(&yard, &careful).unwrap_err();
    assert!(
        matches!(&refusal, Error::Refused { what, remedy }
        if what.contains("-rf") && !what.contains("dir") && remedy.contains("confirm: true")),
        "{refusal:?}"
    );
    let expected = ["-rf", "link", r#""src/a\nb""#];
    let dry = CleanOptions {
        dry_run: true,
        ..careful
    };
    assert_eq!(clean(&yard, &dry).unwrap().files, expected);
    assert!(yard.path("-rf").exists());

    let cleaned = clean(
        &yard,
        &CleanOptions {
            directories: false,
            ..all()
        },
    )
    .unwrap();
    assert_eq!(
        (&cleaned.files[..], &cleaned.directories[..]),
        (&expected.map(ToOwned::to_owned)[..], &[][..])
    );
    for file in ["-rf", "src/a\nb"] {
        assert!(!yard.path(file).exists(), "{file}");
    }
    assert_eq!(kept(&yard, &cleaned, "src/a\nb"), "new\r\n", "byte for byte");
    assert_eq!(kept(&yard, &cleaned, "link"), "/etc/passwd");
    for file in ["dir/deep/file", "x.log", "src/tracked", "file"] {
        assert!(yard.path(file).exists(), "{file}");
    }
}

#[test]
fn directories_and_ignored_files_go_when_they_are_asked_for() {
    let yard = Yard::with_commit();
    yard.write(".gitignore", "*.log\n");
    yard.commit("ignore");
    yard.write("dir/deep/file", "new\n");
    yard.write("dir/x.log", "log\n");
    fs::create_dir_all(yard.path("empty/empty")).unwrap();
    let cleaned = clean(&yard, &all()).unwrap();
    assert_eq!(cleaned.files, ["dir/deep/file"]);
    assert_eq!(cleaned.directories, ["dir/deep", "empty"]);
    assert!(yard.path("dir/x.log").exists());

    let ignored = CleanOptions {
        ignored: true,
        paths: vec![RepositoryPath::new("dir").unwrap()],
        ..all()
    };
    yard.write("other.log", "log\n");
    let cleaned = clean(&yard, &ignored).unwrap();
    assert_eq!(
        (cleaned.files.as_slice(), cleaned.directories.as_slice()),
        (&["dir/x.log".to_owned()][..], &["dir".to_owned()][..])
    );
    assert_eq!(kept(&yard, &cleaned, "dir/x.log"), "log\n");
    assert!(yard.path("other.log").exists());
}

#[test]
fn repositories_in_the_working_tree_are_never_removed() {
    let yard = Yard::with_commit();
    fs::create_dir_all(yard.path("dir/nested")).unwrap();
    yard.git_in(&yard.path("dir/nested"), &["init", "--quiet"]);
    yard.write("dir/nested/file", "x\n");
    yard.git(&["init", "--quiet", "--bare", "dir/bare"]);
    yard.write("dir/file", "x\n");
    let cleaned = clean(
        &yard,
        &CleanOptions {
            ignored: true,
            ..all()
        },
    )
    .unwrap();
    assert_eq!(cleaned.files, ["dir/file"]);
    assert_eq!(cleaned.repositories, ["dir/bare", "dir/nested"]);
    assert!(yard.path("dir/nested/file").exists() && yard.path("dir/bare/HEAD").exists());
}

#[test]
fn what_cannot_be_kept_is_not_removed() {
    let yard = Yard::with_commit();
    let large = fs::File::create(yard.path("large")).unwrap();
    large.set_len(201 << 20).unwrap();
    let refusal = message(clean(&yard, &all()));
    assert!(refusal.contains("200 MB"), "{refusal}");
    assert!(yard.path("large").exists());
}

#[test]
fn a_clean_tree_needs_no_confirmation() {
    let yard = Yard::with_commit();
    assert_eq!(
        clean(&yard, &CleanOptions::default()).unwrap(),
        Cleaned::default()
    );
    let bare = Yard::empty();
    bare.git(&["init", "--quiet", "--bare"]);
    assert!(message(clean(&bare, &all())).contains("is bare"));
}

#[test]
fn before_the_first_commit_and_with_sha256() {
    let yard = Yard::empty();
    yard.git(&[
        "init",
        "--quiet",
        "--initial-branch=main",
        "--object-format=sha256",
    ]);
    yard.write("file", "x\n");
    let cleaned = clean(&yard, &all()).unwrap();
    assert_eq!(kept(&yard, &cleaned, "file"), "x\n");
    assert!(!yard.path("file").exists());
}

fn make_old(path: &Path) {
    let an_hour_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    let file = fs::File::options().write(true).open(path).unwrap();
    file.set_modified(an_hour_ago).unwrap();
}

/// Without the age, which nobody knows beforehand.
fn locks(yard: &Yard, confirm: bool) -> Vec<Lock> {
    let mut locks = yard.work(|work| work.stale_locks(confirm)).unwrap();
    for lock in &mut locks {
        lock.age_seconds = 0;
    }
    locks.sort_by(|one, other| one.path.cmp(&other.path));
    locks
}

fn lock(yard: &Yard, path: &str, held: Option<&str>, removed: bool) -> Lock {
    Lock {
        path: yard.path(path).display().to_string(),
        age_seconds: 0,
        held: held.map(ToOwned::to_owned),
        removed,
    }
}

#[test]
fn locks_that_nobody_holds_are_removed_when_that_is_confirmed() {
    let yard = Yard::with_commit();
    assert_eq!(locks(&yard, true), []);
    let names = [".git/config.lock", ".git/index.lock", ".git/refs/heads/a/b.lock"];
    for name in names {
        yard.write(name, "");
        make_old(&yard.path(name));
    }
    let with = |removed| names.map(|name| lock(&yard, name, None, removed));
    assert_eq!(locks(&yard, false), with(false));
    assert!(names.iter().all(|name| yard.path(name).exists()));
    assert_eq!(locks(&yard, true), with(true));
    assert!(names.iter().all(|name| !yard.path(name).exists()));
}

#[test]
fn locks_that_somebody_holds_stay() {
    let yard = Yard::with_commit();
    yard.write(".git/index.lock", "");
    assert_eq!(
        locks(&yard, true),
        [lock(
            &yard,
            ".git/index.lock",
            Some("it was made just now"),
            false
        )]
    );

    make_old(&yard.path(".git/index.lock"));
    // A process that has the lock open until its input ends.
    let mut holder = command("sh")
        .arg("-c")
        .arg(format!(
            "exec 9< '{}'; read x",
            yard.path(".git/index.lock").display()
        ))
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let fd = format!("/proc/{}/fd/9", holder.id());
    while fs::read_link(&fd).is_err() {
        std::thread::yield_now();
    }
    let found = locks(&yard, true);
    drop(holder.stdin.take());
    holder.wait().unwrap();
    let held = format!("process {} has it open", holder.id());
    assert_eq!(found, [lock(&yard, ".git/index.lock", Some(&held), false)]);
    assert!(yard.path(".git/index.lock").exists());
    assert_eq!(locks(&yard, true), [lock(&yard, ".git/index.lock", None, true)]);
}

#[test]
fn a_git_at_work_in_the_repository_may_hold_any_lock_that_is_younger() {
    let yard = Yard::with_commit();
    let mut git = command("git")
        .args(["cat-file", "--batch"])
        .current_dir(yard.root())
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let comm = format!("/proc/{}/comm", git.id());
    while fs::read_to_string(&comm).unwrap().trim() != "git" {
        std::thread::yield_now();
    }
    let series = CheckpointSeries::new("a").unwrap();
    let clear = || yard.work(|work| work.clear_dead_locks(&series, std::time::Duration::ZERO));
    yard.write(".git/index.lock", "");
    let held = message(clear());
    let stayed = yard.path(".git/index.lock").exists();
    make_old(&yard.path(".git/index.lock"));
    clear().unwrap();
    let went = !yard.path(".git/index.lock").exists();
    drop(git.stdin.take());
    git.wait().unwrap();
    assert!(held.contains("works in this repository"), "{held}");
    assert!(stayed && went, "only a git that is older may hold it");
}

#[test]
fn who_has_the_tree_to_itself_clears_the_locks_of_the_dead_at_once() {
    let yard = Yard::with_commit();
    let locks = [
        "index.lock",
        "HEAD.lock",
        "refs/heads/main.lock",
        "refs/agentyard/checkpoints/a/000001.lock",
    ];
    for lock in locks {
        yard.write(format!(".git/{lock}"), "");
    }
    yard.write(".git/refs/heads/other.lock", "");
    let series = CheckpointSeries::new("a").unwrap();
    yard.work(|work| work.clear_dead_locks(&series, std::time::Duration::ZERO))
        .unwrap();
    for lock in locks {
        assert!(!yard.path(format!(".git/{lock}")).exists(), "{lock}");
    }
    // Another branch may be somebody else's.
    assert!(yard.path(".git/refs/heads/other.lock").exists());
}

#[test]
fn a_lock_that_a_living_process_holds_is_left() {
    let yard = Yard::with_commit();
    yard.write(".git/index.lock", "");
    let mut holder = command("sleep")
        .arg("60")
        .stdin(fs::File::open(yard.path(".git/index.lock")).unwrap())
        .spawn()
        .unwrap();
    let series = CheckpointSeries::new("a").unwrap();
    let error = message(yard.work(|work| work.clear_dead_locks(&series, std::time::Duration::ZERO)));
    holder.kill().unwrap();
    holder.wait().unwrap();
    assert!(error.contains("has it open"), "{error}");
    assert!(yard.path(".git/index.lock").exists());
}

#[test]
fn a_lock_that_all_trees_share_is_waited_for_while_somebody_may_hold_it() {
    let yard = Yard::with_commit();
    yard.git(&["worktree", "add", "--quiet", "-b", "b", "linked"]);
    let lock = yard.path(".git/packed-refs.lock");
    fs::write(&lock, "").unwrap();
    make_old(&lock);
    let mut holder = command("sleep")
        .arg("60")
        .stdin(fs::File::open(&lock).unwrap())
        .spawn()
        .unwrap();
    let linked = yard.try_open("linked").unwrap();
    let series = CheckpointSeries::new("a").unwrap();
    let clear = |patience| yard.work_in(&linked, |work| work.clear_dead_locks(&series, patience));
    clear(std::time::Duration::ZERO).unwrap();
    let stayed = lock.exists();
    std::thread::scope(|scope| {
        let cleared = scope.spawn(|| clear(std::time::Duration::from_secs(60)));
        std::thread::sleep(std::time::Duration::from_millis(50));
        holder.kill().unwrap();
        holder.wait().unwrap();
        cleared.join().unwrap().unwrap();
    });
    assert!(stayed, "somebody had it open");
    assert!(!lock.exists(), "nobody holds it any more");
}
