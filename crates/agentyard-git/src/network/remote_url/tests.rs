use super::*;

fn check(text: &str, expected: &str) {
    assert_eq!(RemoteUrl::parse(text).unwrap().as_str(), expected, "{text}");
}

#[test]
fn accepted_forms_are_normalised() {
    check("https://github.com/a/b.git", "https://github.com/a/b.git");
    check("HTTPS://GitHub.COM/a/b", "https://github.com/a/b");
    check("https://github.com./a/b", "https://github.com/a/b");
    check("https://github.com:443/a", "https://github.com/a");
    check("https://github.com:8443/a", "https://github.com:8443/a");
    check("https://me@dev.example/a", "https://dev.example/a");
    check(
        "https://xn--bcher-kva.example/a",
        "https://xn--bcher-kva.example/a",
    );
    check("https://bücher.example/a", "https://xn--bcher-kva.example/a");
    check("https://ⓖⓘⓣhub.com/a", "https://github.com/a");
    check("ssh://git@github.com/a/b", "ssh://git@github.com/a/b");
    check("ssh://git@github.com:2222/a/b", "ssh://git@github.com:2222/a/b");
    check("ssh://host/~/b", "ssh://host/~/b");
    check("git@github.com:a/b.git", "git@github.com:a/b.git");
    check("host:repo", "host:repo");
    check("git@[::1]:repo", "git@[::1]:repo");
    check("file:///srv/a%20b", "/srv/a b");
    check("file://localhost/srv/a", "/srv/a");
    check("/srv/a", "/srv/a");
}

#[test]
fn odd_spellings_of_addresses_are_read_as_what_they_are() {
    for text in [
        "http://2130706433/a",
        "http://0x7f000001/a",
        "http://0x7f.1/a",
        "http://0177.0.0.1/a",
        "http://127.1/a",
        "http://127.0.0.1./a",
        "http://127.0.1/a",
        "http://%31%32%37.1/a",
        "http://①②⑦.0.0.1/a",
    ] {
        check(text, "http://127.0.0.1/a");
    }
    check("http://[::ffff:7f00:1]/a", "http://[::ffff:7f00:1]/a");
    check("http://[0:0:0:0:0:ffff:127.0.0.1]/a", "http://[::ffff:7f00:1]/a");
    check("ssh://0x7f.1/a", "ssh://127.0.0.1/a");
    check("git@2130706433:a", "git@127.0.0.1:a");
}

#[test]
fn everything_else_is_refused() {
    let long = format!("https://a.example/{}", "x".repeat(MAX_LENGTH));
    for text in [
        "",
        "-oProxyCommand=touch x",
        "--upload-pack=touch x",
        "ext::sh -c touch% x",
        "fd::17",
        "ext::ssh://a.example/b",
        "git://a.example/b",
        "ftp://a.example/b",
        "git+ssh://a.example/b",
        "javascript://a.example/b",
        "relative/path",
        "../up",
        "name",
        "https://",
        "https:///a",
        "https://a.example",
        "https://a.example/",
        "https://a.example/b?x=1",
        "https://a.example/b#x",
        "https://a.example/b\n",
        "https://a.example/b\u{1b}[1m",
        "https://a.example/%0a",
        "https://a.example\\@b.example/c",
        "https://user:token@a.example/b",
        "https://:token@a.example/b",
        "https://a.example:99999/b",
        "https://a example/b",
        "https://1.2.3.4.5/b",
        "https://256.256.256.256/b",
        "ssh://user:password@a.example/b",
        "ssh://-oProxyCommand=x/b",
        "ssh://-x@a.example/b",
        "ssh:///b",
        "ssh://a.example",
        "-x@a.example:b",
        "user@-oProxyCommand=x:b",
        "-oProxyCommand=x:b",
        "user:token@a.example:b",
        "a.example:-x",
        "a.example:",
        "file://other.example/srv/a",
        "file://srv",
        " /srv/a",
        &long,
    ] {
        assert!(
            RemoteUrl::parse(text).is_err(),
            "{text:?}: {:?}",
            RemoteUrl::parse(text)
        );
    }
}

#[test]
fn a_refusal_shows_no_secret_and_says_what_to_do() {
    for text in [
        "https://user:hunter2@a.example/b",
        "ssh://user:hunter2@a.example/b",
    ] {
        let message = RemoteUrl::parse(text).unwrap_err().to_string();
        assert!(!message.contains("hunter2"), "{message}");
        assert!(message.contains("AGENTYARD_GIT_CREDENTIALS"), "{message}");
    }
}

#[test]
fn authorities_and_names() {
    let url = |text| RemoteUrl::parse(text).unwrap();
    assert_eq!(
        url("https://a.example/b.git").authority().as_deref(),
        Some("a.example")
    );
    assert_eq!(
        url("https://a.example:1/b").authority().as_deref(),
        Some("a.example:1")
    );
    assert_eq!(
        url("http://a.example:443/b").authority().as_deref(),
        Some("a.example:443")
    );
    assert_eq!(url("/a").authority(), None);
    for text in [
        "https://a.example/x/b.git",
        "git@a.example:b.git",
        "git@a.example:x/b",
        "/x/b/",
    ] {
        assert_eq!(url(text).name(), Some("b"), "{text}");
    }
}
