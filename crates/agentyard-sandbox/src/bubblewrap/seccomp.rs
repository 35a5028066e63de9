//! The filter of system calls: what programs need, and nothing else. To a program, all others do not exist.
//!
//! Missing are those with which a program could look at or steer others (`ptrace`, `process_vm_readv`, `pidfd_getfd`),
//! make namespaces or mounts, reach keys, load code into the kernel, or reach parts of it that few programs use and
//! many attacks do (`io_uring`, `bpf`, `userfaultfd`, `perf_event_open`). `clone3` and `openat2` are missing because their
//! flags are in memory, where no filter can see them; programs then use `clone` and `openat`.

mod calls;

use std::collections::BTreeMap;
use std::io;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch,
};

/// A filter for the `seccomp` call, in the machine's byte order.
pub(crate) fn filter() -> io::Result<Vec<u8>> {
    let program = program().map_err(io::Error::other)?;
    let mut bytes = Vec::with_capacity(program.len() * 8);
    for instruction in program {
        bytes.extend(instruction.code.to_ne_bytes());
        bytes.extend([instruction.jt, instruction.jf]);
        bytes.extend(instruction.k.to_ne_bytes());
    }
    Ok(bytes)
}

fn program() -> Result<BpfProgram, seccompiler::BackendError> {
    let missing = SeccompAction::Errno(libc::ENOSYS.unsigned_abs());
    let architecture = TargetArch::try_from(std::env::consts::ARCH)?;
    SeccompFilter::new(rules()?, missing, SeccompAction::Allow, architecture)?.try_into()
}

fn rules() -> Result<BTreeMap<i64, Vec<SeccompRule>>, seccompiler::BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        calls::ALLOWED.iter().map(|call| (*call, Vec::new())).collect();
    rules.insert(
        libc::SYS_clone,
        vec![rule(&[(0, SeccompCmpOp::MaskedEq(NAMESPACES), 0)])?],
    );
    for (call, mode) in calls::MODES {
        rules.insert(*call, vec![rule(&[(*mode, SETS_NO_USER, 0)])?]);
    }
    for (call, flags) in calls::OPENS {
        let opens = rule(&[(*flags, MAKES_NO_FILE, 0)])?;
        let makes = rule(&[(*flags + 1, SETS_NO_USER, 0)])?;
        rules.insert(*call, vec![opens, makes]);
    }
    rules.insert(libc::SYS_socket, sockets()?);
    rules.insert(
        libc::SYS_socketpair,
        vec![rule(&[(0, SeccompCmpOp::Eq, unsigned(libc::AF_UNIX))])?],
    );
    rules.insert(libc::SYS_ioctl, vec![rule(TERMINAL_INPUT)?]);
    rules.insert(
        libc::SYS_personality,
        PERSONALITIES
            .iter()
            .map(|personality| rule(&[(0, SeccompCmpOp::Eq, *personality)]))
            .collect::<Result<_, _>>()?,
    );
    Ok(rules)
}

/// No mode with which a program runs as its owner or as its group. What a command makes belongs to whoever owns the
/// directory, which may be root, and is there for others outside.
const SETS_NO_USER: SeccompCmpOp = SeccompCmpOp::MaskedEq(0o6000);

/// No flag with which a file is made, be it one without a name.
const MAKES_NO_FILE: SeccompCmpOp = SeccompCmpOp::MaskedEq(unsigned(libc::O_CREAT) | NO_NAME);

/// What `O_TMPFILE` adds to `O_DIRECTORY`.
const NO_NAME: u64 = 0o20_000_000;

/// Flags of `clone` that make namespaces.
const NAMESPACES: u64 = unsigned(
    libc::CLONE_NEWNS
        | libc::CLONE_NEWCGROUP
        | libc::CLONE_NEWUTS
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUSER
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWNET,
);

/// Neither type for others on a terminal nor steer a console.
const TERMINAL_INPUT: &[Condition] = &[(1, SeccompCmpOp::Ne, 0x5412), (1, SeccompCmpOp::Ne, 0x541c)];

/// The ordinary one, that of 32 bits and that of old versions, without random addresses, and the question which it is.
const PERSONALITIES: &[u64] = &[0, 0x8, 0x2_0000, 0x2_0008, 0x4_0000, 0xffff_ffff];

/// What there are sockets for: this machine, the Internet, and to list network interfaces.
fn sockets() -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let family = |family: i32| (0, SeccompCmpOp::Eq, unsigned(family));
    Ok(vec![
        rule(&[family(libc::AF_UNIX)])?,
        rule(&[family(libc::AF_INET)])?,
        rule(&[family(libc::AF_INET6)])?,
        rule(&[family(libc::AF_NETLINK), (2, SeccompCmpOp::Eq, NETLINK_ROUTE)])?,
    ])
}

/// The protocol in which network interfaces are listed.
const NETLINK_ROUTE: u64 = 0;

/// An argument's place, how it is compared, and with what.
type Condition = (u8, SeccompCmpOp, u64);

fn rule(conditions: &[Condition]) -> Result<SeccompRule, seccompiler::BackendError> {
    let conditions = conditions
        .iter()
        .map(|(place, operator, value)| {
            SeccompCondition::new(*place, SeccompCmpArgLen::Dword, operator.clone(), *value)
        })
        .collect::<Result<_, _>>()?;
    SeccompRule::new(conditions)
}

const fn unsigned(value: i32) -> u64 {
    value.unsigned_abs() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_others_or_the_kernel_is_missing() {
        for call in [
            libc::SYS_clone3,
            libc::SYS_unshare,
            libc::SYS_setns,
            libc::SYS_mount,
            libc::SYS_umount2,
            libc::SYS_pivot_root,
            libc::SYS_open_tree,
            libc::SYS_move_mount,
            libc::SYS_fsopen,
            libc::SYS_mount_setattr,
            libc::SYS_ptrace,
            libc::SYS_process_vm_readv,
            libc::SYS_pidfd_getfd,
            libc::SYS_keyctl,
            libc::SYS_add_key,
            libc::SYS_request_key,
            libc::SYS_bpf,
            libc::SYS_perf_event_open,
            libc::SYS_userfaultfd,
            libc::SYS_io_uring_setup,
            libc::SYS_io_uring_enter,
            libc::SYS_init_module,
            libc::SYS_kexec_load,
            libc::SYS_open_by_handle_at,
            libc::SYS_seccomp,
            libc::SYS_openat2,
        ] {
            assert!(!rules().unwrap().contains_key(&call), "{call}");
        }
    }

    #[test]
    fn the_filter_fits_into_the_kernel() {
        let bytes = filter().unwrap();
        assert_eq!(bytes.len() % 8, 0);
        assert!(bytes.len() / 8 < 4096, "{}", bytes.len() / 8);
    }
}
