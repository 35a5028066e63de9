//! Making the namespaces.

use std::fs;

use rustix::process::{getegid, geteuid};
use rustix::thread::UnshareFlags;

/// Puts this process, which has a single thread, into a new user namespace and a mount namespace that belongs to it.
///
/// What the host mounts later appears inside where the host shares its mounts, as it usually does; what is mounted
/// inside never appears outside. The kernel sees to both when the user namespace changes with the mount namespace.
pub(super) fn make() -> Result<(), String> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    refuse_nobody(user, group)?;
    unshare(UnshareFlags::NEWUSER | UnshareFlags::NEWNS)
        .map_err(|error| format!("a user namespace could not be made: {error}"))?;
    let write = |file: &str, text: &str| {
        let path = format!("/proc/self/{file}");
        fs::write(&path, text).map_err(|error| format!("{path} could not be written: {error}"))
    };
    write("uid_map", &format!("{user} {user} 1"))?;
    // Without this the kernel lets nobody but root map groups: dropping one could give access.
    write("setgroups", "deny")?;
    write("gid_map", &format!("{group} {group} 1"))
}

/// Inside, files of all other users are shown as nobody's. To somebody who is nobody they would seem to be their own.
fn refuse_nobody(user: u32, group: u32) -> Result<(), String> {
    const USUALLY: u32 = 65534;
    let nobody = |kind: &str| {
        let text = fs::read_to_string(format!("/proc/sys/kernel/overflow{kind}")).ok();
        text.and_then(|text| text.trim().parse().ok()).unwrap_or(USUALLY)
    };
    if user == nobody("uid") || group == nobody("gid") {
        return Err(
            "this process runs as nobody, to whom everybody's files would seem to belong inside".to_owned(),
        );
    }
    Ok(())
}

#[expect(
    deprecated,
    reason = "it is for the sake of file descriptors that the other one is unsafe, and those stay shared here"
)]
pub(crate) fn unshare(namespaces: UnshareFlags) -> rustix::io::Result<()> {
    rustix::thread::unshare(namespaces)
}

#[cfg(test)]
mod tests {
    use super::refuse_nobody;

    #[test]
    fn nobody_is_refused() {
        assert!(refuse_nobody(1000, 1000).is_ok());
        assert!(refuse_nobody(65534, 1000).is_err());
        assert!(refuse_nobody(1000, 65534).is_err());
    }
}
