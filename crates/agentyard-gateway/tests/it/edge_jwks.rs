//! Tokens of an issuer on loopback that changes its keys, goes away and misbehaves.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentyard_gateway::edge::{JwksVerifier, OAuthSettings, TokenFault};
use agentyard_model::Secret;
use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use futures::future::join_all;
use http::StatusCode;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};

use crate::edge_keys::{AUDIENCE, RSA, TestKey, claims, clock};

/// An issuer, as far as we see it.
#[derive(Clone)]
struct Issuer {
    url: String,
    answer: Arc<Mutex<Answer>>,
    metadata: Arc<Mutex<Value>>,
    /// How often its keys were asked for.
    fetches: Arc<AtomicUsize>,
    asked: watch::Sender<usize>,
    /// Answers wait here for a permit.
    gate: Arc<Semaphore>,
}

#[derive(Clone)]
enum Answer {
    Keys(Vec<Value>),
    Text(String),
    Status(u16),
    Redirect(String),
}

impl Issuer {
    async fn start(keys: &[Value]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let issuer = Self {
            answer: Arc::new(Mutex::new(Answer::Keys(keys.to_vec()))),
            metadata: Arc::new(Mutex::new(
                json!({"issuer": url, "jwks_uri": format!("{url}/keys")}),
            )),
            fetches: Arc::default(),
            asked: watch::Sender::new(0),
            gate: Arc::new(Semaphore::new(Semaphore::MAX_PERMITS)),
            url,
        };
        let app = Router::new()
            .route("/.well-known/openid-configuration", get(serve_metadata))
            .route("/keys", get(serve_keys))
            .with_state(issuer.clone());
        tokio::spawn(async move { axum::serve(listener, app).await });
        issuer
    }

    fn settings(&self) -> OAuthSettings {
        OAuthSettings {
            issuer: Some(self.url.clone()),
            audience: Some(AUDIENCE.to_owned()),
            ..OAuthSettings::default()
        }
    }

    fn verifier(&self) -> JwksVerifier {
        JwksVerifier::new(&self.settings(), clock()).unwrap()
    }

    fn publish(&self, keys: &[Value]) {
        self.answer_with(Answer::Keys(keys.to_vec()));
    }

    fn answer_with(&self, answer: Answer) {
        *self.answer.lock().unwrap() = answer;
    }

    fn fetches(&self) -> usize {
        self.fetches.load(Ordering::SeqCst)
    }

    /// Waits until its keys were asked for this often.
    async fn asked(&self, times: usize) {
        let mut asked = self.asked.subscribe();
        let enough = asked.wait_for(|count| *count >= times);
        tokio::time::timeout(Duration::from_secs(10), enough)
            .await
            .unwrap()
            .unwrap();
    }

    /// A good token of this issuer.
    fn token(&self, key: &TestKey, id: &str) -> Secret {
        self.token_with_header(key, &json!({"alg": key.algorithm, "kid": id}))
    }

    fn token_with_header(&self, key: &TestKey, header: &Value) -> Secret {
        let mut claims = claims();
        claims["iss"] = json!(self.url);
        key.sign(header, &claims)
    }
}

async fn serve_metadata(State(issuer): State<Issuer>) -> Response {
    let metadata = issuer.metadata.lock().unwrap().clone();
    metadata.to_string().into_response()
}

async fn serve_keys(State(issuer): State<Issuer>) -> Response {
    let count = issuer.fetches.fetch_add(1, Ordering::SeqCst) + 1;
    issuer.asked.send_replace(count);
    let _passed = issuer.gate.acquire().await.unwrap();
    let answer = issuer.answer.lock().unwrap().clone();
    match answer {
        Answer::Keys(keys) => json!({"keys": keys}).to_string().into_response(),
        Answer::Text(text) => text.into_response(),
        Answer::Status(status) => StatusCode::from_u16(status).unwrap().into_response(),
        Answer::Redirect(to) => Redirect::temporary(&to).into_response(),
    }
}

/// Lets this much time pass at once, without waiting.
async fn pass(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

async fn fault(verifier: &JwksVerifier, token: &Secret) -> TokenFault {
    verifier.verify(token).await.unwrap_err()
}

/// Verifies again and again until the answer is this one.
async fn until_refused(verifier: &JwksVerifier, token: &Secret, expected: TokenFault) {
    let asking = async {
        while verifier.verify(token).await.err() != Some(expected) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), asking)
        .await
        .unwrap();
}

#[tokio::test]
async fn published_keys_of_each_kind_verify() {
    let (ec, ed) = (TestKey::p256(), TestKey::ed25519());
    let mut unnamed = RSA.jwk("unnamed");
    unnamed.as_object_mut().unwrap().remove("alg");
    let issuer = Issuer::start(&[RSA.jwk("rsa"), unnamed, ec.jwk("ec"), ed.jwk("ed")]).await;
    let verifier = issuer.verifier();
    for (key, id) in [(&*RSA, "rsa"), (&*RSA, "unnamed"), (&ec, "ec"), (&ed, "ed")] {
        let claims = verifier.verify(&issuer.token(key, id)).await.unwrap();
        assert_eq!(
            (claims.subject.as_str(), claims.issuer.as_str()),
            ("ada", issuer.url.as_str())
        );
    }
    assert_eq!(issuer.fetches(), 1);
}

#[tokio::test]
async fn a_published_key_verifies_by_its_own_algorithm_only() {
    let ed = TestKey::ed25519();
    let secret = b"published by mistake, 32 bytes...";
    let issuer = Issuer::start(&[
        RSA.jwk("rsa"),
        ed.jwk("ed"),
        json!({"kty": "oct", "kid": "oct", "alg": "HS256", "k": "cHVibGlzaGVkIGJ5IG1pc3Rha2UsIDMyIGJ5dGVzLi4u"}),
    ])
    .await;
    let verifier = issuer.verifier();
    let confused = TestKey::hmac(RSA.public_pem.as_bytes());
    assert_eq!(
        fault(&verifier, &issuer.token(&confused, "rsa")).await,
        TokenFault::Algorithm
    );
    let symmetric = TestKey::hmac(secret);
    assert_eq!(
        fault(&verifier, &issuer.token(&symmetric, "oct")).await,
        TokenFault::UnknownKey
    );
    assert_eq!(
        fault(&verifier, &issuer.token(&ed, "rsa")).await,
        TokenFault::Algorithm
    );
    let stranger = TestKey::ed25519();
    assert_eq!(
        fault(&verifier, &issuer.token(&stranger, "ed")).await,
        TokenFault::Signature
    );
}

#[tokio::test]
async fn a_key_id_leads_nowhere_but_into_the_map() {
    let key = TestKey::ed25519();
    let issuer = Issuer::start(&[key.jwk("a")]).await;
    let verifier = issuer.verifier();
    assert!(verifier.verify(&issuer.token(&key, "a")).await.is_ok());
    let long = "a".repeat(300);
    let ids = [
        "../a",
        "../../../../dev/null",
        "/etc/passwd",
        "a\0",
        "A",
        "",
        "a'--",
        "http://evil.example/a",
        &long,
    ];
    for id in ids {
        assert_eq!(
            fault(&verifier, &issuer.token(&key, id)).await,
            TokenFault::UnknownKey,
            "{id:?}"
        );
    }
    let unnamed = issuer.token_with_header(&key, &json!({"alg": "EdDSA"}));
    assert_eq!(fault(&verifier, &unnamed).await, TokenFault::UnknownKey);
}

#[tokio::test]
async fn keys_rotate_without_a_restart() {
    let (old, new) = (TestKey::ed25519(), TestKey::p256());
    let issuer = Issuer::start(&[old.jwk("old")]).await;
    let verifier = issuer.verifier();
    assert!(verifier.verify(&issuer.token(&old, "old")).await.is_ok());

    issuer.publish(&[old.jwk("old"), new.jwk("new")]);
    pass(Duration::from_secs(31)).await;
    assert!(verifier.verify(&issuer.token(&new, "new")).await.is_ok());
    assert!(verifier.verify(&issuer.token(&old, "old")).await.is_ok());
    assert_eq!(issuer.fetches(), 2);

    issuer.publish(&[new.jwk("new")]);
    pass(Duration::from_secs(31)).await;
    assert_eq!(
        fault(&verifier, &issuer.token(&TestKey::p256(), "other")).await,
        TokenFault::UnknownKey
    );
    assert_eq!(
        fault(&verifier, &issuer.token(&old, "old")).await,
        TokenFault::UnknownKey
    );
    assert!(verifier.verify(&issuer.token(&new, "new")).await.is_ok());
}

#[tokio::test]
async fn a_withdrawn_key_is_noticed_in_the_background() {
    let key = TestKey::ed25519();
    let issuer = Issuer::start(&[key.jwk("a")]).await;
    let verifier = issuer.verifier();
    verifier.warm().await;
    let token = issuer.token(&key, "a");
    assert!(verifier.verify(&token).await.is_ok());
    issuer.publish(&[TestKey::ed25519().jwk("b")]);
    pass(Duration::from_secs(601)).await;
    issuer.asked(2).await;
    until_refused(&verifier, &token, TokenFault::UnknownKey).await;
}

#[tokio::test]
async fn keys_outlive_their_issuer_for_a_while() {
    let key = TestKey::ed25519();
    let issuer = Issuer::start(&[key.jwk("a")]).await;
    let verifier = issuer.verifier();
    let token = issuer.token(&key, "a");
    assert!(verifier.verify(&token).await.is_ok());

    let broken = [
        Answer::Status(503),
        Answer::Text("<html>".to_owned()),
        Answer::Keys(Vec::new()),
    ];
    for (count, answer) in broken.into_iter().enumerate() {
        issuer.answer_with(answer);
        pass(Duration::from_secs(601)).await;
        issuer.asked(count + 2).await;
        assert!(verifier.verify(&token).await.is_ok());
        assert_eq!(
            fault(&verifier, &issuer.token(&key, "b")).await,
            TokenFault::UnknownKey
        );
    }

    // Not for ever: they may have been withdrawn meanwhile.
    pass(Duration::from_secs(86_400)).await;
    assert_eq!(fault(&verifier, &token).await, TokenFault::KeysUnavailable);
    issuer.publish(&[key.jwk("a")]);
    pass(Duration::from_secs(31)).await;
    assert!(verifier.verify(&token).await.is_ok());
}

#[tokio::test]
async fn an_issuer_that_was_down_at_first_is_asked_again() {
    let key = TestKey::ed25519();
    let issuer = Issuer::start(&[key.jwk("a")]).await;
    issuer.answer_with(Answer::Status(500));
    let verifier = issuer.verifier();
    verifier.warm().await;
    let token = issuer.token(&key, "a");
    assert_eq!(fault(&verifier, &token).await, TokenFault::KeysUnavailable);
    issuer.publish(&[key.jwk("a")]);
    assert_eq!(fault(&verifier, &token).await, TokenFault::KeysUnavailable);
    pass(Duration::from_secs(31)).await;
    assert!(verifier.verify(&token).await.is_ok());
}

#[tokio::test]
async fn a_storm_of_unknown_keys_reaches_the_issuer_once() {
    let key = TestKey::ed25519();
    let issuer = Issuer::start(&[key.jwk("a")]).await;
    let verifier = issuer.verifier();
    let tokens: Vec<Secret> = (0..1000)
        .map(|id| issuer.token(&key, &format!("made-up-{id}")))
        .collect();
    for faults in [
        join_all(tokens.iter().map(|token| fault(&verifier, token))).await,
        join_all(tokens.iter().map(|token| fault(&verifier, token))).await,
    ] {
        assert!(faults.iter().all(|fault| *fault == TokenFault::UnknownKey));
    }
    assert!(verifier.verify(&issuer.token(&key, "a")).await.is_ok());
    assert_eq!(issuer.fetches(), 1);
    pass(Duration::from_secs(31)).await;
    join_all(tokens.iter().map(|token| fault(&verifier, token))).await;
    assert_eq!(issuer.fetches(), 2);
}

#[tokio::test]
async fn who_goes_away_does_not_take_the_answer_along() {
    let key = TestKey::ed25519();
    let issuer = Issuer::start(&[key.jwk("a")]).await;
    let verifier = issuer.verifier();
    let permits = issuer.gate.forget_permits(Semaphore::MAX_PERMITS);
    let token = issuer.token(&key, "a");
    tokio::select! {
        _ = verifier.verify(&token) => panic!("the issuer has not answered"),
        () = issuer.asked(1) => {}
    }
    issuer.gate.add_permits(permits);
    assert!(verifier.verify(&token).await.is_ok());
    assert_eq!(issuer.fetches(), 1);
}

#[tokio::test]
async fn a_slow_issuer_is_not_waited_for_but_its_answer_counts() {
    let key = TestKey::ed25519();
    let issuer = Issuer::start(&[key.jwk("a")]).await;
    let verifier = issuer.verifier();
    let permits = issuer.gate.forget_permits(Semaphore::MAX_PERMITS);
    let token = issuer.token(&key, "a");
    let waiting = async {
        issuer.asked(1).await;
        pass(Duration::from_secs(4)).await;
    };
    let (answer, ()) = tokio::join!(verifier.verify(&token), waiting);
    assert_eq!(answer, Err(TokenFault::KeysUnavailable));
    issuer.gate.add_permits(permits);
    assert!(verifier.verify(&token).await.is_ok());
    assert_eq!(issuer.fetches(), 1);
}

#[tokio::test]
async fn documents_that_are_not_what_they_should_be_are_refused() {
    let key = TestKey::ed25519();
    let issuer = Issuer::start(&[key.jwk("a")]).await;
    let elsewhere = Issuer::start(&[key.jwk("a")]).await;
    let token = issuer.token(&key, "a");
    let padded = json!({"keys": [key.jwk("a")], "padding": "x".repeat(256 * 1024)});
    let private = json!({"kty": "OKP", "crv": "Ed25519", "kid": "a", "x": key.jwk("a")["x"], "d": "AAAA"});
    for answer in [
        Answer::Text(padded.to_string()),
        Answer::Redirect(format!("{}/keys", elsewhere.url)),
        Answer::Text("[]".to_owned()),
        Answer::Keys(vec![private]),
        Answer::Keys(vec![key.jwk("a"), TestKey::ed25519().jwk("a")]),
    ] {
        issuer.answer_with(answer);
        assert_eq!(
            fault(&issuer.verifier(), &token).await,
            TokenFault::KeysUnavailable
        );
    }
    assert_eq!(elsewhere.fetches(), 0, "redirects are not followed");

    issuer.publish(&[key.jwk("a")]);
    let asked = issuer.fetches();
    for metadata in [
        json!({"issuer": format!("{}/", issuer.url), "jwks_uri": format!("{}/keys", issuer.url)}),
        json!({"issuer": elsewhere.url, "jwks_uri": format!("{}/keys", issuer.url)}),
        json!({"issuer": issuer.url, "jwks_uri": "http://keys.example.org/keys"}),
        json!({"issuer": issuer.url, "jwks_uri": "file:///etc/passwd"}),
        json!({"issuer": issuer.url}),
        json!([]),
    ] {
        *issuer.metadata.lock().unwrap() = metadata.clone();
        assert_eq!(
            fault(&issuer.verifier(), &token).await,
            TokenFault::KeysUnavailable,
            "{metadata}"
        );
    }
    assert_eq!(issuer.fetches(), asked);
}

#[tokio::test]
async fn the_address_of_the_keys_can_be_set() {
    let key = TestKey::ed25519();
    let issuer = Issuer::start(&[key.jwk("a")]).await;
    *issuer.metadata.lock().unwrap() = json!(null);
    let mut settings = issuer.settings();
    settings.jwks_uri = Some(format!("{}/keys", issuer.url));
    let verifier = JwksVerifier::new(&settings, clock()).unwrap();
    assert!(verifier.verify(&issuer.token(&key, "a")).await.is_ok());
}
