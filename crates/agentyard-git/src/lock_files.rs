//! Locks between processes that share a data directory.
//!
//! Each lock is a file that its owner holds by `flock` and in which it writes who it is. The kernel lets go of it when
//! the owner dies, however it dies, so a lock is never stale; what stands in the file is only for those who wait.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::PathBuf;

use agentyard_model::Timestamp;
use rustix::fs::FlockOperation;
use rustix::io::Errno;

use crate::Error;
use crate::roots::shown;

/// The directory in which locks are.
#[derive(Debug, Clone)]
pub struct LockFiles {
    directory: PathBuf,
}

/// A lock, held until it is dropped.
#[derive(Debug)]
pub struct LockFile {
    file: File,
    is_shared: bool,
}

/// Whether a lock was free.
#[derive(Debug)]
pub enum Attempt {
    /// It was, and is held now.
    Held(LockFile),
    /// It was not.
    Taken(LockHolder),
}

/// Who holds a lock, by its own account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockHolder {
    /// The process.
    pub process: u32,
    /// What it does.
    pub doing: String,
    /// For whom.
    pub by: String,
    /// Since when.
    pub since: Option<Timestamp>,
}

/// Nobody has more to say.
const LONGEST: u64 = 4096;

/// How often a lock is looked for whose file is gone again.
const TRIES: usize = 100;

impl LockFiles {
    /// The locks in this directory, which is made when the first one is taken.
    pub fn new(directory: PathBuf) -> Self {
        Self { directory }
    }

    /// Takes the lock of this name, unless somebody has it. The name is one of our own making.
    pub fn try_take(&self, name: &str, doing: &str, by: &str, now: Timestamp) -> Result<Attempt, Error> {
        self.attempt(name, doing, by, now, FlockOperation::NonBlockingLockExclusive)
    }

    /// Takes a share in the lock of this name, unless somebody has it all. Of those who share it, the file tells the last
    /// that came.
    pub fn try_share(&self, name: &str, doing: &str, by: &str, now: Timestamp) -> Result<Attempt, Error> {
        self.attempt(name, doing, by, now, FlockOperation::NonBlockingLockShared)
    }

    fn attempt(
        &self,
        name: &str,
        doing: &str,
        by: &str,
        now: Timestamp,
        how: FlockOperation,
    ) -> Result<Attempt, Error> {
        let path = self.directory.join(name);
        let failed = |source| Error::ReadFile {
            path: shown(&path),
            source,
        };
        std::fs::create_dir_all(&self.directory).map_err(failed)?;
        for _ in 0..TRIES {
            let mut file = File::options()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600)
                .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
                .open(&path)
                .map_err(failed)?;
            match rustix::fs::flock(&file, how) {
                Ok(()) => {}
                Err(Errno::WOULDBLOCK) => return Ok(Attempt::Taken(LockHolder::read(&mut file))),
                Err(errno) => return Err(failed(errno.into())),
            }
            // Somebody may have tidied the file away meanwhile; then another one is the lock by now.
            let current = std::fs::metadata(&path).is_ok_and(|there| {
                file.metadata()
                    .is_ok_and(|ours| (ours.dev(), ours.ino()) == (there.dev(), there.ino()))
            });
            if current {
                let record = format!(
                    "{}\n{}\n{}\n{}\n",
                    std::process::id(),
                    now,
                    one_line(doing),
                    one_line(by)
                );
                // A disk that is full must not keep anybody from a lock: it is held whatever stands in it.
                let _ = file.set_len(0).and_then(|()| file.write_all(record.as_bytes()));
                let is_shared = how == FlockOperation::NonBlockingLockShared;
                return Ok(Attempt::Held(LockFile { file, is_shared }));
            }
        }
        Err(Error::state(
            format!("the lock {} changes hands all the time", shown(&path)),
            "try again",
        ))
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        // Others who share it may be told of in the file.
        if !self.is_shared {
            let _ = self.file.set_len(0);
        }
    }
}

impl LockHolder {
    fn read(file: &mut File) -> Self {
        let mut text = String::new();
        let _ = file.seek(SeekFrom::Start(0));
        let _ = file.take(LONGEST).read_to_string(&mut text);
        let mut lines = text.lines();
        let mut next = || lines.next().unwrap_or_default().to_owned();
        Self {
            process: next().parse().unwrap_or_default(),
            since: next().parse().ok(),
            doing: next(),
            by: next(),
        }
    }
}

fn one_line(text: &str) -> String {
    text.chars()
        .map(|character| if character.is_control() { ' ' } else { character })
        .take(200)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Timestamp {
        "2026-01-02T03:04:05Z".parse().unwrap()
    }

    #[test]
    fn who_waits_is_told_for_whom_and_a_lock_is_free_when_dropped() {
        let directory = tempfile::tempdir().unwrap();
        let locks = LockFiles::new(directory.path().join("locks"));
        let Attempt::Held(held) = locks.try_take("a", "make\nall", "local", now()).unwrap() else {
            panic!("it is free");
        };
        let Attempt::Taken(holder) = locks.try_take("a", "git_commit", "ci", now()).unwrap() else {
            panic!("it is taken");
        };
        let expected = LockHolder {
            process: std::process::id(),
            doing: "make all".to_owned(),
            by: "local".to_owned(),
            since: Some(now()),
        };
        assert_eq!(holder, expected);
        assert!(matches!(
            locks.try_take("b", "git_commit", "ci", now()).unwrap(),
            Attempt::Held(_)
        ));
        drop(held);
        assert!(matches!(
            locks.try_take("a", "git_commit", "ci", now()).unwrap(),
            Attempt::Held(_)
        ));
    }

    #[test]
    fn a_lock_is_shared_by_many_or_held_by_one() {
        let directory = tempfile::tempdir().unwrap();
        let locks = LockFiles::new(directory.path().to_owned());
        let held = |attempt: Result<Attempt, Error>| match attempt.unwrap() {
            Attempt::Held(lock) => Ok(lock),
            Attempt::Taken(holder) => Err(holder.by),
        };
        let first = held(locks.try_share("a", "run", "ada", now())).unwrap();
        let second = held(locks.try_share("a", "run", "bob", now())).unwrap();
        assert_eq!(
            held(locks.try_take("a", "install", "eve", now())).unwrap_err(),
            "bob"
        );
        drop(second);
        assert_eq!(
            held(locks.try_take("a", "install", "eve", now())).unwrap_err(),
            "bob"
        );
        drop(first);
        let _alone = held(locks.try_take("a", "install", "eve", now())).unwrap();
        assert_eq!(
            held(locks.try_share("a", "run", "ada", now())).unwrap_err(),
            "eve"
        );
    }

    #[test]
    fn a_lock_that_was_removed_is_made_anew() {
        let directory = tempfile::tempdir().unwrap();
        let locks = LockFiles::new(directory.path().to_owned());
        let Attempt::Held(_held) = locks.try_take("a", "x", "y", now()).unwrap() else {
            panic!("it is free");
        };
        std::fs::remove_file(directory.path().join("a")).unwrap();
        assert!(matches!(
            locks.try_take("a", "x", "y", now()).unwrap(),
            Attempt::Held(_)
        ));
    }
}
