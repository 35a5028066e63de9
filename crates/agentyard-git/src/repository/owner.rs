//! Whose repository it is.

use crate::{Confined, Error};

const ROOT: u32 = 0;

/// Refuses a directory that belongs to another user.
pub(super) fn check(directory: &Confined) -> Result<(), Error> {
    let stat = rustix::fs::fstat(directory.directory()).map_err(|errno| Error::OpenDirectory {
        path: directory.shown(),
        source: errno.into(),
    })?;
    let user = rustix::process::geteuid().as_raw();
    if may_use(user, stat.st_uid) {
        return Ok(());
    }
    Err(Error::ForeignOwner {
        path: directory.shown(),
        owner: stat.st_uid,
        user,
    })
}

/// Our own repositories, and root's: whoever is root needs no repository to harm us.
///
/// As root we open everybody's. That is how a server in a container meets a repository mounted from its host,
/// and there is nobody left to protect: the roots were granted by whoever started the server, and the
/// repository cannot run anything with our rights (see [`super::Repository`]).
fn may_use(user: u32, owner: u32) -> bool {
    user == ROOT || owner == ROOT || owner == user
}

#[cfg(test)]
mod tests {
    use super::may_use;

    #[test]
    fn strangers_are_refused() {
        assert!(may_use(1000, 1000));
        assert!(may_use(1000, 0));
        assert!(may_use(0, 1000));
        assert!(!may_use(1000, 1001));
    }
}
