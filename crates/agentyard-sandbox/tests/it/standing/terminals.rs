//! Terminals in a sandbox that stays.

use agentyard_envd::process::{
    Input, ProcessRequest, Pty, Selector, SendInputRequest, SendSignalRequest, Signal, Size, StartRequest,
    UpdateRequest,
};
use agentyard_sandbox::Standing;

use super::processes::{call, program, shell, start, until};
use super::stand_up;
use crate::support::Place;

fn size(cols: u32, rows: u32) -> Option<Pty> {
    Some(Pty {
        size: Size { cols, rows },
    })
}

async fn typed(standing: &Standing, pid: u32, text: &str) {
    let request = SendInputRequest {
        process: Selector::Pid(pid),
        input: Input::Pty(text.as_bytes().to_vec()),
    };
    call(standing, "SendInput", &request).await.unwrap();
}

#[tokio::test]
async fn a_shell_in_a_terminal_sees_its_size_and_is_typed_to() {
    let place = Place::new();
    let standing = stand_up(&place).await;
    let request = StartRequest {
        pty: size(91, 33),
        ..program(&["/bin/bash", "--norc", "-i"])
    };
    let (pid, mut events) = start(&standing, &request).await;
    typed(
        &standing,
        pid,
        "stty size; tty; echo $TERM; ps -o tty= -p $$ | grep -c pts\n",
    )
    .await;
    let said = until(&mut events, "xterm-256color\r\n1\r\n").await;
    assert!(said.contains("33 91\r\n"), "{said}");
    assert!(said.contains("/dev/pts/"), "{said}");

    let request = UpdateRequest {
        process: Selector::Pid(pid),
        pty: size(120, 50),
    };
    call(&standing, "Update", &request).await.unwrap();
    typed(&standing, pid, "stty size\n").await;
    until(&mut events, "50 120\r\n").await;

    // Job control: what runs in front gets the keys.
    let script = "trap 'echo inter''rupted; exit' INT; echo in''front; while :; do sleep 0.1; done";
    typed(&standing, pid, &format!("bash -c \"{script}\"\n")).await;
    // Keys that come before it is there are the shell's.
    until(&mut events, "infront\r\n").await;
    typed(&standing, pid, "\x03").await;
    until(&mut events, "interrupted\r\n").await;
    typed(&standing, pid, "echo still''here\n").await;
    until(&mut events, "stillhere\r\n").await;
    typed(&standing, pid, "exit 4\n").await;
    let (_, end) = super::processes::rest(&mut events).await;
    assert_eq!(end.exit_code, 4);
    standing.take_down().await;
}

#[tokio::test]
async fn all_that_is_said_in_a_terminal_is_told_and_a_kill_ends_it() {
    let place = Place::new();
    let standing = stand_up(&place).await;
    let request = StartRequest {
        pty: size(80, 24),
        ..shell("seq 1 20000")
    };
    let (_, mut events) = start(&standing, &request).await;
    let (said, end) = super::processes::rest(&mut events).await;
    let lines: Vec<u32> = said.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(
        (lines.len(), lines.last(), end.exit_code),
        (20_000, Some(&20_000), 0)
    );

    let request = StartRequest {
        pty: size(80, 24),
        ..shell("echo up; sleep 1000")
    };
    let (pid, mut events) = start(&standing, &request).await;
    until(&mut events, "up").await;
    let process = Selector::Pid(pid);
    assert!(
        call(&standing, "CloseStdin", &ProcessRequest { process })
            .await
            .is_err()
    );
    let request = SendSignalRequest {
        process: Selector::Pid(pid),
        signal: Signal::Kill,
    };
    call(&standing, "SendSignal", &request).await.unwrap();
    let (_, end) = super::processes::rest(&mut events).await;
    assert_eq!(end.status, "signal: killed");
    standing.take_down().await;
}

#[tokio::test]
async fn only_what_runs_in_a_terminal_can_be_resized_and_typed_to() {
    let place = Place::new();
    let standing = stand_up(&place).await;
    let (pid, _events) = start(&standing, &shell("sleep 1000")).await;
    let request = UpdateRequest {
        process: Selector::Pid(pid),
        pty: size(1, 1),
    };
    let refused = call(&standing, "Update", &request).await.unwrap_err();
    assert!(
        refused.to_string().contains("does not run in a terminal"),
        "{refused}"
    );
    let request = SendInputRequest {
        process: Selector::Pid(pid),
        input: Input::Pty(b"x".to_vec()),
    };
    let refused = call(&standing, "SendInput", &request).await.unwrap_err();
    assert!(refused.to_string().contains("no terminal"), "{refused}");
    standing.take_down().await;
}
