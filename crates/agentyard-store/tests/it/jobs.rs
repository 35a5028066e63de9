//! Long work.

use std::collections::HashSet;
use std::time::Duration;

use agentyard_model::{Clock, JobId};
use agentyard_store::{Enqueued, Error, Job, JobState, LeasedJob, NewJob, Store};
use agentyard_testkit::on_both_databases;

const MINUTE: Duration = Duration::from_secs(60);

fn new_job(clock: &Clock, kind: &str) -> NewJob {
    NewJob {
        kind: kind.to_owned(),
        payload: r#"{"project":"web-shop"}"#.to_owned(),
        run_at: clock.now(),
        max_attempts: 3,
        unique_key: None,
    }
}

async fn enqueue(store: &Store, new: &NewJob) -> JobId {
    match store.jobs().enqueue(new).await.unwrap() {
        Enqueued::New(id) => id,
        Enqueued::Already(id) => panic!("{id} was there before"),
    }
}

async fn lease(store: &Store, worker: &str) -> Option<LeasedJob> {
    store.jobs().lease(&["sync"], worker, MINUTE).await.unwrap()
}

async fn get(store: &Store, id: JobId) -> Job {
    store.jobs().get(id).await.unwrap().unwrap()
}

fn is_lost<T: std::fmt::Debug>(result: &Result<T, Error>, job: &LeasedJob) {
    assert!(
        matches!(result, Err(Error::LeaseLost(id)) if *id == job.id),
        "{result:?}"
    );
}

on_both_databases!(a_job_is_leased_kept_and_completed, async |database| {
    let (store, clock) = (&database.store, &database.clock);
    let start = clock.now();
    let id = enqueue(store, &new_job(clock, "sync")).await;
    let queued = Job {
        id,
        kind: "sync".to_owned(),
        state: JobState::Queued,
        attempt: 0,
        max_attempts: 3,
        available_at: start,
        worker: None,
        last_error: None,
        created_at: start,
        finished_at: None,
    };
    assert_eq!(get(store, id).await, queued);

    let job = lease(store, "one").await.unwrap();
    assert_eq!(
        job,
        LeasedJob {
            id,
            kind: "sync".to_owned(),
            payload: r#"{"project":"web-shop"}"#.to_owned(),
            attempt: 1,
            max_attempts: 3,
            fence: 1,
        }
    );
    let running = Job {
        state: JobState::Running,
        attempt: 1,
        worker: Some("one".to_owned()),
        available_at: start.after(MINUTE),
        ..queued.clone()
    };
    assert_eq!(get(store, id).await, running);
    assert_eq!(lease(store, "two").await, None);

    clock.advance(MINUTE / 2);
    store.jobs().heartbeat(&job, MINUTE).await.unwrap();
    clock.advance(MINUTE / 2);
    assert_eq!(lease(store, "two").await, None);

    store.jobs().complete(&job).await.unwrap();
    let done = get(store, id).await;
    assert_eq!(
        (done.state, done.finished_at, done.worker),
        (JobState::Done, Some(clock.now()), None)
    );
    clock.advance(MINUTE * 60);
    assert_eq!(lease(store, "two").await, None);
    is_lost(&store.jobs().complete(&job).await, &job);
    is_lost(&store.jobs().heartbeat(&job, MINUTE).await, &job);
});

on_both_databases!(a_lease_that_ran_out_is_fenced_off, async |database| {
    let (store, clock) = (&database.store, &database.clock);
    enqueue(store, &new_job(clock, "sync")).await;
    let suspended = lease(store, "suspended").await.unwrap();
    clock.advance(MINUTE);
    let taken = lease(store, "second").await.unwrap();
    assert_eq!((taken.id, taken.attempt), (suspended.id, 2));
    assert!(taken.fence > suspended.fence);

    is_lost(&store.jobs().heartbeat(&suspended, MINUTE).await, &suspended);
    is_lost(&store.jobs().complete(&suspended).await, &suspended);
    is_lost(
        &store.jobs().fail(&suspended, "late", Some(clock.now())).await,
        &suspended,
    );
    let running = get(store, taken.id).await;
    assert_eq!((running.state, running.last_error), (JobState::Running, None));
    store.jobs().complete(&taken).await.unwrap();
});

on_both_databases!(
    a_late_report_counts_when_nobody_else_took_the_job,
    async |database| {
        let (store, clock) = (&database.store, &database.clock);
        enqueue(store, &new_job(clock, "sync")).await;
        let job = lease(store, "slow").await.unwrap();
        clock.advance(MINUTE * 10);
        store.jobs().complete(&job).await.unwrap();
        assert_eq!(get(store, job.id).await.state, JobState::Done);
        assert_eq!(lease(store, "other").await, None);
    }
);

on_both_databases!(
    a_failure_is_retried_at_its_time_until_it_is_the_last,
    async |database| {
        let (store, clock) = (&database.store, &database.clock);
        enqueue(store, &new_job(clock, "sync")).await;
        for attempt in 1..=3 {
            let job = lease(store, "one").await.unwrap();
            assert_eq!(job.attempt, attempt);
            let retry_at = clock.now().after(MINUTE);
            let state = store
                .jobs()
                .fail(&job, "no \0 network", Some(retry_at))
                .await
                .unwrap();
            let expected = if attempt < 3 {
                JobState::Queued
            } else {
                JobState::Failed
            };
            assert_eq!(state, expected);
            let after = get(store, job.id).await;
            assert_eq!(
                (after.state, after.last_error.as_deref()),
                (expected, Some("no \u{fffd} network"))
            );
            // The lease ended with the report.
            is_lost(&store.jobs().heartbeat(&job, MINUTE).await, &job);
            is_lost(&store.jobs().complete(&job).await, &job);
            assert_eq!(lease(store, "one").await, None);
            clock.advance(MINUTE);
        }
        assert_eq!(lease(store, "one").await, None);
    }
);

on_both_databases!(a_failure_without_a_time_is_final, async |database| {
    let (store, clock) = (&database.store, &database.clock);
    enqueue(store, &new_job(clock, "sync")).await;
    let job = lease(store, "one").await.unwrap();
    let state = store.jobs().fail(&job, "never", None).await.unwrap();
    assert_eq!(state, JobState::Failed);
    assert_eq!(get(store, job.id).await.finished_at, Some(clock.now()));
});

on_both_databases!(a_job_that_kills_its_workers_is_given_up, async |database| {
    let (store, clock) = (&database.store, &database.clock);
    let id = enqueue(store, &new_job(clock, "sync")).await;
    for _ in 0..3 {
        lease(store, "mortal").await.unwrap();
        clock.advance(MINUTE);
    }
    assert_eq!(lease(store, "mortal").await, None);
    let given_up = get(store, id).await;
    assert_eq!(given_up.state, JobState::Failed);
    assert_eq!(
        given_up.last_error.as_deref(),
        Some("the worker went silent on the last try")
    );
});

on_both_databases!(jobs_wait_for_their_time_and_their_kind, async |database| {
    let (store, clock) = (&database.store, &database.clock);
    let mut later = new_job(clock, "sync");
    later.run_at = clock.now().after(MINUTE);
    let later = enqueue(store, &later).await;
    let other = enqueue(store, &new_job(clock, "build")).await;
    assert_eq!(lease(store, "one").await, None);
    let none = store.jobs().lease(&[], "one", MINUTE).await.unwrap();
    assert_eq!(none, None);
    clock.advance(MINUTE);
    let take = async || {
        let job = store.jobs().lease(&["sync", "build"], "one", MINUTE).await;
        job.unwrap().map(|job| job.id)
    };
    assert_eq!(take().await, Some(other), "what has waited longest comes first");
    assert_eq!(take().await, Some(later));
    assert_eq!(take().await, None);
});

on_both_databases!(a_key_stands_for_one_unfinished_job, async |database| {
    let (store, clock) = (&database.store, &database.clock);
    let unique = NewJob {
        unique_key: Some("web-shop".to_owned()),
        ..new_job(clock, "sync")
    };
    let first = enqueue(store, &unique).await;
    let again = async || store.jobs().enqueue(&unique).await.unwrap();
    assert_eq!(again().await, Enqueued::Already(first));
    let job = lease(store, "one").await.unwrap();
    assert_eq!(again().await, Enqueued::Already(first));
    // Another kind may use the same key.
    let other_kind = NewJob {
        kind: "build".to_owned(),
        ..unique.clone()
    };
    enqueue(store, &other_kind).await;
    store.jobs().complete(&job).await.unwrap();
    let second = again().await;
    assert!(matches!(second, Enqueued::New(id) if id != first), "{second:?}");

    let endless = NewJob {
        unique_key: Some("x".repeat(5000)),
        ..unique.clone()
    };
    let refused = store.jobs().enqueue(&endless).await;
    assert!(matches!(refused, Err(Error::Unstorable { .. })), "{refused:?}");
});

on_both_databases!(a_key_is_taken_once_at_a_time, async |database| {
    let stores = [database.store.clone(), database.another_store()];
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..20 {
        let store = stores[number % 2].clone();
        let unique = NewJob {
            unique_key: Some("web-shop".to_owned()),
            ..new_job(&database.clock, "sync")
        };
        tasks.spawn(async move { store.jobs().enqueue(&unique).await.unwrap() });
    }
    let queued = tasks.join_all().await;
    let ids: HashSet<String> = queued.iter().map(|queued| queued.id().to_string()).collect();
    assert_eq!(ids.len(), 1);
    let new = queued.iter().filter(|queued| matches!(queued, Enqueued::New(_)));
    assert_eq!(new.count(), 1);
    stores[1].close().await;
});

on_both_databases!(no_job_is_given_to_two_workers, async |database| {
    let stores = [database.store.clone(), database.another_store()];
    let mut expected = HashSet::new();
    for _ in 0..100 {
        expected.insert(
            enqueue(&stores[0], &new_job(&database.clock, "sync"))
                .await
                .to_string(),
        );
    }
    let mut workers = tokio::task::JoinSet::new();
    for number in 0..20 {
        let store = stores[number % 2].clone();
        workers.spawn(async move {
            let mut taken = Vec::new();
            while let Some(job) = lease(&store, &format!("worker-{number}")).await {
                assert_eq!((job.attempt, job.fence), (1, 1));
                taken.push(job.id.to_string());
                store.jobs().complete(&job).await.unwrap();
            }
            taken
        });
    }
    let taken: Vec<String> = workers.join_all().await.into_iter().flatten().collect();
    assert_eq!(taken.len(), 100);
    assert_eq!(taken.into_iter().collect::<HashSet<_>>(), expected);
    stores[1].close().await;
});

on_both_databases!(finished_jobs_are_forgotten, async |database| {
    let (store, clock) = (&database.store, &database.clock);
    let old = enqueue(store, &new_job(clock, "sync")).await;
    let job = lease(store, "one").await.unwrap();
    store.jobs().complete(&job).await.unwrap();
    clock.advance(MINUTE);
    let waiting = enqueue(store, &new_job(clock, "sync")).await;
    let forgotten = store.jobs().forget_finished(clock.now()).await.unwrap();
    assert_eq!(forgotten, 1);
    assert_eq!(store.jobs().get(old).await.unwrap(), None);
    assert_eq!(get(store, waiting).await.state, JobState::Queued);
});
