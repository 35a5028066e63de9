//! Registered repositories.

use std::time::Duration;

use agentyard_model::{NewRepo, Repo, RepoId, TenantId};
use agentyard_store::{Added, Error, MeasureChange};
use agentyard_testkit::on_both_databases;

use crate::support::{actions, add_repo, event, new_repo, new_workspace, open_workspace, page, page_after};

const LOCAL: TenantId = TenantId::LOCAL;

on_both_databases!(a_repository_reads_back_as_it_was_registered, async |database| {
    let repos = database.store.repos();
    let repo = add_repo(&database.store, LOCAL, "web").await;
    let expected = Repo {
        id: repo.id,
        tenant: LOCAL,
        name: "web".parse().unwrap(),
        url: "https://example.org/web.git".to_owned(),
        default_branch: None,
        created_by: "user ada".to_owned(),
        created_at: database.clock.now(),
        fetched_at: None,
    };
    assert_eq!(repo, expected);
    for found in [
        repos.get(LOCAL, &repo.name).await.unwrap(),
        repos.by_id(LOCAL, repo.id).await.unwrap(),
        repos.by_url(LOCAL, &repo.url).await.unwrap(),
    ] {
        assert_eq!(found.as_ref(), Some(&expected));
    }
    assert_eq!(repos.by_id(LOCAL, RepoId::new()).await.unwrap(), None);
    assert_eq!(repos.by_url(LOCAL, "https://example.org/").await.unwrap(), None);
});

on_both_databases!(a_name_and_an_address_are_taken_once, async |database| {
    let repos = database.store.repos();
    let web = add_repo(&database.store, LOCAL, "web").await;
    add_repo(&database.store, LOCAL, "shop").await;
    let add = async |new| repos.add(&new, &event("repo_add")).await.unwrap();

    let other_address = NewRepo {
        url: "/srv/web".to_owned(),
        ..new_repo(LOCAL, "web")
    };
    assert_eq!(add(other_address).await, Added::NameTaken(web.clone()));
    let other_name = NewRepo {
        name: "web-2".parse().unwrap(),
        ..new_repo(LOCAL, "web")
    };
    assert_eq!(add(other_name).await, Added::UrlTaken(web.clone()));
    assert_eq!(add(new_repo(LOCAL, "web")).await, Added::UrlTaken(web.clone()));
    let of_two = NewRepo {
        url: web.url.clone(),
        ..new_repo(LOCAL, "shop")
    };
    assert_eq!(add(of_two).await, Added::UrlTaken(web));
    assert_eq!(actions(&database.store, LOCAL).await, ["repo_add", "repo_add"]);
});

on_both_databases!(of_many_at_once_one_registers, async |database| {
    let stores = [database.store.clone(), database.another_store()];
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..10 {
        let store = stores[number % 2].clone();
        tasks.spawn(async move {
            store
                .repos()
                .add(&new_repo(LOCAL, "web"), &event("repo_add"))
                .await
                .unwrap()
        });
    }
    let answers = tasks.join_all().await;
    let added = answers.iter().filter(|it| matches!(it, Added::Added(_))).count();
    let taken = answers
        .iter()
        .filter(|it| matches!(it, Added::UrlTaken(_)))
        .count();
    assert_eq!((added, taken), (1, 9), "{answers:?}");
    stores[1].close().await;
});

on_both_databases!(what_cannot_be_kept_is_refused, async |database| {
    let repos = database.store.repos();
    let long = NewRepo {
        url: format!("/srv/{}", "x".repeat(1024)),
        ..new_repo(LOCAL, "web")
    };
    let added = repos.add(&long, &event("repo_add")).await;
    assert!(matches!(added, Err(Error::Unstorable { .. })), "{added:?}");
    let stranger = repos
        .add(&new_repo(TenantId::new(), "web"), &event("repo_add"))
        .await;
    assert!(matches!(stranger, Err(Error::NotFound { .. })), "{stranger:?}");
});

on_both_databases!(repositories_are_listed_by_name, async |database| {
    for name in ["web", "api", "shop"] {
        add_repo(&database.store, LOCAL, name).await;
    }
    let repos = database.store.repos();
    let first = repos.list(LOCAL, &page(2)).await.unwrap();
    let names = |repos: &[Repo]| repos.iter().map(|repo| repo.name.to_string()).collect::<Vec<_>>();
    assert_eq!(names(&first.items), ["api", "shop"]);
    let second = repos.list(LOCAL, &page_after(2, first.next)).await.unwrap();
    assert_eq!(names(&second.items), ["web"]);
    assert_eq!(second.next, None);
    let foreign = repos
        .list(LOCAL, &page_after(2, Some("a/b".parse().unwrap())))
        .await;
    assert!(matches!(foreign, Err(Error::InvalidCursor(_))), "{foreign:?}");
});

on_both_databases!(a_fetch_is_noted, async |database| {
    let repo = add_repo(&database.store, LOCAL, "web").await;
    let repos = database.store.repos();
    let seen = async || {
        let repo = repos.by_id(LOCAL, repo.id).await.unwrap().unwrap();
        (repo.fetched_at, repo.default_branch)
    };
    repos.fetched(repo.id, Some("trunk")).await.unwrap();
    let first = database.clock.now();
    assert_eq!(seen().await, (Some(first), Some("trunk".to_owned())));
    database.clock.advance(Duration::from_secs(1));
    repos.fetched(repo.id, None).await.unwrap();
    assert_eq!(
        seen().await,
        (
            Some(first.after(Duration::from_secs(1))),
            Some("trunk".to_owned())
        )
    );
});

on_both_databases!(a_repository_in_use_is_not_removed, async |database| {
    let store = &database.store;
    let repo = add_repo(store, LOCAL, "web").await;
    let wanted = new_workspace(database.clock.now(), &repo, "main");
    let workspace = open_workspace(store, &wanted).await;
    let change = MeasureChange {
        name: "opened",
        count: 1,
        total: 0,
    };
    store.measures().add(LOCAL, repo.id, &[change]).await.unwrap();

    let remove = async || store.repos().remove(LOCAL, repo.id, &event("repo_remove")).await;
    assert!(!remove().await.unwrap());
    assert!(
        store
            .workspaces()
            .closing(LOCAL, workspace.id, None)
            .await
            .unwrap()
    );
    assert!(!remove().await.unwrap());
    let closed = event("workspace_close");
    assert!(
        store
            .workspaces()
            .closed(workspace.id, None, "asked", &closed)
            .await
            .unwrap()
    );
    assert!(remove().await.unwrap());

    assert_eq!(store.repos().by_id(LOCAL, repo.id).await.unwrap(), None);
    assert_eq!(store.workspaces().get(LOCAL, workspace.id).await.unwrap(), None);
    assert_eq!(store.measures().of(LOCAL, None).await.unwrap(), []);
    let again = remove().await;
    assert!(matches!(again, Err(Error::NotFound { .. })), "{again:?}");
    assert_eq!(
        actions(store, LOCAL).await,
        ["repo_add", "workspace_open", "workspace_close", "repo_remove"]
    );
});
