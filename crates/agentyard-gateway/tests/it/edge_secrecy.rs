//! What is never said.

use std::sync::{Arc, Mutex};

use agentyard_gateway::edge::{AuthMode, JwtAlgorithm};
use agentyard_model::Secret;
use http::header::AUTHORIZATION;
use serde_json::json;

use crate::edge_keys::{AUDIENCE, ISSUER, TestKey};
use crate::edge_yard::{BAD_TOKEN, TOKEN, Yard};

/// Keeps everything that is logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_token_stands_in_no_answer_and_no_log_line() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);

    let key = TestKey::ed25519();
    let by_token = Yard::new(|http, _| http.failed_attempts_per_minute = 2);
    let by_jwt = Yard::new(|_, auth| {
        auth.mode = AuthMode::Jwt;
        auth.jwt.algorithm = JwtAlgorithm::EdDsa;
        auth.jwt.public_key = Some(key.public_pem.clone());
        auth.jwt.issuer = Some(ISSUER.to_owned());
        auth.jwt.audience = Some(AUDIENCE.to_owned());
    });
    let mut tokens = vec![Secret::new(TOKEN), Secret::new(BAD_TOKEN)];
    tokens.push(key.token_with_header(&json!({})));
    tokens.push(key.token_with_claims(&json!({"exp": 1})));
    tokens.push(TestKey::ed25519().token_with_header(&json!({"kid": "some-kid"})));
    let mut seen = String::new();
    for yard in [&by_token, &by_jwt] {
        for token in &tokens {
            for scheme in ["Bearer", "Basic", "Bearer x"] {
                let value = format!("{scheme} {}", token.expose());
                let answer = yard.get("/whoami", &[(AUTHORIZATION, &value)]).await;
                seen += &format!("{:?} {}\n", answer.headers, answer.text);
            }
        }
    }
    let logged = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(logged.contains("refused a credential"), "{logged}");
    seen += &logged;
    for token in &tokens {
        for part in token.expose().split('.') {
            // The header of a JWT is the same for all and says nothing.
            if !part.starts_with("eyJhbGci") {
                assert!(!seen.contains(part), "{part}");
            }
        }
    }
    assert!(!seen.contains("some-kid"));
}
