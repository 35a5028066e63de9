//! Registered repositories, on a whole platform.

use agentyard_git::RemoteUrl;
use agentyard_model::{AuditEvent, Caller, NewWorkspace, Page, PageRequest, Repo, TenantId};
use agentyard_services::{
    ConfiguredRepo, Error, ErrorKind, Progress, RepoBranch, RepoBranchesRequest, RepoFetched, RepoRequest,
    RepoSummary, Result,
};
use agentyard_store::Claim;
use agentyard_testkit::{TestPlatform, TestRepository};

fn local() -> Caller {
    Caller::local()
}

fn request(url: &str) -> RepoRequest {
    RepoRequest {
        url: url.to_owned(),
        ..RepoRequest::default()
    }
}

fn called(name: &str, url: &str) -> RepoRequest {
    RepoRequest {
        name: Some(name.parse().unwrap()),
        ..request(url)
    }
}

/// The address of the platform's own repository: its path.
fn own(platform: &TestPlatform) -> String {
    platform.repository.path().display().to_string()
}

async fn add(platform: &TestPlatform, request: RepoRequest) -> Result<Repo> {
    platform.services.repos.add(&local(), request).await
}

async fn add_own(platform: &TestPlatform) -> Repo {
    add(platform, called("own", &own(platform))).await.unwrap()
}

async fn list(platform: &TestPlatform, limit: u32) -> Vec<RepoSummary> {
    let mut found = Vec::new();
    let mut cursor = None;
    loop {
        let page = PageRequest::new(Some(limit), cursor);
        let Page { items, next } = platform.services.repos.list(&local(), page).await.unwrap();
        assert!(items.len() <= limit as usize);
        found.extend(items);
        cursor = next;
        if cursor.is_none() {
            return found;
        }
    }
}

async fn fetch(platform: &TestPlatform, repo: &str) -> Result<RepoFetched> {
    let repos = &platform.services.repos;
    repos.fetch(&local(), repo, &Progress::ignored()).await
}

async fn branches(platform: &TestPlatform, repo: &str) -> Vec<RepoBranch> {
    let request = RepoBranchesRequest {
        limit: 100,
        ..RepoBranchesRequest::default()
    };
    let repos = &platform.services.repos;
    let found = repos
        .branches(&local(), repo, request, &Progress::ignored())
        .await;
    found.unwrap().branches
}

fn names(branches: &[RepoBranch]) -> Vec<&str> {
    branches.iter().map(|it| it.branch.name.as_str()).collect()
}

fn kind<T: std::fmt::Debug>(result: Result<T>) -> ErrorKind {
    result.as_ref().map_err(Error::kind).unwrap_err()
}

/// Opens a workspace on a branch, as far as the database is concerned.
async fn claim(platform: &TestPlatform, repo: &Repo, branch: &str) -> agentyard_model::Workspace {
    let new = NewWorkspace {
        tenant: repo.tenant,
        repo: repo.id,
        branch: branch.to_owned(),
        name: format!("{branch}-1a2b3c4d"),
        agent: None,
        task: None,
        target: None,
        owner: local().subject.to_string(),
        lease_until: platform.clock.now(),
        limit: 10,
    };
    let event = AuditEvent::done(&local(), "workspace_open", branch);
    match platform.store.workspaces().claim(&new, &event).await.unwrap() {
        Claim::New(workspace) => workspace,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_repository_is_named_by_its_address_and_registered_once() {
    let platform = TestPlatform::new().await;
    let web = add(&platform, request("https://user@a.example/team/Web.git"))
        .await
        .unwrap();
    assert_eq!(web.name.as_str(), "web");
    assert_eq!(
        web.url, "https://a.example/team/Web.git",
        "who signs in is not part of the address"
    );
    assert_eq!(
        add(&platform, request("https://a.example/team/Web.git"))
            .await
            .unwrap(),
        web
    );
    assert_eq!(add(&platform, called("web", &web.url)).await.unwrap(), web);

    let other = add(&platform, request("https://b.example/web")).await.unwrap();
    assert_eq!(other.name.as_str(), "web-2");
    let refused = add(&platform, called("shop", &web.url)).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Conflict);
    assert!(refused.message().contains("as `web`"), "{refused}");
    assert_eq!(
        kind(add(&platform, called("web", "https://c.example/web")).await),
        ErrorKind::Conflict
    );
}

#[tokio::test]
async fn addresses_that_may_not_be_used_are_refused() {
    let platform = TestPlatform::new().await;
    for (url, expected) in [
        ("https://me:hunter2@a.example/web", ErrorKind::InvalidInput),
        ("ext::sh -c id", ErrorKind::InvalidInput),
        ("--upload-pack=x", ErrorKind::InvalidInput),
        ("http://a.example/web", ErrorKind::Forbidden),
        ("https://169.254.169.254/web", ErrorKind::Forbidden),
        ("https://127.1/web", ErrorKind::Forbidden),
        ("/etc", ErrorKind::Forbidden),
        ("file:///etc", ErrorKind::Forbidden),
    ] {
        let error = add(&platform, request(url)).await.unwrap_err();
        assert_eq!(error.kind(), expected, "{url}: {error}");
        assert!(!error.chain().contains("hunter2"), "{error}");
    }
    assert_eq!(list(&platform, 10).await, []);
    let bad_branch = RepoRequest {
        default_branch: Some("--exec=x".to_owned()),
        ..request("https://a.example/web")
    };
    assert_eq!(kind(add(&platform, bad_branch).await), ErrorKind::InvalidInput);
}

#[tokio::test]
async fn any_path_inside_a_repository_is_that_repository() {
    let platform = TestPlatform::new().await;
    platform.repository.write("deeper/file", "");
    std::os::unix::fs::symlink("deeper", platform.repository.path().join("link")).unwrap();
    let whole = add_own(&platform).await;
    let real = platform.repository.path().canonicalize().unwrap();
    assert_eq!(whole.url, real.display().to_string());
    for path in ["deeper", "link"] {
        let part = format!("{}/{path}", own(&platform));
        assert_eq!(add(&platform, request(&part)).await.unwrap(), whole, "{path}");
    }
}

#[tokio::test]
async fn another_tenant_has_no_directories_and_sees_none_of_ours() {
    let platform = TestPlatform::new().await;
    let ours = add_own(&platform).await;
    let stranger = Caller {
        tenant: platform.add_tenant("elsewhere").await,
        ..local()
    };
    let repos = &platform.services.repos;
    assert_eq!(
        kind(repos.add(&stranger, request(&own(&platform))).await),
        ErrorKind::NotFound
    );
    assert_eq!(kind(repos.get(&stranger, "own").await), ErrorKind::NotFound);
    assert_eq!(
        kind(repos.get(&stranger, &ours.id.to_string()).await),
        ErrorKind::NotFound
    );
    let removed = repos
        .remove(&stranger, &ours.id.to_string(), true, &Progress::ignored())
        .await;
    assert_eq!(kind(removed), ErrorKind::NotFound);
    // A row that leads to one of our directories all the same is of no use.
    let smuggled = agentyard_model::NewRepo {
        tenant: stranger.tenant,
        name: "own".parse().unwrap(),
        url: ours.url.clone(),
        default_branch: None,
        created_by: "somebody".to_owned(),
    };
    let event = AuditEvent::done(&stranger, "repo_add", "own");
    platform.store.repos().add(&smuggled, &event).await.unwrap();
    let fetched = repos.fetch(&stranger, "own", &Progress::ignored()).await;
    assert_eq!(kind(fetched), ErrorKind::Forbidden);
}

#[tokio::test]
async fn a_mirror_is_made_when_it_is_first_needed_and_fetched_into() {
    let platform = TestPlatform::new().await;
    let (progress, steps) = Progress::watched();
    let own = add_own(&platform).await;
    assert_eq!((own.fetched_at, own.default_branch), (None, None));
    let made = platform
        .services
        .repos
        .fetch(&local(), "own", &progress)
        .await
        .unwrap();
    assert!(made.created);
    assert!(made.changes.is_empty());
    assert_eq!(made.repo.default_branch.as_deref(), Some("main"));
    assert_eq!(made.repo.fetched_at, Some(platform.clock.now()));
    assert!(
        steps.borrow().message.starts_with("preparing own"),
        "{:?}",
        *steps.borrow()
    );

    platform.repository.git(&["branch", "topic"]);
    platform.repository.git(&["branch", "--move", "main", "trunk"]);
    let fetched = fetch(&platform, &own.id.to_string()).await.unwrap();
    assert!(!fetched.created);
    let changed: Vec<&str> = fetched
        .changes
        .iter()
        .map(|change| change.name.as_str())
        .collect();
    assert_eq!(changed, ["origin/main", "origin/topic", "origin/trunk"]);
    assert_eq!(
        fetched.repo.default_branch.as_deref(),
        Some("trunk"),
        "it follows the remote"
    );
    assert!(fetch(&platform, "own").await.unwrap().changes.is_empty());
}

#[tokio::test]
async fn a_default_branch_that_somebody_chose_stays() {
    let platform = TestPlatform::new().await;
    platform.repository.git(&["branch", "stable"]);
    let chosen = RepoRequest {
        default_branch: Some("stable".to_owned()),
        ..called("own", &own(&platform))
    };
    add(&platform, chosen).await.unwrap();
    for _ in 0..2 {
        let repo = fetch(&platform, "own").await.unwrap().repo;
        assert_eq!(repo.default_branch.as_deref(), Some("stable"));
    }
}

#[tokio::test]
async fn of_many_who_need_a_mirror_one_makes_it() {
    let platform = TestPlatform::new().await;
    add_own(&platform).await;
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..6 {
        let services = platform.services.clone();
        tasks.spawn(async move {
            services
                .repos
                .fetch(&local(), "own", &Progress::ignored())
                .await
                .unwrap()
        });
    }
    let created = tasks
        .join_all()
        .await
        .iter()
        .filter(|fetched| fetched.created)
        .count();
    assert_eq!(created, 1);
    assert_eq!(names(&branches(&platform, "own").await), ["origin/main"]);
}

#[tokio::test]
async fn a_mirror_of_which_nobody_heard_is_taken_as_it_is() {
    // As when a process dies after it made the mirror and before it said so.
    let platform = TestPlatform::new().await;
    let own = add_own(&platform).await;
    fetch(&platform, "own").await.unwrap();
    platform.repository.git(&["branch", "topic"]);
    let forgotten = agentyard_model::NewRepo {
        tenant: TenantId::LOCAL,
        name: "other".parse().unwrap(),
        url: "https://a.example/other".to_owned(),
        default_branch: None,
        created_by: "somebody".to_owned(),
    };
    let event = AuditEvent::done(&local(), "repo_add", "other");
    let agentyard_store::Added::Added(other) = platform.store.repos().add(&forgotten, &event).await.unwrap()
    else {
        panic!("it is new");
    };
    let mirror = |repo: &Repo| platform.data().join(format!("repos/{}.git", repo.id));
    std::fs::rename(mirror(&own), mirror(&other)).unwrap();
    // Its address leads nowhere, and is not asked.
    assert_eq!(names(&branches(&platform, "other").await), ["origin/main"]);
    let known = platform.services.repos.get(&local(), "other").await.unwrap().repo;
    assert_eq!(known.default_branch.as_deref(), Some("main"));
    assert!(known.fetched_at.is_some());
    // And of the other one that was lost a new one is made.
    assert_eq!(
        names(&branches(&platform, "own").await),
        ["origin/main", "origin/topic"]
    );
}

#[tokio::test]
async fn branches_tell_the_default_and_who_works_on_them() {
    let platform = TestPlatform::new().await;
    let own = add_own(&platform).await;
    platform.repository.git(&["branch", "topic"]);
    assert_eq!(
        names(&branches(&platform, "own").await),
        ["origin/main", "origin/topic"]
    );
    let mirror = platform
        .data()
        .join(format!("repos/{}.git", own.id))
        .display()
        .to_string();
    platform
        .repository
        .git(&["--git-dir", &mirror, "branch", "topic", "origin/topic"]);
    let workspace = claim(&platform, &own, "topic").await;

    let found = branches(&platform, "own").await;
    assert_eq!(names(&found), ["topic", "origin/main", "origin/topic"]);
    let default: Vec<bool> = found.iter().map(|it| it.is_default).collect();
    assert_eq!(default, [false, true, false]);
    let working = found[0].workspace.as_ref().unwrap();
    assert_eq!((working.id, working.branch.as_str()), (workspace.id, "topic"));
    let path = platform.data().join(format!("trees/{}/topic-1a2b3c4d", own.id));
    assert_eq!(working.path, path.display().to_string());
    assert!(found[1..].iter().all(|it| it.workspace.is_none()));
    let details = platform.services.repos.get(&local(), "own").await.unwrap();
    assert_eq!(details.workspaces, std::slice::from_ref(working));

    let page = async |limit, cursor| {
        let request = RepoBranchesRequest {
            limit,
            cursor,
            pattern: Some("topic".to_owned()),
        };
        let repos = &platform.services.repos;
        repos
            .branches(&local(), "own", request, &Progress::ignored())
            .await
            .unwrap()
    };
    let first = page(1, None).await;
    assert_eq!((names(&first.branches), first.total), (vec!["topic"], 2));
    let second = page(1, first.next.map(agentyard_model::Cursor::at)).await;
    assert_eq!(
        (names(&second.branches), second.next),
        (vec!["origin/topic"], None)
    );
}

#[tokio::test]
async fn a_repository_in_use_stays_and_one_that_is_not_goes_with_its_mirror() {
    let platform = TestPlatform::new().await;
    let own = add_own(&platform).await;
    fetch(&platform, "own").await.unwrap();
    let mirror = platform.data().join(format!("repos/{}.git", own.id));
    let repos = &platform.services.repos;
    let remove = async |confirm| repos.remove(&local(), "own", confirm, &Progress::ignored()).await;
    assert_eq!(kind(remove(false).await), ErrorKind::InvalidInput);

    let workspace = claim(&platform, &own, "main").await;
    let refused = remove(true).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Conflict);
    assert!(refused.message().contains("main"), "{refused}");
    assert!(mirror.exists());

    let event = AuditEvent::done(&local(), "workspace_close", "main");
    platform
        .store
        .workspaces()
        .closed(workspace.id, None, "asked", &event)
        .await
        .unwrap();
    assert_eq!(remove(true).await.unwrap().as_str(), "own");
    assert!(!mirror.exists());
    assert_eq!(kind(remove(true).await), ErrorKind::NotFound);
    assert_eq!(list(&platform, 10).await, []);
}

#[tokio::test]
async fn only_what_somebody_began_to_remove_is_removed_at_a_start() {
    let platform = TestPlatform::new().await;
    let own = add_own(&platform).await;
    fetch(&platform, "own").await.unwrap();
    let repos = platform.data().join("repos");
    let gone = repos.join(format!(".gone-{}", agentyard_model::RepoId::new()));
    std::fs::create_dir_all(gone.join("objects")).unwrap();
    let unknown = repos.join(format!("{}.git", agentyard_model::RepoId::new()));
    std::fs::create_dir(&unknown).unwrap();
    platform.services.repos.recover().await.unwrap();
    assert!(!gone.exists());
    assert!(unknown.exists(), "it may be all that is left of somebody's work");
    assert!(repos.join(format!("{}.git", own.id)).exists());
}

fn configured(name: &str, url: &str) -> ConfiguredRepo {
    ConfiguredRepo {
        name: name.parse().unwrap(),
        url: RemoteUrl::parse(url).unwrap(),
        default_branch: None,
    }
}

#[tokio::test]
async fn repositories_of_the_configuration_are_registered_when_they_are_used() {
    let elsewhere = TestRepository::with_commit("file", "");
    let outside = elsewhere.path().canonicalize().unwrap().display().to_string();
    let platform = TestPlatform::with_repos(vec![
        configured("outside", &outside),
        configured("unused", "https://a.example/unused"),
    ])
    .await;
    for name in ["all", "pure", "zoo"] {
        add(&platform, called(name, &format!("https://b.example/{name}")))
            .await
            .unwrap();
    }
    for limit in [1, 2, 3, 10] {
        let listed = list(&platform, limit).await;
        let shown: Vec<(&str, bool)> = listed
            .iter()
            .map(|it| (it.name.as_str(), it.id.is_some()))
            .collect();
        let expected = [
            ("all", true),
            ("outside", false),
            ("pure", true),
            ("unused", false),
            ("zoo", true),
        ];
        assert_eq!(shown, expected, "{limit}");
    }
    let repos = &platform.services.repos;
    let unused = repos.get(&local(), "unused").await.unwrap().repo;
    assert_eq!(
        (unused.id, unused.url.as_str()),
        (None, "https://a.example/unused")
    );

    // Whoever wrote the configuration said that this directory may be used, and nobody else did.
    assert_eq!(names(&branches(&platform, "outside").await), ["origin/main"]);
    assert!(repos.get(&local(), "outside").await.unwrap().repo.id.is_some());
    let other = elsewhere.path().join("nested");
    std::fs::create_dir(&other).unwrap();
    let refused = add(&platform, request(&other.display().to_string())).await;
    assert_eq!(kind(refused), ErrorKind::Forbidden);

    // Their names are taken.
    let name_taken = add(&platform, called("unused", "https://c.example/x")).await;
    assert_eq!(kind(name_taken), ErrorKind::Conflict);
    let numbered = add(&platform, request("https://c.example/unused")).await.unwrap();
    assert_eq!(numbered.name.as_str(), "unused-2");
    let removed = repos.remove(&local(), "unused", true, &Progress::ignored()).await;
    assert_eq!(kind(removed), ErrorKind::InvalidInput);

    let stranger = Caller {
        tenant: platform.add_tenant("elsewhere").await,
        ..local()
    };
    assert_eq!(kind(repos.get(&stranger, "unused").await), ErrorKind::NotFound);
    let theirs = repos.list(&stranger, PageRequest::new(None, None)).await.unwrap();
    assert_eq!(theirs.items, []);
}
