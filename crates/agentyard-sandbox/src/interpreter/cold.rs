//! Code in an interpreter that is started for it. What it is to do lies in a directory, and it leaves its report there.

use std::fs::{self, File, Permissions};
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, fstat, openat2};

use super::call::Request;
use super::report::{MAX_REPORT_BYTES, Report};
use super::{Code, Script};
use crate::command::{Access, Command, Mount};
use crate::sandbox::Sandbox;

/// The program that runs the code.
const SOURCE: &str = concat!(include_str!("runner.py"), "\n\n", include_str!("cold.py"));

/// Where the code sees the directory.
const AT: &str = "/run/agentyard";

/// Code that is run in an interpreter of its own.
#[derive(Debug)]
pub struct ColdCall {
    directory: OwnedFd,
}

impl ColdCall {
    /// Turns code into a command. The directory, which must be there and empty, belongs to this one call; it must be in
    /// one that others cannot look into.
    ///
    /// # Errors
    /// When the directory cannot be written to.
    pub fn prepare(script: Script, directory: &Path, sandbox: &dyn Sandbox) -> io::Result<(Self, Command)> {
        let opened: OwnedFd = File::open(directory)?.into();
        let mount = Mount {
            source: opened.try_clone()?,
            host_path: directory.to_owned(),
            at: PathBuf::from(AT),
            access: Access::ReadWrite,
        };
        let inside = sandbox.path_inside(&mount);
        let request = seen_from_inside(&script, sandbox)?;
        fs::write(directory.join("run.py"), SOURCE)?;
        fs::write(directory.join("call.json"), serde_json::to_vec(&request)?)?;
        // Whoever runs the code writes here; nobody else comes by, because of the directory above.
        let report = File::create(directory.join("report.json"))?;
        report.set_permissions(Permissions::from_mode(0o666))?;
        fs::set_permissions(directory, Permissions::from_mode(0o755))?;
        let mut command = script.command;
        command.arguments = vec![inside.join("run.py").display().to_string()];
        command.mounts.push(mount);
        Ok((Self { directory: opened }, command))
    }

    /// What the code did, in its own words.
    #[must_use]
    pub fn report(&self) -> Option<Report> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let file = openat2(&self.directory, "report.json", flags, Mode::empty(), resolve).ok()?;
        let status = fstat(&file).ok()?;
        if FileType::from_raw_mode(status.st_mode) != FileType::RegularFile {
            return None;
        }
        let mut bytes = Vec::new();
        let most = MAX_REPORT_BYTES as u64 + 1;
        File::from(file).take(most).read_to_end(&mut bytes).ok()?;
        Report::read(&bytes)
    }
}

/// What the code is told, with the paths that it sees.
fn seen_from_inside(script: &Script, sandbox: &dyn Sandbox) -> io::Result<Request> {
    let mut request = Request::new(script).map_err(io::Error::other)?;
    if let Some(tree) = script.command.mounts.first() {
        let inside = sandbox.path_inside(tree);
        request.root = inside.display().to_string();
        if let Code::File(path) = &script.code
            && let Ok(below) = path.strip_prefix(&tree.at)
        {
            request.path = Some(inside.join(below).display().to_string());
        }
    }
    // It has its own already.
    request.environment.clear();
    Ok(request)
}
