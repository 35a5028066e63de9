use std::ffi::OsString;
use std::fs;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::*;
use crate::machine::MachineContext;
use crate::machine::finding::{Finding, State};

/// Held by a test that writes or starts programs: a process started between the writing of a script and
/// its closing holds it open, and a script that is open for writing cannot be started.
static TURN: Mutex<()> = Mutex::new(());

fn wait_for_turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does something with a machine whose only programs are these scripts, in this directory.
fn with_scripts<T>(scripts: &[(&str, &str)], act: impl FnOnce(&Machine, &Path) -> T) -> T {
    let _turn = wait_for_turn();
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in scripts {
        let path = directory.path().join(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let machine = Machine::new(MachineContext {
        search_path: directory.path().into(),
        home: None,
        runtime_directory: None,
        scratch: directory.path().to_path_buf(),
    });
    act(&machine, directory.path())
}

/// This machine as it is.
fn real(scratch: &Path) -> Machine {
    Machine::new(MachineContext {
        search_path: OsString::from("/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"),
        home: None,
        runtime_directory: None,
        scratch: scratch.to_path_buf(),
    })
}

#[test]
fn a_program_is_found_by_absolute_directories_only() {
    with_scripts(&[("tool", "true")], |machine, directory| {
        assert_eq!(machine.locate("tool"), Some(directory.join("tool")));
        assert_eq!(machine.locate("other"), None);
        fs::write(directory.join("plain"), "").unwrap();
        assert_eq!(machine.locate("plain"), None);
        let mut machine = machine.clone();
        machine.context.search_path = OsString::from(".:tool:");
        assert_eq!(machine.locate("tool"), None);
    });
}

#[test]
fn a_program_sees_what_it_is_given_and_nothing_else() {
    let print = "/usr/bin/env -u PWD -u _ -u SHLVL -u OLDPWD | /usr/bin/sort | /usr/bin/tr '\\n' ' '";
    with_scripts(&[("tool", print)], |machine, directory| {
        let outcome = machine.probe("tool", &["x"]).unwrap();
        assert_eq!(
            outcome.first_line(),
            format!("LC_ALL=C PATH={}", directory.display())
        );
    });
}

#[test]
fn a_program_that_hangs_is_killed_with_its_children() {
    let hang = "/bin/sleep 60 & echo $! > \"$1\"; wait";
    with_scripts(&[("tool", hang)], |machine, directory| {
        let note = directory.join("pid");
        let begun = Instant::now();
        let error = machine.probe("tool", &[&note]).unwrap_err();
        assert!(matches!(error, ProbeError::TimedOut(_)), "{error}");
        assert!(begun.elapsed() < DEADLINE + Duration::from_secs(1));
        let child = fs::read_to_string(note).unwrap();
        assert!(is_gone(child.trim()), "{child}");
    });
}

#[test]
fn a_child_that_stays_behind_is_neither_waited_for_nor_left() {
    with_scripts(&[("tool", "/bin/sleep 60 & echo $!")], |machine, _| {
        let begun = Instant::now();
        let outcome = machine.probe("tool", &["x"]).unwrap();
        assert!(begun.elapsed() < DEADLINE);
        assert!(is_gone(&outcome.first_line()), "{}", outcome.first_line());
    });
}

/// Whether a process has ended; one that nobody has collected yet counts.
fn is_gone(process: &str) -> bool {
    let state = || fs::read_to_string(format!("/proc/{process}/stat")).ok();
    let ended = |stat: Option<String>| stat.is_none_or(|stat| stat.contains(") Z "));
    // The signal was sent; the kernel may take a moment to act on it.
    let begun = Instant::now();
    while !ended(state()) {
        if begun.elapsed() > Duration::from_secs(5) {
            return false;
        }
        std::thread::yield_now();
    }
    true
}

#[test]
fn output_is_fit_to_be_shown() {
    let shout = "printf '\\n\\033[31mred\\007%0500d\\n' 7";
    with_scripts(&[("tool", shout)], |machine, _| {
        let line = machine.probe("tool", &["x"]).unwrap().first_line();
        assert_eq!(line.chars().count(), MAX_LINE_CHARACTERS);
        assert!(line.starts_with(" [31mred 000"), "{line}");
    });
}

#[test]
fn a_git_that_is_absent_broken_or_old_is_missing() {
    let git = |text| with_scripts(&[("git", text)], |machine, _| machine.git());
    assert_eq!(git("echo git version 2.47.3").state, State::Ok);
    assert_eq!(git("echo broken >&2; exit 3").state, State::Missing);
    let old = git("echo git version 2.38.1");
    assert_eq!(old.state, State::Missing);
    assert!(
        old.detail.starts_with("git version 2.38.1 at /"),
        "{}",
        old.detail
    );
    assert!(old.detail.ends_with(": too old"), "{}", old.detail);
    let absent = with_scripts(&[], |machine, _| machine.git());
    assert_eq!(
        absent,
        Finding::missing(
            "git",
            "there is no program `git` on the search path",
            "install git 2.39 or newer, and see that it comes first on PATH",
        )
    );
}

#[test]
fn what_is_there_and_does_not_work_is_limited() {
    let python = "[ \"$1\" = --version ] && echo Python 3.11.2";
    let python = with_scripts(&[("python3", python)], |machine, _| machine.python());
    assert_eq!(python.state, State::Limited);
    assert!(
        python.detail.ends_with("but without `venv` and `ensurepip`"),
        "{}",
        python.detail
    );

    let bubblewrap =
        "[ \"$1\" = --version ] && echo bubblewrap 0.8.0 || { echo 'No permissions' >&2; exit 1; }";
    let bubblewrap = with_scripts(&[("bwrap", bubblewrap)], |machine, _| machine.bubblewrap());
    assert_eq!(bubblewrap.state, State::Limited);
    assert!(
        bubblewrap.detail.ends_with("failed: No permissions"),
        "{}",
        bubblewrap.detail
    );
}

#[test]
fn every_attempt_on_this_machine_ends_and_leaves_nothing_behind() {
    let _turn = wait_for_turn();
    let scratch = tempfile::tempdir().unwrap();
    let mounts = || {
        fs::read_to_string("/proc/self/mountinfo")
            .unwrap()
            .lines()
            .count()
    };
    let before = mounts();
    let machine = real(scratch.path());
    let findings: Vec<Finding> = machine.isolation().into_iter().chain(machine.tools()).collect();
    for finding in &findings {
        assert_eq!(
            finding.state == State::Ok,
            finding.remedy.is_none(),
            "{finding:?}"
        );
        assert!(!finding.detail.is_empty(), "{finding:?}");
    }
    assert_eq!(mounts(), before);
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0);
}
