//! Nothing of the environment has a say.
//!
//! The tests here run themselves once more in a process with another environment, or as another user.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

use agentyard_git::{AddOptions, Error, Git, LogQuery, Repository, Roots, Trust, Work};

use crate::support::{GO_ON, Yard, command, message, settings};

/// Tells the inner run where its repository is. Arguments are the test harness's own.
const MARKER: &str = "AGENTYARD_GIT_TEST_ROOT";

fn rerun(test: &str, yard: &Yard) -> Command {
    let mut inner = command(std::env::current_exe().unwrap());
    inner
        .args(["--exact", test, "--nocapture"])
        .env_clear()
        .env(MARKER, yard.root());
    inner
}

fn inner_root() -> Option<PathBuf> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the outer run of this test speaks to the inner one by it"
    )]
    std::env::var_os(MARKER).map(PathBuf::from)
}

fn assert_passes(mut inner: Command) {
    let output = inner.output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(
        String::from_utf8_lossy(&output.stdout).contains("1 passed"),
        "{output:?}"
    );
}

#[test]
fn variables_and_home_directories_are_not_read() {
    if let Some(root) = inner_root() {
        let directory = Roots::new([root.clone()]).unwrap().resolve(&root).unwrap();
        let repository = Repository::open(&directory).unwrap();
        assert_eq!(repository.git_dir(), root.join(".git"));
        let status = repository.status(&Default::default(), &GO_ON).unwrap();
        assert_eq!(status.untracked, ["ignored-at-home", "new"]);
        assert_eq!(status.staged, Default::default());
        let log = repository.log(&LogQuery::default(), &GO_ON).unwrap();
        assert_eq!(log.commits[0].subject, "first");
        assert_eq!(repository.snapshot(&GO_ON).unwrap().remotes, []);
        let git = Git::find(settings());
        let everything = AddOptions {
            all: true,
            ..AddOptions::default()
        };
        let work = Work::new(&git, &repository, Trust::Untrusted, &GO_ON, &|_| {});
        work.add(&everything).unwrap();
        return;
    }
    let yard = Yard::with_commit();
    yard.write("new", "");
    yard.write("ignored-at-home", "");
    let other = yard.outside();
    yard.git_in(&other, &["init", "--quiet", "--initial-branch=other"]);
    yard.git_in(
        &other,
        &["commit", "--quiet", "--allow-empty", "--message", "other"],
    );
    fs::create_dir_all(other.join(".config/git")).unwrap();
    fs::write(other.join(".config/git/ignore"), "ignored-at-home\n").unwrap();
    fs::write(other.join("patterns"), "ignored-at-home\n").unwrap();
    let config = format!(
        "[core]\n\texcludesFile = {}\n[remote \"home\"]\n\turl = x\n",
        other.join("patterns").display()
    );
    fs::write(other.join(".gitconfig"), &config).unwrap();
    fs::write(other.join(".config/git/config"), &config).unwrap();

    let mut inner = rerun("environment::variables_and_home_directories_are_not_read", &yard);
    let git_dir = other.join(".git");
    inner.envs([
        ("HOME", other.as_path()),
        ("XDG_CONFIG_HOME", other.join(".config").as_path()),
        ("GIT_DIR", git_dir.as_path()),
        ("GIT_COMMON_DIR", git_dir.as_path()),
        ("GIT_WORK_TREE", other.as_path()),
        ("GIT_INDEX_FILE", git_dir.join("other-index").as_path()),
        ("GIT_OBJECT_DIRECTORY", git_dir.join("objects").as_path()),
        (
            "GIT_ALTERNATE_OBJECT_DIRECTORIES",
            git_dir.join("objects").as_path(),
        ),
        ("GIT_CONFIG_GLOBAL", other.join(".gitconfig").as_path()),
        ("GIT_CONFIG_SYSTEM", other.join(".gitconfig").as_path()),
        ("GIT_SHALLOW_FILE", other.join("patterns").as_path()),
    ]);
    inner.envs([
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_KEY_0", "remote.injected.url"),
        ("GIT_CONFIG_VALUE_0", "x"),
        ("GIT_CONFIG_PARAMETERS", "'remote.injected.url=x'"),
        ("GIT_NAMESPACE", "elsewhere"),
        ("GIT_REPLACE_REF_BASE", "refs/elsewhere"),
        ("GIT_CEILING_DIRECTORIES", "/"),
    ]);
    inner.current_dir(&other);
    assert_passes(inner);
    assert_eq!(
        yard.git(&["diff", "--cached", "--name-only"]),
        "ignored-at-home\nnew\n"
    );
}

#[test]
fn a_strangers_repository_is_refused() {
    const US: u32 = 65534;
    const STRANGER: u32 = 12345;
    if let Some(root) = inner_root() {
        let open = |name: &str| {
            let roots = Roots::new([root.clone()]).unwrap();
            Repository::open(&roots.resolve(&root.join(name)).unwrap())
        };
        assert!(matches!(
            open("theirs"),
            Err(Error::ForeignOwner {
                owner: STRANGER,
                user: US,
                ..
            })
        ));
        let expected = format!(
            "the repository at {}/theirs/.git is refused: it belongs to user {STRANGER}, but this server runs as user {US}; \
             change its owner, or run the server as that user",
            root.display()
        );
        assert_eq!(message(open("theirs")), expected);
        assert!(matches!(open("their-tree"), Err(Error::ForeignOwner { .. })));
        assert!(open("ours").is_ok());
        assert!(open("of-root").is_ok());
        return;
    }
    let yard = Yard::empty();
    for name in ["theirs", "their-tree", "ours", "of-root"] {
        yard.git(&["init", "--quiet", name]);
    }
    let give = |name: &str, user| chown(yard.path(name), Some(user), Some(user));
    if give("theirs/.git", STRANGER).is_err() {
        eprintln!("SKIPPED: only root can give files away");
        return;
    }
    give("their-tree", STRANGER).unwrap();
    give("ours", US).unwrap();
    give("ours/.git", US).unwrap();
    for directory in yard.root().ancestors().take(2) {
        fs::set_permissions(directory, fs::Permissions::from_mode(0o755)).unwrap();
    }
    // The other user must be able to run this program; the place where it was built may be closed to them.
    let program = yard.path("program");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let mut inner = command(program);
    inner.args([
        "--exact",
        "environment::a_strangers_repository_is_refused",
        "--nocapture",
    ]);
    inner
        .env_clear()
        .env(MARKER, yard.root())
        .current_dir("/")
        .uid(US)
        .gid(US);
    assert_passes(inner);
}
