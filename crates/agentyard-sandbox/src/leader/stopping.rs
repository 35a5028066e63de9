//! Stopping everybody in a sandbox by signals, where there is no group that can be frozen.

use std::collections::HashSet;
use std::fs;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::watch::tree;

/// Tells everybody below a process, and itself, to stop; true when nobody was found who had not. Whoever was being
/// started meanwhile is found the next time.
pub(super) fn stop_all(first: Pid) -> bool {
    let running: Vec<i32> = tree(number(first))
        .into_iter()
        .filter(|pid| is_running(*pid))
        .collect();
    signal_all(first, &running, Signal::STOP);
    running.is_empty()
}

/// Lets everybody below a process, and itself, go on.
pub(super) fn go_on(first: Pid) {
    let all = tree(number(first));
    signal_all(first, &all, Signal::CONT);
}

/// Signals those of these who are still there: a number may be given to somebody else meanwhile, who is not below it.
fn signal_all(first: Pid, processes: &[i32], signal: Signal) {
    let opened: Vec<_> = processes
        .iter()
        .filter_map(|pid| Some((*pid, pidfd_open(Pid::from_raw(*pid)?, PidfdFlags::empty()).ok()?)))
        .collect();
    let still: HashSet<i32> = tree(number(first)).into_iter().collect();
    for (_, process) in opened.iter().filter(|(pid, _)| still.contains(pid)) {
        // Whoever has ended needs no signal.
        let _ = pidfd_send_signal(process, signal);
    }
}

fn number(pid: Pid) -> i32 {
    pid.as_raw_nonzero().get()
}

/// Whether a thread of a process still runs.
fn is_running(pid: i32) -> bool {
    let threads = fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten()
        .flatten();
    let mut states = threads.filter_map(|thread| {
        let stat = fs::read_to_string(thread.path().join("stat")).ok()?;
        let (_, rest) = stat.rsplit_once(')')?;
        rest.trim_start().chars().next()
    });
    states.any(|state| !matches!(state, 'T' | 't' | 'Z' | 'X'))
}
