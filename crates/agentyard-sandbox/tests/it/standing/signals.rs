//! Signals, as programs in a sandbox that stays find them.

use agentyard_envd::client;
use agentyard_envd::process::{Pty, Size, StartRequest};
use agentyard_sandbox::{Bubblewrap, BubblewrapSettings, LeaderProgram};

use super::processes::{rest, shell, start};
use super::site;
use crate::sandbox_suite::standing::{said, stood};
use crate::support::{Place, leader, settings};

/// Whatever it starts ignores these signals, as under `nohup`, and in the background of a script.
fn leader_that_ignores_signals() -> LeaderProgram {
    let LeaderProgram { program, arguments } = leader();
    let ignoring = "trap '' HUP INT QUIT TSTP USR1; exec \"$0\" \"$@\"";
    let mut words = vec!["-c".into(), ignoring.into(), program.into()];
    words.extend(arguments);
    LeaderProgram {
        program: "/bin/sh".into(),
        arguments: words,
    }
}

/// Which of the signals that programs know are blocked and ignored. Others are the C library's own: it ignores them in
/// whatever it starts.
fn masks(status: &str) -> Vec<u64> {
    let masks = status.split_whitespace().filter(|word| !word.starts_with("Sig"));
    let known = |mask: &str| u64::from_str_radix(mask, 16).unwrap() & 0x7fff_ffff;
    masks.map(known).collect()
}

#[tokio::test]
async fn programs_ignore_nothing_though_the_server_does() {
    let place = Place::new();
    let sandbox = Bubblewrap::new(BubblewrapSettings {
        leader: leader_that_ignores_signals(),
        ..settings()
    });
    let standing = stood(&sandbox, site(&place)).await;
    let look = "grep -E 'Sig(Blk|Ign)' /proc/self/status";
    assert_eq!(masks(&said(&standing, look).await), [0, 0]);
    let in_terminal = StartRequest {
        pty: Some(Pty {
            size: Size { cols: 80, rows: 24 },
        }),
        ..shell(look)
    };
    let (_, mut events) = start(&standing, &in_terminal).await;
    assert_eq!(masks(&rest(&mut events).await.0), [0, 0]);
    // A shell could not be ended by it, nor trap it, if it had begun without.
    let hung_up = shell("trap 'echo hung up; exit 5' HUP; kill -HUP $$; echo not");
    let ran = client::run(&standing, &hung_up, std::time::Duration::from_secs(60), 1 << 16).await;
    let ran = ran.unwrap();
    assert_eq!((ran.stdout.as_slice(), ran.end.exit_code), (&b"hung up\n"[..], 5));
    standing.take_down().await;
}
