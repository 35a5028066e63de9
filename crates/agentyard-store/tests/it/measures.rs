//! What was counted of workspaces.

use agentyard_model::{RepoId, TenantId, WorkspaceMeasure};
use agentyard_store::MeasureChange;
use agentyard_testkit::on_both_databases;

use crate::support::add_repo;

const LOCAL: TenantId = TenantId::LOCAL;

fn change(name: &str, count: u64, total: u64) -> MeasureChange<'_> {
    MeasureChange { name, count, total }
}

fn measure(name: &str, count: u64, total: u64) -> WorkspaceMeasure {
    WorkspaceMeasure {
        name: name.to_owned(),
        count,
        total,
    }
}

on_both_databases!(numbers_add_up, async |database| {
    let web = add_repo(&database.store, LOCAL, "web").await.id;
    let api = add_repo(&database.store, LOCAL, "api").await.id;
    let measures = database.store.measures();
    let opened_twice = [
        change("wait_us", 1, 7),
        change("opened", 1, 100),
        change("opened", 1, 50),
    ];
    measures.add(LOCAL, web, &opened_twice).await.unwrap();
    measures.add(LOCAL, web, &[change("opened", 1, 1)]).await.unwrap();
    measures.add(LOCAL, api, &[change("opened", 5, 5)]).await.unwrap();
    measures.add(LOCAL, web, &[]).await.unwrap();
    assert_eq!(
        measures.of(LOCAL, Some(web)).await.unwrap(),
        [measure("opened", 3, 151), measure("wait_us", 1, 7)]
    );
    assert_eq!(
        measures.of(LOCAL, None).await.unwrap(),
        [measure("opened", 8, 156), measure("wait_us", 1, 7)]
    );
});

on_both_databases!(nothing_is_counted_of_what_is_gone, async |database| {
    let measures = database.store.measures();
    measures
        .add(LOCAL, RepoId::new(), &[change("opened", 1, 1)])
        .await
        .unwrap();
    assert_eq!(measures.of(LOCAL, None).await.unwrap(), []);
});

on_both_databases!(none_of_many_at_once_is_lost, async |database| {
    let repo = add_repo(&database.store, LOCAL, "web").await.id;
    let stores = [database.store.clone(), database.another_store()];
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..20 {
        let store = stores[number % 2].clone();
        tasks.spawn(async move {
            let mut changes = [change("a", 1, 1), change("b", 1, 2)];
            if number % 4 < 2 {
                changes.reverse();
            }
            store.measures().add(LOCAL, repo, &changes).await.unwrap();
        });
    }
    tasks.join_all().await;
    assert_eq!(
        database.store.measures().of(LOCAL, Some(repo)).await.unwrap(),
        [measure("a", 20, 20), measure("b", 20, 40)]
    );
    stores[1].close().await;
});
