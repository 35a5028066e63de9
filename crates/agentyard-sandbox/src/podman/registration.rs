//! Which service something belongs to, and whether that is still there.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Numbers the services of this process, and tells those that are there.
static SERVICES: Mutex<(u64, BTreeSet<u64>)> = Mutex::new((0, BTreeSet::new()));

/// A service's place among those of this process.
#[derive(Debug)]
pub(super) struct Registration(u64);

impl Registration {
    pub(super) fn new() -> Self {
        let mut services = services();
        services.0 += 1;
        let number = services.0;
        services.1.insert(number);
        Self(number)
    }

    /// What its containers and files are known by.
    pub(super) fn name(&self) -> io::Result<String> {
        Ok(format!("{}-{}", identity(std::process::id())?, self.0))
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        services().1.remove(&self.0);
    }
}

fn services() -> MutexGuard<'static, (u64, BTreeSet<u64>)> {
    SERVICES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Which process of which machine: its namespace, its number and when it started.
fn identity(process: u32) -> io::Result<String> {
    let namespace = fs::metadata("/proc/self/ns/pid")?.ino();
    let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
    let start = stat
        .rsplit(')')
        .next()
        .and_then(|rest| rest.split_whitespace().nth(19));
    Ok(format!("{namespace}-{process}-{}", start.unwrap_or("0")))
}

/// Whether a service that could be seen from here is not there any more.
pub(super) fn is_gone(server: &str) -> bool {
    let parts: Vec<&str> = server.split('-').collect();
    let [namespace, process, start, number] = parts[..] else {
        return false;
    };
    let is_here = fs::metadata("/proc/self/ns/pid").is_ok_and(|own| own.ino().to_string() == namespace);
    let (Ok(process), Ok(number)) = (process.parse::<u32>(), number.parse()) else {
        return false;
    };
    match identity(process) {
        _ if !is_here => false,
        Ok(now) if now != format!("{namespace}-{process}-{start}") => true,
        Ok(_) => process == std::process::id() && !services().1.contains(&number),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_services_of_this_machine_can_be_gone() {
        let own = identity(std::process::id()).unwrap();
        let registration = Registration::new();
        let number = registration.0;
        assert!(!is_gone(&format!("{own}-{number}")));
        drop(registration);
        assert!(is_gone(&format!("{own}-{number}")));
        let (rest, _) = own.rsplit_once('-').unwrap();
        assert!(is_gone(&format!("{rest}-1-{number}")));
        for text in ["", "x", "1-1-1-1", "4026531836", own.as_str()] {
            assert!(!is_gone(text), "{text}");
        }
    }
}
