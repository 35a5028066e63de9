//! What a command may take, and that it ends whole.

use std::time::Duration;

use agentyard_sandbox::{CommandError, EndCause, Event, Limits, Sandbox as _};

use crate::support::{Place, bubblewrap, finish, lives, run_in, until};

const MEBIBYTE: u64 = 1024 * 1024;

/// Takes memory until there is no more.
const HOG: &str = "x = []\nwhile True: x.append(bytearray(8 << 20))";

#[tokio::test]
async fn memory_is_limited_and_counted() {
    let place = Place::new();
    let mut command = place.command(&["python3", "-c", HOG]);
    command.limits.memory_bytes = 64 * MEBIBYTE;
    let exit = run_in(&bubblewrap(), command).await.unwrap().exit();
    assert_eq!(exit.cause, EndCause::MemoryLimit, "{exit:?}");
    let peak = exit.usage.peak_memory_bytes.unwrap();
    assert!((32 * MEBIBYTE..=64 * MEBIBYTE).contains(&peak), "{peak}");
    assert!(exit.usage.cpu.unwrap() > Duration::ZERO);
}

#[tokio::test]
async fn files_in_memory_are_limited_too() {
    let place = Place::new();
    let mut command = place.shell(
        "head -c 100M /dev/zero > /tmp/x; head -c 100M /dev/zero > /dev/shm/x; du -sm /tmp /dev/shm /run",
    );
    command.limits.memory_bytes = 48 * MEBIBYTE;
    command.limits.disk_bytes = 8 * MEBIBYTE;
    let outcome = run_in(&bubblewrap(), command).await.unwrap();
    assert_eq!(outcome.stdout(), "8\t/tmp\n8\t/dev/shm\n0\t/run\n", "{outcome:?}");
}

#[tokio::test]
async fn processes_are_limited() {
    let place = Place::new();
    let script = "import os, time\nn = 0\ntry:\n  while True:\n    if os.fork() == 0: time.sleep(1000)\n    n += 1\nexcept OSError: print(n)";
    let mut command = place.command(&["python3", "-c", script]);
    command.limits.processes = 20;
    let outcome = run_in(&bubblewrap(), command).await.unwrap();
    assert_eq!(outcome.stdout(), "20\n");
}

#[tokio::test]
async fn files_are_limited_in_size_and_number() {
    let place = Place::new();
    let script = "head -c 3M /dev/zero > large; ls -l large | cut -d' ' -f5; ulimit -n; ulimit -c";
    let mut command = place.shell(script);
    command.limits.file_bytes = MEBIBYTE;
    command.limits.open_files = 70;
    let outcome = run_in(&bubblewrap(), command).await.unwrap();
    assert_eq!(outcome.stdout(), "1048576\n70\n0\n");
}

#[tokio::test]
async fn who_fills_the_disk_is_ended() {
    let place = Place::new();
    // Also files that nobody can find any more count.
    let script = "exec 3> gone; rm gone; i=0; while :; do head -c 4M /dev/zero >&3; head -c 4M /dev/zero > $i; i=$((i+1)); done";
    let mut command = place.shell(script);
    command.limits.disk_bytes = 64 * MEBIBYTE;
    let exit = run_in(&bubblewrap(), command).await.unwrap().exit();
    assert_eq!(exit.cause, EndCause::DiskLimit, "{exit:?}");
}

#[tokio::test]
async fn who_says_too_much_is_ended() {
    let place = Place::new();
    let mut command = place.command(&["yes"]);
    command.limits.output_bytes = MEBIBYTE;
    let outcome = run_in(&bubblewrap(), command).await.unwrap();
    assert_eq!(outcome.exit().cause, EndCause::OutputLimit);
}

#[tokio::test]
async fn the_deadline_ends_everybody_and_whoever_asks_may_tidy_up() {
    let place = Place::new();
    let script = "setsid sh -c 'trap \"\" TERM; while :; do sleep 1; done' & \
                  trap 'echo tidied; exit 7' TERM; echo ready; while :; do sleep 0.01; done";
    let mut command = place.shell(script);
    command.limits = Limits {
        duration: Duration::from_millis(700),
        ..command.limits
    };
    let outcome = run_in(&bubblewrap(), command).await.unwrap();
    assert_eq!(outcome.exit().cause, EndCause::Deadline);
    assert!(
        outcome.stdout().is_empty() || outcome.stdout() == "ready\ntidied\n",
        "{outcome:?}"
    );
}

#[tokio::test]
async fn a_daemon_neither_outlives_its_command_nor_holds_it_up() {
    let place = Place::new();
    let script = "setsid sleep 54321 & echo started";
    let outcome = run_in(&bubblewrap(), place.shell(script)).await.unwrap();
    assert_eq!(outcome.stdout(), "started\n");
    assert!(!is_running("54321"));
}

#[tokio::test]
async fn who_is_dropped_ends() {
    let place = Place::new();
    let mut running = bubblewrap()
        .start(place.shell("echo ready; exec sleep 54322"))
        .await
        .unwrap();
    assert!(matches!(running.next().await, Ok(Event::Output(..))));
    until(|| is_running("54322").then_some(()));
    drop(running);
    until(|| (!is_running("54322")).then_some(()));
}

#[tokio::test]
async fn when_the_leader_is_killed_the_sandbox_ends() {
    let place = Place::new();
    let mut running = bubblewrap()
        .start(place.shell("echo ready; exec sleep 54323"))
        .await
        .unwrap();
    assert!(matches!(running.next().await, Ok(Event::Output(..))));
    let leader = parents_of_bwrap("54323");
    rustix::process::kill_process(leader, rustix::process::Signal::KILL).unwrap();
    let error = finish(&mut running).await.unwrap_err();
    assert!(matches!(error, CommandError::Lost { .. }), "{error}");
    until(|| (!is_running("54323")).then_some(()));
}

#[tokio::test]
async fn groups_are_gone_when_a_command_is() {
    let place = Place::new();
    run_in(&bubblewrap(), place.shell("true")).await.unwrap();
    let ours = format!("agentyard-{}-", std::process::id());
    let memory = own_memory_group();
    until(|| {
        let left = std::fs::read_dir(&memory).unwrap().flatten();
        let mut names = left.map(|entry| entry.file_name());
        (!names.any(|name| name.to_string_lossy().starts_with(&ours))).then_some(())
    });
}

fn own_memory_group() -> std::path::PathBuf {
    let text = std::fs::read_to_string("/proc/self/cgroup").unwrap();
    let line = text.lines().find(|line| line.contains(":memory:")).unwrap();
    let path = line.rsplit(':').next().unwrap();
    std::path::Path::new("/sys/fs/cgroup/memory").join(path.trim_start_matches('/'))
}

/// Whether a `sleep` with this argument lives.
fn is_running(argument: &str) -> bool {
    processes(argument).into_iter().any(lives)
}

fn processes(argument: &str) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries
        .filter_map(|entry| {
            let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
            let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
            (words.first() == Some(&b"sleep".as_slice()) && words.contains(&argument.as_bytes()))
                .then_some(pid)
        })
        .collect()
}

/// The leader of the sandbox in which that `sleep` is.
fn parents_of_bwrap(argument: &str) -> rustix::process::Pid {
    let parent = |pid: u32| -> u32 {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        stat.rsplit(')')
            .next()
            .unwrap()
            .split_ascii_whitespace()
            .nth(1)
            .unwrap()
            .parse()
            .unwrap()
    };
    let sleep = until(|| processes(argument).into_iter().next());
    // Above it are the first process of the sandbox, bubblewrap, and the leader.
    let leader = parent(parent(parent(sleep)));
    rustix::process::Pid::from_raw(leader.try_into().unwrap()).unwrap()
}
