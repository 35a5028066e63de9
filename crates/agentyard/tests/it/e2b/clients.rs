//! The clients as `cargo xtask setup` installs them, from the lists beside this file.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Who speaks to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Client {
    BlockingPython,
    AsyncPython,
    JavaScript,
}

impl Client {
    pub(super) const ALL: [Self; 3] = [Self::BlockingPython, Self::AsyncPython, Self::JavaScript];

    /// A script of ours, run by this client's interpreter.
    pub(super) fn command(self, script: &str) -> Command {
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/e2b");
        match self {
            Self::BlockingPython | Self::AsyncPython => {
                let mut command = python();
                command
                    .arg(scripts.join(script).with_extension("py"))
                    .arg(if self == Self::AsyncPython {
                        "async"
                    } else {
                        "sync"
                    });
                command
            }
            Self::JavaScript => {
                let modules = installed("npm", include_str!("package-lock.json"));
                let mut command = Command::new(node(&modules));
                command
                    .arg(scripts.join(script).with_extension("mjs"))
                    .env("E2B_PACKAGES", modules.join("package.json"));
                command
            }
        }
    }
}

/// Python with the clients.
pub(super) fn python() -> Command {
    let environment = installed("python", include_str!("sdk-requirements.txt"));
    let mut command = Command::new(environment.join("bin/python"));
    // It would write what it compiled between the sources.
    command.arg("-B");
    command
}

/// Packages for the Python of a sandbox.
pub(super) fn sandbox_packages() -> PathBuf {
    installed("sandbox-packages", include_str!("sandbox-requirements.txt"))
}

fn node(modules: &Path) -> PathBuf {
    let machine = match std::env::consts::ARCH {
        "aarch64" => "arm64",
        _ => "x64",
    };
    modules.join(format!("node_modules/node-linux-{machine}/bin/node"))
}

/// Where exactly this list was installed.
fn installed(name: &str, list: &str) -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let directory = target.join("e2b").join(name);
    let there = std::fs::read_to_string(directory.join("installed")).unwrap_or_default();
    assert!(
        there == list,
        "the E2B clients are not installed in {}, or not as the lists beside the tests have them: run `cargo xtask setup`",
        directory.display()
    );
    directory
}
