//! Code that means harm, run through the server as an agent would run it: it gets hold of nothing, others do not feel
//! it, and nothing of it stays.
//!
//! The attempts are in `corpus/`; what they try to reach is made here, on the host.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use agentyard_testkit::TestRepository;
use serde_json::{Value, json};

use crate::faults::yard::call;
use crate::support::{PATIENCE, Place, Server, text};

/// How many attempts there are at least, of all parts together.
const LEAST: usize = 60;

const PARTS: &[&str] = &["secrets", "writing", "kernel", "network", "abuse"];

/// So many attempts are made at once.
const AT_ONCE: usize = 4;

/// What an attempt may take: little, so that those that want everything end soon.
const SETTINGS: &[&str] = &[
    "sandbox.memory_mb=256",
    "sandbox.processes=64",
    "sandbox.disk_mb=256",
    "sandbox.file_mb=128",
    "build.max_output_bytes=4000000",
    "build.max_at_once=8",
];

/// How long one attempt may run.
const TIME: Duration = Duration::from_secs(4);

/// Others are answered within this, whatever the attempts do.
const ANSWERED_WITHIN: Duration = Duration::from_secs(5);

/// A server with things that nobody inside may reach.
struct Yard {
    place: Place,
    repository: TestRepository,
    other: TestRepository,
    server: Server,
    mark: String,
    variables: BTreeMap<&'static str, String>,
}

impl Yard {
    fn new() -> Self {
        let (place, repository, other) = (
            Place::new(),
            TestRepository::with_commit("README.md", "first\n"),
            TestRepository::empty(),
        );
        let mark = format!("mark-{}", repository.path().file_name().unwrap().display());
        let secret = format!("SERVER-{mark}");
        let secret_file = place.home().join("secret");
        fs::write(&secret_file, &secret).unwrap();
        fs::write(other.path().join("private.txt"), &secret).unwrap();
        let data = place.home().join("data");
        let service = listen_with(&secret);
        let socket_file = place.home().join("socket");
        keep_listening(UnixListener::bind(&socket_file).unwrap());
        let address = SocketAddr::from_abstract_name(&mark).unwrap();
        keep_listening(UnixListener::bind_addr(&address).unwrap());
        copy_attempts(repository.path());
        let address = format!("127.0.0.1:{}", crate::support::free_port());
        let roots = [repository.path(), other.path()].map(|path| path.display().to_string());
        let data_text = data.display().to_string();
        let mut arguments = vec![
            "serve",
            "--listen",
            &address,
            "--auth",
            "none",
            "--data-dir",
            &data_text,
        ];
        for root in &roots {
            arguments.extend(["--root", root]);
        }
        for setting in SETTINGS {
            arguments.extend(["--set", setting]);
        }
        let log = fs::File::create(place.home().join("log")).unwrap();
        let mut command = place.command(&arguments);
        command.env("SERVER_SECRET", &secret).stderr(log);
        let server = Server::of(&mut command, &address);
        let variables = BTreeMap::from([
            ("ATTEMPT_MARK", mark.clone()),
            ("ATTEMPT_SECRET", secret),
            ("ATTEMPT_SECRET_FILE", secret_file.display().to_string()),
            ("ATTEMPT_DATA", data_text.clone()),
            ("ATTEMPT_OTHER_WORKSPACE", roots[1].clone()),
            ("ATTEMPT_SERVICE", service),
            ("ATTEMPT_ADDRESSES", addresses_of_this_machine()),
            ("ATTEMPT_ABSTRACT", mark.clone()),
            ("ATTEMPT_SOCKET_FILE", socket_file.display().to_string()),
        ]);
        Self {
            place,
            repository,
            other,
            server,
            mark,
            variables,
        }
    }

    /// Makes one attempt, as a client that waits for what comes of it.
    fn attempt(&self, part: &str, name: &str, network: &str) -> Value {
        let environment: Vec<String> = self
            .variables
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let request = json!({
            "workspace": self.repository.path(),
            "command": ["/usr/bin/python3", "corpus/attempts.py", part, name],
            "environment": environment,
            "network": network,
            "timeout_ms": TIME.as_millis(),
        });
        let answer = call(&self.server.address, "POST", "/build/run_command", &request);
        let answer = answer.expect("the server goes on");
        assert_eq!(answer.status, 200, "{name}: {}", answer.body);
        answer.body
    }

    /// Makes all attempts of a part, and asks the server something else all the time.
    fn attempt_all(
        &self,
        part: &str,
        network: &str,
        verdict: impl Fn(&str, &Value) -> Option<String> + Sync,
    ) {
        let names = Mutex::new(names_of(part).into_iter());
        let failures = Mutex::new(Vec::new());
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            let asking = scope.spawn(|| self.ask_until(&done));
            let attempting: Vec<_> = (0..AT_ONCE)
                .map(|_| {
                    scope.spawn(|| {
                        loop {
                            let Some(name) = names.lock().unwrap().next() else {
                                return;
                            };
                            let answer = self.attempt(part, &name, network);
                            if let Some(failure) = verdict(&name, &answer) {
                                failures
                                    .lock()
                                    .unwrap()
                                    .push(format!("{name}: {failure}: {answer}"));
                            }
                        }
                    })
                })
                .collect();
            let ended: Vec<_> = attempting
                .into_iter()
                .map(thread::ScopedJoinHandle::join)
                .collect();
            done.store(true, Ordering::Relaxed);
            asking.join().unwrap();
            for attempts in ended {
                attempts.unwrap();
            }
        });
        let failures = failures.into_inner().unwrap();
        assert!(failures.is_empty(), "{}\n{}", failures.join("\n"), self.log());
        self.check_the_host();
    }

    fn ask_until(&self, done: &AtomicBool) {
        while !done.load(Ordering::Relaxed) {
            let asked = Instant::now();
            let answer =
                call(&self.server.address, "GET", "/whoami", &Value::Null).expect("the server goes on");
            assert_eq!(answer.status, 200, "{}", answer.body);
            assert!(asked.elapsed() < ANSWERED_WITHIN, "others wait");
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Nothing was changed that is not the attempts', nothing of them is left, and the next call works.
    fn check_the_host(&self) {
        let path = format!("/git/status?path={}", self.repository.path().display());
        let status = call(&self.server.address, "GET", &path, &Value::Null).expect("the server goes on");
        assert!(status.status < 300, "{}", status.body);
        let secret = &self.variables["ATTEMPT_SECRET"];
        assert_eq!(
            &fs::read_to_string(self.place.home().join("secret")).unwrap(),
            secret
        );
        let private = self.other.path().join("private.txt");
        assert_eq!(&fs::read_to_string(private).unwrap(), secret);
        assert!(!self.other.path().join("attempt").exists());
        assert!(self.repository.path().join(".git/HEAD").exists());
        let hooks = self.repository.path().join(".git/hooks/post-checkout");
        assert!(!hooks.exists());
        assert!(setuid_files(self.repository.path()).is_empty());
        let started = Instant::now();
        loop {
            let left = self.processes();
            if left.is_empty() {
                break;
            }
            assert!(
                started.elapsed() < Duration::from_secs(10),
                "still there: {left:?}"
            );
            thread::sleep(Duration::from_millis(50));
        }
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let home = self.place.home().display().to_string();
        let mounted: Vec<&str> = mounts.lines().filter(|line| line.contains(&home)).collect();
        assert!(mounted.is_empty(), "{mounted:?}");
    }

    /// Processes that carry the mark of the attempts.
    fn processes(&self) -> Vec<String> {
        let mark = format!("ATTEMPT_MARK={}", self.mark);
        let processes = fs::read_dir("/proc").unwrap().flatten();
        processes
            .filter(|process| {
                let environment = fs::read(process.path().join("environ")).unwrap_or_default();
                let mut variables = environment.split(|byte| *byte == 0);
                variables.any(|variable| variable == mark.as_bytes())
            })
            .map(|process| process.file_name().display().to_string())
            .collect()
    }

    fn log(&self) -> String {
        fs::read_to_string(self.place.home().join("log")).unwrap_or_default()
    }
}

/// Nothing was got hold of, and the attempt came to its end.
fn is_contained(_: &str, answer: &Value) -> Option<String> {
    let contained = answer["stdout"]
        .as_str()
        .is_some_and(|said| said.starts_with("contained"));
    (answer["exit_code"] != 0 || !contained).then(|| "got through".to_owned())
}

/// It has ended, in whichever way, and what it wanted without end it did not get.
fn is_bounded(_: &str, answer: &Value) -> Option<String> {
    if answer["running"] == true {
        return Some("goes on".to_owned());
    }
    let said = answer["stdout"].as_str().unwrap_or_default();
    said.contains("GOT THROUGH")
        .then(|| "got what it wanted".to_owned())
}

#[test]
fn there_are_many_attempts() {
    let all: usize = PARTS.iter().map(|part| names_of(part).len()).sum();
    assert!(all >= LEAST, "{all}");
}

#[test]
fn secrets_of_the_host_are_not_read() {
    Yard::new().attempt_all("secrets", "none", is_contained);
}

#[test]
fn nothing_is_written_outside() {
    Yard::new().attempt_all("writing", "none", is_contained);
}

#[test]
fn the_kernel_gives_nothing_away() {
    Yard::new().attempt_all("kernel", "none", is_contained);
}

#[test]
fn nobody_is_talked_to() {
    Yard::new().attempt_all("network", "none", is_contained);
}

#[test]
fn with_a_registry_the_host_is_not_talked_to_either() {
    Yard::new().attempt_all("network", "registry", is_contained);
}

#[test]
fn abuse_ends_and_others_do_not_feel_it() {
    Yard::new().attempt_all("abuse", "none", is_bounded);
}

/// The attempts could get through: on the host itself, without a sandbox, some of them do. Otherwise the tests above
/// would prove nothing.
#[test]
fn without_a_sandbox_attempts_get_through() {
    let yard = Yard::new();
    let attempts = yard.repository.path().join("corpus/attempts.py");
    let got_through = |part: &str, name: &str| {
        let mut command = Command::new("/usr/bin/python3");
        command.arg(&attempts).args([part, name]);
        command.envs(&yard.variables).current_dir(yard.repository.path());
        let output = command.output().unwrap();
        text(&output.stdout).contains("GOT THROUGH")
    };
    for (part, name) in [
        ("secrets", "read_a_file_of_the_home_directory"),
        ("secrets", "read_the_environment_of_the_server"),
        ("secrets", "find_processes_of_the_host"),
        ("secrets", "list_the_data_directory"),
        ("writing", "write_another_workspace"),
        ("network", "talk_to_a_service_of_the_host"),
        ("network", "talk_to_an_abstract_socket"),
        ("network", "talk_to_a_socket_file"),
    ] {
        assert!(got_through(part, name), "{name}");
    }
}

fn names_of(part: &str) -> Vec<String> {
    let attempts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/corpus/attempts.py");
    let listed = Command::new("/usr/bin/python3")
        .arg("-B")
        .arg(attempts)
        .args(["--list", part])
        .output()
        .unwrap();
    assert!(listed.status.success(), "{}", text(&listed.stderr));
    text(&listed.stdout).lines().map(ToOwned::to_owned).collect()
}

fn copy_attempts(repository: &Path) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/corpus");
    let copies = repository.join("corpus");
    fs::create_dir(&copies).unwrap();
    for file in fs::read_dir(corpus).unwrap().flatten() {
        if file.path().extension().is_some_and(|extension| extension == "py") {
            fs::copy(file.path(), copies.join(file.file_name())).unwrap();
        }
    }
}

/// A service that tells a secret to everybody, and its address.
fn listen_with(secret: &str) -> String {
    let listener = TcpListener::bind("0.0.0.0:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let secret = secret.to_owned();
    thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            tell(connection, &secret);
        }
    });
    format!("127.0.0.1:{port}")
}

fn tell(mut connection: TcpStream, secret: &str) {
    let _ = connection.set_write_timeout(Some(PATIENCE));
    let _ = write!(connection, "HTTP/1.0 200 OK\r\n\r\n{secret}");
}

fn keep_listening(listener: UnixListener) {
    thread::spawn(move || {
        for mut connection in listener.incoming().flatten() {
            let _ = connection.write_all(b"hello");
        }
    });
}

fn addresses_of_this_machine() -> String {
    let output = Command::new("hostname").arg("-I").output();
    output
        .map(|output| text(&output.stdout).trim().to_owned())
        .unwrap_or_default()
}

/// Files below a directory that make whoever starts them somebody else.
fn setuid_files(directory: &Path) -> Vec<PathBuf> {
    use std::os::unix::fs::PermissionsExt as _;
    let (mut found, mut directories) = (Vec::new(), vec![directory.to_owned()]);
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let Ok(metadata) = entry.path().symlink_metadata() else {
                continue;
            };
            if metadata.is_dir() {
                directories.push(entry.path());
            } else if metadata.permissions().mode() & 0o6000 != 0 {
                found.push(entry.path());
            }
        }
    }
    found
}
