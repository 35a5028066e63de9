//! All that a command has started, and its end.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, getpgrp, getpid, kill_process, kill_process_group, wait,
};

/// How often an end is looked for.
const INTERVAL: Duration = Duration::from_millis(5);

/// A command and all that it has started, in the process that inherits what its parents leave behind.
pub(super) struct Tree {
    root: Pid,
    status: Option<WaitStatus>,
    is_empty: bool,
}

impl Tree {
    /// The tree below a child of this process.
    pub(super) fn of(root: Pid) -> Self {
        Self {
            root,
            status: None,
            is_empty: false,
        }
    }

    pub(super) fn root(&self) -> Pid {
        self.root
    }

    pub(super) fn root_has_ended(&self) -> bool {
        self.status.is_some()
    }

    /// The exit code of the command itself.
    pub(super) fn exit_code(&self) -> Option<i32> {
        self.status.and_then(WaitStatus::exit_status)
    }

    /// The signal that ended it.
    pub(super) fn signal(&self) -> Option<i32> {
        self.status.and_then(WaitStatus::terminating_signal)
    }

    /// Buries the dead. Whoever has no parent any more is a child of this process, so without children there is
    /// nobody left at all.
    pub(super) fn reap(&mut self) {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.root => self.status = Some(status),
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return,
                Err(_) => {
                    self.is_empty = true;
                    return;
                }
            }
        }
    }

    /// Asks everybody to end, and makes them after a while. Returns when nobody is left.
    pub(super) fn end(&mut self, grace: Duration) {
        self.reap();
        if self.is_empty {
            return;
        }
        signal_all(&descendants(getpid()), Signal::TERM);
        let deadline = Instant::now() + grace;
        while !self.is_empty && Instant::now() < deadline {
            thread::sleep(INTERVAL);
            self.reap();
        }
        while !self.is_empty {
            signal_all(&descendants(getpid()), Signal::KILL);
            thread::sleep(INTERVAL);
            self.reap();
        }
    }
}

/// Asks everybody below a process to end.
pub(super) fn ask_to_end(ancestor: Pid) {
    signal_all(&descendants(ancestor), Signal::TERM);
}

/// Kills all processes of a session.
pub(super) fn kill_session(session: i32) {
    let members: Vec<Process> = processes()
        .into_iter()
        .filter(|process| process.session == session)
        .collect();
    signal_all(&members, Signal::KILL);
}

/// A process, as the kernel describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Process {
    pid: Pid,
    parent: i32,
    group: i32,
    session: i32,
}

/// Signals process groups as a whole, which no member can evade by forking, and then each process by itself, since
/// one may have joined our own group, which must stay.
fn signal_all(processes: &[Process], signal: Signal) {
    let own_group = getpgrp();
    let groups: HashSet<Pid> = processes
        .iter()
        .filter_map(|process| Pid::from_raw(process.group))
        .filter(|group| *group != own_group)
        .collect();
    // Whoever has ended meanwhile needs no signal.
    for group in &groups {
        let _ = kill_process_group(*group, signal);
    }
    for process in processes.iter().filter(|process| {
        let group = Pid::from_raw(process.group);
        group.is_none_or(|group| !groups.contains(&group))
    }) {
        let _ = kill_process(process.pid, signal);
    }
}

/// The living processes below one.
fn descendants(ancestor: Pid) -> Vec<Process> {
    let mut children: HashMap<i32, Vec<Process>> = HashMap::new();
    for process in processes() {
        children.entry(process.parent).or_default().push(process);
    }
    let mut found = Vec::new();
    let mut parents = vec![ancestor.as_raw_nonzero().get()];
    while let Some(parent) = parents.pop() {
        for process in children.remove(&parent).unwrap_or_default() {
            parents.push(process.pid.as_raw_nonzero().get());
            found.push(process);
        }
    }
    found
}

/// All living processes that this one can see.
fn processes() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| {
            let pid: i32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
            let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
            parsed(Pid::from_raw(pid)?, &text)
        })
        .collect()
}

/// Reads `/proc/<pid>/stat`: `pid (name) state parent group session …`, where the name may hold anything.
fn parsed(pid: Pid, stat: &[u8]) -> Option<Process> {
    let name_end = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(stat.get(name_end + 1..)?).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let is_dead = matches!(fields.next()?, "Z" | "X");
    let mut number = || fields.next()?.parse().ok();
    let process = Process {
        pid,
        parent: number()?,
        group: number()?,
        session: number()?,
    };
    (!is_dead).then_some(process)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_pretend_to_be_numbers() {
        let pid = getpid();
        let parse =
            |text: &[u8]| parsed(pid, text).map(|process| (process.parent, process.group, process.session));
        assert_eq!(parse(b"7 (a) S 1 2 3 0 -1"), Some((1, 2, 3)));
        assert_eq!(parse(b"7 (x) S 9 9 9 \xff) S 1 2 3 0 -1"), Some((1, 2, 3)));
        assert_eq!(parse(b"7 (a) Z 1 2 3 0 -1"), None);
        assert_eq!(parse(b"7 (a"), None);
    }

    #[test]
    fn this_process_is_below_its_parent() {
        let parent = rustix::process::getppid().unwrap();
        assert!(descendants(parent).iter().any(|process| process.pid == getpid()));
        assert!(
            !descendants(getpid())
                .iter()
                .any(|process| process.pid == getpid())
        );
    }
}
