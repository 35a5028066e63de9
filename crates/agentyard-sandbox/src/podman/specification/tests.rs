//! What podman is told.

use std::fs::File;

use super::*;
use crate::command::Mount;

fn command(network: Network) -> Command {
    let mount = |at: &str, access| Mount {
        source: File::open("/").unwrap().into(),
        host_path: PathBuf::from("/elsewhere"),
        at: PathBuf::from(at),
        access,
    };
    Command {
        program: "make".to_owned(),
        arguments: vec!["--all".to_owned()],
        mounts: vec![
            mount("/workspace", Access::ReadWrite),
            mount("/env", Access::ReadOnly),
        ],
        directory: PathBuf::from("/workspace/a"),
        hidden: vec![PathBuf::from("/workspace/.git")],
        environment: vec![
            (
                "PATH".to_owned(),
                "/env/bin:/usr/local/bin:/home/ada/.cargo/bin".to_owned(),
            ),
            ("LANG".to_owned(), "C".to_owned()),
        ],
        input: Vec::new(),
        network,
        limits: Limits::default(),
    }
}

fn told(network: Network, identity: Identity) -> Value {
    let image = [
        ("PATH".to_owned(), "/usr/local/go/bin:/usr/bin".to_owned()),
        ("LANG".to_owned(), "de".to_owned()),
        ("GOPATH".to_owned(), "/go".to_owned()),
    ];
    let around = Surroundings {
        name: "n",
        server: "s",
        image: "i",
        image_environment: &image,
        sources: &[PathBuf::from("/stages/0"), PathBuf::from("/stages/1")],
        identity,
        seccomp_profile: Some(Path::new("/seccomp.json")),
        process_ceiling: 1000,
        stays: false,
    };
    specification(&command(network), &around)
}

#[test]
fn a_command_is_walled_in() {
    let told = told(Network::None, Identity::User(7, 8));
    assert_eq!(told["command"], json!(["make", "--all"]));
    assert_eq!(
        (&told["user"], &told["cap_drop"]),
        (&json!("7:8"), &json!(["all"]))
    );
    assert_eq!(told["netns"], json!({ "nsmode": "none" }));
    for wall in ["no_new_privileges", "read_only_filesystem", "unsetenvall"] {
        assert_eq!(told[wall], true, "{wall}");
    }
    for hole in [
        "privileged",
        "cap_add",
        "devices",
        "portmappings",
        "pod",
        "volumes",
    ] {
        assert_eq!(told[hole], Value::Null, "{hole}");
    }
    assert_eq!(told["seccomp_profile_path"], "/seccomp.json");
    assert_eq!(told["mask"], json!(["/workspace/.git"]));
    let limits = Limits::default();
    assert_eq!(told["resource_limits"]["memory"]["limit"], limits.memory_bytes);
    assert_eq!(told["resource_limits"]["pids"]["limit"], limits.processes + 1);
    assert_eq!(told["resource_limits"]["cpu"]["quota"], 200_000);
}

#[test]
fn mounts_are_where_they_were_put_and_temporary_places_have_a_size() {
    let told = told(Network::None, Identity::Own);
    let mounts = told["mounts"].as_array().unwrap();
    let of = |at: &str| mounts.iter().find(|mount| mount["destination"] == at).unwrap();
    let has = |at: &str, option: &str| of(at)["options"].as_array().unwrap().contains(&json!(option));
    assert_eq!(
        (&of("/workspace")["source"], &of("/env")["source"]),
        (&json!("/stages/0"), &json!("/stages/1"))
    );
    assert!(has("/workspace", "rw") && has("/env", "ro"));
    assert!(
        ["/workspace", "/env", "/tmp"]
            .iter()
            .all(|at| has(at, "nosuid") && has(at, "nodev"))
    );
    let size = format!("size={}", Limits::default().memory_bytes);
    assert!(["/tmp", "/var/tmp", "/run"].iter().all(|at| has(at, &size)));
}

#[test]
fn the_environment_is_that_of_the_image_and_the_command() {
    let none = told(Network::None, Identity::Own);
    let expected = json!({ "PATH": "/env/bin:/usr/local/go/bin:/usr/bin", "LANG": "C", "GOPATH": "/go" });
    assert_eq!(none["env"], expected);
    let registry = told(Network::Registry, Identity::Own);
    assert_eq!(registry["env"]["HTTPS_PROXY"], "http://127.0.0.1:3128");
    assert_eq!(registry["netns"], json!({ "nsmode": "none" }));
}

#[test]
fn who_sets_up_is_root_among_users_of_its_own() {
    let told = told(Network::None, Identity::SetUp);
    assert_eq!(told["read_only_filesystem"], false);
    assert_eq!(told["user"], "0:0");
    assert_eq!(told["idmappings"]["UIDMap"][0]["host_id"], SET_UP_USERS);
}
