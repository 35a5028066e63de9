use agentyard_sandbox::Enforcement;

use super::*;

fn row(finding: Finding, needed: bool) -> Row {
    Row { finding, needed }
}

fn report() -> Report {
    Report {
        rows: vec![
            row(Finding::ok("git", "git version 2.47.3 at /usr/bin/git"), true),
            row(
                Finding::limited("cgroups", "version 2; nothing is delegated", "run as a service"),
                false,
            ),
            row(
                Finding::missing("podman", "there is no program `podman`", "install podman"),
                false,
            ),
        ],
    }
}

#[test]
fn a_report_is_a_table_for_people() {
    let look = Look {
        colours: false,
        width: None,
    };
    assert_eq!(
        report().to_table(look),
        " ok       git      git version 2.47.3 at /usr/bin/git\n\
         \u{20}limited  cgroups  version 2; nothing is delegated\n\
         \u{20}                  → run as a service\n\
         \u{20}missing  podman   there is no program `podman`\n\
         \u{20}                  → install podman\n"
    );
}

#[test]
fn a_narrow_table_wraps_and_a_coloured_one_has_colours() {
    let narrow = report().to_table(Look {
        colours: false,
        width: Some(40),
    });
    assert!(narrow.lines().all(|line| line.chars().count() <= 40), "{narrow}");
    let coloured = report().to_table(Look {
        colours: true,
        width: None,
    });
    assert!(coloured.contains("\u{1b}["), "{coloured}");
}

#[test]
fn a_report_is_json_for_machines() {
    let json = serde_json::to_value(report()).unwrap();
    assert_eq!(
        json["rows"][1],
        serde_json::json!({
            "what": "cgroups",
            "state": "limited",
            "detail": "version 2; nothing is delegated",
            "remedy": "run as a service",
            "needed": false,
        })
    );
}

#[test]
fn only_what_is_needed_now_makes_the_machine_unfit() {
    let mut report = report();
    assert!(report.is_fit());
    report
        .rows
        .push(row(Finding::missing("database", "refused", "start it"), true));
    assert!(!report.is_fit());
}

#[test]
fn this_machine_can_be_examined() {
    let directory = tempfile::tempdir().unwrap();
    let path = "/usr/local/bin:/usr/bin:/bin";
    let report = examine(&Examination {
        environment: &Environment::of(&[("PATH", path)]),
        data_dir: Ok(directory.path()),
        workspaces: &WorkspaceSettings::default(),
        sandbox: TriedSandbox {
            backend: None,
            enforcement: Enforcement::default(),
            allow_weaker: false,
        },
        trial: None,
        database: Ok("SQLite".to_owned()),
    });
    let whats: Vec<_> = report.rows.iter().map(|row| row.finding.what).collect();
    assert_eq!(
        whats,
        [
            "git",
            "database",
            "data directory",
            "git confinement",
            "workspaces",
            "sandbox",
            "standing sandboxes",
            "user namespaces",
            "bubblewrap",
            "cgroups",
            "overlayfs",
            "reflink",
            "podman",
            "python3",
            "uv",
            "conda",
            "node",
            "kubectl",
            "cluster",
            "disk space",
            "inotify",
            "open files",
        ]
    );
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}
