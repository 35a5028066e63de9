//! Hostile remotes, and hostile configuration around them.

use std::fs;
use std::io::Read as _;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use agentyard_git::{CloneOptions, Error, NetworkSettings, PushOptions, RemoteUrl, Trust, Work};

use crate::network_support::{Remotes, everything, program, program_of, program_with, this_machine};
use crate::support::{GO_ON, message};

/// A program outside the root that leaves a mark.
fn script(remotes: &Remotes) -> String {
    let path = remotes.yard.outside().join("script");
    let mark = remotes.yard.outside().join("pwned");
    fs::write(&path, format!("#!/bin/sh\ntouch {}\n", mark.display())).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

fn pwned(remotes: &Remotes) -> bool {
    remotes.yard.outside().join("pwned").exists()
}

#[test]
fn settings_that_would_run_or_lead_elsewhere_do_nothing() {
    let remotes = Remotes::new();
    let script = script(&remotes);
    remotes.commit("here", "new", "new\n");
    let config = fs::read_to_string(remotes.path("here/.git/config")).unwrap();
    for lines in [
        "[remote \"origin\"]\n uploadpack = SCRIPT\n receivepack = SCRIPT",
        "[core]\n sshCommand = SCRIPT",
        "[url \"ext::SCRIPT\"]\n insteadOf = /",
        "[http]\n proxy = http://127.0.0.1:1",
        "[remote \"origin\"]\n vcs = ext",
        "[remote \"origin\"]\n proxy = SCRIPT",
        "[credential]\n helper = !SCRIPT",
        "[credential \"https://x\"]\n helper = !SCRIPT",
        "[fetch]\n bundleURI = file:///etc/passwd",
        "[core]\n gitProxy = SCRIPT",
        "[core]\n alternateRefsCommand = SCRIPT",
        "[include]\n path = /etc/passwd",
    ] {
        fs::write(remotes.path("here/.git/config"), &config).unwrap();
        remotes.configure(&lines.replace("SCRIPT", &script));
        let fetched = remotes.work("here", |work| work.fetch(&everything()));
        let pushed = remotes.work("here", |work| work.push(&PushOptions::default()));
        assert!(!pwned(&remotes), "{lines}: {fetched:?} {pushed:?}");
    }
}

#[test]
fn a_remote_that_is_a_command_is_refused() {
    let remotes = Remotes::new();
    let script = script(&remotes);
    for url in [
        "ext::SCRIPT",
        "fd::3",
        "--upload-pack=SCRIPT",
        "git://127.0.0.1/x",
        "ssh://-oProxyCommand=SCRIPT/x",
    ] {
        remotes.git(
            "here",
            &["config", "remote.origin.url", &url.replace("SCRIPT", &script)],
        );
        let refused = remotes.work("here", |work| work.fetch(&everything()));
        assert!(
            matches!(refused, Err(Error::Invalid { .. })),
            "{url}: {refused:?}"
        );
        assert!(!pwned(&remotes));
    }
}

#[test]
fn a_remote_named_like_the_address_of_another_is_refused() {
    let remotes = Remotes::new();
    let server = remotes.path("server.git").display().to_string();
    remotes.configure(&format!(
        "[remote \"{server}\"]\n url = https://elsewhere.example/x"
    ));
    let refused = remotes.work("here", |work| work.fetch(&everything()));
    assert!(
        matches!(refused, Err(Error::UntrustedSetting { .. })),
        "{refused:?}"
    );
}

#[test]
fn hooks_of_a_remote_on_this_machine_do_not_run() {
    let remotes = Remotes::new();
    let script = script(&remotes);
    for hook in [
        "pre-receive",
        "update",
        "post-receive",
        "post-update",
        "reference-transaction",
    ] {
        fs::create_dir_all(remotes.path("server.git/hooks")).unwrap();
        fs::copy(&script, remotes.path("server.git/hooks").join(hook)).unwrap();
    }
    remotes.git("server.git", &["config", "core.alternateRefsCommand", &script]);
    remotes.git("server.git", &["config", "uploadpack.packObjectsHook", &script]);
    remotes.commit("here", "new", "new\n");
    remotes
        .work("here", |work| work.push(&PushOptions::default()))
        .unwrap();
    remotes.work("here", |work| work.fetch(&everything())).unwrap();
    assert!(!pwned(&remotes));
    assert_eq!(remotes.tip("server.git", "main"), remotes.tip("here", "main"));
}

#[test]
fn the_working_tree_of_a_remote_is_not_touched() {
    let remotes = Remotes::new();
    remotes.git("there", &["config", "receive.denyCurrentBranch", "updateInstead"]);
    let there = remotes.path("there").display().to_string();
    remotes.git("here", &["config", "remote.origin.url", &there]);
    remotes.commit("here", "new", "new\n");
    let refused = message(remotes.work("here", |work| work.push(&PushOptions::default())));
    assert!(refused.contains("branch is currently checked out"), "{refused}");
    assert!(!remotes.path("there/new").exists());
}

#[test]
fn nothing_outside_the_roots_is_a_remote() {
    let remotes = Remotes::new();
    let outside = remotes.yard.outside().join("secret.git");
    remotes.yard.git(&[
        "clone",
        "--quiet",
        "--bare",
        "server.git",
        &outside.display().to_string(),
    ]);
    for text in [
        outside.display().to_string(),
        format!("file://{}", outside.display()),
    ] {
        let url = RemoteUrl::parse(&text).unwrap();
        let options = CloneOptions::new(url, &remotes.path("clone")).unwrap();
        let refused = program().clone_repository(&remotes.yard.roots(), &options, &GO_ON, &|_| {});
        assert!(matches!(refused, Err(Error::OutsideRoots { .. })), "{refused:?}");
    }
    remotes.yard.link(&outside, "link.git");
    let url = RemoteUrl::parse(&remotes.path("link.git").display().to_string()).unwrap();
    let options = CloneOptions::new(url, &remotes.path("clone")).unwrap();
    let refused = program().clone_repository(&remotes.yard.roots(), &options, &GO_ON, &|_| {});
    assert!(matches!(refused, Err(Error::OutsideRoots { .. })), "{refused:?}");
    let server = RemoteUrl::parse(&remotes.path("server.git").display().to_string()).unwrap();
    for path in [
        remotes.yard.outside().join("clone"),
        remotes.path("a/../../outside/clone"),
    ] {
        let options = CloneOptions::new(server.clone(), &path).unwrap();
        let refused = program().clone_repository(&remotes.yard.roots(), &options, &GO_ON, &|_| {});
        assert!(refused.is_err(), "{refused:?}");
    }
    assert!(!remotes.yard.outside().join("clone").exists());
}

#[test]
fn addresses_of_this_machine_and_its_network_are_refused() {
    let remotes = Remotes::new();
    for text in [
        "https://127.0.0.1/x",
        "https://localhost/x",
        "https://0x7f.1/x",
        "https://2130706433/x",
        "https://[::1]/x",
        "https://[::ffff:169.254.169.254]/x",
        "https://169.254.169.254/x",
        "https://10.1.2.3/x",
        "https://0.0.0.0/x",
        "http://example.org/x",
        "git@example.org:x",
    ] {
        let url = RemoteUrl::parse(text).unwrap();
        let options = CloneOptions::new(url, &remotes.path("clone")).unwrap();
        let refused = program().clone_repository(&remotes.yard.roots(), &options, &GO_ON, &|_| {});
        assert!(
            matches!(refused, Err(Error::Refused { .. })),
            "{text}: {refused:?}"
        );
    }
}

#[test]
fn a_remote_that_is_not_there_is_tried_as_often_as_set() {
    let remotes = Remotes::new();
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let url = RemoteUrl::parse(&format!("http://127.0.0.1:{port}/x")).unwrap();
    let options = CloneOptions::new(url, &remotes.path("clone")).unwrap();
    let told = Mutex::new(Vec::new());
    let git = program_with(NetworkSettings {
        attempts: 2,
        ..this_machine()
    });
    let refused = git.clone_repository(&remotes.yard.roots(), &options, &GO_ON, &|progress| {
        told.lock().unwrap().push(progress.stage);
    });
    assert!(matches!(refused, Err(Error::Unreachable { .. })), "{refused:?}");
    assert_eq!(*told.lock().unwrap(), ["attempt 2 of 2"]);
    assert!(!remotes.path("clone").exists());
}

#[test]
fn a_remote_that_never_answers_is_left_when_cancelled() {
    let remotes = Remotes::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let url = RemoteUrl::parse(&format!("http://127.0.0.1:{port}/x")).unwrap();
    let options = CloneOptions::new(url, &remotes.path("clone")).unwrap();
    let cancel = AtomicBool::new(false);
    let result = std::thread::scope(|scope| {
        let git = program_with(this_machine());
        let (roots, cancel, options) = (remotes.yard.roots(), &cancel, &options);
        let cloning = scope.spawn(move || git.clone_repository(&roots, options, cancel, &|_| {}));
        let (mut stream, _) = listener.accept().unwrap();
        let mut some = [0; 16];
        stream.read_exact(&mut some).unwrap();
        assert!(some.starts_with(b"GET /x/info/refs"));
        cancel.store(true, Ordering::Relaxed);
        let result = cloning.join().unwrap();
        // The other side is gone: nothing of git is left that would hold it open.
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).unwrap();
        result
    });
    assert!(matches!(result, Err(Error::Cancelled)), "{result:?}");
    assert!(!remotes.path("clone").exists());
}

/// Answers every request alike, until the test ends.
fn serve(listener: &TcpListener, answer: &str, times: usize) {
    use std::io::Write as _;
    for _ in 0..times {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = Vec::new();
        let mut byte = [0];
        while !request.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() > 0 {
            request.push(byte[0]);
        }
        stream.write_all(answer.as_bytes()).unwrap();
    }
}

#[test]
fn a_redirect_is_not_followed_but_told() {
    let remotes = Remotes::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let answer = "HTTP/1.1 301 Moved\r\nLocation: https://new.example/x.git/info/refs?service=git-upload-pack\r\n\
                  Content-Length: 0\r\nConnection: close\r\n\r\n";
    let url = RemoteUrl::parse(&format!("http://127.0.0.1:{port}/x")).unwrap();
    let options = CloneOptions::new(url, &remotes.path("clone")).unwrap();
    let refused = std::thread::scope(|scope| {
        scope.spawn(|| serve(&listener, answer, 2));
        let git = program_with(this_machine());
        git.clone_repository(&remotes.yard.roots(), &options, &GO_ON, &|_| {})
    });
    let refusal = message(refused);
    assert!(
        refusal.contains("has moved to https://new.example/x.git"),
        "{refusal}"
    );
}

#[test]
fn a_denied_login_is_not_tried_again_and_says_what_to_set() {
    let remotes = Remotes::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let answer = "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let url = RemoteUrl::parse(&format!("http://127.0.0.1:{port}/x")).unwrap();
    let options = CloneOptions::new(url, &remotes.path("clone")).unwrap();
    let refused = std::thread::scope(|scope| {
        scope.spawn(|| serve(&listener, answer, 1));
        let git = program_with(this_machine());
        git.clone_repository(&remotes.yard.roots(), &options, &GO_ON, &|_| {})
    });
    match refused {
        Err(Error::Refused { remedy, .. }) => {
            assert!(remedy.contains("AGENTYARD_GIT_CREDENTIALS=127.0.0.1"), "{remedy}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_persons_own_credential_helper_is_asked_and_the_repositorys_is_not() {
    let remotes = Remotes::new();
    let home = remotes.yard.outside().join("home");
    fs::create_dir(&home).unwrap();
    let asked = remotes.yard.outside().join("asked");
    fs::write(
        home.join(".gitconfig"),
        format!(
            "[credential]\n helper = \"!f() {{ touch {}; }}; f\"\n",
            asked.display()
        ),
    )
    .unwrap();
    let script = script(&remotes);
    remotes.configure(&format!("[credential]\n helper = \"!{script}\""));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    remotes.git(
        "here",
        &[
            "config",
            "remote.origin.url",
            &format!("http://127.0.0.1:{port}/x"),
        ],
    );
    let answer = "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let refused = std::thread::scope(|scope| {
        scope.spawn(|| serve(&listener, answer, 1));
        let git = program_of(home.clone());
        let repository = remotes.open("here");
        Work::new(&git, &repository, Trust::Untrusted, &GO_ON, &|_| {}).fetch(&everything())
    });
    assert!(matches!(refused, Err(Error::Refused { .. })), "{refused:?}");
    assert!(asked.exists() && !pwned(&remotes));
}
