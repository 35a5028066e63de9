//! Lock files that somebody left behind.

/// The lock that git found in its way, by what it said.
pub(crate) fn lock_in(said: &str) -> Option<String> {
    let (_, rest) = said.split_once("Unable to create '")?;
    let (path, rest) = rest.split_once("': ")?;
    (path.ends_with(".lock") && rest.starts_with("File exists")).then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_told_from_other_failures() {
        let said = "fatal: Unable to create '/a b/.git/index.lock': File exists.\n\nAnother git process seems to be running";
        assert_eq!(lock_in(said).as_deref(), Some("/a b/.git/index.lock"));
        assert_eq!(
            lock_in("fatal: Unable to create '/a/.git/index.lock': Permission denied"),
            None
        );
        assert_eq!(lock_in("error: nope"), None);
    }
}
