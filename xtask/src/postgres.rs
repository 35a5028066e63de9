//! A PostgreSQL server for one run of the tests: its own data, port and password.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::{Attempt, Failure, Result};
use crate::process::{find_program, is_root, output};
use crate::supervised::{Launch, Scratch, Supervised, User, free_port, random_hex};

/// What the tests read to find the server.
pub(crate) const URL_VARIABLE: &str = "AGENTYARD_TEST_POSTGRES_URL";

/// A running server; it stops when this is dropped.
pub(crate) struct Postgres {
    url: String,
    _server: Supervised,
}

impl Postgres {
    pub(crate) fn start() -> Result<Self> {
        let programs = programs_dir().ok_or_else(|| {
            Failure::new("PostgreSQL's server programs were not found").next("run `cargo xtask setup`")
        })?;
        let user = unprivileged_user()?;
        let scratch = Scratch::new("postgres", user)?;
        let password = random_hex(16)?;
        let data = initialise(&programs, &scratch, user, &password)?;
        let port = free_port()?;

        let mut server = Supervised::start(Launch {
            command: server_command(&programs, &data, port),
            scratch,
            // A fast shutdown: it does not wait for clients to leave.
            stop_signal: "INT",
            user,
        })?;
        server.wait_until("PostgreSQL", || is_ready(&programs, port))?;
        Ok(Self {
            url: format!("postgres://agentyard:{password}@127.0.0.1:{port}/postgres"),
            _server: server,
        })
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }
}

/// The folder with `initdb` and `postgres`: the newest that Debian's packages installed, or
/// the one on the search path.
pub(crate) fn programs_dir() -> Option<PathBuf> {
    let has_server = |dir: &PathBuf| dir.join("initdb").is_file() && dir.join("postgres").is_file();
    let debian = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .map(|version| version.path().join("bin"))
        .filter(has_server)
        .max_by_key(|dir| major_version(dir));
    debian.or_else(|| {
        find_program("initdb")?
            .parent()
            .map(Path::to_path_buf)
            .filter(has_server)
    })
}

fn major_version(bin: &Path) -> Option<u32> {
    bin.parent()?.file_name()?.to_str()?.parse().ok()
}

/// PostgreSQL refuses to run as root, so root runs it as the user that its package made.
fn unprivileged_user() -> Result<Option<User>> {
    if !is_root() {
        return Ok(None);
    }
    let users = std::fs::read_to_string("/etc/passwd").attempt("read /etc/passwd")?;
    let user = find_user(&users, "postgres").or_else(|| find_user(&users, "nobody"));
    user.map(Some).ok_or_else(|| {
        Failure::new("PostgreSQL refuses to run as root, and there is no user `postgres` or `nobody`")
            .next("run the tests as another user")
    })
}

fn find_user(passwd: &str, name: &str) -> Option<User> {
    let line = passwd.lines().find(|line| line.split(':').next() == Some(name))?;
    let mut ids = line.split(':').skip(2);
    Some(User {
        uid: ids.next()?.parse().ok()?,
        gid: ids.next()?.parse().ok()?,
    })
}

fn initialise(programs: &Path, scratch: &Scratch, user: Option<User>, password: &str) -> Result<PathBuf> {
    let data = scratch.path().join("data");
    let password_file = scratch.path().join("password");
    std::fs::write(&password_file, password).attempt("write the database password")?;

    let mut initdb = Command::new(programs.join("initdb"));
    initdb
        .args(["--username=agentyard", "--auth=scram-sha-256"])
        .args(["--encoding=UTF8", "--locale=C", "--no-sync"])
        .arg("--pwfile")
        .arg(&password_file)
        .arg("--pgdata")
        .arg(&data)
        .current_dir(scratch.path());
    if let Some(user) = user {
        std::os::unix::fs::chown(&password_file, Some(user.uid), Some(user.gid))
            .attempt("hand over the database password")?;
        initdb.uid(user.uid).gid(user.gid);
    }
    output(&mut initdb)?;
    Ok(data)
}

/// Nothing here has to survive a crash, so nothing is synced to disk.
fn server_command(programs: &Path, data: &Path, port: u16) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec![programs.join("postgres").into(), "-D".into(), data.into()];
    for setting in [
        "listen_addresses=127.0.0.1",
        &format!("port={port}"),
        "unix_socket_directories=",
        "max_connections=200",
        "fsync=off",
        "synchronous_commit=off",
        "full_page_writes=off",
    ] {
        words.extend(["-c".into(), setting.into()]);
    }
    words
}

fn is_ready(programs: &Path, port: u16) -> bool {
    let port = port.to_string();
    output(Command::new(programs.join("pg_isready")).args(["--host=127.0.0.1", "--quiet", "--port", &port]))
        .is_ok()
}
