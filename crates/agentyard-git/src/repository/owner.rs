//! Whose repository it is.

use crate::{Confined, Error};

const ROOT: u32 = 0;

/// As whom the kernel shows everybody who has no number in the user namespace of this process.
const NOBODY: u32 = 65534;

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
    if stat.st_uid == NOBODY && !is_known(&uid_map(), NOBODY) {
        return Err(Error::UnknownOwner {
            path: directory.shown(),
        });
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

/// Who has a number here: lines of the first one, the first one's in the namespace outside, and how many follow.
fn uid_map() -> String {
    std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default()
}

fn is_known(uid_map: &str, user: u32) -> bool {
    uid_map.lines().any(|line| {
        let numbers: Vec<u32> = line
            .split_whitespace()
            .filter_map(|field| field.parse().ok())
            .collect();
        matches!(numbers.as_slice(), [first, _, count] if user.checked_sub(*first).is_some_and(|place| place < *count))
    })
}

#[cfg(test)]
mod tests {
    use super::{NOBODY, is_known, may_use};

    #[test]
    fn nobody_is_a_user_only_where_all_are_known() {
        assert!(is_known("         0          0 4294967295\n", NOBODY));
        assert!(!is_known("      1000       1000          1\n", NOBODY));
        assert!(!is_known("0 1000 1\n1 100000 65533\n", NOBODY));
        assert!(is_known("0 1000 1\n1 100000 65536\n", NOBODY));
    }

    #[test]
    fn strangers_are_refused() {
        assert!(may_use(1000, 1000));
        assert!(may_use(1000, 0));
        assert!(may_use(0, 1000));
        assert!(!may_use(1000, 1001));
    }
}
