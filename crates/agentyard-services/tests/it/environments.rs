//! Python environments: made, filled, looked at, broken and made anew.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use agentyard_model::{Caller, Permission, Permissions};
use agentyard_services::{
    CodeRequest, ConfigureEnvironment, EnvironmentKind, EnvironmentSettings, ErrorKind, ExecOptions,
    FailureKind, InstallAnswer, InstallReport, InstallRequest, Place, Progress, Result, Services, Waiting,
};
use agentyard_testkit::{TestPlatform, environment_settings};

use crate::package_index::PackageIndex;

struct Yard {
    services: Arc<Services>,
    platform: TestPlatform,
    caller: Caller,
    index: PackageIndex,
}

impl Yard {
    async fn new() -> Self {
        Self::with(|_| {}).await
    }

    async fn with(change: impl FnOnce(&mut EnvironmentSettings)) -> Self {
        let (platform, index) = (TestPlatform::new().await, PackageIndex::new());
        let mut settings = environment_settings(platform.data());
        settings.index_url = index.url();
        change(&mut settings);
        Self {
            services: platform.with_environments(settings),
            platform,
            caller: Caller::local(),
            index,
        }
    }

    /// Another process on the same data directory.
    fn another(&self) -> Arc<Services> {
        let mut settings = environment_settings(self.platform.data());
        settings.index_url = self.index.url();
        self.platform.with_environments(settings)
    }

    fn tree(&self) -> &Path {
        self.platform.repository.path()
    }

    fn place(&self) -> Place {
        Place {
            workspace: Some(self.tree().display().to_string()),
            ..Place::default()
        }
    }

    fn packages(&self, packages: &[&str]) -> InstallRequest {
        InstallRequest {
            place: self.place(),
            packages: packages.iter().map(|name| (*name).to_owned()).collect(),
            ..InstallRequest::default()
        }
    }

    async fn install(&self, request: InstallRequest) -> Result<InstallReport> {
        let answer = install(&self.services, &self.caller, request, Waiting::default()).await?;
        Ok(answer.report.unwrap())
    }

    async fn installed(&self) -> Vec<String> {
        let environments = &self.services.environments;
        let all = environments
            .check(&self.caller, &self.place(), &[])
            .await
            .unwrap();
        let told = all
            .packages
            .into_iter()
            .map(|found| format!("{} {}", found.name, found.version.unwrap()));
        told.filter(|found| !found.starts_with("pip ") && !found.starts_with("setuptools "))
            .collect()
    }

    /// The only environment in the data directory.
    fn directory(&self) -> PathBuf {
        let places = fs::read_dir(self.platform.data().join("envs")).unwrap();
        let mut found = places.map(|place| place.unwrap().path().join("venv"));
        found.next().unwrap()
    }
}

async fn install(
    services: &Services,
    caller: &Caller,
    request: InstallRequest,
    waiting: Waiting,
) -> Result<InstallAnswer> {
    let progress = Progress::ignored();
    services
        .environments
        .install(caller, request, waiting, &progress)
        .await
}

fn told(report: &InstallReport) -> Vec<String> {
    let installed = report
        .installed
        .iter()
        .map(|found| format!("+{} {}", found.name, found.version));
    let changed = report
        .changed
        .iter()
        .map(|found| format!("{} {} > {}", found.name, found.from, found.to));
    let removed = report
        .removed
        .iter()
        .map(|found| format!("-{} {}", found.name, found.version));
    installed.chain(changed).chain(removed).collect()
}

#[tokio::test]
async fn what_is_installed_is_told_and_found_again() {
    let yard = Yard::new().await;
    let view = yard
        .services
        .environments
        .describe(&yard.caller, &yard.place())
        .await
        .unwrap();
    assert!(!view.exists && view.python.is_some_and(|version| version.starts_with("3.")));
    let wanted = ["Hello==1.0".to_owned(), "greeter".to_owned()];
    let checked = yard
        .services
        .environments
        .check(&yard.caller, &yard.place(), &wanted)
        .await
        .unwrap();
    assert!(!checked.exists && checked.packages.iter().all(|package| package.version.is_none()));

    let first = yard
        .install(yard.packages(&["greeter", "nothing ; os_name == 'nt'"]))
        .await
        .unwrap();
    assert!(first.succeeded, "{first:?}");
    assert_eq!(told(&first), ["+greeter 1.0", "+hello 1.0"]);
    assert_eq!(first.skipped, ["nothing"]);
    assert!(
        first
            .made
            .as_ref()
            .is_some_and(|made| made.ends_with(": there was none")),
        "{first:?}"
    );

    let second = yard.install(yard.packages(&["hello==1.0"])).await.unwrap();
    assert_eq!((told(&second), second.made.clone()), (Vec::new(), None));
    assert!(second.generation > first.generation);

    let upgrade = InstallRequest {
        upgrade: true,
        ..yard.packages(&["hello"])
    };
    assert_eq!(told(&yard.install(upgrade).await.unwrap()), ["hello 1.0 > 2.0"]);
    assert_eq!(yard.installed().await, ["greeter 1.0", "hello 2.0"]);
    let checked = yard
        .services
        .environments
        .check(&yard.caller, &yard.place(), &wanted)
        .await
        .unwrap();
    let satisfied: Vec<Option<bool>> = checked.packages.iter().map(|package| package.satisfied).collect();
    assert_eq!(
        (checked.packages[0].name.as_str(), satisfied),
        ("hello", vec![Some(false), None])
    );

    let view = yard
        .services
        .environments
        .describe(&yard.caller, &yard.place())
        .await
        .unwrap();
    assert!(view.exists && !view.unfinished && view.packages >= 2 && view.created.is_some());
    // What was for one command only is gone, and nothing that a command could write says what is known.
    assert!(!yard.directory().join("work").exists());
    assert!(yard.directory().join("agentyard.json").exists());
    assert!(!yard.directory().join("env/agentyard.json").exists());
}

#[tokio::test]
async fn failures_say_what_sort_they_are() {
    let yard = Yard::new().await;
    for (packages, kind) in [
        (&["no-such-package"][..], FailureKind::UnknownPackage),
        (&["hello==9"], FailureKind::NoMatchingVersion),
        (&["greeter", "clash"], FailureKind::Conflict),
        (&["broken"], FailureKind::BuildFailed),
    ] {
        let report = yard.install(yard.packages(packages)).await.unwrap();
        let failure = report.failure.clone().unwrap();
        assert_eq!(failure.kind, kind, "{failure:?}");
        assert!(
            !report.succeeded && told(&report).is_empty() && !failure.lines.is_empty(),
            "{report:?}"
        );
    }
    // It can be used all the same.
    assert!(yard.install(yard.packages(&["hello"])).await.unwrap().succeeded);
}

#[tokio::test]
async fn files_of_the_tree_are_read_here_and_not_by_the_installer() {
    let yard = Yard::new().await;
    let write = |name: &str, content: &str| fs::write(yard.tree().join(name), content).unwrap();
    let from = |requirements: Option<&str>, pyproject: Option<&str>, groups: &[&str]| InstallRequest {
        requirements: requirements.map(ToOwned::to_owned),
        pyproject: pyproject.map(ToOwned::to_owned),
        groups: groups.iter().map(|group| (*group).to_owned()).collect(),
        ..yard.packages(&[])
    };
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("x.txt"), "hello\n").unwrap();
    std::os::unix::fs::symlink(outside.path().join("x.txt"), yard.tree().join("link.txt")).unwrap();
    write("evil.txt", "hello\n--index-url https://evil.example/simple\n");
    write("escape.txt", "-r ../x.txt\n");
    write("nested.txt", "-r link.txt\n");
    for (request, kind) in [
        (from(Some("evil.txt"), None, &[]), ErrorKind::InvalidInput),
        (from(Some("escape.txt"), None, &[]), ErrorKind::InvalidInput),
        (from(Some("../x.txt"), None, &[]), ErrorKind::InvalidInput),
        (from(Some("absent.txt"), None, &[]), ErrorKind::NotFound),
        (from(None, None, &["web"]), ErrorKind::InvalidInput),
        (from(None, None, &[]), ErrorKind::InvalidInput),
        (yard.packages(&["hello", "--pre"]), ErrorKind::InvalidInput),
        (
            yard.packages(&["hello @ https://example.org/x.whl"]),
            ErrorKind::Forbidden,
        ),
    ] {
        let error = yard.install(request.clone()).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{request:?}: {error}");
    }
    for request in [
        from(Some("link.txt"), None, &[]),
        from(Some("nested.txt"), None, &[]),
    ] {
        yard.install(request).await.unwrap_err();
    }
    assert!(
        !yard.platform.data().join("envs").exists(),
        "nothing was made for what is refused"
    );

    write("requirements.txt", "# ours\nhello<2\n");
    write(
        "pyproject.toml",
        "[project]\ndependencies = ['extra']\n[project.optional-dependencies]\nall = ['extra[full]']\n",
    );
    let report = yard
        .install(from(Some("requirements.txt"), Some("pyproject.toml"), &["all"]))
        .await
        .unwrap();
    assert_eq!(told(&report), ["+extra 1.0", "+greeter 1.0", "+hello 1.0"]);
}

#[tokio::test]
async fn what_is_deleted_or_half_made_is_made_anew() {
    let yard = Yard::new().await;
    let made = |report: InstallReport| report.made.unwrap();
    let first = yard.install(yard.packages(&["hello"])).await.unwrap();
    assert!(made(first).ends_with(": there was none"));
    let environment = yard.directory();

    fs::remove_dir_all(environment.join("env")).unwrap();
    let again = yard.install(yard.packages(&["hello"])).await.unwrap();
    assert!(again.generation > 0 && made(again).ends_with(": its Python was gone"));

    fs::remove_file(environment.join("agentyard.json")).unwrap();
    let again = yard.install(yard.packages(&["hello"])).await.unwrap();
    assert!(made(again).ends_with(": it was left half made"));
    assert_eq!(yard.installed().await, ["hello 2.0"]);

    // A link that a package put in place of its own library shows nothing of this machine.
    let library = fs::read_dir(environment.join("env/lib"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    fs::remove_dir_all(library.join("site-packages")).unwrap();
    std::os::unix::fs::symlink("/usr/lib/python3/dist-packages", library.join("site-packages")).unwrap();
    assert_eq!(yard.installed().await, Vec::<String>::new());
}

#[tokio::test]
async fn installations_take_turns_and_can_be_come_back_for() {
    let yard = Yard::new().await;
    let other = yard.another();
    let at_once = Waiting {
        wait: Some(Duration::ZERO),
        ..Waiting::default()
    };
    let here = install(
        &yard.services,
        &yard.caller,
        yard.packages(&["hello==1.0"]),
        at_once,
    )
    .await
    .unwrap();
    let (here, none) = (here.run.unwrap(), here.report);
    assert!(none.is_none());
    let there = install(
        &other,
        &yard.caller,
        yard.packages(&["extra"]),
        Waiting::default(),
    );
    let back = Waiting {
        run: Some(here),
        ..Waiting::default()
    };
    let here = install(&yard.services, &yard.caller, InstallRequest::default(), back);
    let (here, there) = tokio::join!(here, there);
    let (here, there) = (here.unwrap().report.unwrap(), there.unwrap().report.unwrap());
    assert_eq!(
        (told(&here), told(&there)),
        (vec!["+hello 1.0".to_owned()], vec!["+extra 1.0".to_owned()])
    );
    // One of them made it, and the other found it.
    assert!(here.made.is_some() != there.made.is_some());

    let stranger = Caller {
        tenant: yard.platform.add_tenant("other").await,
        ..Caller::local()
    };
    let error = install(&yard.services, &stranger, InstallRequest::default(), back)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

#[tokio::test]
async fn who_leaves_ends_it_and_the_next_one_goes_on() {
    let yard = Yard::new().await;
    let leaving = install(
        &yard.services,
        &yard.caller,
        yard.packages(&["hello"]),
        Waiting::default(),
    );
    tokio::select! {
        _ = leaving => {}
        () = tokio::time::sleep(Duration::from_millis(300)) => {}
    }
    let report = yard.install(yard.packages(&["greeter"])).await.unwrap();
    assert!(report.succeeded, "{report:?}");
}

#[tokio::test]
async fn only_who_may_run_things_may_install_and_choose() {
    let yard = Yard::new().await;
    let reader = Caller {
        permissions: [Permission::ProjectRead].into_iter().collect::<Permissions>(),
        ..Caller::local()
    };
    let refused = install(
        &yard.services,
        &reader,
        yard.packages(&["hello"]),
        Waiting::default(),
    )
    .await;
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Forbidden);
    let choice = ConfigureEnvironment {
        place: yard.place(),
        kind: Some(EnvironmentKind::Venv),
        ..ConfigureEnvironment::default()
    };
    let environments = &yard.services.environments;
    assert_eq!(
        environments.configure(&reader, choice).await.unwrap_err().kind(),
        ErrorKind::Forbidden
    );
    environments.describe(&reader, &yard.place()).await.unwrap();
    let nobody = Caller::anonymous();
    assert_eq!(
        environments
            .describe(&nobody, &yard.place())
            .await
            .unwrap_err()
            .kind(),
        ErrorKind::Unauthenticated
    );
    assert_eq!(
        environments
            .check(&nobody, &yard.place(), &[])
            .await
            .unwrap_err()
            .kind(),
        ErrorKind::Unauthenticated
    );
}

#[tokio::test]
async fn an_environment_is_chosen_within_the_tree_or_the_settings() {
    let outside = tempfile::tempdir().unwrap();
    let configured = outside.path().join("configured");
    let yard = Yard::with(|settings| settings.venv_path = Some(configured.clone())).await;
    let environments = &yard.services.environments;
    let choose =
        |kind: Option<EnvironmentKind>, name: Option<&str>, path: Option<&Path>| ConfigureEnvironment {
            place: yard.place(),
            kind,
            conda_name: name.map(ToOwned::to_owned),
            path: path.map(Path::to_owned),
        };
    let venv = Some(EnvironmentKind::Venv);
    for (request, kind) in [
        (
            choose(venv, None, Some(Path::new("/home/ada/.ssh"))),
            ErrorKind::Forbidden,
        ),
        (choose(venv, None, Some(Path::new("../x"))), ErrorKind::Forbidden),
        (
            choose(venv, None, Some(Path::new(".git/x"))),
            ErrorKind::Forbidden,
        ),
        (choose(venv, None, Some(Path::new(""))), ErrorKind::Forbidden),
        (
            choose(venv, None, Some(&yard.platform.data().join("envs"))),
            ErrorKind::Forbidden,
        ),
        (choose(venv, Some("x"), None), ErrorKind::InvalidInput),
        (choose(None, Some("../x"), None), ErrorKind::InvalidInput),
        (choose(None, Some("-x"), None), ErrorKind::InvalidInput),
        (choose(None, Some("x"), None), ErrorKind::Unavailable),
        (
            choose(Some(EnvironmentKind::Conda), None, None),
            ErrorKind::Unavailable,
        ),
    ] {
        let error = environments
            .configure(&yard.caller, request.clone())
            .await
            .unwrap_err();
        assert_eq!(error.kind(), kind, "{request:?}: {error}");
    }

    // Until something is chosen, the one of the settings counts; it is made where it is not there yet.
    let view = environments.describe(&yard.caller, &yard.place()).await.unwrap();
    assert_eq!(view.path, Some(configured.clone()));
    let report = yard.install(yard.packages(&["hello"])).await.unwrap();
    assert!(
        report.succeeded && configured.join("pyvenv.cfg").exists(),
        "{report:?}"
    );

    let below = Path::new(".venv");
    let view = environments
        .configure(&yard.caller, choose(venv, None, Some(below)))
        .await
        .unwrap();
    assert_eq!((view.path, view.exists), (Some(yard.tree().join(below)), false));
    assert_eq!(
        told(&yard.install(yard.packages(&["greeter"])).await.unwrap()),
        ["+greeter 1.0", "+hello 1.0"]
    );
    // Another process knows of the choice, and whoever puts a link there gets nothing by it.
    let there = yard.another();
    assert!(
        there
            .environments
            .describe(&yard.caller, &yard.place())
            .await
            .unwrap()
            .exists
    );
    fs::rename(yard.tree().join(below), outside.path().join("moved")).unwrap();
    std::os::unix::fs::symlink(outside.path().join("moved"), yard.tree().join(below)).unwrap();
    assert!(
        !environments
            .describe(&yard.caller, &yard.place())
            .await
            .unwrap()
            .exists
    );
    yard.install(yard.packages(&["hello"])).await.unwrap_err();
}

#[tokio::test]
async fn without_network_or_room_nothing_is_installed() {
    let yard = Yard::with(|settings| settings.network = agentyard_services::Network::None).await;
    let error = yard.install(yard.packages(&["hello"])).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Forbidden);
    assert!(error.hints()[0].contains("sandbox.network"), "{error:?}");

    let full = Yard::with(|settings| settings.max_bytes = 1).await;
    full.install(full.packages(&["hello"])).await.unwrap_err();
    let view = full
        .services
        .environments
        .describe(&full.caller, &full.place())
        .await
        .unwrap();
    assert!(view.exists, "it was made while there was room");
}

#[tokio::test]
async fn what_code_lacks_is_installed_and_the_code_run_again() {
    let yard = Yard::new().await;
    let request = CodeRequest {
        place: yard.place(),
        code: "import hello\nprint(hello.VERSION)".to_owned(),
        options: ExecOptions {
            auto_install: true,
            ..ExecOptions::default()
        },
        ..CodeRequest::default()
    };
    let (waiting, progress) = (Waiting::default(), Progress::ignored());
    let exec = &yard.services.exec;
    let answer = exec
        .execute_code(&yard.caller, request, waiting, &progress)
        .await
        .unwrap();
    assert_eq!(answer.run.stdout.head, "2.0\n");
    let details = answer.details.unwrap();
    let installed = details.installed.as_ref().unwrap();
    assert!(installed.succeeded, "{}", installed.report);
    assert_eq!(installed.packages, ["hello"]);
    assert_eq!(details.missing_package, None);
    assert_eq!(yard.installed().await, ["hello 2.0"]);
}
