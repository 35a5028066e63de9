//! A podman with storage of its own and one image, which both go with the test.

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::Command as Program;
use std::time::Duration;

use agentyard_sandbox::{
    Access, Addresses, Command, CommandError, Egress, EgressSettings, ImageName, Limits, Mount, Network,
    Podman, PodmanSettings, Sandbox as _,
};
use tempfile::TempDir;

use crate::support::{Outcome, daemon, finish, leader};

/// As whom commands run.
pub(crate) const USER: u32 = 61184;

pub(crate) const SEARCH_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

const PROGRAMS: &[&str] = &[
    "bash", "cat", "env", "false", "grep", "head", "id", "ls", "seq", "setsid", "sh", "sleep", "tail",
    "touch", "true", "unshare", "yes", "chown",
];

pub(crate) struct Yard {
    directory: TempDir,
    podman: Option<Podman>,
}

impl Yard {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        // What is given to another user must be reachable for it.
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let mut yard = Self {
            directory,
            podman: None,
        };
        for workspace in [yard.workspace(), yard.other_workspace()] {
            fs::create_dir(&workspace).unwrap();
            chown(&workspace, Some(USER), Some(USER)).unwrap();
        }
        yard.import();
        yard.podman = Some(Podman::new(settings(yard.directory.path(), SEARCH_PATH)));
        yard
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.directory.path().join("workspace")
    }

    pub(crate) fn other_workspace(&self) -> PathBuf {
        self.directory.path().join("other")
    }

    pub(crate) fn podman(&self) -> &Podman {
        self.podman.as_ref().unwrap()
    }

    /// One that knows nothing of the other.
    pub(crate) fn another_podman(&self) -> Podman {
        Podman::new(settings(self.directory.path(), SEARCH_PATH))
    }

    pub(crate) fn podman_with(&self, setup: Vec<String>) -> Podman {
        self.podman().with_image(image("localhost/tiny:1"), setup)
    }

    pub(crate) fn podman_of(&self, name: &str) -> Podman {
        self.podman().with_image(image(name), Vec::new())
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        Command {
            program: words[0].to_owned(),
            arguments: words[1..].iter().map(|word| (*word).to_owned()).collect(),
            mounts: vec![mount(&self.workspace(), "/workspace", Access::ReadWrite)],
            directory: PathBuf::from("/workspace"),
            hidden: Vec::new(),
            environment: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
            input: Vec::new(),
            network: Network::None,
            limits: Limits {
                duration: Duration::from_secs(60),
                output_bytes: 1 << 30,
                ..Limits::default()
            },
        }
    }

    pub(crate) fn shell(&self, script: &str) -> Command {
        self.command(&["sh", "-c", script])
    }

    pub(crate) async fn run(&self, script: &str) -> Result<Outcome, CommandError> {
        self.finish(self.shell(script)).await
    }

    pub(crate) async fn finish(&self, command: Command) -> Result<Outcome, CommandError> {
        finish(&mut self.podman().start(command).await?).await
    }

    pub(crate) fn images(&self) -> Vec<String> {
        let listed = self.cli(&["images", "--quiet", "--no-trunc"]);
        listed.lines().map(str::to_owned).collect()
    }

    /// How many directories are still put where podman finds them.
    pub(crate) fn stages(&self) -> usize {
        let service = fs::read_dir(self.directory.path().join("service")).unwrap();
        let stages = service.flatten().filter(|entry| entry.path().is_dir());
        stages
            .map(|stages| fs::read_dir(stages.path()).unwrap().count())
            .sum()
    }

    pub(crate) async fn has_no_container(&self) {
        self.has_containers(&[]).await;
    }

    /// Waits until there are these and no others; one that has ended is removed in the background.
    pub(crate) async fn has_containers(&self, expected: &[&str]) {
        let has = || {
            let listed = self.cli(&["ps", "--all", "--format", "{{.Names}}"]);
            (listed.split_whitespace().collect::<Vec<_>>() == expected).then_some(())
        };
        tokio::task::yield_now().await;
        let started = std::time::Instant::now();
        while has().is_none() {
            assert!(started.elapsed() < Duration::from_secs(30), "containers are left");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Asks podman itself.
    pub(crate) fn cli(&self, words: &[&str]) -> String {
        let output = program("podman")
            .args(storage(self.directory.path()))
            .args([
                "--events-backend=none",
                "--cgroup-manager=cgroupfs",
                "--runtime=runc",
            ])
            .args(words)
            .output()
            .expect("podman must be installed for these tests");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    }

    /// Makes an image of programs of this machine and the libraries that they need.
    fn import(&self) {
        let root = self.directory.path().join("image");
        fs::create_dir_all(root.join("usr/bin")).unwrap();
        std::os::unix::fs::symlink("usr/bin", root.join("bin")).unwrap();
        let mut files: Vec<String> = PROGRAMS.iter().map(|name| format!("/usr/bin/{name}")).collect();
        // What answers inside is this program, which is not in the image, but needs its libraries.
        let linked = program("ldd")
            .args(&files)
            .arg(std::env::current_exe().unwrap())
            .output()
            .unwrap();
        let linked = String::from_utf8(linked.stdout).unwrap();
        let libraries = linked.lines().filter(|line| line.starts_with('\t'));
        files.extend(libraries.filter_map(|line| {
            line.split_whitespace()
                .find(|word| word.starts_with('/'))
                .map(str::to_owned)
        }));
        for file in files {
            let copy = root.join(file.trim_start_matches('/'));
            fs::create_dir_all(copy.parent().unwrap()).unwrap();
            fs::copy(&file, &copy).unwrap();
        }
        self.pack(&root, "localhost/tiny:1");
    }

    /// Makes an image of what is in a directory.
    pub(crate) fn pack(&self, root: &Path, name: &str) {
        let archive = self.directory.path().join("image.tar");
        let packed = program("tar")
            .arg("-C")
            .arg(root)
            .arg("-cf")
            .arg(&archive)
            .arg(".")
            .status()
            .unwrap();
        assert!(packed.success());
        self.cli(&[
            "import",
            "--change=ENV PATH=/usr/bin:/bin",
            "--change=ENV FROM_IMAGE=1",
            "--change=ENTRYPOINT [\"/usr/bin/false\"]",
            archive.to_str().unwrap(),
            name,
        ]);
    }
}

impl Drop for Yard {
    fn drop(&mut self) {
        self.podman = None;
        // Also when a test fails: nothing runs on, and nothing stays mounted.
        let removed = program("podman")
            .args(storage(self.directory.path()))
            .args(["rm", "--all", "--force", "--time=0"])
            .output();
        assert!(removed.is_ok() || std::thread::panicking());
    }
}

/// A podman in a directory, with programs from these places.
pub(crate) fn settings(directory: &Path, search_path: &str) -> PodmanSettings {
    let outside = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = outside.local_addr().unwrap();
    std::thread::spawn(move || while outside.accept().is_ok() {});
    let egress = Egress::new(EgressSettings {
        addresses: Addresses::new(move |_, _| Ok(vec![address]), |_| None),
        ..EgressSettings::default()
    });
    PodmanSettings {
        leader: leader(),
        daemon: daemon(),
        socket: None,
        directory: directory.join("service"),
        environment: vec![("PATH".to_owned(), search_path.to_owned())],
        storage: storage(directory),
        user: (USER, USER),
        image: image("localhost/tiny:1"),
        setup: Vec::new(),
        setup_network: Network::Registry,
        egress: egress.unwrap(),
    }
}

fn storage(directory: &Path) -> Vec<String> {
    let at = |name: &str| directory.join(name).display().to_string();
    vec![
        format!("--root={}", at("storage")),
        format!("--runroot={}", at("run")),
        "--storage-driver=vfs".to_owned(),
    ]
}

pub(crate) fn mount(directory: &Path, at: &str, access: Access) -> Mount {
    Mount {
        source: File::open(directory).unwrap().into(),
        host_path: directory.to_owned(),
        at: PathBuf::from(at),
        access,
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "what is looked at here is what other programs make of it"
)]
fn program(name: &str) -> Program {
    Program::new(name)
}

fn image(name: &str) -> ImageName {
    ImageName::parse(name, &[]).unwrap()
}
