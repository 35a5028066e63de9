//! The namespace of a data directory, as processes that do not run as root meet it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::support::{Server, free_port, text};

/// Somebody who owns nothing on this machine, and is not nobody.
const SOMEBODY: u32 = 54_321;

/// As whom all is shown inside that belongs to others.
const NOBODY: u32 = 65_534;

/// A plain user's home, with the binary where that user can reach it.
struct Home {
    directory: TempDir,
    user: u32,
}

impl Home {
    fn of(user: u32) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let home = Self { directory, user };
        fs::set_permissions(home.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let built = env!("CARGO_BIN_EXE_agentyard");
        if fs::hard_link(built, home.binary()).is_err() {
            fs::copy(built, home.binary()).unwrap();
        }
        for directory in ["", "data", "tree"] {
            let path = home.path().join(directory);
            fs::create_dir_all(&path).unwrap();
            chown(path, Some(user), Some(user)).unwrap();
        }
        home
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn binary(&self) -> PathBuf {
        self.path().join("agentyard")
    }

    fn tree(&self) -> PathBuf {
        self.path().join("tree")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.binary());
        command
            .args(["--data-dir", self.path().join("data").to_str().unwrap()])
            .args(arguments)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", self.path())
            .current_dir(self.path())
            .stdin(Stdio::null());
        command.uid(self.user).gid(self.user);
        command
    }

    /// A command in a shell in the tree.
    fn shell(&self, options: &[&str], command: &[&str]) -> Command {
        let tree = self.tree();
        let shell = ["workspace", "shell", tree.to_str().unwrap(), "--"];
        self.command(&[options, &shell, command].concat())
    }

    fn says(&self, command: &[&str]) -> String {
        said(&self.shell(&[], command).output().unwrap())
    }

    fn mount_namespace(&self) -> String {
        self.says(&["readlink", "/proc/self/ns/mnt"])
    }

    fn row(&self, options: &[&str]) -> Value {
        let output = self
            .command(&[options, &["doctor", "--json"]].concat())
            .output()
            .unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let rows = report["rows"].as_array().unwrap();
        rows.iter()
            .find(|row| row["what"] == "workspaces")
            .unwrap()
            .clone()
    }
}

fn said(output: &Output) -> String {
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout).trim().to_owned()
}

fn own_mount_namespace() -> String {
    fs::read_link("/proc/self/ns/mnt").unwrap().display().to_string()
}

/// Whether this machine lets a plain user do what these tests are about. It is found out without the binary, so that
/// no fault of that is passed over.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn views_work(home: &Home) -> bool {
    let trial = home.path().join("trial");
    fs::create_dir(&trial).unwrap();
    chown(&trial, Some(home.user), Some(home.user)).unwrap();
    let script = "mkdir l u w m && mount -t overlay -o userxattr,lowerdir=l,upperdir=u,workdir=w o m";
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", script])
        .current_dir(&trial)
        .uid(home.user)
        .gid(home.user)
        .output()
        .unwrap();
    if !output.status.success() {
        eprintln!("SKIPPED: {}", text(&output.stderr));
    }
    output.status.success()
}

/// A shell that stays until its value goes.
struct Inhabitant {
    child: Child,
    _input: ChildStdin,
}

impl Inhabitant {
    fn of(home: &Home) -> Self {
        let mut command = home.shell(&[], &["sh", "-c", "echo here; exec cat"]);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        assert_eq!(line, "here\n");
        let _input = child.stdin.take().unwrap();
        Self { child, _input }
    }

    fn process(&self) -> String {
        self.child.id().to_string()
    }
}

impl Drop for Inhabitant {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_shell_is_the_same_user_without_any_rights_in_a_namespace_of_its_own() {
    let home = Home::of(SOMEBODY);
    if !views_work(&home) {
        return;
    }
    assert_ne!(home.mount_namespace(), own_mount_namespace());
    assert_eq!(home.says(&["pwd"]), home.tree().display().to_string());
    assert_eq!(home.says(&["id", "-u"]), SOMEBODY.to_string());
    assert_eq!(home.says(&["stat", "-c", "%u", "/"]), NOBODY.to_string());
    assert_eq!(
        home.says(&["stat", "-c", "%u %g", "."]),
        format!("{SOMEBODY} {SOMEBODY}")
    );
    let status = home.says(&["sh", "-c", "cat /proc/self/status"]);
    for set in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
        assert!(
            status.contains(&format!("{set}:\t0000000000000000\n")),
            "{status}"
        );
    }
    let made = home.says(&["sh", "-c", "touch made && pwd"]);
    assert_eq!(made, home.tree().display().to_string());
    assert_eq!(fs::metadata(home.tree().join("made")).unwrap().uid(), SOMEBODY);
}

#[test]
fn a_server_keeps_nothing_but_the_right_to_mount_and_does_not_use_it() {
    let home = Home::of(SOMEBODY);
    if !views_work(&home) {
        return;
    }
    let address = format!("127.0.0.1:{}", free_port());
    let mut command = home.command(&["serve", "--listen", &address]);
    let server = Server::of(command.stderr(Stdio::null()), &address);
    let process = PathBuf::from(format!("/proc/{}", server.process()));
    assert_eq!(
        fs::read_link(process.join("ns/mnt"))
            .unwrap()
            .display()
            .to_string(),
        home.mount_namespace(),
        "a shell joins the server"
    );
    let status = fs::read_to_string(process.join("status")).unwrap();
    // CAP_DAC_OVERRIDE and CAP_SYS_ADMIN.
    assert!(status.contains("CapPrm:\t0000000000200002\n"), "{status}");
    for set in ["CapInh", "CapEff", "CapAmb"] {
        assert!(
            status.contains(&format!("{set}:\t0000000000000000\n")),
            "{status}"
        );
    }
    assert!(server.terminate());
}

#[test]
fn what_one_has_mounted_all_see_until_the_last_has_left() {
    let home = Home::of(SOMEBODY);
    if !views_work(&home) {
        return;
    }
    let first = Inhabitant::of(&home);
    // As root, since a shell may not; views are mounted by the server itself.
    let mounted = Command::new("nsenter")
        .args([
            "--target",
            &first.process(),
            "--mount",
            "mount",
            "-t",
            "tmpfs",
            "view",
        ])
        .arg(home.tree())
        .status()
        .unwrap();
    assert!(mounted.success());
    let is_mounted = || home.says(&["stat", "-f", "-c", "%T", "."]) == "tmpfs";
    assert!(is_mounted(), "by name, in the view and not below it");
    let outside = fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!outside.contains(home.tree().to_str().unwrap()), "{outside}");

    let second = Inhabitant::of(&home);
    drop(first);
    assert!(is_mounted(), "it stays with the second");
    drop(second);
    assert!(!is_mounted(), "nobody was left to keep it");
}

#[test]
fn many_who_come_at_once_meet_in_one_namespace() {
    let home = Home::of(SOMEBODY);
    if !views_work(&home) {
        return;
    }
    let inhabitants: Vec<_> = std::thread::scope(|scope| {
        let coming: Vec<_> = (0..8).map(|_| scope.spawn(|| Inhabitant::of(&home))).collect();
        coming.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let namespace =
        |inhabitant: &Inhabitant| fs::read_link(format!("/proc/{}/ns/mnt", inhabitant.process())).unwrap();
    let first = namespace(&inhabitants[0]);
    assert!(
        inhabitants
            .iter()
            .all(|inhabitant| namespace(inhabitant) == first)
    );
}

#[test]
fn who_was_started_inside_sees_what_is_there_and_leaves_it_as_it_is() {
    let home = Home::of(SOMEBODY);
    if !views_work(&home) {
        return;
    }
    let (binary, data) = (home.binary(), home.path().join("data"));
    let nested = [
        binary.to_str().unwrap(),
        "--data-dir",
        data.to_str().unwrap(),
        "workspace",
        "shell",
        ".",
        "--",
        "readlink",
        "/proc/self/ns/mnt",
    ];
    let _stays = Inhabitant::of(&home);
    assert_eq!(home.says(&nested), home.mount_namespace());
}

#[test]
fn a_plain_user_opens_a_view_finds_its_work_again_and_closes_it() {
    let home = Home::of(SOMEBODY);
    if !views_work(&home) {
        return;
    }
    let source = home.path().join("source");
    let script = "git init -q -b main source && cd source && mkdir dir && echo content > dir/file && git add . && \
                  git -c user.name=a -c user.email=a@b commit -q -m first";
    let made = Command::new("sh")
        .args(["-c", script])
        .current_dir(home.path())
        .env("HOME", home.path())
        .uid(SOMEBODY)
        .gid(SOMEBODY)
        .output();
    said(&made.unwrap());
    let source = source.to_str().unwrap();
    let root = home.path().to_str().unwrap();
    let ask = |arguments: &[&str]| -> Value {
        let arguments = [&["--root", root, "--json"], arguments].concat();
        serde_json::from_str(&said(&home.command(&arguments).output().unwrap())).unwrap()
    };
    let opened = ask(&["workspace", "open", "--path", source, "--branch", "topic"]);
    assert_eq!(opened["way"], "overlay", "{opened}");
    // Nobody is left inside, so each of these mounts the view again.
    let shell = |script: &str| {
        let shell = ["workspace", "shell", "source/topic", "--", "sh", "-c", script];
        said(&home.command(&shell).output().unwrap())
    };
    assert_eq!(
        shell("stat -f -c %T . && git status --porcelain && echo changed > dir/file"),
        "overlayfs"
    );
    assert_eq!(
        shell("cat dir/file && git status --porcelain"),
        "changed\n M dir/file"
    );
    let path = Path::new(opened["path"].as_str().unwrap());
    assert_eq!(
        fs::read_dir(path).unwrap().count(),
        0,
        "outside it is not mounted"
    );
    ask(&["workspace", "close", "source/topic"]);
    assert!(!path.exists());
}

#[test]
fn where_it_is_forbidden_a_shell_is_just_a_shell_and_the_doctor_says_why() {
    let somebody = Home::of(SOMEBODY);
    let off = ["--set", "workspaces.namespace=off"];
    let namespace = somebody.shell(&off, &["readlink", "/proc/self/ns/mnt"]).output();
    assert_eq!(said(&namespace.unwrap()), own_mount_namespace());
    let detail = somebody.row(&off)["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains("`workspaces.namespace` is `off`"), "{detail}");

    let nobody = Home::of(NOBODY);
    assert_eq!(nobody.mount_namespace(), own_mount_namespace());
    let detail = nobody.row(&[])["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains("runs as nobody"), "{detail}");
    let note = fs::read_to_string(nobody.path().join("data/locks/namespace")).unwrap();
    assert!(
        note.contains("runs as nobody"),
        "it is not tried at every start: {note}"
    );
}

#[test]
fn nothing_is_left_of_a_trial() {
    let home = Home::of(SOMEBODY);
    home.row(&[]);
    home.mount_namespace();
    let names = |path: PathBuf| {
        let mut names: Vec<_> = fs::read_dir(path)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| !name.starts_with("agentyard.db") && !name.starts_with("namespace"))
            .collect();
        names.sort();
        names
    };
    assert_eq!(names(home.path().join("data")), ["locks"]);
    assert_eq!(names(home.path().join("data/locks")), [""; 0]);
}

#[test]
fn root_goes_nowhere_and_leaves_nothing() {
    let home = Home::of(0);
    assert_eq!(home.mount_namespace(), own_mount_namespace());
    assert!(!home.path().join("data/locks").exists());
}

/// ssh takes no settings from files that belong to neither root nor the user, and inside nothing belongs to root.
#[test]
fn ssh_reads_the_settings_of_the_system() {
    // ssh wants a user who has a name.
    let home = Home::of(1);
    let included = "/etc/ssh/ssh_config.d";
    let settings = fs::read_to_string("/etc/ssh/ssh_config").unwrap_or_default();
    if !views_work(&home) || !settings.contains(included) || !Path::new("/usr/bin/ssh").exists() {
        eprintln!("SKIPPED: no ssh with settings in {included}");
        return;
    }
    let script = format!(
        "mount -t tmpfs settings {included} && printf 'Host a-name\\n  Port 2222\\n' > {included}/20-test.conf && \
         chmod 755 {included} && exec setpriv --reuid 1 --regid 1 --clear-groups \"$@\""
    );
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c", &script, "sh"])
        .arg(home.binary())
        .arg("--data-dir")
        .arg(home.path().join("data"))
        .args(["workspace", "shell"])
        .arg(home.tree())
        .args(["--", "ssh", "-G", "a-name"])
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", home.path())
        .output()
        .unwrap();
    assert!(
        said(&output).lines().any(|line| line == "port 2222"),
        "{output:?}"
    );
}
