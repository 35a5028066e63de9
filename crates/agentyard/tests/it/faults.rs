//! The server is killed, its disk fills up, its children die: nothing that it acknowledged is lost, and the next
//! call works.

mod agent;
mod crowd;
mod model;
mod random;
mod staged;
pub(crate) mod yard;

use std::sync::Mutex;
use std::time::Duration;

use agent::Agent;
use random::Random;
use yard::{Yard, git};

/// How often the server is killed, over all yards. `AGENTYARD_TEST_KILLS` says otherwise.
const KILLS: usize = 200;

/// So many servers are killed side by side, each with a data directory of its own.
const YARDS: usize = 8;

/// In each yard, one more than there may be workspaces, so that one is always closed for another.
const AGENTS: usize = 4;

fn number(variable: &str) -> Option<usize> {
    std::env::var(variable).ok()?.parse().ok()
}

/// Several tests, since each may take so long and no longer; and side by side they see each other's load.
macro_rules! what_was_acknowledged_survives_every_kill {
    ($($name:ident: $yard:literal),*) => {
        $(#[test]
        fn $name() {
            let kills = number("AGENTYARD_TEST_KILLS").unwrap_or(KILLS) / YARDS;
            let seed = number("AGENTYARD_TEST_SEED").unwrap_or(1);
            kill_again_and_again(kills, (seed * YARDS + $yard) as u64);
        })*
    };
}

what_was_acknowledged_survives_every_kill! {
    what_was_acknowledged_survives_every_kill_of_yard_0: 0,
    what_was_acknowledged_survives_every_kill_of_yard_1: 1,
    what_was_acknowledged_survives_every_kill_of_yard_2: 2,
    what_was_acknowledged_survives_every_kill_of_yard_3: 3,
    what_was_acknowledged_survives_every_kill_of_yard_4: 4,
    what_was_acknowledged_survives_every_kill_of_yard_5: 5,
    what_was_acknowledged_survives_every_kill_of_yard_6: 6,
    what_was_acknowledged_survives_every_kill_of_yard_7: 7
}

fn kill_again_and_again(kills: usize, seed: u64) {
    let limit = format!("workspaces.max_per_repo={}", AGENTS - 1);
    let yard = Yard::new(&[&limit, "workspaces.lease_minutes=0"]);
    let mut random = Random::new(seed);
    let others = Mutex::new(0);
    let mut agents: Vec<Agent<'_>> = (0..AGENTS)
        .map(|agent| {
            Agent::new(
                &yard,
                &others,
                format!("agent-{agent}"),
                seed ^ (agent as u64) << 32,
            )
        })
        .collect();
    yard.register(&yard.start().address);
    for _ in 0..kills {
        let server = yard.start();
        if random.below(8) == 0 {
            // Killed while it tidies up after the last kill.
            std::thread::sleep(Duration::from_millis(random.below(100) as u64));
            continue;
        }
        yard.wait_until_settled(&server.address);
        for agent in &mut agents {
            agent.verify(&server.address);
        }
        let address = server.address.clone();
        std::thread::scope(|scope| {
            for agent in &mut agents {
                scope.spawn(|| agent.work(&address));
            }
            std::thread::sleep(Duration::from_millis(20 + random.below(400) as u64));
            drop(server);
        });
    }
    let server = yard.start();
    yard.wait_until_settled(&server.address);
    for agent in &mut agents {
        agent.verify(&server.address);
        agent.close(&server.address);
    }
    yard.wait_until_settled(&server.address);
    assert_eq!(yard.mounts(), Vec::<std::path::PathBuf>::new());
    assert!(server.terminate(), "it stops cleanly");
    yard.wait_until_still();
    assert_eq!(yard.lock_files(), Vec::<std::path::PathBuf>::new());
    yard.check_objects();
    let subjects = git(&yard.mirror(), &["log", "--all", "--reflog", "--format=%s"]);
    let known: std::collections::BTreeSet<&str> = subjects.lines().collect();
    for agent in &agents {
        for subject in agent.committed() {
            assert!(known.contains(subject.as_str()), "the commit {subject} is lost");
        }
    }
}
