//! Signals that were ignored when the daemon was started.

use std::fs;

use rustix::process::Signal;
use tokio::signal::unix::{SignalKind, signal};

/// Keeps what is started here from ignoring what this process was made to ignore.
///
/// Whoever starts the server under `nohup`, or in the background of a script, makes it ignore signals; so do all whom it
/// starts, and those whom they start, and no shell among them can undo it. A signal that is listened to is not passed on
/// so: programs begin with what the kernel does by default. The daemon itself still does nothing about it.
pub(super) fn ignore_alone() {
    // Where the kernel does not tell, everything is as it was.
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    for number in ignored(&status) {
        // Who writes to nobody is not to be ended by that here, and the standard library puts it right for programs.
        if number != Signal::PIPE.as_raw() {
            // The few that cannot be listened to stay as they are.
            let _ = signal(SignalKind::from_raw(number));
        }
    }
}

/// The numbers of ignored signals in what the kernel tells of a process.
fn ignored(status: &str) -> impl Iterator<Item = i32> {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    let mask = mask.unwrap_or_default();
    (1..=64).filter(move |number| mask >> (number - 1) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_bits_of_a_mask() {
        let status =
            "Name:\tx\nSigBlk:\t0000000000000004\nSigIgn:\t8000000000001007\nSigCgt:\t0000000000000010\n";
        assert_eq!(ignored(status).collect::<Vec<_>>(), [1, 2, 3, 13, 64]);
        for nothing in ["", "SigIgn:\t\n", "SigIgn:\tmany\n"] {
            assert_eq!(ignored(nothing).count(), 0, "{nothing:?}");
        }
    }
}
