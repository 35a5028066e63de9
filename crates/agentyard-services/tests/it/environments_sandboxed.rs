//! Python environments in a real sandbox, where nothing but what was granted can be seen or reached.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::sync::Arc;

use agentyard_model::Caller;
use agentyard_sandbox::{Bubblewrap, BubblewrapSettings, Egress, EgressSettings, LeaderProgram};
use agentyard_services::{
    EnvironmentSettings, FailureKind, InstallReport, InstallRequest, Place, Progress, RunSettings, Services,
    Waiting,
};
use agentyard_testkit::{TestPlatform, environment_settings, run_settings};

fn runs_in_bubblewrap(registries: &[&str]) -> RunSettings {
    let egress = Egress::new(EgressSettings {
        registries: registries.iter().map(|host| (*host).to_owned()).collect(),
        ..EgressSettings::default()
    })
    .unwrap();
    let settings = BubblewrapSettings {
        leader: LeaderProgram {
            program: std::env::current_exe().unwrap(),
            arguments: ["--exact", "leader", "--nocapture"].map(Into::into).to_vec(),
        },
        daemon: agentyard_testkit::daemon(),
        search_path: "/usr/bin:/bin".into(),
        home: None,
        user: (agentyard_sandbox::SANDBOX_USER, agentyard_sandbox::SANDBOX_USER),
        read_only: Vec::new(),
        egress: Some(egress),
        allow_weaker: true,
    };
    RunSettings {
        sandbox: Some(Arc::new(Bubblewrap::new(settings))),
        ..run_settings()
    }
}

async fn install(services: &Services, platform: &TestPlatform, packages: &[&str]) -> InstallReport {
    let request = InstallRequest {
        place: Place {
            workspace: Some(platform.repository.path().display().to_string()),
            ..Place::default()
        },
        packages: packages.iter().map(|name| (*name).to_owned()).collect(),
        ..InstallRequest::default()
    };
    let (caller, progress) = (Caller::local(), Progress::ignored());
    let installed = services
        .environments
        .install(&caller, request, Waiting::default(), &progress)
        .await;
    installed.unwrap().report.unwrap()
}

fn services(
    platform: &TestPlatform,
    runs: RunSettings,
    change: impl FnOnce(&mut EnvironmentSettings),
) -> Arc<Services> {
    let mut settings = environment_settings(platform.data());
    change(&mut settings);
    platform.with_environments_and_runs(settings, runs)
}

#[tokio::test]
async fn an_environment_is_made_inside_and_nothing_but_registries_is_reached() {
    let platform = TestPlatform::new().await;
    let services = services(&platform, runs_in_bubblewrap(&[]), |_| {});
    let report = install(&services, &platform, &["hello"]).await;
    assert!(report.made.is_some_and(|made| made.ends_with(": there was none")));
    // The index is on this machine's own loopback, which no sandbox sees.
    let failure = report.failure.unwrap();
    assert_eq!(failure.kind, FailureKind::NetworkRefused, "{failure:?}");

    let place = fs::read_dir(platform.data().join("envs"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let settings = fs::read_to_string(place.join("venv/env/pyvenv.cfg")).unwrap();
    assert!(
        settings.contains("/env"),
        "it was made where commands see it: {settings}"
    );
    // Files that a command wrote belong to whoever the directory belongs to.
    let owner = |path: &str| fs::metadata(place.join(path)).unwrap().uid();
    assert_eq!(owner("venv/env/pyvenv.cfg"), owner("venv/env"));
    let known = fs::read_to_string(place.join("venv/agentyard.json")).unwrap();
    assert!(known.contains("\"inside\":\"/env\""), "{known}");
}
