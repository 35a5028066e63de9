use std::fs::File;

use super::*;
use crate::command::{Mount, Network};

fn command() -> Command {
    let mount = |at: &str, access| Mount {
        source: File::open("/").unwrap().into(),
        host_path: "/elsewhere".into(),
        at: at.into(),
        access,
    };
    Command {
        program: "make".to_owned(),
        arguments: vec!["--all".to_owned()],
        mounts: vec![
            mount("/workspace", Access::ReadWrite),
            mount("/env", Access::ReadOnly),
        ],
        directory: "/workspace/below".into(),
        hidden: Vec::new(),
        environment: vec![("A".to_owned(), "b c".to_owned())],
        input: Vec::new(),
        network: Network::None,
        limits: Limits {
            memory_bytes: 1000,
            disk_bytes: 500,
            ..Limits::default()
        },
    }
}

fn facts(shown: &[Shown]) -> Facts<'_> {
    Facts {
        bwrap: Path::new("/usr/bin/bwrap"),
        shown,
        identity: (7, 8),
        is_root: true,
        owners: vec![Some(2), Some(3)],
        hidden: Vec::new(),
        groups: None,
        role: Role::Command,
        has_way_out: false,
    }
}

/// The words as one line, with what the leader fills in marked by its kind.
fn line(plan: &Plan) -> String {
    let words = plan.arguments.iter().map(|argument| match argument {
        Argument::Word(word) => word.clone(),
        Argument::Stage(number) => format!("<stage {number}>"),
        Argument::PathOf(place) => format!("<path of {place}>"),
        Argument::Text(_) => "<text>".to_owned(),
        Argument::File(path) => format!("<{path}>"),
        Argument::Filter => "<filter>".to_owned(),
    });
    words.collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn in_order(line: &str, parts: &[&str]) {
    let mut rest = line;
    for part in parts {
        let Some((_, after)) = rest.split_once(part) else {
            panic!("`{part}` is not in, or not in its place: {line}");
        };
        rest = after;
    }
}

#[test]
fn root_stages_what_the_user_cannot_reach_and_shows_its_owner_as_that_user() {
    let shown = [
        Shown::Open("/usr".to_owned()),
        Shown::Closed("/home/ada/.rustup".to_owned()),
    ];
    let plan = plan(&command(), &facts(&shown)).unwrap();
    assert_eq!(plan.user, Some((7, 8)));
    let stage = |source, owners| Stage { source, owners };
    assert_eq!(
        plan.stages,
        [
            stage(Source::Path("/home/ada/.rustup".to_owned()), None),
            stage(
                Source::Descriptor(0),
                Some(ShownOwners {
                    namespace: 2,
                    is_needed: true,
                })
            ),
            stage(
                Source::Descriptor(1),
                Some(ShownOwners {
                    namespace: 3,
                    is_needed: false,
                })
            ),
        ]
    );
    in_order(
        &line(&plan),
        &[
            "--ro-bind /usr /usr",
            "--ro-bind <stage 0> /home/ada/.rustup",
            "--bind <stage 1> /workspace",
            "--ro-bind <stage 2> /env",
        ],
    );
    assert_eq!(plan.command, ["make", "--all"]);
}

#[test]
fn without_root_everything_is_found_by_its_path() {
    let shown = [Shown::Closed("/home/ada/.rustup".to_owned())];
    let facts = Facts {
        is_root: false,
        ..facts(&shown)
    };
    let plan = plan(&command(), &facts).unwrap();
    assert_eq!((plan.user, plan.stages.len()), (None, 0));
    in_order(
        &line(&plan),
        &[
            "--ro-bind-try /home/ada/.rustup /home/ada/.rustup",
            "--bind <path of 0> /workspace",
            "--ro-bind <path of 1> /env",
        ],
    );
}

#[test]
fn every_wall_is_asked_for() {
    let plan = plan(&command(), &facts(&[])).unwrap();
    let line = line(&plan);
    for wall in [
        "--unshare-all",
        "--unshare-user",
        "--die-with-parent",
        "--new-session",
        "--cap-drop ALL",
        "--seccomp <filter>",
        "--proc /proc",
        "--dev /dev",
        "--perms 1777 --size 500 --tmpfs /tmp",
        "--perms 1777 --size 500 --tmpfs /dev/shm",
        "--setenv A b c",
        "--chdir /workspace/below",
    ] {
        assert!(line.contains(wall), "{wall} in {line}");
    }
    assert!(!line.contains("--cap-add") && !line.contains("--share-net"));
    // Nothing can be put there any more.
    in_order(
        &line,
        &["--tmpfs /tmp", "--bind", "--remount-ro /dev", "--remount-ro /"],
    );
}

#[test]
fn a_keeper_has_rights_and_no_filter() {
    let facts = Facts {
        role: Role::Keeper,
        ..facts(&[])
    };
    let line = line(&plan(&command(), &facts).unwrap());
    assert!(!line.contains("--seccomp"));
    in_order(
        &line,
        &[
            "--cap-drop ALL",
            "--cap-add CAP_SYS_ADMIN",
            "--cap-add CAP_SETPCAP",
        ],
    );
}

#[test]
fn hidden_things_are_covered_after_what_they_are_in() {
    let facts = Facts {
        hidden: vec![
            ("/workspace/.git".into(), Hidden::Directory),
            ("/workspace/a/.git".into(), Hidden::File),
        ],
        ..facts(&[])
    };
    in_order(
        &line(&plan(&command(), &facts).unwrap()),
        &[
            "/workspace",
            "--tmpfs /workspace/.git --remount-ro /workspace/.git",
            "--ro-bind-data <text> /workspace/a/.git",
        ],
    );
}

#[test]
fn tools_are_not_covered_by_a_directory_of_ours() {
    let shown = [
        Shown::Closed("/home/agent/.rustup".to_owned()),
        Shown::Closed("/tmp/tools".to_owned()),
    ];
    let line = line(&plan(&command(), &facts(&shown)).unwrap());
    in_order(&line, &["--tmpfs /tmp", "/tmp/tools"]);
    in_order(&line, &["--tmpfs /home/agent", "/home/agent/.rustup"]);
}

#[test]
fn limits_that_no_group_keeps_are_kept_by_the_kernel_for_each_process() {
    let without = plan(&command(), &facts(&[])).unwrap();
    assert_eq!(without.rlimits.data_bytes, Some(1000));
    assert_eq!(without.rlimits.processes, Some(256));
    let facts = Facts {
        groups: Some((vec!["/groups/tasks".into()], vec!["/tasks".into()])),
        ..facts(&[])
    };
    let with = plan(&command(), &facts).unwrap();
    assert_eq!((with.rlimits.data_bytes, with.rlimits.processes), (None, None));
    assert_eq!(with.join, [PathBuf::from("/groups/tasks")]);
    assert_eq!(with.leave, [PathBuf::from("/tasks")]);
}

#[test]
fn whoever_may_reach_others_is_told_where_the_proxy_is() {
    let none = plan(&command(), &facts(&[])).unwrap();
    assert_eq!(none.listen, None);
    assert!(!line(&none).contains("PROXY"));
    let some = Facts {
        has_way_out: true,
        ..facts(&[])
    };
    let some = plan(&command(), &some).unwrap();
    assert_eq!(some.listen, Some(EGRESS_PORT));
    assert!(line(&some).contains("--setenv HTTPS_PROXY http://127.0.0.1:3128"));
    assert!(line(&some).contains("--unshare-all") && !line(&some).contains("--share-net"));
}
