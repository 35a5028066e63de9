//! How a process ended, in E2B's words.

use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

use crate::process::End;

/// What is told of a process that ended so.
pub(super) fn told(status: ExitStatus) -> End {
    let words = match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) if status.core_dumped() => format!("signal: {} (core dumped)", name(signal)),
        (None, Some(signal)) => format!("signal: {}", name(signal)),
        (None, None) => "unknown".to_owned(),
    };
    End {
        exit_code: status.code().unwrap_or(-1),
        exited: status.code().is_some(),
        error: (!status.success()).then(|| words.clone()),
        status: words,
    }
}

/// A signal, as E2B's daemon calls it.
fn name(signal: i32) -> String {
    match signal {
        1 => "hangup",
        2 => "interrupt",
        3 => "quit",
        4 => "illegal instruction",
        5 => "trace/breakpoint trap",
        6 => "aborted",
        7 => "bus error",
        8 => "floating point exception",
        9 => "killed",
        10 => "user defined signal 1",
        11 => "segmentation fault",
        12 => "user defined signal 2",
        13 => "broken pipe",
        14 => "alarm clock",
        15 => "terminated",
        _ => return format!("signal {signal}"),
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_told_as_clients_know_it() {
        let end = told(ExitStatus::from_raw(0));
        assert_eq!((end.exit_code, end.exited, end.error), (0, true, None));
        let end = told(ExitStatus::from_raw(3 << 8));
        assert_eq!((end.exit_code, end.exited), (3, true));
        assert_eq!(end.error.as_deref(), Some("exit status 3"));
        let end = told(ExitStatus::from_raw(9));
        assert_eq!((end.exit_code, end.exited), (-1, false));
        assert_eq!(end.status, "signal: killed");
        let end = told(ExitStatus::from_raw(0x80 | 11));
        assert_eq!(end.status, "signal: segmentation fault (core dumped)");
    }
}
