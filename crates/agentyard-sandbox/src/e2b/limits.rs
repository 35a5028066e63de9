//! What a command cannot have more of in a sandbox of somebody else's: as far as a process there may bound itself, which
//! needs no rights, holds for all that it starts, and is never taken back.

use std::collections::BTreeMap;
use std::time::Duration;

use agentyard_envd::Exchange;
use agentyard_envd::client::{self, CallError};
use agentyard_envd::process::StartRequest;

use super::launch::bounded;
use crate::command::Limits;
use crate::sandbox::{Enforcement, Weakness};

/// How long finding out may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// How much of what is told is read.
const MOST: usize = 64 * 1024;

/// Each bound, as Linux calls it and as we do.
const BOUNDS: [(&str, &str); 5] = [
    ("Max file size", "size of files"),
    ("Max open files", "open files"),
    ("Max data size", "memory of each process"),
    ("Max cpu time", "processor time of each process"),
    ("Max processes", "processes"),
];

/// File size, open files, memory, processor time and processes as `ulimit` takes them.
pub(super) fn in_units_of_shells(limits: &Limits) -> [String; 5] {
    let [files, open, data, seconds, processes] = as_numbers(limits);
    [files / 512, open, data / 1024, seconds, processes].map(|number| number.to_string())
}

/// The same in bytes, seconds and pieces.
fn as_numbers(limits: &Limits) -> [u64; 5] {
    // What so large a part of the processors makes of the time that it has. Whoever is held to that part all the while
    // never comes to more.
    let hundredths = limits.duration.as_secs().saturating_add(1);
    let seconds = hundredths.saturating_mul(limits.cpu_percent.into()).div_ceil(100);
    [
        limits.file_bytes,
        limits.open_files,
        limits.memory_bytes,
        seconds,
        limits.processes.into(),
    ]
}

/// Finds out which of them hold in a sandbox, by a program that is bounded as all are and tells what it may have.
pub(super) async fn tried(sandbox: &dyn Exchange) -> Result<Enforcement, CallError> {
    let limits = Limits::default();
    let words = ["cat", "/proc/self/limits"].map(str::to_owned).to_vec();
    let environment = BTreeMap::from([("LC_ALL".to_owned(), "C".to_owned())]);
    let request = StartRequest {
        process: bounded("none", &limits, words, environment, "/".to_owned()),
        stdin: Some(false),
        ..StartRequest::default()
    };
    let ran = client::run(sandbox, &request, PATIENCE, MOST).await?;
    Ok(told(&String::from_utf8_lossy(&ran.stdout), &limits))
}

fn told(text: &str, wanted: &Limits) -> Enforcement {
    let most = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    let (mut holds, mut missing) = (Vec::new(), Vec::new());
    for ((name, ours), wanted) in BOUNDS.into_iter().zip(as_numbers(wanted)) {
        match most(name) {
            Some(most) if most <= wanted => holds.push(ours),
            _ => missing.push(ours),
        }
    }
    let mut enforcement = Enforcement {
        holds: [
            "processes, files, memory, cpu: machines of the service",
            "time, output: watched",
            "network: by the service",
        ]
        .map(str::to_owned)
        .to_vec(),
        weaker: vec![Weakness {
            what: "memory of all processes of one command together, its part of the processors".to_owned(),
            reason: "the template says what a sandbox has, and its commands share that".to_owned(),
            remedy: "choose another `e2b.template`".to_owned(),
        }],
        breaches: Vec::new(),
    };
    if !holds.is_empty() {
        enforcement
            .holds
            .push(format!("{} of one command: rlimits", holds.join(", ")));
    }
    if !missing.is_empty() {
        enforcement.weaker.push(Weakness {
            what: format!("{} of one command", missing.join(", ")),
            reason: "the shell of the template did not set it when that was tried".to_owned(),
            remedy: "choose an `e2b.template` whose `/bin/sh` has `ulimit`, as Debian's".to_owned(),
        });
    }
    enforcement
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_told_in_the_units_of_shells() {
        let limits = Limits {
            duration: Duration::from_secs(9),
            cpu_percent: 150,
            ..Limits::default()
        };
        assert_eq!(
            in_units_of_shells(&limits),
            ["4194304", "4096", "2097152", "15", "256"]
        );
        let endless = Limits {
            duration: Duration::MAX,
            ..limits
        };
        assert!(in_units_of_shells(&endless)[3].parse::<u64>().is_ok());
    }

    #[test]
    fn only_what_was_seen_is_said_to_hold() {
        let seen = "Limit                     Soft Limit           Hard Limit           Units\n\
                    Max cpu time              122                  122                  seconds\n\
                    Max file size             1024                 1024                 bytes\n\
                    Max data size             unlimited            unlimited            bytes\n\
                    Max processes             96360                96360                processes\n";
        let enforcement = told(seen, &Limits::default());
        let held = enforcement.holds.last().unwrap();
        assert_eq!(
            held,
            "size of files, processor time of each process of one command: rlimits"
        );
        let missing = &enforcement.weaker.last().unwrap().what;
        assert_eq!(
            missing,
            "open files, memory of each process, processes of one command"
        );
        let nothing = told("", &Limits::default());
        assert_eq!((nothing.holds.len(), nothing.weaker.len()), (3, 2));
    }
}
