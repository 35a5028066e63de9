//! How often, and how large.

use std::convert::Infallible;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures::stream;
use http::Method;
use http::header::AUTHORIZATION;

use crate::edge_yard::{ELSEWHERE, HOME, Known, TOKEN, Yard, bearer, refusal, request};

#[tokio::test(start_paused = true)]
async fn too_many_requests_are_refused_by_caller_or_address() {
    let yard = Yard::new(|http, _| {
        http.requests_per_second = 1;
        http.request_burst = 2;
    });
    let (name, value) = bearer(TOKEN);
    let header = [(name, value.as_str())];
    let mut statuses = Vec::new();
    for peer in [HOME, ELSEWHERE, HOME] {
        let answer = yard.ask(request(Method::GET, "/whoami", peer, &header)).await;
        if answer.status == 429 {
            assert_eq!(answer.kind(), "limit_exceeded");
            assert_eq!(answer.header("retry-after"), "1");
        }
        statuses.push(answer.status);
    }
    assert_eq!(statuses, [200, 200, 429], "one caller, two addresses");
    // Strangers are counted by address, here and on public routes.
    let mut anonymous = Vec::new();
    for path in ["/whoami", "/health", "/health", "/whoami"] {
        anonymous.push(yard.get(path, &[]).await.status);
    }
    assert_eq!(anonymous, [401, 200, 429, 429]);
    assert_eq!(
        yard.ask(request(Method::GET, "/health", ELSEWHERE, &[]))
            .await
            .status,
        200
    );
}

#[tokio::test(start_paused = true)]
async fn guessing_is_stopped_before_anybody_is_asked() {
    let yard = Yard::new(|http, _| http.failed_attempts_per_minute = 3);
    let (name, value) = bearer(TOKEN);
    let good = [(name.clone(), value.as_str())];
    assert_eq!(yard.get("/whoami", &good).await.status, 200);
    for guess in 0..3 {
        let (name, value) = bearer(&format!("ay_guess-{guess}"));
        assert_eq!(yard.get("/whoami", &[(name, &value)]).await.status, 401);
    }
    let asked = yard.known.asked.load(Ordering::SeqCst);
    let answer = yard.get("/whoami", &[(name, "Bearer ay_guess-4")]).await;
    assert_eq!(answer.refused(), refusal(429, "limit_exceeded"));
    assert_eq!(answer.header("retry-after"), "60");
    assert_eq!(yard.known.asked.load(Ordering::SeqCst), asked);
    // Who was let in before is not shut out by a neighbour's mistakes, nor is another address.
    assert_eq!(yard.get("/whoami", &good).await.status, 200);
    let far = request(
        Method::GET,
        "/whoami",
        ELSEWHERE,
        &[(AUTHORIZATION, "Bearer ay_guess-5")],
    );
    assert_eq!(yard.ask(far).await.status, 401);
    tokio::time::advance(Duration::from_secs(60)).await;
    assert_eq!(
        yard.get("/whoami", &[(AUTHORIZATION, "Bearer ay_guess-6")])
            .await
            .status,
        401
    );
}

#[tokio::test]
async fn that_nobody_can_tell_is_not_the_callers_fault() {
    let known = Known {
        down: true,
        ..Known::default()
    };
    let yard = Yard::with(known, |http, _| http.failed_attempts_per_minute = 1);
    let (name, value) = bearer(TOKEN);
    for _ in 0..3 {
        let answer = yard.get("/whoami", &[(name.clone(), &value)]).await;
        assert_eq!(answer.refused(), refusal(503, "unavailable"));
    }
}

#[tokio::test]
async fn a_body_is_bounded_whether_it_says_its_size_or_not() {
    let yard = Yard::new(|http, _| http.max_body_bytes = 3_000_000);
    let (name, value) = bearer(TOKEN);
    let post = |body: Body| {
        let mut request = request(Method::POST, "/length", HOME, &[(name.clone(), &value)]);
        *request.body_mut() = body;
        request
    };
    let streamed = |bytes: usize| {
        let chunk = Bytes::from(vec![0; 1000]);
        Body::from_stream(stream::iter(vec![Ok::<_, Infallible>(chunk); bytes / 1000]))
    };
    // More than the framework would allow by itself.
    assert_eq!(
        yard.ask(post(Body::from(vec![0; 3_000_000]))).await.text,
        "3000000"
    );
    assert_eq!(yard.ask(post(streamed(3_000_000))).await.text, "3000000");
    let answer = yard.ask(post(Body::from(vec![0; 3_000_001]))).await;
    assert_eq!(answer.refused(), refusal(413, "limit_exceeded"));
    assert_eq!(yard.ask(post(streamed(3_001_000))).await.status, 413);
    // A stranger's body is not even looked at.
    let mut stranger = post(Body::from(vec![0; 3_000_001]));
    stranger.headers_mut().remove(AUTHORIZATION);
    assert_eq!(yard.ask(stranger).await.status, 401);
}
