//! What a command sees, and what it does not.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use agentyard_sandbox::{Access, Bubblewrap, BubblewrapSettings, Mount};

use crate::support::{Place, bubblewrap, run_in, settings};

async fn said(place: &Place, script: &str) -> String {
    let outcome = run_in(&bubblewrap(), place.shell(script)).await.unwrap();
    format!("{}{}", outcome.stdout(), String::from_utf8_lossy(&outcome.stderr))
}

#[tokio::test]
async fn only_what_is_named_is_there() {
    let said = said(
        &Place::new(),
        "echo /* ; echo /home/* /root /var/* /sys; hostname",
    )
    .await;
    let mut lines = said.lines();
    let top: Vec<&str> = lines.next().unwrap().split(' ').collect();
    for name in [
        "/usr",
        "/bin",
        "/etc",
        "/proc",
        "/dev",
        "/tmp",
        "/run",
        "/var",
        "/home",
        "/workspace",
    ] {
        assert!(top.contains(&name), "{name} in {top:?}");
    }
    for name in ["/root", "/sys", "/opt", "/mnt", "/srv", "/boot"] {
        assert!(!top.contains(&name), "{name} in {top:?}");
    }
    assert_eq!(lines.next(), Some("/home/agent /root /var/run /var/tmp /sys"));
    assert_eq!(lines.next(), Some("sandbox"));
}

#[tokio::test]
async fn the_environment_is_what_was_given_and_nobody_elses() {
    let place = Place::new();
    let mut command =
        place.shell("env | sort; tr '\\0' '\\n' < /proc/1/environ; tr '\\0' '\\n' < /proc/1/cmdline");
    command
        .environment
        .push(("SECRET".to_owned(), "a\nb=c".to_owned()));
    command
        .environment
        .push(("OPTION".to_owned(), "--bind".to_owned()));
    let outcome = run_in(&bubblewrap(), command).await.unwrap();
    let said = outcome.stdout();
    assert!(
        said.contains("SECRET=a\nb=c\n") && said.contains("OPTION=--bind"),
        "{said}"
    );
    // bubblewrap itself has none, and its arguments are in a file.
    assert_eq!(said.matches("SECRET").count(), 1, "{said}");
    assert!(!said.contains("CARGO") && !said.contains("NEXTEST"), "{said}");
}

#[tokio::test]
async fn an_argument_cannot_pretend_to_be_several() {
    let place = Place::new();
    let mut command = place.shell("true");
    command
        .environment
        .push(("A".to_owned(), "b\0--bind\0/\0/host".to_owned()));
    assert!(run_in(&bubblewrap(), command).await.is_err());
}

#[tokio::test]
async fn what_is_hidden_is_empty_and_stays_so() {
    let place = Place::new();
    fs::create_dir_all(place.path().join(".git/hooks")).unwrap();
    fs::create_dir_all(place.path().join("below")).unwrap();
    fs::write(place.path().join("below/.git"), "gitdir: elsewhere").unwrap();
    std::os::unix::fs::symlink("/etc", place.path().join("link")).unwrap();
    let script = "ls -A .git; cat below/.git; echo x > .git/config; echo x > below/.git; rm -rf .git below; mv .git other; echo end";
    let mut command = place.shell(script);
    command.hidden = [
        "/workspace/.git",
        "/workspace/below/.git",
        "/workspace/absent",
        "/workspace/link",
    ]
    .map(Into::into)
    .to_vec();
    let outcome = run_in(&bubblewrap(), command).await.unwrap();
    assert_eq!(outcome.stdout(), "end\n");
    assert!(place.path().join(".git/hooks").is_dir());
    assert_eq!(
        fs::read_to_string(place.path().join("below/.git")).unwrap(),
        "gitdir: elsewhere"
    );
}

#[tokio::test]
async fn a_directory_that_is_only_to_be_looked_at_stays_as_it_is() {
    let place = Place::new();
    let other = Place::new();
    fs::write(other.path().join("file"), "there").unwrap();
    // Nobody but its owner could read it.
    fs::set_permissions(other.path().join("file"), fs::Permissions::from_mode(0o600)).unwrap();
    let mut command = place.shell("cat /env/file; echo no > /env/file; rm /env/file; touch /env/new");
    command.mounts.push(Mount {
        source: File::open(other.path()).unwrap().into(),
        host_path: other.path().to_owned(),
        at: "/env".into(),
        access: Access::ReadOnly,
    });
    let outcome = run_in(&bubblewrap(), command).await.unwrap();
    assert_eq!(outcome.stdout(), "there");
    assert_eq!(fs::read_to_string(other.path().join("file")).unwrap(), "there");
    assert!(!other.path().join("new").exists());
}

#[tokio::test]
async fn tools_of_the_search_path_are_there_and_what_is_next_to_them_is_not() {
    let home = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = home.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    };
    write(
        ".cargo/bin/tool",
        "#!/bin/sh\necho tool; cat \"$HOME_OF_TOOL/.rustup/version\"",
    );
    write(".cargo/credentials.toml", "token");
    write(".rustup/version", "7\n");
    write(".ssh/id", "secret");
    write("data/public", "shown\n");
    // Nobody but root can pass.
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o700)).unwrap();
    let tools = home.path().join(".cargo/bin");
    let sandbox = Bubblewrap::new(BubblewrapSettings {
        search_path: std::env::join_paths([tools.as_path(), Path::new("/usr/bin")]).unwrap(),
        home: Some(home.path().to_owned()),
        read_only: vec![home.path().join("data"), home.path().join("absent")],
        ..settings()
    });
    let place = Place::new();
    let path = home.path().display().to_string();
    let mut command = place.shell(
        "tool; cd $HOME_OF_TOOL; cat data/public; ls -A . .cargo; echo x > .cargo/bin/tool; echo x > data/x",
    );
    command.environment = vec![
        ("PATH".to_owned(), format!("{}:/usr/bin:/bin", tools.display())),
        ("HOME_OF_TOOL".to_owned(), path),
    ];
    let outcome = run_in(&sandbox, command).await.unwrap();
    assert_eq!(
        outcome.stdout(),
        "tool\n7\nshown\n.:\n.cargo\n.rustup\ndata\n\n.cargo:\nbin\n",
        "{outcome:?}"
    );
    assert!(!home.path().join("data/x").exists());
}

#[tokio::test]
async fn nobody_outside_is_seen_or_reached() {
    let place = Place::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let script = format!(
        "echo /proc/[0-9]*; kill -9 {} && echo killed; (exec 3<>/dev/tcp/127.0.0.1/{port}) && echo reached; \
         kill -9 -1; echo end",
        std::process::id()
    );
    let command = place.command(&["bash", "-c", &script]);
    let outcome = run_in(&bubblewrap(), command).await.unwrap();
    assert_eq!(outcome.stdout(), "/proc/1 /proc/2\nend\n", "{outcome:?}");
}

#[tokio::test]
async fn no_program_can_be_made_that_runs_as_its_owner() {
    let attempts = r#"
import os
def attempt(name, action):
    try:
        action()
    except OSError:
        return
    print(name, [oct(os.stat(file).st_mode) for file in os.listdir() if os.stat(file).st_mode & 0o6000])
open("file", "w").close()
os.umask(0)
attempt("chmod", lambda: os.chmod("file", 0o4755))
attempt("group", lambda: os.chmod("file", 0o2755))
attempt("fchmod", lambda: os.fchmod(os.open("file", os.O_RDWR), 0o6755))
attempt("open", lambda: os.open("new", os.O_CREAT | os.O_RDWR, 0o4755))
attempt("tmpfile", lambda: os.open(".", os.O_TMPFILE | os.O_RDWR, 0o4755))
attempt("mknod", lambda: os.mknod("node", 0o104755))
os.chmod("file", 0o1755); os.mkdir("directory", 0o755); os.open("plain", os.O_CREAT | os.O_RDWR, 0o755)
print("end")
"#;
    let place = Place::new();
    let outcome = run_in(&bubblewrap(), place.command(&["python3", "-c", attempts]))
        .await
        .unwrap();
    assert_eq!(
        outcome.stdout(),
        "end\n",
        "{}",
        String::from_utf8_lossy(&outcome.stderr)
    );
    let marked = fs::read_dir(place.path()).unwrap().flatten();
    assert_eq!(
        marked
            .filter(|entry| entry.metadata().unwrap().permissions().mode() & 0o6000 != 0)
            .count(),
        0
    );
}

#[tokio::test]
async fn the_kernel_has_little_to_offer() {
    let attempts = r#"
import ctypes, errno, platform
libc = ctypes.CDLL(None, use_errno=True)
assert platform.machine() == "x86_64"
calls = dict(ptrace=101, mount=165, umount2=166, pivot_root=155, unshare=272, setns=308, keyctl=250, add_key=248,
    request_key=249, bpf=321, perf_event_open=298, userfaultfd=323, io_uring_setup=425, clone3=435, open_tree=428,
    open_by_handle_at=304, process_vm_readv=310, pidfd_getfd=438, init_module=175, kexec_load=246, seccomp=317,
    x32_getpid=0x40000000 + 39)
for name, number in calls.items():
    result = libc.syscall(number, 0, 0, 0, 0, 0)
    error = ctypes.get_errno()
    if result != -1 or error != errno.ENOSYS:
        print("there:", name, result, error)
CLONE = 56
for flag in (0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000):
    if libc.syscall(CLONE, flag | 17, 0, 0, 0, 0) != -1:
        print("clone", hex(flag))
import socket
for family in (40, 38, 17, 16):  # vsock, crypto, packets, netlink of the kernel's own
    try:
        socket.socket(family, socket.SOCK_RAW, 9 if family == 16 else 0)
        print("socket", family)
    except OSError as error:
        if error.errno != errno.ENOSYS: print("socket", family, error)
import fcntl, os, pty
master, slave = pty.openpty()
try:
    fcntl.ioctl(slave, 0x5412, b"x")
    print("typed")
except OSError as error:
    assert error.errno == errno.ENOSYS, error
print("end")
"#;
    let place = Place::new();
    let outcome = run_in(&bubblewrap(), place.command(&["python3", "-c", attempts]))
        .await
        .unwrap();
    assert_eq!(
        outcome.stdout(),
        "end\n",
        "{}",
        String::from_utf8_lossy(&outcome.stderr)
    );
}
