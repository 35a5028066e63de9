//! The filter of system calls for containers: what podman lets through, without what it should not.
//!
//! Podman's own filter is made for containers that make containers. It lets a program make namespaces and mount file systems
//! in them, use the kernel's keys, and trace other programs; a kernel's weaknesses are mostly found there.

use serde_json::{Value, json};

/// What is taken out. To a program, these calls do not exist.
const REMOVED: &[&str] = &[
    "add_key",
    "bpf",
    "clone",
    "clone3",
    "fanotify_init",
    "fanotify_mark",
    "fsconfig",
    "fsmount",
    "fsopen",
    "fspick",
    "io_uring_enter",
    "io_uring_register",
    "io_uring_setup",
    "kcmp",
    "keyctl",
    "mount",
    "mount_setattr",
    "move_mount",
    "name_to_handle_at",
    "open_by_handle_at",
    "open_tree",
    "perf_event_open",
    "personality",
    "pidfd_getfd",
    "pivot_root",
    "process_madvise",
    "process_vm_readv",
    "process_vm_writev",
    "ptrace",
    "quotactl",
    "reboot",
    "request_key",
    "setns",
    "socket",
    "socketcall",
    "syslog",
    "umount",
    "umount2",
    "unshare",
    "userfaultfd",
];

/// Flags of `clone` that make namespaces.
const NAMESPACES: u64 = 0x7e02_0000;

/// The Internet, this machine, and the list of network interfaces.
const SOCKETS: [u64; 4] = [1, 2, 10, 16];

/// The ordinary personality, one without random addresses, and the question which it is.
const PERSONALITIES: [u64; 3] = [0, 0x0004_0000, 0xffff_ffff];

/// Our filter, made of podman's; `None` when that is not one.
pub(super) fn profile(theirs: &str) -> Option<String> {
    let mut profile: Value = serde_json::from_str(theirs).ok()?;
    let rules = profile.get_mut("syscalls")?.as_array_mut()?;
    // Rules for those who have capabilities are for nobody here.
    rules.retain(|rule| rule["action"] == "SCMP_ACT_ALLOW" && rule["includes"]["caps"].is_null());
    for rule in &mut *rules {
        rule["names"]
            .as_array_mut()?
            .retain(|name| !name.as_str().is_none_or(|name| REMOVED.contains(&name)));
    }
    rules.retain(|rule| rule["names"].as_array().is_some_and(|names| !names.is_empty()));
    if rules.is_empty() {
        return None;
    }
    rules.push(allow(
        "clone",
        json!([condition(0, NAMESPACES, "SCMP_CMP_MASKED_EQ")]),
    ));
    rules.extend(SOCKETS.map(|family| allow("socket", json!([condition(0, family, "SCMP_CMP_EQ")]))));
    rules.extend(PERSONALITIES.map(|kind| allow("personality", json!([condition(0, kind, "SCMP_CMP_EQ")]))));
    profile["defaultAction"] = json!("SCMP_ACT_ERRNO");
    profile["defaultErrnoRet"] = json!(rustix::io::Errno::NOSYS.raw_os_error());
    profile["defaultErrno"] = json!("ENOSYS");
    Some(profile.to_string())
}

fn allow(name: &str, arguments: Value) -> Value {
    json!({ "names": [name], "action": "SCMP_ACT_ALLOW", "args": arguments })
}

/// For a mask, what is left of the argument must be nothing.
fn condition(index: u32, value: u64, operation: &str) -> Value {
    json!({ "index": index, "value": value, "valueTwo": 0, "op": operation })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dangerous_calls_are_gone_and_the_rest_stays() {
        let theirs = json!({
            "defaultAction": "SCMP_ACT_ERRNO",
            "archMap": [],
            "syscalls": [
                { "names": ["read", "mount", "clone", "keyctl"], "action": "SCMP_ACT_ALLOW", "includes": {} },
                { "names": ["unshare"], "action": "SCMP_ACT_ALLOW" },
                { "names": ["chroot"], "action": "SCMP_ACT_ALLOW", "includes": { "caps": ["CAP_SYS_CHROOT"] } },
                { "names": ["socket"], "action": "SCMP_ACT_ERRNO", "args": [] },
            ],
        });
        let ours: Value = serde_json::from_str(&profile(&theirs.to_string()).unwrap()).unwrap();
        let rules = ours["syscalls"].as_array().unwrap();
        assert_eq!(rules[0]["names"], json!(["read"]));
        let names: Vec<&str> = rules
            .iter()
            .map(|rule| rule["names"][0].as_str().unwrap())
            .collect();
        assert!(
            !names.contains(&"chroot") && !names.contains(&"unshare"),
            "{names:?}"
        );
        let conditional = |rule: &Value| !rule["args"].as_array().unwrap().is_empty();
        assert!(rules[1..].iter().all(conditional), "{rules:?}");
        assert_eq!(ours["defaultErrnoRet"], 38);
    }

    #[test]
    fn what_is_no_filter_is_none() {
        for text in [
            "",
            "{}",
            r#"{"syscalls": []}"#,
            r#"{"syscalls": [{"names": ["mount"], "action": "SCMP_ACT_ALLOW"}]}"#,
        ] {
            assert_eq!(profile(text), None, "{text}");
        }
    }
}
