//! The same without root: the tests of this part are run once more, by a user who is nobody in particular.

use agentyard_sandbox::{EndCause, Sandbox as _};

use crate::support::{Place, as_somebody, bubblewrap, is_root, run_in};

#[tokio::test]
async fn walls_stand_and_files_are_ones_own() {
    if is_root() {
        return as_somebody("bubblewrap::without_root::walls_stand_and_files_are_ones_own");
    }
    let sandbox = bubblewrap();
    let enforcement = sandbox.enforcement().await;
    assert_eq!(enforcement.breaches, []);
    assert!(!enforcement.weaker.is_empty());
    let place = Place::new();
    let mut command = place.shell("id -u; echo made > file; ls -A .git; ulimit -n");
    std::fs::create_dir_all(place.path().join(".git/objects")).unwrap();
    command.hidden = vec!["/workspace/.git".into()];
    command.limits.open_files = 77;
    let outcome = run_in(&sandbox, command).await.unwrap();
    assert_eq!(
        outcome.stdout(),
        format!("{}\n77\n", rustix::process::geteuid().as_raw()),
        "{outcome:?}"
    );
    assert_eq!(
        std::fs::read_to_string(place.path().join("file")).unwrap(),
        "made\n"
    );
}

#[tokio::test]
async fn memory_and_processes_are_limited() {
    if is_root() {
        return as_somebody("bubblewrap::without_root::memory_and_processes_are_limited");
    }
    let place = Place::new();
    let script = "import os, time\nn = 0\ntry:\n  while True:\n    if os.fork() == 0: time.sleep(1000)\n    n += 1\nexcept OSError: print(n)";
    let mut command = place.command(&["python3", "-c", script]);
    command.limits.processes = 20;
    let outcome = run_in(&bubblewrap(), command).await.unwrap();
    let forked: u32 = outcome.stdout().trim().parse().unwrap();
    assert!((15..=20).contains(&forked), "{forked}");
    // Four processes of which each takes less than it may, but all together take more.
    let script = "import os, time\nfor _ in range(4):\n  if os.fork() == 0: break\nx = bytearray(40 << 20)\ntime.sleep(1000)";
    let mut command = place.command(&["python3", "-c", script]);
    command.limits.memory_bytes = 100 << 20;
    let exit = run_in(&bubblewrap(), command).await.unwrap().exit();
    assert_eq!(exit.cause, EndCause::MemoryLimit, "{exit:?}");
    assert!(exit.usage.peak_memory_bytes.unwrap() > 100 << 20);
}
