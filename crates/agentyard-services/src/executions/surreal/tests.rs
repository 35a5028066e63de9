use super::*;

fn settings() -> SurrealSettings {
    SurrealSettings {
        url: "http://127.0.0.1:8000".to_owned(),
        namespace: "yard".to_owned(),
        database: "log".to_owned(),
        table: "execution_log".to_owned(),
        credentials: SurrealCredentials::None,
        batch: 100,
        flush_interval: Duration::from_secs(2),
        timeout: Duration::from_secs(30),
    }
}

#[test]
fn settings_are_checked_before_anything_is_sent() {
    assert!(settings().check().is_ok());
    let with = |change: fn(&mut SurrealSettings)| {
        let mut settings = settings();
        change(&mut settings);
        settings.check().unwrap_err().message().to_owned()
    };
    for (message, key) in [
        (
            with(|it| it.table = "a; REMOVE TABLE b".to_owned()),
            "surreal_table",
        ),
        (with(|it| it.table = String::new()), "surreal_table"),
        (with(|it| it.url = "ftp://a".to_owned()), "surreal_url"),
        (
            with(|it| it.url = "http://user:password@a".to_owned()),
            "surreal_url",
        ),
        (with(|it| it.namespace = "a\nb".to_owned()), "surreal_namespace"),
        (with(|it| it.database = String::new()), "surreal_database"),
        (
            with(|it| it.credentials = SurrealCredentials::Token(Secret::new("a\nhunter22"))),
            "surreal_token",
        ),
    ] {
        assert!(
            message.contains(key) && !message.contains("hunter22"),
            "{message}"
        );
    }
}

#[test]
fn a_server_is_known_by_several_addresses() {
    for text in [
        "http://a:8000",
        "http://a:8000/",
        "http://a:8000/rpc",
        "ws://a:8000/rpc",
    ] {
        assert_eq!(endpoint(text).unwrap().as_str(), "http://a:8000/rpc", "{text}");
    }
    assert_eq!(endpoint("wss://a/b").unwrap().as_str(), "https://a/b/rpc");
}

#[test]
fn a_user_is_looked_for_where_it_is_defined() {
    let of = |level| {
        let credentials = SurrealCredentials::Password {
            username: "ada".to_owned(),
            password: Secret::new("hunter22"),
            level,
        };
        headers(&SurrealSettings {
            credentials,
            ..settings()
        })
        .unwrap()
    };
    let root = of(SurrealLevel::Root);
    assert_eq!(root[AUTHORIZATION], "Basic YWRhOmh1bnRlcjIy");
    assert!(root[AUTHORIZATION].is_sensitive());
    let has =
        |headers: &HeaderMap| ["surreal-auth-ns", "surreal-auth-db"].map(|name| headers.contains_key(name));
    assert_eq!(has(&root), [false, false]);
    assert_eq!(has(&of(SurrealLevel::Namespace)), [true, false]);
    assert_eq!(has(&of(SurrealLevel::Database)), [true, true]);
}

#[test]
fn only_what_was_acknowledged_is_taken() {
    let read = |answer: &str| verdicts(answer.as_bytes(), 3);
    let ok = r#"{"status":"OK","result":[],"time":"1ms"}"#;
    let taken = read(&format!(r#"{{"id":1,"result":[{ok},{ok},{ok}]}}"#)).unwrap();
    assert_eq!(taken, [Ok(()), Ok(()), Ok(())]);
    let half = read(&format!(
        r#"{{"id":1,"result":[{ok},{{"status":"ERR","result":"no\nroom"}}]}}"#
    ))
    .unwrap();
    assert_eq!(
        half,
        [
            Ok(()),
            Err("no\\nroom".to_owned()),
            Err("it was not answered".to_owned())
        ]
    );
    assert!(
        matches!(read(r#"{"id":1,"error":{"code":-32000,"message":"oh"}}"#), Err(SendError::Refused(reason)) if reason == "oh")
    );
    assert!(matches!(read("<html>"), Err(SendError::Unreadable(_))));
    assert!(matches!(
        read(&format!(r#"{{"result":[{ok},{ok},{ok},{ok}]}}"#)),
        Err(SendError::Unreadable(_))
    ));
    assert_eq!(read("{}").unwrap().iter().filter(|it| it.is_ok()).count(), 0);
}
